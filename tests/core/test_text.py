"""The layout engine: text, spans and underlining."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.text import DEDENT, INDENT, NEWLINE, Child, Piece, layout


def tree_printer(node: Any, context: Any) -> Sequence[Piece]:
    """Tuples print as blocks, text as itself."""
    if isinstance(node, str):
        return [node]
    pieces: list[Piece] = ["block:", INDENT]
    for item in node:
        pieces += [NEWLINE, Child(item)]
    return [*pieces, DEDENT]


def test_positions_of_nodes():
    inner = ("alpha", "beta")
    printed = layout(("one", inner), tree_printer)
    assert printed.text == "block:\n    one\n    block:\n        alpha\n        beta"
    assert printed.line_of(inner) == 3
    assert printed.at(4, 9) == "alpha"
    assert printed.at(1, 1) is not None and printed.at(99, 1) is None


def test_underlined_shows_carets_below_the_node():
    target = "beta"
    shown = printed = layout(("one", ("alpha", target)), tree_printer).underlined([target], around=1)
    assert shown is printed
    assert shown.split("\n")[-1] == "               ^^^^"


def test_deep_trees_do_not_recurse():
    tree: Any = "leaf"
    for _ in range(5_000):
        tree = (tree,)
    assert layout(tree, tree_printer).text.endswith("leaf")
