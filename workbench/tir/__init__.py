"""Loop IR: statements over buffers, blocks for schedules, and the functions made of them."""
