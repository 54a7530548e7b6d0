"""Relay-like graph IR: expressions with types, passes over them, text."""
