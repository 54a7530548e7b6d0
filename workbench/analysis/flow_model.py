"""A function as isl sees it for value flow: what each block reads and writes when, over its loops and its iterators.

Tuples: ``W_b[loops]`` an execution of block b that overwrites, ``U_b`` one that updates a reduction, ``I_b`` its
initialisation, ``R_b`` its reads; ``S_b[iterators]`` an instance, ``J_b[iterators]`` an initialised one;
``B_m[indices]`` an element of buffer m; ``E_m[indices]`` what is left in it at the end.

Invariant: the model is exact.  `NotAffine` says what stands in the way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..arith import nodes as a
from ..arith.intrinsics import is_pure
from ..core.node import post_order
from ..tir import nodes as t
from .dependence import conditions_of, is_plain, library, site_writer
from .isl_text import NotAffine, Writer, bounds, relation, tuple_of
from .reduction_loops import adds_once
from .tree import BlockSite, Tree

_KINDS = ("sinks", "own", "writes", "updates", "schedule", "instances", "readers")


@dataclass(frozen=True)
class Moved:
    """What a buffer holds at `held_at` is the element of `buffer` at `indices`, for all values of some iterators."""

    buffer: t.Buffer
    iter_vars: tuple[t.IterVar, ...]
    indices: tuple[a.PrimExpr, ...]
    held_at: tuple[a.PrimExpr, ...]

    def relation(self, holder: str) -> Any:
        """{ element of the holder -> element of `buffer` }.  Raises `NotAffine`."""
        writer = Writer({id(item.var): f"v{number}" for number, item in enumerate(self.iter_vars)})
        inside = bounds(writer, "v", [item.dom for item in self.iter_vars])
        ends = (holder, self.held_at), (buffer_name(self.buffer), self.indices)
        bodies = [f"{name}[{', '.join(writer.expr(index) for index in at)}]" for name, at in ends]
        point = f"V[{tuple_of('v', len(self.iter_vars))}]"
        here, there = (_union_map(relation(writer, f"{point} -> {body}", inside)) for body in bodies)
        return here.reverse().apply_range(there)


_Touched = tuple[Writer, str, str, list[str], list[str]]
"""An access: the execution and the buffer as tuples, where it reaches, and what says that this is in the buffer."""
Alias = t.Buffer | Moved
"""Where the values of a buffer come from: the same elements of another one, or others of it."""


@dataclass
class Model:
    """Union maps of a function; see the module's header."""

    sinks: Any
    own: Any
    """What reductions without an initialisation of their own read of their results."""
    writes: Any
    updates: Any
    schedule: Any
    instances: Any
    """{ execution -> instance }."""
    readers: Any
    """The same for executions that read."""
    runs: Any
    """The instances that run, and the ends."""
    elements: Any
    names: dict[str, str]
    """Blocks and buffers by the names of tuples."""
    buffers: dict[int, tuple[str, int]]
    """Tuple and rank of buffers, by identity."""
    touched: list[_Touched]

    def outside(self) -> Any:
        """{ execution -> element that it touches beyond the ends of the buffer }."""
        found = library().UnionMap("{ }")
        for writer, name, element, within, inside in self.touched:
            beyond = " or ".join(f"not ({condition})" for condition in inside)
            body = f"{name} -> {element}[{tuple_of('e', len(inside))}]"
            if inside:
                found = found.union(_union_map(relation(writer, body, [*within, f"({beyond})"])))
        return found

    def instances_of(self, blocks: Collection[str]) -> Any:
        """The instances of some blocks."""
        isl = library()
        wanted = {tuple_name("S", block) for block in blocks} | {tuple_name("J", block) for block in blocks}
        found = isl.UnionSet("{ }")
        for part in sets_of(self.runs):
            if part.get_tuple_name() in wanted:
                found = found.union(isl.UnionSet.from_set(part))
        return found

    def elements_of(self, buffer: t.Buffer) -> Any:
        """All elements of a buffer."""
        name, rank = self.buffers[id(buffer)]
        return library().UnionSet(f"{{ {name}[{tuple_of('e', rank)}] }}")

    def renaming(self, aliases: Mapping[int, Alias]) -> Any:
        """{ element -> element }: those of `aliases` become those of the buffers that they stand for."""
        isl = library()
        made = self.elements.identity()
        for identity, other in aliases.items():
            name, rank = self.buffers[identity]
            at = tuple_of("e", rank)
            made = made.subtract_domain(isl.UnionSet(f"{{ {name}[{at}] }}"))
            if isinstance(other, Moved):
                made = made.union(other.relation(name))
            else:
                made = made.union(isl.UnionMap(f"{{ {name}[{at}] -> {buffer_name(other)}[{at}] }}"))
        return made


def tuple_name(kind: str, block: str) -> str:
    """The tuple of a block: isl knows letters, digits and underscores."""
    plain = block if block.isascii() and block.replace("_", "a").isalnum() else "x" + block.encode().hex()
    return f"{kind}_{plain}"


def buffer_name(buffer: t.Buffer, kind: str = "B") -> str:
    """The tuple of a buffer: by its name, so that the same question gives the same witness in every process."""
    return tuple_name(kind, buffer.name)


def sets_of(union: Any) -> list[Any]:
    found: list[Any] = []
    union.foreach_set(found.append)
    return found


def model_of(tree: Tree, updates: Collection[str]) -> Model:
    """The model of a function.  Raises `NotAffine`."""
    if tree.loose:
        raise NotAffine("statements outside blocks touch buffers")
    builder = _Builder(tree, updates)
    for site in tree.leaves:
        builder.add(site)
    return builder.model()


class _Builder:
    def __init__(self, tree: Tree, updates: Collection[str]) -> None:
        self.tree = tree
        self.commuting = updates
        self.isl = library()
        self.names: dict[str, str] = {}
        self.buffers: dict[int, tuple[str, int]] = {}
        self.maps: dict[str, list[Any]] = {
            kind: [] for kind in _KINDS
        }
        self.runs: list[Any] = []
        self.elements: list[Any] = []
        self.touched: list[_Touched] = []
        self.times = max((len(_time(tree, site)) for site in tree.leaves), default=0) + 2

    def model(self) -> Model:
        for buffer in self.tree.func.params:
            if isinstance(buffer, t.Buffer):
                self._end(buffer)
        joined = {kind: self._joined(maps, "UnionMap") for kind, maps in self.maps.items()}
        return Model(
            **joined,
            runs=self._joined(self.runs, "UnionSet"),
            elements=self._joined(self.elements, "UnionSet"),
            names=self.names,
            buffers=self.buffers,
            touched=self.touched,
        )

    def _joined(self, parts: list[Any], kind: str) -> Any:
        made = getattr(self.isl, kind)("{ }")
        for part in parts:
            made = made.union(part)
        return made

    def add(self, site: BlockSite) -> None:
        """The accesses of a block."""
        _require_understood(self.tree, site, self.commuting)
        block = site.block
        writer = site_writer(site)
        domain = running_conditions(site, writer)
        loops = tuple_of("x", len(site.loops))
        values = ", ".join(writer.expr(value) for _, value in site.bindings)
        spatial = ", ".join(writer.expr(value) for item, value in site.bindings if item.kind is not t.IterKind.REDUCE)
        time = _time(self.tree, site)
        updating = _commutes(site, self.commuting)
        self.names[tuple_name("S", block.name)] = self.names[tuple_name("J", block.name)] = block.name
        executions = [("R", 1, values, "S"), ("U" if updating else "W", 2, values, "S")]
        starts = [*domain]
        if block.init is not None:
            executions.append(("I", 0, spatial, "J"))
            for item, value in site.bindings:
                if item.kind is t.IterKind.REDUCE:
                    starts.append(f"{writer.expr(value)} = {writer.expr(item.dom.min)}")
        for kind, last, at, instance in executions:
            name, target = tuple_name(kind, block.name), tuple_name(instance, block.name)
            when = ", ".join(["0", *time, *("0",) * (self.times - 2 - len(time)), str(last)])
            self._map("schedule", writer, f"{name}[{loops}] -> [{when}]", domain)
            self._map("instances", writer, f"{name}[{loops}] -> {target}[{at}]", starts if kind == "I" else domain)
        own = {id(region.buffer) for region in block.writes}
        for region in site.reads:
            kind = "own" if updating and id(region.buffer) in own else "sinks"
            if kind == "sinks" or block.init is None:
                self._access(kind, writer, tuple_name("R", block.name), loops, region, domain)
        for region in block.writes:
            kind = "updates" if updating else "writes"
            if block.init is not None and not updating:  # each goes on with what the one before has left
                self._access("sinks", writer, tuple_name("R", block.name), loops, region, domain)
            self._access(kind, writer, tuple_name("U" if updating else "W", block.name), loops, region, domain)
            if block.init is not None:
                self._access("writes", writer, tuple_name("I", block.name), loops, region, starts)

    def _access(
        self, kind: str, writer: Writer, name: str, loops: str, region: t.BufferRegion, domain: list[str]
    ) -> None:
        within, inside = [*domain], list[str]()
        for number, (axis, extent) in enumerate(zip(region.region, region.buffer.shape, strict=True)):
            low, length = writer.expr(axis.min), writer.expr(axis.extent)
            within.append(f"{low} <= e{number} < {low} + {length}")
            inside.append(f"0 <= e{number} < {writer.expr(extent)}")
        execution, element = f"{name}[{loops}]", self._buffer(region.buffer)
        self.touched.append((writer, execution, element, within, inside))
        self._map(kind, writer, f"{execution} -> {element}[{tuple_of('e', len(inside))}]", [*within, *inside])

    def _buffer(self, buffer: t.Buffer) -> str:
        name, rank = buffer_name(buffer), len(buffer.shape)
        if id(buffer) not in self.buffers:
            if name in self.names:
                raise NotAffine(f"two buffers are named {buffer.name}")
            self.buffers[id(buffer)] = (name, rank)
            self.names[name] = buffer.name
            self.elements.append(self.isl.UnionSet(f"{{ {name}[{tuple_of('e', rank)}] }}"))
        return name

    def _map(self, kind: str, writer: Writer, body: str, conditions: list[str]) -> None:
        made = _union_map(relation(writer, body, conditions))
        self.maps[kind].append(made)
        if kind == "instances":
            self.runs.append(made.range())
            if body[0] in "RE":
                self.maps["readers"].append(made)

    def _end(self, buffer: t.Buffer) -> None:
        """All elements of an output are read at the end."""
        writer = Writer()
        name, rank = buffer_name(buffer, "E"), len(buffer.shape)
        at = tuple_of("e", rank)
        inside = [f"0 <= e{i} < {writer.expr(extent)}" for i, extent in enumerate(buffer.shape)]
        self.names[name] = ""
        self._map("sinks", writer, f"{name}[{at}] -> {self._buffer(buffer)}[{at}]", inside)
        self._map("instances", writer, f"{name}[{at}] -> {name}[{at}]", inside)
        self._map("schedule", writer, f"{name}[{at}] -> [1{', 0' * (self.times - 1)}]", inside)


@lru_cache(maxsize=4096)
def _union_map(text: str) -> Any:
    """A relation from its text: most of a function's are those that it had before a step, and reading takes longest."""
    return library().UnionMap(text)


def running_conditions(site: BlockSite, writer: Writer) -> list[str]:
    """When a block runs, exactly, in isl's notation.  Raises `NotAffine`."""
    found = bounds(writer, "x", site.loops)
    for condition in conditions_of(site):
        text = writer.condition(condition)
        if text is None:
            raise NotAffine(f"a condition on {site.name} is not affine")
        found.append(text)
    return found


def _time(tree: Tree, site: BlockSite) -> list[str]:
    """When a block runs: its place in the text, and its loops, outermost first."""
    found: list[str] = []
    loops = 0
    for stmt, inner in zip(site.path, (*site.path[1:], site.realize), strict=True):
        if isinstance(stmt, t.SeqStmt):
            found.append(str(next(i for i, part in enumerate(stmt.stmts) if part is inner)))
        elif isinstance(stmt, t.For):
            found.append(f"x{loops}")
            loops += 1
        elif not (isinstance(stmt, t.BlockRealize) or stmt is tree.root):
            raise NotAffine(f"{site.name} stands inside a {type(stmt).__name__}")
    return found


def _commutes(site: BlockSite, updates: Collection[str]) -> bool:
    """Whether a block hands on the set of its updates; else each goes on with what the one before has left."""
    return site.name in updates and adds_once(site)


def _require_understood(tree: Tree, site: BlockSite, updates: Collection[str]) -> None:
    """Raise `NotAffine` for blocks whose effects are not exactly their declared regions."""
    block = site.block
    if site.scope is not tree.root:
        raise NotAffine(f"{site.name} stands inside another block")
    impure = next((call for call in post_order(block) if isinstance(call, a.Call) and not is_pure(call.op)), None)
    if impure is not None:
        raise NotAffine(f"{site.name} calls {impure.op}, which may have effects")
    if site.used_loops:
        raise NotAffine(f"{site.name} uses the loop {site.used_loops[0].var.name} itself, beside its iterators")
    for region in block.writes:
        if not all(isinstance(axis.extent, a.IntImm) and axis.extent.value == 1 for axis in region.region):
            raise NotAffine(f"{site.name} writes more than single elements")
    if not (_commutes(site, updates) or is_plain(site)):
        raise NotAffine(f"{site.name} writes under a condition")
