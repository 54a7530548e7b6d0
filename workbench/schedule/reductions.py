"""Recognising reductions: what a block combines, with which operator and which neutral element.

    te:    C = sum(A[i, k], axis=k)                                   M = argmax((k, A[i, k]), axis=k)
    block: C[vi] = C[vi] + A[vi, vk]                                  M0_value = select(M1[vi] >= A[...], M0[vi], vk)
                                                                      M1_value = ...; M0[vi] = M0_value; M1[vi] = ...

`reduction_of(block)` recovers the combiner from init and body, over fresh variables `lhs` (what is held) and `rhs`
(what is added).  Sums, products, minima, maxima, any and all are known to be associative and commutative (sums up to
rounding).  Every other combiner is evaluated on all triples of a small grid of values (`flaws`): a polynomial of low
degree or a choice by comparisons is decided by them, and a counterexample is what a refusal shows.

Invariant: nothing is answered for a block whose body does more than combine, or reads its own result elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..analysis.regions import accesses
from ..arith import build
from ..arith import nodes as a
from ..arith.nodes import PrimExpr, Var
from ..arith.scope import variables_in
from ..core.dtype import DataType
from ..core.equal import same
from ..core.node import Node, children, post_order, pre_order, rewrite, substitute
from ..tir import nodes as t
from .combining import Flaws, flaws_of

_OPERATORS: dict[type, str] = {
    a.Add: "sum", a.Mul: "product", a.Min: "minimum", a.Max: "maximum", a.Or: "any", a.And: "all",
}  # fmt: skip
_ROUNDING = (a.Add, a.Sub, a.Mul, a.Div)
_LIMIT = 4
"""The most values that are reduced together in a combiner of one's own."""


@dataclass(frozen=True, eq=False)
class Reduction:
    """What a block combines: ``held = combine(held, source)`` at `indices` of each of `buffers`."""

    name: str
    """ "sum", "product", "minimum", "maximum", "any", "all", several joined by ", ", or "combiner"."""
    buffers: tuple[t.Buffer, ...]
    indices: tuple[PrimExpr, ...]
    lhs: tuple[Var, ...]
    rhs: tuple[Var, ...]
    result: tuple[PrimExpr, ...]
    """Over `lhs` and `rhs`, one expression a buffer."""
    source: tuple[PrimExpr, ...]
    identity: tuple[PrimExpr, ...]
    """The neutral element: ``combine(identity, x)`` is x."""
    flaws: Flaws

    def rounds(self, buffer: t.Buffer) -> bool:
        """Whether another order may change a value by rounding: floats that are computed with, not only compared."""
        if not buffer.dtype.is_float:
            return False
        at = next(number for number, own in enumerate(self.buffers) if own is buffer)
        return any(isinstance(node, _ROUNDING) and node.dtype.is_float for node in post_order(self.result[at]))

    def combined(self, held: Sequence[PrimExpr], added: Sequence[PrimExpr]) -> list[PrimExpr]:
        """The combination of two tuples of values."""
        known: dict[Var, PrimExpr] = dict(zip(self.lhs, held, strict=True))
        known.update(zip(self.rhs, added, strict=True))
        return [substitute(value, known) for value in self.result]


def reduction_operator(block: t.Block) -> str | None:
    """The name of a block's reduction if it may be done in any order (sums up to rounding); else None."""
    found = reduction_of(block)
    if found is None or found.flaws.associative or found.flaws.commutative:
        return None
    return found.name


@lru_cache(maxsize=512)
def reduction_of(block: t.Block) -> Reduction | None:
    """The reduction that a block computes, or None; see the module's header.

    A block without an init (decomposed) has one too, when its neutral element is known from the operator.
    """
    if not any(iter_var.kind is t.IterKind.REDUCE for iter_var in block.iter_vars):
        return None
    stores = _stores(block.body)
    if stores is None:
        return None
    indices = stores[0].indices
    buffers = tuple(store.buffer for store in stores)
    if not all(same(store.indices, indices) for store in stores) or len(set(map(id, buffers))) != len(buffers):
        return None
    if _mentions_reduction(block, indices) or any(_loads(index, buffers) for index in indices):
        return None
    lhs = tuple(Var(f"x{number}", buffer.dtype) for number, buffer in enumerate(buffers))
    values = [_over(store.value, buffers, indices, lhs) for store in stores]
    known = [value for value in values if value is not None]
    if len(known) != len(values):
        return None
    initial = _initial(block.init, buffers, indices)
    plain = _componentwise(buffers, indices, lhs, known, initial)
    return plain if plain is not None else _general(buffers, indices, lhs, known, initial)


def _stores(body: t.Stmt) -> list[t.BufferStore] | None:
    """The stores of a body, their values with lets put in; None if it is of another form."""
    conditions: list[PrimExpr] = []
    held: dict[Var, PrimExpr] = {}
    while isinstance(body, (t.IfThenElse, t.LetStmt)):
        if isinstance(body, t.IfThenElse):
            if body.else_case is not None or held:
                return None
            conditions.append(body.condition)
            body = body.then_case
        else:
            held[body.var] = substitute(body.value, held)
            body = body.body
    parts = body.stmts if isinstance(body, t.SeqStmt) else (body,)
    stores = [part for part in parts if isinstance(part, t.BufferStore)]
    if len(stores) != len(parts):
        return None
    buffers = [store.buffer for store in stores]
    if any(_loads(condition, buffers) for condition in conditions):
        return None
    # A later store must not read what an earlier one has changed: lets hold the old values.
    for number, store in enumerate(stores):
        if _loads(store.value, buffers[:number]):
            return None
    return [store.replace(value=substitute(store.value, held)) for store in stores]


def _over(
    value: PrimExpr, buffers: Sequence[t.Buffer], indices: tuple[PrimExpr, ...], lhs: Sequence[Var]
) -> PrimExpr | None:
    """`value` with the own elements as variables; None if it reads other elements of the own buffers."""
    by_buffer = {id(buffer): var for buffer, var in zip(buffers, lhs, strict=True)}

    def post(node: Node) -> Node | None:
        if isinstance(node, t.BufferLoad) and id(node.buffer) in by_buffer and same(node.indices, indices):
            return by_buffer[id(node.buffer)]
        return None

    made: PrimExpr = rewrite(value, post)
    return None if _loads(made, buffers) else made


def _initial(
    init: t.Stmt | None, buffers: Sequence[t.Buffer], indices: tuple[PrimExpr, ...]
) -> tuple[PrimExpr, ...] | None:
    """What an init stores into each buffer, in order; None if there is none or it is of another form."""
    if init is None:
        return None
    found: dict[int, PrimExpr] = {}
    for part in init.stmts if isinstance(init, t.SeqStmt) else (init,):
        if not isinstance(part, t.BufferStore) or not same(part.indices, indices) or id(part.buffer) in found:
            return None
        found[id(part.buffer)] = part.value
    if set(found) != {id(buffer) for buffer in buffers}:
        return None
    return tuple(found[id(buffer)] for buffer in buffers)


# --- known operators ----------------------------------------------------------------------------------------------


def _componentwise(
    buffers: tuple[t.Buffer, ...],
    indices: tuple[PrimExpr, ...],
    lhs: tuple[Var, ...],
    values: Sequence[PrimExpr],
    initial: tuple[PrimExpr, ...] | None,
) -> Reduction | None:
    """A reduction in which each value is combined for itself, by a known operator."""
    names: list[str] = []
    source: list[PrimExpr] = []
    result: list[PrimExpr] = []
    identity: list[PrimExpr] = []
    rhs = tuple(Var(f"y{number}", var.dtype) for number, var in enumerate(lhs))
    for number, (var, value) in enumerate(zip(lhs, values, strict=True)):
        operator = _OPERATORS.get(type(value))
        if operator is None or not isinstance(value, a.BinaryExpr):
            return None
        own_first = value.a is var
        added = value.b if own_first else value.a
        if not (own_first or value.b is var) or _mentions(added, lhs):
            return None
        names.append(operator)
        source.append(added)
        pair = (var, rhs[number]) if own_first else (rhs[number], var)
        result.append(value.replace(a=pair[0], b=pair[1]))
        neutral = _NEUTRAL[operator](var.dtype)
        given = None if initial is None else initial[number]
        identity.append(given if given is not None and same(given, neutral) else neutral)
    name = names[0] if len(set(names)) == 1 else ", ".join(names)
    return Reduction(name, buffers, indices, lhs, rhs, tuple(result), tuple(source), tuple(identity), Flaws())


def _least(dtype: DataType) -> PrimExpr:
    return build.const(float("-inf") if dtype.is_float else dtype.limits()[0], dtype)


def _greatest(dtype: DataType) -> PrimExpr:
    return build.const(float("inf") if dtype.is_float else dtype.limits()[1], dtype)


_NEUTRAL = {
    "sum": lambda dtype: build.const(0, dtype),
    "product": lambda dtype: build.const(1, dtype),
    "minimum": _greatest,
    "maximum": _least,
    "any": lambda dtype: build.const(False),
    "all": lambda dtype: build.const(True),
}


# --- combiners of one's own ---------------------------------------------------------------------------------------


def _general(
    buffers: tuple[t.Buffer, ...],
    indices: tuple[PrimExpr, ...],
    lhs: tuple[Var, ...],
    values: Sequence[PrimExpr],
    initial: tuple[PrimExpr, ...] | None,
) -> Reduction | None:
    """A reduction by a combiner that is not in the table: its sources are what does not speak of the held values."""
    if initial is None or len(lhs) > _LIMIT or any(_has_loads(value) for value in initial):
        return None
    sources = _sources(values, lhs)
    if len(sources) > len(lhs) or not sources:
        return None
    best: Reduction | None = None
    for places in itertools.permutations(range(len(lhs)), len(sources)):
        if any(lhs[place].dtype != item.dtype for place, item in zip(places, sources, strict=True)):
            continue
        rhs = tuple(Var(f"y{number}", var.dtype) for number, var in enumerate(lhs))
        at = dict(zip(places, sources, strict=True))
        if len(at) != len(lhs):
            return None
        named = [(at[number], rhs[number]) for number in range(len(lhs))]
        result = tuple(_naming(value, named, lhs) for value in values)
        found = flaws_of(lhs, rhs, result, initial)
        if found is None:
            return None
        source = tuple(at[number] for number in range(len(lhs)))
        made = Reduction("combiner", buffers, indices, lhs, rhs, result, source, initial, found)
        if not found.neutral:
            return made
        best = best or made
    return best


def _sources(values: Iterable[PrimExpr], lhs: Sequence[Var]) -> list[PrimExpr]:
    """The largest parts that do not speak of the held values and are not constant, each once."""
    held = {id(var) for var in lhs}
    speaks = _speaking(values, held)
    found: list[PrimExpr] = []
    for value in values:
        stack: list[PrimExpr] = [value]
        while stack:
            current = stack.pop()
            if id(current) not in speaks:
                if _is_varying(current) and not any(same(current, other) for other in found):
                    found.append(current)
                continue
            stack.extend(child for child in children(current) if isinstance(child, PrimExpr))
    return found


def _speaking(values: Iterable[PrimExpr], held: set[int]) -> set[int]:
    """The parts (identities) in which a held value stands."""
    found: set[int] = set()
    for node in (node for node in post_order(values) if isinstance(node, PrimExpr)):
        if id(node) in held or any(id(part) in found for part in children(node)):
            found.add(id(node))
    return found


def _naming(value: PrimExpr, named: Sequence[tuple[PrimExpr, Var]], lhs: Sequence[Var]) -> PrimExpr:
    """`value` with each source as its variable, from the top down."""
    held = {id(var) for var in lhs}
    speaks = _speaking([value], held)

    def stop(node: Node) -> Node | None:
        if not isinstance(node, PrimExpr) or id(node) in speaks:
            return None
        return next((var for part, var in named if same(part, node)), None)

    return rewrite(value, lambda node: None, stop)


def _is_varying(expr: PrimExpr) -> bool:
    return any(isinstance(node, (Var, t.BufferLoad)) for node in pre_order(expr))


# --- small questions ----------------------------------------------------------------------------------------------


def _mentions(expr: PrimExpr, variables: Iterable[Var]) -> bool:
    wanted = {id(var) for var in variables}
    return any(id(var) in wanted for var in variables_in(expr))


def _mentions_reduction(block: t.Block, indices: tuple[PrimExpr, ...]) -> bool:
    reduced = [item.var for item in block.iter_vars if item.kind is t.IterKind.REDUCE]
    return any(_mentions(index, reduced) for index in indices)


def _loads(expr: PrimExpr, buffers: Iterable[t.Buffer]) -> bool:
    own = {id(buffer) for buffer in buffers}
    return any(id(access.buffer) in own for access in accesses(expr))


def _has_loads(expr: PrimExpr) -> bool:
    return bool(accesses(expr))


def renamed_elements(stmt: t.Stmt, changes: Mapping[int, tuple[t.Buffer, int, PrimExpr]]) -> t.Stmt:
    """`stmt` with each access to a buffer (by identity) made one to another, with an index put in at a position."""

    def post(node: Node) -> Node | None:
        if not isinstance(node, (t.BufferLoad, t.BufferStore)) or id(node.buffer) not in changes:
            return None
        buffer, position, index = changes[id(node.buffer)]
        where = (*node.indices[:position], index, *node.indices[position:])
        return node.replace(buffer=buffer, indices=where)

    return rewrite(stmt, post, lambda node: node if isinstance(node, t.Buffer) else None)
