"""Views: pure functions from a program or a history to versioned, JSON-able dataclasses."""
