"""What computes operators fast: one module for each family (`Operator.family`), and the table of them."""
