"""What the statements of a function read and write, in the order they run in: forms of the loops around each.

    accesses = Accesses(func.body)
    accesses.of(buffer, written=True)         # a list of `Access`
    access.forms                              # the least element, a form for each axis, over the loops' variables

Of a block counts what it declares.  Where there is more in it than stores one after the other, it may write less than
that, and have buffers of its own: the statements in it count as well.  Iterators are replaced by what they
are bound to; forms over them are kept beside, for their domains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from ..arith import build
from ..arith import nodes as n
from ..arith.build import conjuncts
from ..arith.forms import Form
from ..arith.nodes import PrimExpr, Var
from ..arith.scope import Scope, variables_in
from ..core.equal import structural_equal
from ..core.node import substitute
from ..tir import nodes as t
from ..tir.build import point_region
from .tree import BlockSite, has_only_stores, loads_beside, loads_from, statements_in


class Condition(NamedTuple):
    """Something that holds where an access is done."""

    key: Any
    """Equal for conditions that are equal as forms."""
    variables: frozenset[int]
    """The atoms of those in it."""
    limits: tuple[Form, ...]
    """Forms, none above 0, that say the same; none where it is not affine."""
    either: tuple[Condition, ...] = ()
    """Conditions of which one holds, of a disjunction."""


@dataclass(frozen=True)
class Iterator:
    """An iterator of a block: its atom, what it is bound to over the loops, and the ends of its domain."""

    atom: int
    value: Form | None
    begin: Form | None
    last: Form | None


@dataclass(frozen=True, eq=False)
class Access:
    """A region that is read or written, each time that a statement or block runs."""

    buffer: t.Buffer
    order: int
    loops: tuple[t.For, ...]
    conditions: tuple[Condition, ...]
    forms: tuple[Form | None, ...]
    """The least element along each axis, over the loops; None where that is no integer form."""
    reaches: tuple[Form | None, ...]
    """How far it goes beyond."""
    inner: tuple[Form | None, ...]
    """The least element over the iterators of the block."""
    iterators: tuple[Iterator, ...]
    reduced: frozenset[int]
    """The variables that drive a reduction: each of their values goes on with what the one before has left."""
    is_sure: bool
    """Whether all of it is touched, if anything: not what a block declares that may write less."""


class _Frame:
    """A statement that others stand in: what it adds to what is around them is found out when it is asked for."""

    __slots__ = ("branch", "known", "outer", "stmt")

    def __init__(self, stmt: t.Stmt, outer: _Frame | None, branch: str = "") -> None:
        self.stmt, self.outer, self.branch = stmt, outer, branch
        self.known: _Around | None = None


class _Around(NamedTuple):
    """What is around a statement."""

    loops: tuple[t.For, ...] = ()
    conditions: tuple[Condition, ...] = ()
    values: Mapping[Var, PrimExpr] = MappingProxyType({})
    """What iterators and names stand for, over the loops."""
    iterators: tuple[Iterator, ...] = ()
    """Of the innermost block."""


class _Region(NamedTuple):
    """What is read or written, as it stands in the program."""

    region: t.BufferRegion
    order: int
    frame: _Frame | None
    is_sure: bool = True
    own: t.BlockRealize | None = None
    """The reduction that reads what it writes: its own values, if its init has run."""


class Accesses:
    """See the module's header."""

    def __init__(self, body: t.Stmt) -> None:
        self.scope = Scope()
        self.atoms: dict[t.For, int] = {}
        """The atoms of the loops' variables, of those asked about."""
        self.iterators: set[int] = set()
        """The atoms of iterators, of the blocks asked about."""
        self.is_clear = True
        """Whether each variable is that of one loop or block only: else forms say nothing."""
        self._frame: _Frame | None = None
        """Of the block that this is around."""
        self._found: tuple[dict[t.Buffer, list[_Region]], ...] = ({}, {})
        self._made: dict[tuple[t.Buffer, bool], list[Access]] = {}
        order = 0
        stack: list[tuple[Any, _Frame | None]] = [(body, None)]
        while stack:
            stmt, frame = stack.pop()
            order += 1
            inner = _Frame(stmt, frame) if isinstance(stmt, _AROUND) else frame
            self._note(stmt, order, frame, inner)
            stack.extend(reversed(_inside(stmt, frame, inner)))
        self._changing = set(self._found[True])

    def _note(self, stmt: t.Stmt, order: int, frame: _Frame | None, inner: _Frame | None) -> None:
        """Put down what a statement reads and writes, a block with its iterators known."""
        reads, writes = self._found
        for region in loads_beside(stmt):
            reads.setdefault(region.buffer, []).append(_Region(region, order, frame))
        if isinstance(stmt, t.BufferStore):
            point = point_region(stmt.buffer, stmt.indices)
            writes.setdefault(stmt.buffer, []).append(_Region(point, order, frame))
        if isinstance(stmt, t.BlockRealize):
            block, is_sure = stmt.block, has_only_stores(stmt.block)
            for region in block.writes:
                writes.setdefault(region.buffer, []).append(_Region(region, order, inner, is_sure))
            for region in block.reads:
                if block.init is None or not any(_is_same(region, own) for own in block.writes):
                    reads.setdefault(region.buffer, []).append(_Region(region, order, inner))
            for region in block.writes if block.init is not None else ():
                reads.setdefault(region.buffer, []).append(_Region(region, order, inner, own=stmt))

    def of(self, buffer: t.Buffer, written: bool) -> list[Access]:
        """The accesses to a buffer, in the order they stand in.

        A reduction goes on with its own values; it reads what is there before only if its init may not run first.
        """
        key = buffer, written
        if key not in self._made:
            self._made[key] = [
                self._access(found)
                for found in self._found[written].get(buffer, ())
                if found.own is None or not self._initialises_first(found.own, found.frame)
            ]
        return self._made[key]

    @classmethod
    def around(cls, site: BlockSite) -> Accesses:
        """Of what surrounds one block, for `here`; the iterators of the block around it stand still."""
        made = cls(t.Evaluate(build.const(0)))
        made._changing = set(site.written)
        for item in site.scope.iter_vars if site.scope is not None else ():
            made.iterators.add(made._enter(item.var, item.dom.min, item.dom.extent))
        path = (*site.path, site.realize)
        begin = max((at for at, stmt in enumerate(site.path) if isinstance(stmt, t.Block)), default=-1) + 1
        for stmt, inner in zip(path[begin:], (*path[begin + 1 :], None), strict=True):
            if isinstance(stmt, _AROUND):
                is_other = isinstance(stmt, t.IfThenElse) and inner is stmt.else_case
                made._frame = _Frame(stmt, made._frame, "else" if is_other else "while")
        return made

    def here(self, region: t.BufferRegion) -> Access:
        """A region of the block that this is `around`."""
        return self._access(_Region(region, 0, self._frame))

    def _access(self, found: _Region) -> Access:
        around = self._around(found.frame)

        def form(expr: PrimExpr) -> Form | None:
            made = substitute(expr, around.values)
            return self.scope.form(made) if self._is_steady(made) else None

        axes = found.region.region
        reaches = (form(axis.extent) for axis in axes)
        return Access(
            found.region.buffer, found.order, around.loops, around.conditions,
            tuple(form(axis.min) for axis in axes),
            tuple(None if reach is None else reach.shifted(-1) for reach in reaches),
            tuple(self.scope.form(axis.min) if self._is_steady(axis.min) else None for axis in axes),
            *self._of_block(found.frame, around), found.is_sure,
        )  # fmt: skip

    def _of_block(self, frame: _Frame | None, around: _Around) -> tuple[tuple[Iterator, ...], frozenset[int]]:
        """The iterators of the block that accesses something, and what drives its reduction."""
        realize = frame.stmt if frame is not None else None
        if not isinstance(realize, t.BlockRealize):
            return (), frozenset()
        block = realize.block
        driven = frozenset(
            self.scope.atoms.variable_number(var)
            for item in block.iter_vars if block.init is not None and item.kind is t.IterKind.REDUCE
            for var in variables_in(around.values[item.var])
        )  # fmt: skip
        return around.iterators, driven

    def _initialises_first(self, realize: t.BlockRealize, frame: _Frame | None) -> bool:
        """Whether the init of a block runs in the first iteration of the loops that drive its reduction."""
        around, (_, driven) = self._around(frame), self._of_block(frame, self._around(frame))
        starts: dict[Var, PrimExpr] = {}
        for step in around.loops:
            if self.atoms[step] in driven:
                starts[step.var] = substitute(substitute(step.min, around.values), starts)
        for item in realize.block.iter_vars:
            value = around.values[item.var]
            begin = self.scope.linear(substitute(value, starts))
            is_reduced = item.kind is t.IterKind.REDUCE
            if not begin.same_as(self.scope.linear(item.dom.min if is_reduced else value)):
                return False  # another value comes first, or another element
        moving = (one for one in around.conditions if not one.variables.isdisjoint(driven))
        return all(one.limits and all(self._rises(limit, driven) for limit in one.limits) for one in moving)

    def _rises(self, form: Form, own: frozenset[int]) -> bool:
        """Whether a form is shown never to get less as variables of `own` grow."""
        table = self.scope.atoms.table
        return all(
            factor > 0 and (atom in own or ((inner := table[atom].inner) is not None and self._rises(inner, own)))
            for atom, factor in self.scope.parted(form, own)[0].terms.items()
        )

    # --- what is around ---

    def _around(self, frame: _Frame | None) -> _Around:
        waiting: list[_Frame] = []
        known: _Around | None = None
        while frame is not None and (known := frame.known) is None:
            waiting.append(frame)
            frame = frame.outer
        around = known or _Around()
        for inner in reversed(waiting):
            around = inner.known = self._in(inner, around)
        return around

    def _in(self, frame: _Frame, around: _Around) -> _Around:
        """What is around the statements in a frame, by what is around it."""
        stmt = frame.stmt
        if isinstance(stmt, t.For):
            begin, extent = (substitute(bound, around.values) for bound in (stmt.min, stmt.extent))
            self.atoms[stmt] = atom = self._enter(stmt.var, begin, extent)
            values = {**around.values, stmt.var: begin} if self.scope.extents[atom] == 1 else around.values
            return around._replace(loops=(*around.loops, stmt), values=values)
        if isinstance(stmt, t.BlockRealize):
            return self._in_block(stmt, around)
        if isinstance(stmt, t.LetStmt):
            value = substitute(stmt.value, around.values)
            return around._replace(values={**around.values, stmt.var: value})
        if isinstance(stmt, t.IfThenElse):
            condition = n.Not(stmt.condition) if frame.branch == "else" else stmt.condition
            key = frame.branch, id(stmt)
            return around._replace(conditions=(*around.conditions, *self._conditions(condition, around, key)))
        sometimes = Condition((frame.branch, id(stmt)), self._all_of(around.loops), ())
        return around._replace(conditions=(*around.conditions, sometimes))

    def _in_block(self, realize: t.BlockRealize, around: _Around) -> _Around:
        values = dict(around.values)
        iterators: list[Iterator] = []
        for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            atom = self._enter(item.var, item.dom.min, item.dom.extent)
            self.iterators.add(atom)
            values[item.var] = substitute(value, around.values)
            begin, extent = (
                self.scope.form(end) if self._is_steady(end) else None for end in (item.dom.min, item.dom.extent)
            )
            last = begin.plus(extent).shifted(-1) if begin is not None and extent is not None else None
            iterators.append(Iterator(atom, self.scope.form(values[item.var]), begin, last))
        conditions = (*around.conditions, *self._conditions(realize.predicate, around, id(realize)))
        return _Around(around.loops, conditions, values, tuple(iterators))

    def _enter(self, var: Var, begin: PrimExpr, extent: PrimExpr) -> int:
        number = self.scope.atoms.variable_number(var)
        if number in self.scope.extents:
            self.is_clear = False
            return number
        if not (self._is_steady(begin) and self._is_steady(extent)):
            return self.scope.enter_unknown(var)  # other ends in another iteration around
        return self.scope.enter(var, begin, extent)

    def _all_of(self, loops: Sequence[t.For]) -> frozenset[int]:
        """Their variables: what is not known of a condition may be otherwise in each iteration."""
        return frozenset(self.atoms[step] for step in loops)

    def _conditions(self, condition: PrimExpr, around: _Around, where: Any) -> list[Condition]:
        """The conjuncts of a condition; `where` tells apart those whose value changes."""
        found: list[Condition] = []
        for at, part in enumerate(conjuncts(substitute(condition, around.values))):
            if isinstance(part, n.IntImm) and part.value:
                continue
            made = self.scope.result(part)
            if not self._is_steady(part):
                found.append(Condition(("changes", where, at), self._all_of(around.loops), ()))
            elif not (isinstance(made.expr, n.IntImm) and made.expr.value):
                found.append(self._condition(part, made.key))
        return found

    def _condition(self, part: PrimExpr, key: Any) -> Condition:
        variables = frozenset(map(self.scope.atoms.variable_number, variables_in(part)))
        either: list[Condition] = []
        for one in (part.a, part.b) if isinstance(part, n.Or) else ():
            made = self._condition(one, self.scope.result(one).key)
            either += made.either or (made,)
        return Condition(key, variables, tuple(self.scope.limits(part)), tuple(either))

    def _is_steady(self, expr: PrimExpr) -> bool:
        """Whether an expression loads nothing that is stored here: equal ones are one value then."""
        return not loads_from(expr, self._changing)


_AROUND = (t.For, t.BlockRealize, t.LetStmt, t.IfThenElse, t.While)
"""Statements that say something of those in them."""


def _inside(stmt: t.Stmt, frame: _Frame | None, inner: _Frame | None) -> list[tuple[Any, _Frame | None]]:
    """The statements in a statement, with what is around them: `inner`, where nothing else is."""
    if isinstance(stmt, t.BlockRealize):
        if has_only_stores(stmt.block):
            return []
        init = stmt.block.init
        first: list[tuple[Any, _Frame | None]] = [] if init is None else [(init, _Frame(stmt.block, inner, "init"))]
        return [*first, (stmt.block.body, inner)]
    if isinstance(stmt, t.IfThenElse) and stmt.else_case is not None:
        return [(stmt.then_case, inner), (stmt.else_case, _Frame(stmt, frame, "else"))]
    return [(part, inner) for part in statements_in(stmt)]


def _is_same(one: t.BufferRegion, other: t.BufferRegion) -> bool:
    return one.buffer is other.buffer and structural_equal(one, other)
