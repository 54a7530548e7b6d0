"""The stages of a kernel before it is scheduled, each as a formula: what it computes, over what, and from whom.

    formulas_of(func)[0]     # C[i, j] = Σ over k < 64 of A[i, k] * B[k, j]; reads A, B; read by relu
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from ..analysis.tree import BlockSite, Tree
from ..arith.nodes import Add, Max, Min, Mul, PrimExpr, Var
from ..core.node import substitute
from ..tir import nodes as t
from ..tir.script import text
from .schema import SCHEMA_VERSION, View

_COMBINING: Final = (Add, Mul, Max, Min)
_SIGNS: Final = {Add: "Σ", Mul: "Π"}
"""Others go by their names."""
_LONG: Final = 400
"""Characters of a formula; longer ones end in dots."""


@dataclass(frozen=True, slots=True)
class FormulaView(View):
    """One stage."""

    name: str
    target: str
    """The element that is computed: "C[i, j]"."""
    over: str
    """What is summed up and over which axes ("Σ k < 64"); empty where nothing is."""
    formula: str
    shape: str
    """Extents and type: "16 x 16 float32"."""
    tag: str
    reads: tuple[str, ...]
    read_by: tuple[str, ...]
    """Stages; both in the order of the program."""
    line: int
    """Its first line in the text of the layer, from 0; -1 where the text does not name it."""


@dataclass(frozen=True, slots=True)
class FormulasView(View):
    """All stages of a kernel, in order."""

    kernel: str
    stages: tuple[FormulaView, ...]
    version: int = SCHEMA_VERSION


def formulas_of(func: t.PrimFunc, lines: tuple[str, ...] = ()) -> tuple[FormulaView, ...]:
    """The stages of a loop function; `lines` is its text, in which they are found."""
    sites = Tree.of(func).leaves
    read_by: dict[str, list[str]] = {}
    for site in sites:
        for region in site.block.reads:
            read_by.setdefault(region.buffer.name, []).append(site.name)
    return tuple(_formula(site, read_by, lines) for site in sites)


def _formula(site: BlockSite, read_by: dict[str, list[str]], lines: tuple[str, ...]) -> FormulaView:
    block: t.Block = site.block
    known = {iterator.var: value for iterator, value in site.bindings if isinstance(value, Var)}
    stores = [part for part in _statements(block.body) if isinstance(part, t.BufferStore)]
    if not stores:
        said = _plain(text(block.body).text.replace("\n", "; "))
        return FormulaView(
            site.name, ", ".join(region.buffer.name for region in block.writes), "", said, "", _tag(block),
            _names(block), (), _line(site.name, lines),
        )  # fmt: skip
    store = stores[-1]
    sign, value = _summed(block, store)
    axes = [iterator for iterator in block.iter_vars if iterator.kind is t.IterKind.REDUCE]
    over = ", ".join(f"{known.get(axis.var, axis.var).name} < {_plain(text(axis.dom.extent).text)}" for axis in axes)
    indices = ", ".join(_shown(index, known) for index in store.indices)
    buffer = store.buffer
    readers = tuple(name for name in read_by.get(buffer.name, ()) if name != site.name)
    shape = " x ".join(_plain(text(extent).text) for extent in buffer.shape)
    return FormulaView(
        name=site.name,
        target=f"{buffer.name}[{indices}]",
        over=f"{sign} {over}" if sign and over else "",
        formula=_shown(value, known),
        shape=f"{shape} {buffer.dtype}".strip(),
        tag=_tag(block),
        reads=tuple(name for name in _names(block) if name != buffer.name),
        read_by=readers,
        line=_line(site.name, lines),
    )


def _statements(body: t.Stmt) -> tuple[t.Stmt, ...]:
    return tuple(body.stmts) if isinstance(body, t.SeqStmt) else (body,)


def _summed(block: t.Block, store: t.BufferStore) -> tuple[str, PrimExpr]:
    """The sign of a reduction and what it goes over: of `C[i] = C[i] + x` the sum and x."""
    value = store.value
    if block.init is None or not isinstance(value, _COMBINING):
        return "", value
    sign = _SIGNS.get(type(value), type(value).__name__.lower())
    sides = (value.a, value.b)
    own = [isinstance(side, t.BufferLoad) and side.buffer is store.buffer for side in sides]
    return (sign, sides[own.index(False)]) if own.count(True) == 1 else ("", value)


def _shown(value: PrimExpr, known: dict[Any, Any]) -> str:
    """An expression over the loops."""
    said = _plain(text(substitute(value, known)).text)
    return said if len(said) <= _LONG else said[: _LONG - 2] + " …"


def _plain(said: str) -> str:
    """Without the marks of the script: numbers without their types, functions without their module."""
    said = re.sub(r"T\.(?:float|int|uint)\d+\(([-+.\deE]+|inf|nan)\)", r"\1", said)
    return re.sub(r"\bT\.", "", said)


def _tag(block: t.Block) -> str:
    return str(block.annotations.get("tag", ""))


def _names(block: t.Block) -> tuple[str, ...]:
    return tuple(dict.fromkeys(region.buffer.name for region in block.reads))


def _line(name: str, lines: tuple[str, ...]) -> int:
    return next((number for number, line in enumerate(lines) if f'T.block("{name}")' in line), -1)
