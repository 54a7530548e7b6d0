"""The nodes, types and operator protocol of relay; inference, text and verifier."""
