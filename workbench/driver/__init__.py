"""Putting the stages together: `build`, sessions (history and commands), the command line."""
