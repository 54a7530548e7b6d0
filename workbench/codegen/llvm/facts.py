"""Facts of a loop program that the emitter asks for: what a statement writes, whether its vectors are explicit.

facts = Facts(func.body, noalias=True)
id(buffer) in facts.written(loop)
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from ...arith import nodes as n
from ...arith.build import conjuncts
from ...arith.scope import Scope, multiple_of
from ...core.equal import structural_equal
from ...core.node import Node, children, pre_order
from ...core.walks import folded
from ...tir import nodes as t
from .parts import Part, parts_of
from .signs import Signs

MAX_COPIES: Final = 1024
"""Statements that unrolled loops may become; larger ones are left to LLVM."""
MOST_STEPS, MOST_STATEMENTS = 8, 128
"""A small loop of a lean function: its iterations, and the statements that it may become."""
ON_STACK: Final = 4096
"""Elements of a buffer that is on the stack whatever its dtype."""
INTERLEAVED: Final = 8
"""Stores that are so many elements apart LLVM joins to vectors, if others fill the gaps."""
_ADDRESSES: Final = ("address_of", "access_ptr")


class _Size(NamedTuple):
    """How much a statement becomes."""

    copies: int
    loops: bool
    """Whether loops are left when small ones are written out."""


class Facts:
    """Facts of one function, computed when asked for and kept."""

    def __init__(self, body: t.Stmt, noalias: bool) -> None:
        self.noalias = noalias
        """Whether buffers that are parameters do not overlap."""
        self._written: dict[int, frozenset[int]] = {}
        self._touched: dict[int, frozenset[int]] = {}
        self._loads: dict[int, tuple[tuple[t.BufferLoad, bool], ...]] = {}
        self._variables: dict[int, frozenset[int] | None] = {}
        self._multiples: dict[int, int] = {}
        self.signs = Signs(body)
        self._alive: list[n.PrimExpr] = []
        """What is known by its identity; some of it is made while code is emitted."""
        self._sizes: dict[int, _Size] = {}
        self._escapes: set[int] = set()
        self.parts = parts_of(body)
        """What stands in the sequences of a large function; see `parts`."""
        shared = self._in_several_functions(body)
        self._escaped = frozenset(self._escapes)
        """Buffers of which an address is taken: anything may write them."""
        self._addresses = _addresses(body) if self._escapes else Counter[int]()
        """How often the address of each of them is taken."""
        self.shared = self._escaped | shared
        """Buffers that more than one function sees, by identity."""

    def written(self, stmt: t.Stmt) -> frozenset[int] | None:
        """The buffers that a statement may write, by identity; None where buffers may overlap."""
        if not self.noalias:
            return None
        return folded(stmt, _inside, lambda one, inner: _joined(self._written_by(one), inner), self._written)

    def _written_by(self, stmt: t.Stmt) -> frozenset[int]:
        """The buffers that a statement by itself may write; a call that it makes may write those that escaped."""
        if not isinstance(stmt, t.BufferStore):
            return self._escaped
        own = frozenset((id(stmt.buffer),))
        parts = (part for part in children(stmt) if isinstance(part, n.PrimExpr)) if self._escaped else ()
        calls = any(isinstance(node, n.Call) for part in parts for node in pre_order(part))
        return own | self._escaped if calls else own

    def _in_several_functions(self, body: t.Stmt) -> frozenset[int]:
        """Buffers used in a parallel loop or a part, which become functions of their own, but allocated outside."""
        parts = [item.body for items in self.parts.values() for item in items if isinstance(item, Part)]
        part_of = {id(stmt): id(part) for part in parts for stmt in part.stmts}
        homes: dict[int, int] = {}
        found: set[int] = set()
        stack: list[tuple[t.Stmt, int]] = [(body, 0)]
        while stack:
            stmt, home = stack.pop()
            home = part_of.get(id(stmt), home)
            if isinstance(stmt, t.For) and stmt.kind is t.ForKind.PARALLEL:
                home = id(stmt)
            elif isinstance(stmt, t.AllocBuffer):
                homes[id(stmt.buffer)] = home
            used = [id(stmt.buffer)] if isinstance(stmt, t.BufferStore) else []
            for child in children(stmt):
                if isinstance(child, t.Stmt):
                    stack.append((child, home))
                elif isinstance(child, n.PrimExpr):
                    used += [id(load.buffer) for load, _ in self.loads(child)]
            found.update(buffer for buffer in used if homes.get(buffer, 0) != home)
        return frozenset(found)

    def escaped_elsewhere(self, stmt: t.Stmt) -> frozenset[int]:
        """The buffers whose address is taken outside of a statement: who has kept it may write them meanwhile."""
        if not self._addresses:
            return frozenset()
        inside = _addresses(stmt)
        return frozenset(buffer for buffer, count in self._addresses.items() if count > inside[buffer])

    def touched(self, stmt: t.Stmt) -> frozenset[int]:
        """The buffers that a statement reads or writes, by identity."""
        return folded(stmt, _inside, lambda one, inner: _joined(self._touched_by(one), inner), self._touched)

    def _touched_by(self, stmt: t.Stmt) -> frozenset[int]:
        """The buffers that a statement by itself reads or writes."""
        parts = (part for part in children(stmt) if isinstance(part, n.PrimExpr))
        own = frozenset(id(load.buffer) for part in parts for load, _ in self.loads(part))
        return own | {id(stmt.buffer)} if isinstance(stmt, t.BufferStore) else own

    def loads(self, expr: n.PrimExpr) -> tuple[tuple[t.BufferLoad, bool], ...]:
        """The loads in an expression, and whether each stands in an arm of a condition."""
        found = self._loads.get(id(expr))
        if found is None:
            chosen: set[int] = set()
            loads: list[tuple[t.BufferLoad, bool]] = []
            for node in pre_order(expr):
                if isinstance(node, n.Call):
                    access = node.args[0] if node.op in _ADDRESSES else None
                    if node.op == "if_then_else" and id(node) not in chosen:  # else what is in it is chosen already
                        chosen.update(id(inner) for arm in node.args[1:] for inner in pre_order(arm))
                    elif isinstance(access, t.BufferLoad):
                        self._escapes.add(id(access.buffer))
                elif isinstance(node, t.BufferLoad):
                    loads.append((node, id(node) in chosen))
            found = self._loads[id(expr)] = tuple(loads)
            self._alive.append(expr)
        return found

    def variables(self, expr: n.PrimExpr) -> frozenset[int] | None:
        """The variables of an expression, by identity; None if its value depends on more than them."""
        if id(expr) not in self._variables:
            nodes = tuple(pre_order(expr))
            more = any(isinstance(node, (t.BufferLoad, n.Call, n.Let)) for node in nodes)
            held = None if more else frozenset(id(node) for node in nodes if isinstance(node, n.Var))
            self._variables[id(expr)] = held
            self._alive.append(expr)
        return self._variables[id(expr)]

    def multiple(self, index: n.PrimExpr) -> int:
        """A number that divides an index, as `scope.multiple_of` has it."""
        found = self._multiples.get(id(index))
        if found is None:
            found = self._multiples[id(index)] = multiple_of(index)
            self._alive.append(index)
        return found

    def written_out(self, loop: t.For, small: bool) -> range | None:
        """The values of a loop's counter if its body is emitted once for each; None if it stays a loop.

        With `small` also of a small loop that the program leaves a loop: what its iterations share is read once.
        """
        if not (isinstance(loop.min, n.IntImm) and isinstance(loop.extent, n.IntImm)):
            return None
        begin, extent = loop.min.value, loop.extent.value
        serial = loop.kind is t.ForKind.SERIAL
        if not serial and loop.kind is not t.ForKind.UNROLLED:
            return None
        if extent == 1:
            return range(begin, begin + 1)
        if self.copies(loop) <= MAX_COPIES if not serial else small and self._is_small(loop):
            return range(begin, begin + max(0, extent))
        return None

    def copies(self, loop: t.For) -> int:
        """Statements that a loop becomes when it and the unrolled loops in it are written out."""
        return max(1, _extent(loop) or 1) * self._size(loop.body).copies

    def _is_small(self, loop: t.For) -> bool:
        return _small(loop, self._size(loop.body))

    def _size(self, root: t.Stmt) -> _Size:
        return folded(root, _inside, _size_of, self._sizes)


def _size_of(stmt: t.Stmt, inner: list[_Size]) -> _Size:
    """The size of a statement by those of the statements in it."""
    copies, loops = max(1, sum(size.copies for size in inner)), any(size.loops for size in inner)
    if isinstance(stmt, (t.For, t.While)):
        extent = _extent(stmt) if isinstance(stmt, t.For) else None
        unrolls = extent is not None and isinstance(stmt, t.For) and stmt.kind is t.ForKind.UNROLLED
        small = isinstance(stmt, t.For) and _small(stmt, _Size(copies, loops))
        loops = loops or not (unrolls or small)
        copies *= max(1, extent or 1) if unrolls or small else 1
    return _Size(copies, loops)


def _addresses(root: t.Stmt) -> Counter[int]:
    """How often the address of each buffer (by identity) is taken."""
    found = Counter[int]()
    for stmt in pre_order(root, t.Stmt):
        for part in children(stmt):
            if isinstance(part, n.PrimExpr):
                calls = (node for node in pre_order(part) if isinstance(node, n.Call) and node.op in _ADDRESSES)
                found.update(id(load.buffer) for call in calls if isinstance(load := call.args[0], t.BufferLoad))
    return found


def _joined(own: frozenset[int], inner: list[frozenset[int]]) -> frozenset[int]:
    """The union; most statements around one add nothing to it, and hundreds of allocations stand in one another."""
    return inner[0] if len(inner) == 1 and own <= inner[0] else own.union(*inner)


def _small(loop: t.For, body: _Size) -> bool:
    extent = _extent(loop)
    if extent is None or body.loops or loop.annotations:
        return False
    return extent <= MOST_STEPS and extent * body.copies <= MOST_STATEMENTS


def _extent(loop: t.For) -> int | None:
    """The iterations of a serial or unrolled loop, if they are a number."""
    if loop.kind not in (t.ForKind.SERIAL, t.ForKind.UNROLLED) or not isinstance(loop.extent, n.IntImm):
        return None
    return loop.extent.value


def has_explicit_vectors(body: t.Stmt) -> bool:
    """Whether every innermost loop of a function works on vectors, or on scalars of which LLVM could make none.

    Such a function gains nothing from LLVM's loop passes.  One without loops neither.  Parallel loops in it are
    functions of their own.
    """
    own: set[int] = set()
    pending: list[t.Stmt] = [body]
    while pending:
        stmt = pending.pop()
        if isinstance(stmt, t.While):
            return False
        if isinstance(stmt, t.AllocBuffer) and "arena_offset" not in stmt.annotations and _is_short(stmt.buffer):
            own.add(id(stmt.buffer))
        inner = [child for child in children(stmt) if isinstance(child, t.Stmt)]
        if not isinstance(stmt, t.For) or _unrolls(stmt):
            pending.extend(inner)
        elif stmt.kind is not t.ForKind.PARALLEL or stmt is body:
            if not _is_innermost(stmt):
                pending.extend(inner)
            elif not (_has_vector(stmt) or _adds_up(stmt, own) or _scatters(stmt)):
                return False
    return True


def needs_one_pass(body: t.Stmt) -> bool:
    """Whether a function is done after one pass of LLVM: its vectors are explicit, and no loop is to be split.

    A condition that a reduction loop does not change is taken out of it by LLVM (loop unswitching, O3 only).
    """
    loops = [stmt for stmt in pre_order(body, t.Stmt) if isinstance(stmt, t.For) and not _unrolls(stmt)]
    splits = any(_is_innermost(loop) and _has_unswitchable_reduction(loop) for loop in loops)
    return has_explicit_vectors(body) and not splits


def _has_unswitchable_reduction(loop: t.For) -> bool:
    """Whether a reduction stands under a condition that is free of the loop's variables.

    Lets and loads count as unchanged: that costs compile time only.  Conditions of what is only stored do not matter:
    asked once for each vector, they cost little.
    """
    inside = {id(stmt.var) for stmt in pre_order(loop, t.Stmt) if isinstance(stmt, t.For)}
    asked = [stmt for stmt in pre_order(loop.body, t.Stmt) if isinstance(stmt, t.IfThenElse)]
    return any(
        not any(id(node) in inside for node in pre_order(part))
        for stmt in asked if not stmt.condition.dtype.is_vector and any(map(_updates, pre_order(stmt, t.Stmt)))
        for part in conjuncts(stmt.condition)
    )  # fmt: skip


def _updates(stmt: Node) -> bool:
    """Whether a store's value reads the buffer that it writes."""
    return isinstance(stmt, t.BufferStore) and any(
        isinstance(node, t.BufferLoad) and node.buffer is stmt.buffer for node in pre_order(stmt.value)
    )


def _is_innermost(loop: t.For) -> bool:
    return not any(isinstance(stmt, (t.For, t.While)) and not _unrolls(stmt) for stmt in pre_order(loop.body, t.Stmt))


def _unrolls(loop: t.For | t.While) -> bool:
    return isinstance(loop, t.For) and loop.kind is t.ForKind.UNROLLED and isinstance(loop.extent, n.IntImm)


def _has_vector(loop: t.For) -> bool:
    return any(isinstance(stmt, t.BufferStore) and stmt.value.dtype.is_vector for stmt in pre_order(loop.body, t.Stmt))


def _adds_up(loop: t.For, own: set[int]) -> bool:
    """Whether a loop only adds floats to the same places of a buffer of the function's own, in the order written."""
    body = loop.body
    while isinstance(body, t.For) and _unrolls(body):
        body = body.body
    if not isinstance(body, t.BufferStore) or not isinstance(body.value, n.Add) or not body.value.dtype.is_float:
        return False
    total, (index, *_) = body.value.a, (*body.indices, None)
    if id(body.buffer) not in own or not isinstance(total, t.BufferLoad) or total.buffer is not body.buffer:
        return False
    if index is None or any(node is loop.var for node in pre_order(index)):
        return False
    return structural_equal(index, total.indices[0])


def _is_short(buffer: t.Buffer) -> bool:
    """Whether a buffer is surely on the stack, so that its elements can be kept in registers."""
    return all(isinstance(extent, n.IntImm) and extent.value <= ON_STACK for extent in buffer.shape)


def _scatters(loop: t.For) -> bool:
    """Whether a loop with rows that are written out stores their elements too far apart for vectors."""
    stmts = tuple(pre_order(loop.body, t.Stmt))
    stores = [stmt for stmt in stmts if isinstance(stmt, t.BufferStore)]
    if not any(isinstance(stmt, t.For) for stmt in stmts) or any(isinstance(stmt, t.IfThenElse) for stmt in stmts):
        return False
    scope = Scope()
    forms = [form for store in stores if store.indices and (form := scope.form(store.indices[0])) is not None]
    steps = [form.terms.get(scope.atoms.variable_number(loop.var), 0) for form in forms]
    return len(steps) == len(stores) and all(abs(step) > INTERLEAVED for step in steps)


def _inside(stmt: t.Stmt) -> list[t.Stmt]:
    """The statements directly in a statement."""
    return [child for child in children(stmt) if isinstance(child, t.Stmt)]
