"""The one place where English has two forms of a word.

>>> counted(1, "kernel", "kernels"), counted(3, "kernel", "kernels")
('1 kernel', '3 kernels')
"""

from __future__ import annotations


def plural(count: int, one: str, many: str) -> str:
    """The form of a word for so many."""
    return one if count == 1 else many


def counted(count: int, one: str, many: str) -> str:
    """The number and its word."""
    return f"{count} {plural(count, one, many)}"
