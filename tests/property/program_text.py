"""Loops and blocks of a generated program, printed twice: as tir, and as plain Python that says what they mean.

    nest = Loop("i", 4, body=[Block("twice", [Axis("v", "S", 4, "i")], [Store("Y[v]", "X[v] * T.float32(2)")])])
    tir_text([nest])          # for i in T.serial(4): with T.block("twice"): ...
    python_text([nest])       # for i in range(0, 4): v = i; Y[v] = X[v] * T.float32(2)

Invariant: the Python is written from these nodes alone, and run by Python on NumPy arrays: the compiler and its
interpreters have no part in it.  Expressions have the same text in both, with `T` standing for Python's own functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np


@dataclass
class Axis:
    """An iterator of a block: its kind (S or R), its domain, and the expression of the loops that it is bound to."""

    var: str
    kind: str
    extent: int
    value: str
    low: int = 0


@dataclass
class Store:
    """An element and its new value."""

    target: str
    value: str


@dataclass
class Let:
    """A name for a value."""

    name: str
    dtype: str
    value: str


@dataclass
class Block:
    """A block: it runs its body, a list of stores or of loops around other blocks, where all of `where` holds."""

    name: str
    axes: list[Axis]
    body: Sequence[Node]
    init: Sequence[Store] = ()
    where: list[str] = field(default_factory=list[str])
    regions: tuple[str, str] | None = None
    """What it reads and writes; found by the reader of the text if it is left out."""


@dataclass
class Loop:
    """for var in range(low, low + extent)"""

    var: str
    extent: int
    body: Sequence[Node]
    low: int = 0
    kind: str = "serial"


Node = Loop | Block | Store | Let


def walk(nodes: Sequence[Node]) -> Iterator[Node]:
    """All nodes, from the outside in."""
    for node in nodes:
        yield node
        if isinstance(node, (Loop, Block)):
            yield from walk(node.body)


# --- tir ----------------------------------------------------------------------------------------------------------


def tir_text(nodes: Sequence[Node], indent: int = 1) -> list[str]:
    """The lines of some statements."""
    found: list[str] = []
    for node in nodes:
        found += ["    " * indent + line for line in _tir(node)]
    return found


def _tir(node: Node) -> list[str]:
    if isinstance(node, Store):
        return [f"{node.target} = {node.value}"]
    if isinstance(node, Let):
        return [f'{node.name}: T.let[T.{node.dtype}] = {node.value}']
    if isinstance(node, Loop):
        numbers = f"{node.low}, {node.low + node.extent}" if node.low else str(node.extent)
        return [f"for {node.var} in T.{node.kind}({numbers}):", *tir_text(node.body)]
    lines = [f'with T.block("{node.name}"):']
    for axis in node.axes:
        domain = f"({axis.low}, {axis.low + axis.extent})" if axis.low else str(axis.extent)
        kind = "spatial" if axis.kind == "S" else "reduce"
        lines.append(f"    {axis.var} = T.axis.{kind}({domain}, {axis.value})")
    if node.where:
        lines.append(f"    T.where({' and '.join(node.where)})")
    if node.regions is not None:
        lines += [f"    T.reads({node.regions[0]})", f"    T.writes({node.regions[1]})"]
    if node.init:
        lines += ["    with T.init():", *tir_text(node.init, 2)]
    return [*lines, *tir_text(node.body)]


# --- Python -------------------------------------------------------------------------------------------------------


def python_text(nodes: Sequence[Node], indent: int = 0) -> list[str]:
    """The lines of some statements."""
    found: list[str] = []
    for node in nodes:
        found += ["    " * indent + line for line in _python(node)]
    return found


def _python(node: Node) -> list[str]:
    if isinstance(node, Store):
        return [f"{node.target} = {_lazily(node.value)}"]
    if isinstance(node, Let):
        return [f"{node.name} = {_lazily(node.value)}"]
    if isinstance(node, Loop):
        return [f"for {node.var} in range({node.low}, {node.low + node.extent}):", *python_text(node.body, 1)]
    lines = [f"{axis.var} = {axis.value}" for axis in node.axes]
    if node.init:
        first = [f"{axis.var} == {axis.low}" for axis in node.axes if axis.kind == "R"]
        lines += [f"if {' and '.join(first) or 'True'}:", *python_text(node.init, 1)]
    lines += python_text(node.body)
    return [f"if {' and '.join(node.where)}:", *("    " + line for line in lines)] if node.where else lines


def _lazily(expression: str) -> str:
    """The expression with ``T.if_then_else(c, a, b)`` as ``a if c else b``, which evaluates one of them only."""
    return ast.unparse(_Choices().visit(ast.parse(expression, mode="eval")))


class _Choices(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "if_then_else":
            return ast.IfExp(*node.args)
        return node


_FUNCTIONS = SimpleNamespace(
    float32=float, int32=int, int64=int, max=max, min=min, abs=abs,
    Select=lambda condition, yes, no: yes if condition else no,
    Cast=lambda dtype, value: float(value) if dtype.startswith("float") else int(value),
)  # fmt: skip


def run_python(source: str, arrays: dict[str, np.ndarray]) -> None:
    """Run the printed Python on arrays by name; those that it writes are changed."""
    names: dict[str, Any] = {**arrays, "T": _FUNCTIONS}
    exec(compile(source, "<program>", "exec"), names)
