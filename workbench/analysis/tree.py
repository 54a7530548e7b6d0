"""A function as a tree of loops and blocks, with the way from the root to each.

Invariant: a `Tree` describes one immutable function; loops are found by their variable, blocks by their name, both
unique in a function.  Built in one iterative walk over the statements.

    tree = Tree.of(func)
    tree.blocks["C"].loops      # the loops around block C, outermost first
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from ..arith import build
from ..arith.forms import Form
from ..arith.nodes import IntImm, PrimExpr, Ramp, Var
from ..arith.scope import Scope, are_equal, number_of
from ..core.equal import same, structural_equal
from ..core.errors import WorkbenchError
from ..core.node import Node, children, post_order, pre_order, substitute
from ..core.per_node import per_node
from ..tir import nodes as t
from ..tir.build import point_region


@dataclass(frozen=True, eq=False)
class BlockSite:
    """One block where it stands."""

    realize: t.BlockRealize
    order: int
    """Position in the text: what comes first has the smaller number."""
    path: tuple[t.Stmt, ...]
    """The statements from the function's body down to (without) the realize."""
    facts: dict[Any, Any] = field(default_factory=dict[Any, Any], repr=False)
    """What analyses have found out about the block in this place, by keys of theirs."""
    shared: Scope = field(default_factory=Scope, repr=False)
    """Of the function: ask `forms`, which knows the ranges of what is around the block."""
    written: set[t.Buffer] = field(default_factory=set[t.Buffer], repr=False)
    """The buffers that are written somewhere in the function."""

    @property
    def block(self) -> t.Block:
        return self.realize.block

    @property
    def name(self) -> str:
        return self.realize.block.name

    @cached_property
    def loops(self) -> tuple[t.For, ...]:
        """The loops between the block around this one and this one, outermost first."""
        return innermost_loops(self.path)

    @cached_property
    def scope(self) -> t.Block | None:
        """The block around this one; None for the root."""
        return next((stmt for stmt in reversed(self.path) if isinstance(stmt, t.Block)), None)

    @cached_property
    def reads(self) -> tuple[t.BufferRegion, ...]:
        """What is read here: what the block declares, and what decides where and whether it runs.

        That is loaded by its bindings, their domains, its predicate, and the bounds and conditions around it within its
        scope; its regions are of the loops' variables.  What a reduction reads of its own result, where it writes it,
        counts as written only, declared or not.
        """
        around: list[t.Stmt] = []
        for stmt in reversed(self.path):
            if isinstance(stmt, t.Block):
                break
            around.append(stmt)
        deciding = [region for stmt in (*reversed(around), self.realize) for region in loads_beside(stmt)]
        return (*reads_beside_sums(self.block), *deciding)

    @cached_property
    def used_loops(self) -> tuple[t.For, ...]:
        """The loops around that the block uses itself: its iterators do not say all of what it does."""
        inside = _variables_of(self.block)
        return tuple(stmt for stmt in self.path if isinstance(stmt, t.For) and stmt.var in inside)

    @property
    def held(self) -> tuple[Var, ...]:
        """The iterators of the block around this one, which stand still here."""
        return tuple(item.var for item in self.scope.iter_vars) if self.scope is not None else ()

    @cached_property
    def forms(self) -> Scope:
        """Forms of indices, comparable throughout the function, over the loops and iterators around the block and its
        own."""
        return entered(self.shared, (*self.path, self.block), self.written)

    @cached_property
    def atoms(self) -> frozenset[int]:
        """The atoms of the loops around the block."""
        return self.forms.numbers(loop.var for loop in self.loops)

    @cached_property
    def iterators(self) -> frozenset[int]:
        """The atoms of the block's own iterators."""
        return self.forms.numbers(item.var for item in self.block.iter_vars)

    @cached_property
    def values(self) -> dict[Var, PrimExpr]:
        """What the block's iterators are bound to."""
        return {item.var: value for item, value in self.bindings}

    def over_loops(self, expr: PrimExpr) -> Form:
        """The form of an index over the block's iterators, in their domains, by what these are bound to."""
        if isinstance(expr, Var):
            return self.forms.linear(self.values.get(expr, expr))
        return self.forms.linear(substitute(self.forms.simplify(expr), self.values))

    def is_held(self, form: Form) -> bool:
        """Whether a form has no variables but the iterators of the block around this one."""
        return self.forms.variables_of(form) <= self.forms.numbers(self.held)

    def changes(self, form: Form) -> bool:
        """Whether a form holds a value that is loaded from what the function writes: another one each time, perhaps."""
        table, waiting = self.forms.atoms.table, [*form.terms]
        while waiting:
            atom = table[waiting.pop()]
            if atom.expr is not None and loads_from(atom.expr, self.written):
                return True
            waiting += [*atom.factors, *(atom.inner.terms if atom.inner is not None else ())]
        return False

    @property
    def bindings(self) -> tuple[tuple[t.IterVar, PrimExpr], ...]:
        return tuple(zip(self.block.iter_vars, self.realize.iter_values, strict=True))


@dataclass(frozen=True, eq=False)
class LoopSite:
    """One loop where it stands."""

    loop: t.For
    order: int
    path: tuple[t.Stmt, ...]
    shared: Scope = field(default_factory=Scope, repr=False)
    written: set[t.Buffer] = field(default_factory=set[t.Buffer], repr=False)

    @cached_property
    def forms(self) -> Scope:
        """As `BlockSite.forms`, of what is around the loop and of its own variable."""
        return entered(self.shared, (*self.path, self.loop), self.written)


@dataclass(eq=False)
class Tree:
    """See the module's header."""

    func: t.PrimFunc
    blocks: dict[str, BlockSite] = field(default_factory=dict[str, BlockSite])
    loops: dict[int, LoopSite] = field(default_factory=dict[int, LoopSite])
    """By the identity of the loop's variable."""
    facts: dict[Any, Any] = field(default_factory=dict[Any, Any], repr=False)
    """What analyses have found out about the function, by keys of theirs."""
    forms: Scope = field(default_factory=Scope, repr=False)
    """Forms of indices: of what is around a block or loop, ask `BlockSite.forms`, `LoopSite.forms`."""
    iterators: dict[int, BlockSite] = field(default_factory=dict[int, BlockSite], repr=False)
    """The blocks, by the identity of their iterators' variables."""
    written: set[t.Buffer] = field(default_factory=set[t.Buffer], repr=False)
    """The buffers that are written somewhere in the function."""
    taken: set[str] = field(default_factory=set[str], repr=False)
    """Names in use around the function, where it is a part of another."""

    @classmethod
    def of(cls, func: t.PrimFunc) -> Tree:
        """Raises `WorkbenchError` if two blocks share a name or an iterator, or two loops a variable."""
        tree = cls(func)
        counter = 0
        stack: list[tuple[t.Stmt, tuple[t.Stmt, ...]]] = [(func.body, ())]
        while stack:
            stmt, path = stack.pop()
            counter += 1
            if isinstance(stmt, t.BlockRealize):
                tree._add_block(BlockSite(stmt, counter, path, shared=tree.forms, written=tree.written))
                stack.append((stmt.block, (*path, stmt)))
                continue
            if isinstance(stmt, t.BufferStore):
                tree.written.add(stmt.buffer)
            if isinstance(stmt, t.For):
                tree._add_loop(LoopSite(stmt, counter, path, tree.forms, tree.written))
            inner = (*path, stmt)
            stack.extend((child, inner) for child in reversed(statements_in(stmt)))
        return tree

    def _add_block(self, site: BlockSite) -> None:
        if site.name in self.blocks:
            raise WorkbenchError(
                "E-TIR-BLOCK-NAME",
                f"two blocks are named {site.name!r}",
                nodes=(self.blocks[site.name].block, site.block),
            )
        self.blocks[site.name] = site
        self.written.update(region.buffer for region in site.block.writes)
        for item in site.block.iter_vars:
            other = self.iterators.setdefault(id(item.var), site)
            if other is not site:
                raise WorkbenchError(
                    "E-TIR-LOOP-VAR",
                    f"the blocks {other.name!r} and {site.name!r} share the iterator {item.var.name!r}",
                    nodes=(site.block,),
                )

    def _add_loop(self, site: LoopSite) -> None:
        if id(site.loop.var) in self.loops:
            raise WorkbenchError(
                "E-TIR-LOOP-VAR", f"two loops share the variable {site.loop.var.name!r}", nodes=(site.loop,)
            )
        self.loops[id(site.loop.var)] = site

    @cached_property
    def root(self) -> t.Block:
        """The block around everything.  Raises `WorkbenchError` for a function that is not in block form."""
        body = self.func.body
        if not isinstance(body, t.BlockRealize):
            raise WorkbenchError(
                "E-SCHEDULE-FORM",
                "the function is not in block form",
                found=f"its body is a {type(body).__name__}",
                expected="a root block around loops and blocks",
                fix="schedule the function before it is lowered",
            )
        return body.block

    @cached_property
    def leaves(self) -> tuple[BlockSite, ...]:
        """The blocks directly under the root, in the order of the text: the units that schedules move.

        A block made by blockize is one of them; what stands inside it is its own affair.
        """
        outermost = self.func.body.block if isinstance(self.func.body, t.BlockRealize) else None
        return tuple(
            site
            for site in self.blocks.values()
            if site.block is not outermost and (site.scope is None or site.scope is outermost)
        )

    def under(self, stmt: t.Stmt) -> tuple[BlockSite, ...]:
        """The outermost blocks inside a statement of the tree."""
        return tuple(site for site in self.blocks.values() if _directly_under(site, stmt))

    def inside(self, site: BlockSite) -> tuple[BlockSite, ...]:
        """The blocks that stand directly in a block."""
        return tuple(other for other in self.blocks.values() if other.scope is site.block)

    def writers(self, buffer: t.Buffer) -> tuple[BlockSite, ...]:
        """The leaf blocks that write a buffer."""
        return tuple(site for site in self.leaves if any(region.buffer is buffer for region in site.block.writes))

    def readers(self, buffer: t.Buffer) -> tuple[BlockSite, ...]:
        """The leaf blocks that read a buffer (a reduction block reads what it writes only if it says so)."""
        return tuple(site for site in self.leaves if any(region.buffer is buffer for region in site.reads))

    def accessing(self, buffer: t.Buffer) -> tuple[BlockSite, ...]:
        return tuple(
            site
            for site in self.leaves
            if any(region.buffer is buffer for region in (*site.reads, *site.block.writes))
        )

    @cached_property
    def loose(self) -> frozenset[int]:
        """The buffers (by identity) that statements outside the leaf blocks touch, or the loops around these."""
        found: set[int] = set()
        stack: list[tuple[t.Stmt, tuple[t.Stmt, ...]]] = [(self.root.body, ())]
        while stack:
            stmt, path = stack.pop()
            if isinstance(stmt, t.BlockRealize):
                continue
            inner = statements_in(stmt)
            stack.extend((child, (*path, stmt)) for child in inner)
            if not inner:
                found.update(id(node.buffer) for node in nodes_under(stmt) if isinstance(node, _ACCESSES))
                found.update(id(region.buffer) for around in path for region in loads_beside(around))
        return frozenset(found)

    def names(self) -> set[str]:
        """Names in use: of blocks, loop variables, block iterators and buffers; and those `taken` besides."""
        found = set(self.blocks) | self.taken
        nests: list[t.For] = []
        seen: set[int] = set()
        stack: list[Node] = [self.func]
        while stack:
            current = stack.pop()
            if id(current) in seen:
                continue
            seen.add(id(current))
            if isinstance(current, t.For):
                nests.append(current)
                continue
            if isinstance(current, (Var, t.Buffer)):
                found.add(current.name)
            stack.extend(children(current))
        return found.union(*map(_names_in, nests))


@per_node
def _names_in(part: t.For | t.BlockRealize) -> frozenset[str]:
    """The names in a nest of loops, or in a block: most of a function's outlive a change of one."""
    found: set[str] = set()
    seen: set[int] = set()
    stack = [*children(part)]
    while stack:
        current = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, t.BlockRealize):
            found |= _names_in(current)
            continue
        if isinstance(current, (Var, t.Buffer)):
            found.add(current.name)
        stack.extend(children(current))
    return frozenset(found)


_ACCESSES = (t.BufferLoad, t.BufferStore)


@per_node
def loads_beside(stmt: t.Stmt) -> tuple[t.BufferRegion, ...]:
    """The elements that a statement loads itself, apart from the statements in it: bounds, conditions, bindings, and
    the domains that these are of."""
    found: list[t.BufferRegion] = []
    domains = stmt.block.iter_vars if isinstance(stmt, t.BlockRealize) else ()
    for part in (*children(stmt), *domains):
        if not isinstance(part, (t.Stmt, t.Buffer, Var, IntImm)):
            found += [
                point_region(node.buffer, node.indices) for node in post_order(part) if isinstance(node, t.BufferLoad)
            ]
    return tuple(found)


def loads_from(expr: Node, buffers: Collection[t.Buffer]) -> bool:
    """Whether an expression loads from some of these buffers."""
    return not isinstance(expr, (Var, IntImm)) and any(
        isinstance(node, t.BufferLoad) and node.buffer in buffers for node in pre_order(expr)
    )


def _directly_under(site: BlockSite, stmt: t.Stmt) -> bool:
    if site.realize is stmt:
        return True
    for part in reversed(site.path):
        if part is stmt:
            return True
        if isinstance(part, t.Block):
            return False
    return False


def statements_in(stmt: Node) -> list[t.Stmt]:
    """The statements directly inside a statement, in order; an `init` comes before its body."""
    if isinstance(stmt, t.For):
        return [stmt.body]
    if isinstance(stmt, t.SeqStmt):
        return list(stmt.stmts)
    if isinstance(stmt, t.BlockRealize):
        return [stmt.block]
    if isinstance(stmt, t.Block):
        return [part for part in (stmt.init, stmt.body) if part is not None]
    if isinstance(stmt, t.IfThenElse):
        return [part for part in (stmt.then_case, stmt.else_case) if part is not None]
    if isinstance(stmt, (t.While, t.LetStmt, t.AllocBuffer)):
        return [stmt.body]
    return []


@per_node
def has_only_stores(block: t.Block) -> bool:
    """Whether a block is stores one after the other, of all that it declares to write, and nothing else."""
    parts = [part for part in (block.init, block.body) if part is not None]
    stmts = [*pre_order(parts, t.Stmt)]
    stores = [stmt for stmt in stmts if isinstance(stmt, t.BufferStore)]
    return (
        not block.alloc_buffers
        and all(isinstance(stmt, (t.SeqStmt, t.LetStmt, t.BufferStore)) for stmt in stmts)
        and all(_is_stored(region, stores) for region in block.writes)
    )


_MOST_STORES = 64
"""The elements of a region that are looked for among a block's stores one by one."""


def _is_stored(region: t.BufferRegion, stores: Sequence[t.BufferStore]) -> bool:
    """Whether one store is of all of a region, or there is one of each of its elements."""
    own = [store for store in stores if store.buffer is region.buffer]
    if any(_is_of(region.region, store) for store in own):
        return True
    lengths = [number_of(axis.extent) or 0 for axis in region.region]
    if not 1 < prod(lengths) <= min(_MOST_STORES, len(own)):
        return False
    one = build.const(1)
    begins = zip((axis.min for axis in region.region), lengths, strict=True)
    each = ([t.Range(build.add(begin, at), one) for at in range(length)] for begin, length in begins)
    return all(any(_is_of(point, store) for store in own) for point in product(*each))


def _is_of(region: Sequence[t.Range], store: t.BufferStore) -> bool:
    """Whether a store is of all of a box."""
    for axis, index in zip(region, store.indices, strict=True):
        first, count = index, 1
        if isinstance(index, Ramp):
            first, count = index.base, index.lanes if number_of(index.stride) == 1 else 0
        if number_of(axis.extent) != count or not (same(axis.min, first) or are_equal(axis.min, first)):
            return False
    return True


@per_node
def _variables_of(block: t.Block) -> frozenset[Var]:
    """Those in what a block does, not in its iterators' domains."""
    parts = [block.body, *block.reads, *block.writes, *(() if block.init is None else (block.init,))]
    return frozenset(node for node in pre_order(parts) if isinstance(node, Var))


def reads_beside_sums(block: t.Block) -> tuple[t.BufferRegion, ...]:
    """What a block declares to read, but for what a reduction reads of its own result, where it writes it."""
    if block.init is None:
        return block.reads
    own = {id(region.buffer): region for region in block.writes}
    return tuple(
        region for region in block.reads
        if id(region.buffer) not in own or not structural_equal(region, own[id(region.buffer)])
    )  # fmt: skip


def innermost_loops(path: Sequence[t.Stmt]) -> tuple[t.For, ...]:
    """The loops at the end of a path, inside of the last block on it."""
    begin = max((at for at, stmt in enumerate(path) if isinstance(stmt, t.Block)), default=-1) + 1
    return tuple(stmt for stmt in path[begin:] if isinstance(stmt, t.For))


def loops_nested(stmt: t.Stmt) -> tuple[list[t.For], t.Stmt]:
    """The loops that stand directly in one another, from a statement on, and what is inside."""
    chain: list[t.For] = []
    while isinstance(stmt, t.For):
        chain.append(stmt)
        stmt = stmt.body
    return chain, stmt


def loops_around(root: t.Stmt) -> Iterator[tuple[t.Stmt, tuple[t.For, ...]]]:
    """The statements under `root`, itself first, each with the loops around it, in the order of the text."""
    stack: list[tuple[t.Stmt, tuple[t.For, ...]]] = [(root, ())]
    while stack:
        stmt, loops = stack.pop()
        yield stmt, loops
        inner = (*loops, stmt) if isinstance(stmt, t.For) else loops
        stack.extend((part, inner) for part in reversed(statements_in(stmt)))


def domains_of(block: t.Block) -> Scope:
    """A scope that knows a block's iterators, in their domains."""
    scope = Scope()
    for item in block.iter_vars:
        scope.enter(item.var, item.dom.min, item.dom.extent)
    return scope


def entered(scope: Scope, path: Iterable[t.Stmt], written: Collection[t.Buffer] = ()) -> Scope:
    """A scope that knows the ranges of the loops and of the blocks' iterators on a path, from the outside in.

    Of ranges that are loaded from buffers that are `written` it knows nothing: they change.
    """
    for stmt in path:
        ranges = [(stmt.var, stmt.min, stmt.extent)] if isinstance(stmt, t.For) else []
        if isinstance(stmt, t.Block):
            ranges = [(item.var, item.dom.min, item.dom.extent) for item in stmt.iter_vars]
        for var, begin, extent in ranges:
            if loads_from(begin, written) or loads_from(extent, written):
                scope.enter_unknown(var)
            else:
                scope.enter(var, begin, extent)
    return scope


def extent_of(loop: t.For) -> int | None:
    """A loop's extent if it is a constant."""
    return number_of(loop.extent)


def nodes_under(stmt: Node) -> Iterator[Node]:
    return post_order(stmt)
