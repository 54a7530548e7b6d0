"""Which values reach which reads: the last writers of everything that is read, exactly, through isl.

Two programs with the same blocks compute the same if every instance of a block reads what the same instances wrote,
and the outputs hold what the same instances wrote at the end.  An *instance* is a block with values of its iterators,
whatever loops led there; a reduction hands on the set of its updates, so that their order does not count.

    difference(Tree.of(before), Tree.of(after))        # None, or the first `Difference`

Invariant: None is proof.  What cannot be put exactly (a write under a condition, an index that is loaded, statements
outside blocks, a question too large) raises `NotAffine`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ..tir import nodes as t
from .dependence import library
from .flow_model import Alias, Model, model_of, sets_of
from .isl_text import NotAffine
from .tree import BlockSite, Tree

_OPERATIONS: ContextVar[int] = ContextVar("workbench_operations", default=4_000_000)
"""Elementary steps of isl after which a question counts as too large (about a second); none is asked if it is 0."""


@contextmanager
def effort(operations: int) -> Iterator[None]:
    """Limit the work spent on each question inside: an editor that asks hundreds at once spends none."""
    token = _OPERATIONS.set(operations)
    try:
        yield
    finally:
        _OPERATIONS.reset(token)


@dataclass(frozen=True)
class Difference:
    """One read, or one element of an output, that would get another value."""

    reader: str
    """The block; empty for what is left in an output at the end."""
    at: tuple[int, ...]
    """The values of its iterators, or the indices of the output's element."""
    element: str
    lost: tuple[str, ...]
    """Who wrote what it reads now and would not read then: "make at (3)"."""
    gained: tuple[str, ...]
    """Who wrote what it would read then and does not read now."""

    @property
    def is_certain(self) -> bool:
        """All conditions are affine, else nothing is said."""
        return True

    def text(self) -> str:
        """use at (0) reads M[0] as again at (0) left it; then as make at (0) left it"""
        subject = f"{self.reader} at {_point(self.at)} would read {self.element}" if self.reader else self.element
        if not self.reader:
            subject = f"{self.element} would end"
        if self.lost and self.gained:
            return f"{subject} as {_left(self.gained)}, not as {_left(self.lost)}"
        if self.lost:
            return f"{subject} without what {' and '.join(self.lost)} wrote"
        return f"{subject} as {_left(self.gained)}" if self.gained else f"{subject} before anything is there"


def _left(writers: tuple[str, ...]) -> str:
    return f"{' and '.join(writers)} left it"


def _point(at: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, at))})"


@dataclass(frozen=True)
class Stranger:
    """An instance that does not run now, and could not run then."""

    block: str
    at: tuple[int, ...]
    outside: str = ""
    """An element beyond the ends of its buffer, if it would touch one."""

    @property
    def is_certain(self) -> bool:
        """All conditions are affine, else nothing is said."""
        return True

    def text(self) -> str:
        """make at (3) would run, which it does not now; it would touch B[3], which is outside of the buffer"""
        told = f"{self.block} at {_point(self.at)} would run, which it does not now"
        return f"{told}; it would touch {self.outside}, which is outside of the buffer" if self.outside else told


@dataclass
class Flow:
    """The value flow of a function."""

    model: Model
    sources: Any
    """{ source -> [reader -> element] } between instances."""
    executed: Any
    """The same, for each execution of a reader: one instance may run several times."""
    unwritten: Any
    """{ execution of a reader -> element } of what nobody has written before."""

    @property
    def is_uniform(self) -> bool:
        """Whether all executions of an instance read the same."""
        return bool(self.executed.is_equal(_by_executions(self.model, self.sources)))


def flow_of(tree: Tree, updates: Collection[str]) -> Flow:
    """The flow of a function, where the blocks `updates` accumulate in any order.  Raises `NotAffine`."""
    key = ("flow", *sorted(updates))
    known = tree.facts.get(key)
    if known is None:
        isl = library()
        model = model_of(tree, updates)
        executed = solved(isl, model, model.sinks).apply_domain(model.instances)
        sources = executed.apply_range(_on_readers(model, model.readers))
        unwritten = model.sinks.subtract(executed.range().unwrap())
        known = tree.facts[key] = Flow(model, sources, executed, unwritten)
    return known


def solved(isl: Any, model: Model, sinks: Any, times: Any = None) -> Any:
    """{ source -> [reader -> element] } for reads `sinks` among the writes of a program, between executions.

    `times` say when readers that are not the model's own read.
    """
    schedule = model.schedule if times is None else model.schedule.union(times)
    info = isl.UnionAccessInfo.from_sink(sinks)
    info = info.set_must_source(model.writes).set_may_source(model.updates).set_schedule_map(schedule)
    return info.compute_flow().get_full_may_dependence()


def _on_readers(model: Model, change: Any) -> Any:
    """{ [reader -> element] -> [changed reader -> element] }."""
    return change.product(model.elements.identity())


def _by_executions(model: Model, sources: Any) -> Any:
    """Sources by instances of readers, said of each of their executions in a program."""
    return sources.apply_range(_on_readers(model, model.readers.reverse()))


def guarded(question: Callable[[Any], Any]) -> Any:
    """The answer to a question put to isl with a limit on its work.  Raises `NotAffine` beyond it."""
    if _OPERATIONS.get() == 0:
        raise NotAffine("the question was not asked")
    isl = library()
    context = isl.DEFAULT_CONTEXT
    context.reset_operations()
    context.set_max_operations(_OPERATIONS.get())
    try:
        return question(isl)
    except isl.Error as problem:
        raise NotAffine("the question is too large") from problem
    finally:
        context.set_max_operations(0)
        context.reset_operations()


# --- questions ----------------------------------------------------------------------------------------------------


def difference(
    before: Tree,
    after: Tree,
    updates: Collection[str] = (),
    copies: Collection[str] = (),
    aliases: Mapping[int, Alias] | None = None,
) -> Difference | Stranger | None:
    """The first read that would get another value in `after`, or instance that could not run; None if there is none.

    `copies`: blocks of `after` that only copy, through which values are followed.  `aliases`: for buffers of `after`
    (by identity), the buffer of `before` whose values they hold.  Raises `NotAffine`.
    """

    def question(isl: Any) -> Difference | Stranger | None:
        old, new = flow_of(before, updates), flow_of(after, updates)
        if not old.is_uniform:
            raise NotAffine("blocks run several times with different values")
        sources, unwritten = _through_copies(isl, new, copies, aliases or {})
        readers = _sinks(sources).union(unwritten)
        strangers = readers.apply_domain(new.model.readers).domain().subtract(old.model.runs)
        told = _Told(isl, {**old.model.names, **new.model.names}, new.model)
        if not strangers.is_empty():
            return Stranger(*told.tuple_of(_first(strangers)))
        outside = _outside(old.model, new.model)
        if not outside.is_empty():
            return told.stranger(outside)
        every = old.model.elements.union(new.model.elements).identity()
        expected = old.sources.apply_range(new.model.readers.reverse().product(every)).intersect_range(readers.wrap())
        changed = sources.subtract(expected).union(expected.subtract(sources)).range()
        if changed.is_empty():
            first = old.unwritten.apply_domain(old.model.readers).apply_domain(new.model.readers.reverse())
            changed = unwritten.subtract(first).wrap()
        if changed.is_empty():
            changed = _copied_unset(isl, new, copies, before.func)
        if changed.is_empty():
            changed = _updated_unset(isl, new, before.func)
        return None if changed.is_empty() else told.difference(changed, expected, sources)

    return guarded(question)


def _outside(old: Model, new: Model) -> Any:
    """[instance -> element beyond the ends of its buffer], of the instances that do not run in `old`.

    What runs in both touches what it touched: regions are declared, and may be wider than what is touched.
    """
    added = new.runs.subtract(old.runs)
    if added.is_empty():
        return added
    return new.outside().apply_domain(new.instances).intersect_domain(added).wrap()


def _copied_unset(isl: Any, flow: Flow, copies: Collection[str], func: t.PrimFunc) -> Any:
    """[copy -> element] of memory that nobody has set: elements of buffers that are no parameters."""
    if not copies:
        return isl.UnionSet("{ }")
    running = flow.model.readers.intersect_range(flow.model.instances_of(copies)).domain()
    return _of_memory(flow.unwritten.intersect_domain(running), flow, func).wrap()


def _updated_unset(isl: Any, flow: Flow, func: t.PrimFunc) -> Any:
    """[update -> element] of memory to which a reduction adds before anything has set it."""
    own = flow.model.own
    if own.is_empty():
        return own.wrap()
    return _of_memory(own.subtract(_sinks(solved(isl, flow.model, own))), flow, func).wrap()


def _of_memory(reads: Any, flow: Flow, func: t.PrimFunc) -> Any:
    """The reads of buffers that are no parameters."""
    for buffer in func.params:
        if isinstance(buffer, t.Buffer) and id(buffer) in flow.model.buffers:
            reads = reads.subtract_range(flow.model.elements_of(buffer))
    return reads


def _sinks(sources: Any) -> Any:
    return sources.range().unwrap()


def _through_copies(isl: Any, flow: Flow, copies: Collection[str], aliases: Mapping[int, Alias]) -> tuple[Any, Any]:
    """(sources, unwritten) of a flow with copying blocks looked through, elements under the names they had."""
    if not copies:
        return flow.executed, flow.unwritten
    model = flow.model
    instances = model.instances_of(copies)
    running = model.readers.intersect_range(instances).domain()
    onward = flow.executed.intersect_domain(instances)  # copy -> [reader -> element]
    into = flow.sources.range_factor_domain().intersect_range(instances)  # source -> copy
    sources = flow.executed.subtract_domain(instances).union(into.apply_range(onward))
    sources = sources.intersect_range(_sinks(sources).subtract_domain(running).wrap())
    initial = flow.unwritten.intersect_domain(running).apply_domain(model.readers).domain()
    through = onward.intersect_domain(initial).range()  # read through copies of what nobody wrote
    both = model.readers.domain().identity().product(model.renaming(aliases))
    unwritten = flow.unwritten.subtract_domain(running)
    return sources.apply_range(both), unwritten.union(through.apply(both).unwrap())


def inline_difference(tree: Tree, producer: BlockSite, updates: Collection[str] = ()) -> Difference | None:
    """The first read that would get another value if `producer` were computed where its values are read.

    Its readers must read nothing but what it wrote, and what it reads must still be there when they run.
    Raises `NotAffine`.
    """
    buffer = producer.block.writes[0].buffer

    def question(isl: Any) -> Difference | None:
        flow = flow_of(tree, updates)
        model = flow.model
        if not flow.is_uniform:
            raise NotAffine("blocks run several times with different values")
        told = _Told(isl, model.names, model)
        made, elements = model.instances_of((producer.name,)), model.elements_of(buffer)
        wanted = model.sinks.intersect_range(elements)
        reading = flow.executed.intersect_range(wanted.wrap())
        foreign = reading.subtract_domain(made).range().union(flow.unwritten.intersect_range(elements).wrap())
        if not foreign.is_empty():
            return told.difference(foreign, reading, reading.intersect_domain(made))
        own = model.sinks.apply_domain(model.readers).intersect_domain(made)
        readers = reading.range_factor_domain()  # producer -> execution of a reader
        # A reader may read several values of the producer: each is computed for itself, [producer -> reader] by pair.
        times = readers.range_map().apply_range(model.schedule)
        reads = readers.domain_map().apply_range(own)
        found = solved(isl, model, reads, times).apply_domain(model.instances)
        expected = flow.sources.intersect_range(own.wrap()).apply_range(
            _on_readers(model, readers.domain_map().reverse())
        )
        changed = found.subtract(expected).union(expected.subtract(found)).range()
        if changed.is_empty():
            return None
        here = isl.UnionSet.from_point(_first(changed))
        by_reader = _on_readers(model, readers.range_map())
        return told.difference(
            here.apply(by_reader), *(side.intersect_range(here).apply_range(by_reader) for side in (expected, found))
        )

    return guarded(question)


# --- witnesses ----------------------------------------------------------------------------------------------------


def _first(union: Any) -> Any:
    """A point of the set that comes first by name: the same one in every process."""
    return min(sets_of(union), key=str).sample_point()


@dataclass(frozen=True)
class _Told:
    """Tells of points of isl in the program's names."""

    isl: Any
    names: Mapping[str, str]
    model: Model

    def difference(self, changed: Any, before: Any, after: Any) -> Difference:
        """The difference at one of the reads in `changed`, a set of [execution of a reader -> element]."""
        point = self.isl.UnionSet.from_point(_first(changed))
        read = point.unwrap()
        reader, at = self.tuple_of(read.domain().apply(self.model.readers).sample_point())
        element = self.element(read.range().sample_point())
        old, new = before.intersect_range(point).domain(), after.intersect_range(point).domain()
        return Difference(reader, at, element, self.writers(old.subtract(new)), self.writers(new.subtract(old)))

    def stranger(self, outside: Any) -> Stranger:
        """One of [instance -> element]."""
        read = self.isl.UnionSet.from_point(_first(outside)).unwrap()
        block, at = self.tuple_of(read.domain().sample_point())
        return Stranger(block, at, self.element(read.range().sample_point()))

    def element(self, point: Any) -> str:
        buffer, index = self.tuple_of(point)
        return f"{buffer}[{', '.join(map(str, index))}]"

    def writers(self, writers: Any) -> tuple[str, ...]:
        """One instance of each block in a set."""
        found: list[str] = []
        for part in sorted(sets_of(writers), key=str):
            name, at = self.tuple_of(part.sample_point())
            found.append(f"{name} at {_point(at)}")
        return tuple(found)

    def tuple_of(self, point: Any) -> tuple[str, tuple[int, ...]]:
        """(what a point's tuple stands for, its coordinates)."""
        kind = self.isl.dim_type.set
        one = point if isinstance(point, self.isl.Point) else point.sample_point()
        space = one.get_space()
        values = tuple(int(str(one.get_coordinate_val(kind, i))) for i in range(space.dim(kind)))
        return self.names.get(space.get_tuple_name(kind) or "", ""), values
