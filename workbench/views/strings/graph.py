"""Texts of graphs, their groups, and their tree of words."""

from __future__ import annotations


class Graph:
    """See the module's header."""

    scalar = "scalar"
    function = "function"
    """What a call calls that is a function without operators."""
    call = "call"
    """What is called without having a name."""

    def parameters(self, count: int) -> str:
        return f"{count} parameters"

    def tensors(self, count: int) -> str:
        return f"{count} tensors"

    def more_operators(self, count: int) -> str:
        return f"and {count} more"
