"""What every node of every computed step comes from: origins, followed through the whole history at once.

For each step two tables by node identity: what of the imported program a node stems from (`sources`: labels of the
file's nodes, else the imported nodes themselves), and, after Lower, which expressions of the last relay program
(`calls`).  Kernels are shared: their nodes know the expressions of the first call; `Site` maps those to the
expressions of any other.

A statement that does something itself (a store, a call) is precise; what holds statements (a loop, a block, a
function) stems from all that is in it; an allocation from the stores into it.

    known = index_of(session)[-1]
    known.sources_of(loop)          # {ImportedFrom("onnx", "Conv#3 ('conv_out')")}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..core.node import Node, children, post_order, traced_in
from ..core.origin import ImportedFrom, OriginTable
from ..core.per_node import per_node
from ..core.walks import parts_first
from ..relay.ir import expr as r
from ..tir import nodes as t

if TYPE_CHECKING:
    from ..lower.entry import KernelCall, Lowered
    from .history import Step
    from .session import Session

Sources = frozenset[Any]
NONE: Sources = frozenset()


@dataclass(frozen=True)
class Site:
    """One call of a kernel in the entry."""

    number: int
    kernel: str
    expression: Any
    """The relay expression that it carries out."""
    pairs: tuple[tuple[Any, Any], ...]
    """What each expression of the kernel's first call is at this one."""

    @cached_property
    def stands_for(self) -> Mapping[int, Any]:
        """The expressions at this call by identity of those of the kernel's first call."""
        return {id(first): here for first, here in self.pairs}


@dataclass
class Known:
    """The origins of one step's program."""

    step: Step
    sources: dict[int, Sources] = field(default_factory=dict)
    calls: dict[int, Sources] = field(default_factory=dict)
    sites: tuple[Site, ...] = ()
    entry: frozenset[int] = frozenset()
    """The entry's nodes by identity: its statements are of one call each."""
    _relay: dict[int, Sources] = field(default_factory=dict)
    """Sources of the expressions of the last relay program."""

    def sources_of(self, node: Any, site: Site | None = None) -> Sources:
        """What of the imported program `node` stems from: at one call of its kernel, or at all of them."""
        if id(node) not in self.calls:
            return self.sources.get(id(node), NONE)
        written = frozenset(item for item in self.calls.get(id(node), NONE) if isinstance(item, ImportedFrom))
        return written | self.sources_of_calls(self.calls_of(node, site))

    def sources_of_calls(self, calls: Sources) -> Sources:
        """What of the imported program expressions of the last relay program stem from."""
        return NONE.union(*(self._relay.get(id(call), NONE) for call in calls))

    def calls_of(self, node: Any, site: Site | None = None) -> Sources:
        """The relay expressions that a node of a loop program carries out."""
        found = frozenset(item for item in self.calls.get(id(node), NONE) if not isinstance(item, ImportedFrom))
        return found if id(node) in self.entry else self.at_sites(found, site)

    def at_sites(self, found: Sources, site: Site | None = None) -> Sources:
        """Expressions of a kernel's first call as those of one call of it, or of all."""
        sites = self.sites if site is None else (site,)
        every = [call_at.stands_for.get(id(expression)) for expression in found for call_at in sites]
        return frozenset(expression for expression in every if expression is not None) or found


def index_of(session: Session, last: Step | None = None) -> list[Known]:
    """The origins of each step computed so far, or up to `last`; kept with the history, so each step is done once."""
    made: list[Known] = []
    cache = session.history.known
    for step in session.history.computed(session.actions) if last is None else last.path:
        known = cache.get(step.id)
        if known is None or known.step is not step:
            known = _known(step, made[-1] if made else None)
            cache[step.id] = known
        made.append(known)
    return made


def _known(step: Step, before: Known | None) -> Known:
    known = Known(step)
    nodes = list(traced_in(step.stage.module.functions.values()))
    lowered = step.stage.lowered
    if before is None:
        resolve = Resolver(step.origins, {})
        known.sources = {id(node): _labels(resolve(node)) for node in nodes}
        return known
    if lowered is None:
        resolve = Resolver(step.origins, before.sources)
        known.sources = {id(node): resolve(node) for node in nodes}
        _gather(step, known.sources)
        return known
    if before.sites or before._relay:
        known.sites, known._relay = before.sites, before._relay
        resolve = Resolver(step.origins, before.calls)
    else:
        assert step.previous is not None
        expressions = traced_in(step.previous.stage.module.functions.values())
        known.sites, known._relay = sites(lowered), before.sources
        resolve = Resolver(step.origins, {id(node): frozenset((node,)) for node in expressions})
    known.calls = {id(node): resolve(node) for node in nodes}
    known.entry = frozenset(map(id, traced_in((step.stage.module["main"],))))
    _gather(step, known.calls)
    return known


def _labels(found: Sources) -> Sources:
    """Labels of the file where there are some, else the nodes."""
    labels = frozenset(item for item in found if isinstance(item, ImportedFrom))
    return labels or found


class Resolver:
    """Follows one step's table back to the nodes before the step, and gives what those are known to stem from."""

    def __init__(self, table: OriginTable, before: Mapping[int, Sources]) -> None:
        self._table = table
        self._before = before
        self._done: dict[int, Sources] = {}

    def __call__(self, node: Any) -> Sources:
        return self._followed(node) if node in self._table else self._own(node)

    def _followed(self, node: Any) -> Sources:
        """Of a thing that the step has told of."""
        stack: list[tuple[Any, bool]] = [(node, False)]
        open_nodes: set[int] = set()
        while stack:
            current, expanded = stack.pop()
            key = id(current)
            if key in self._done:
                continue
            derived = self._table.of(current)
            if expanded or not derived:
                joined = NONE.union(*(self._done.get(id(item), NONE) for item in derived if item is not current))
                own = self._own(current) if current in derived or not derived else NONE
                self._done[key] = joined | own
                continue
            if key in open_nodes:
                continue
            open_nodes.add(key)
            stack.append((current, True))
            stack.extend((item, False) for item in derived if item is not current)
        return self._done[id(node)]

    def _own(self, node: Any) -> Sources:
        """Of a thing that the step did not make."""
        if isinstance(node, ImportedFrom):
            return frozenset((node,))
        found = self._before.get(id(node))
        if found is not None:
            return found
        return NONE if self._before else frozenset((node,))


# --- statements that hold others ----------------------------------------------------------------------------------

_HOLDERS = (t.For, t.While, t.SeqStmt, t.IfThenElse, t.BlockRealize, t.Block, t.PrimFunc)


def _gather(step: Step, table: dict[int, Sources]) -> None:
    """Give statements that hold others what those stem from, and allocations what is stored into them."""
    for function in step.stage.module.functions.values():
        if not isinstance(function, t.PrimFunc):
            continue
        written: dict[int, Sources] = {}
        inside: dict[int, Sources] = {}
        allocations: list[t.AllocBuffer] = []
        for node, inner in _statements(function):
            own = table.get(id(node), NONE)
            if isinstance(node, t.BufferStore):
                written[id(node.buffer)] = written.get(id(node.buffer), NONE) | own
            elif isinstance(node, t.Evaluate):
                for buffer in _addressed(node):  # what mentions it first fills it
                    written.setdefault(id(buffer), own)
            elif isinstance(node, t.AllocBuffer):
                allocations.append(node)
            held = NONE.union(*(inside[id(child)] for child in inner)) or own
            inside[id(node)] = held
            table[id(node)] = held if isinstance(node, _HOLDERS) or not own else own
        for node in allocations:
            table[id(node)] = written.get(id(node.buffer), NONE) or table[id(node)]


Held = tuple[Any, tuple[Any, ...]]
"""A statement and those directly in it."""


def _statements(function: t.PrimFunc) -> Iterator[Held]:
    """The statements of a function and the function itself, inner ones first, in the order of the text."""
    yield from _inside(function)
    yield function, _directly_in(function)


@per_node
def _inside(function: t.PrimFunc) -> tuple[Held, ...]:
    return tuple((stmt, _directly_in(stmt)) for stmt in parts_first(_directly_in(function), _directly_in))


def _directly_in(node: Node) -> tuple[Any, ...]:
    return tuple(child for child in children(node) if isinstance(child, t.Stmt))


def _addressed(stmt: t.Evaluate) -> Iterable[t.Buffer]:
    """The buffers whose addresses a kernel call passes on."""
    call = stmt.value
    if getattr(call, "op", "") != "call_tir":
        return ()
    return [node.buffer for node in post_order(call) if isinstance(node, t.BufferLoad)]


# --- call sites ---------------------------------------------------------------------------------------------------


def sites(lowered: Lowered) -> tuple[Site, ...]:
    """The calls of the entry, in order, each with what the kernel's expressions are there."""
    first: dict[str, KernelCall] = {}
    made: list[Site] = []
    for number, call in enumerate(lowered.calls):
        original = first.setdefault(call.kernel, call)
        pairs = zip(expressions_of(original.relay_call), expressions_of(call.relay_call), strict=False)
        made.append(Site(number, call.kernel, call.relay_call, tuple(pairs)))
    return tuple(made)


def expressions_of(call: r.Expr) -> list[r.Expr]:
    """What a kernel carries out: the call, the fused function, and the expressions in it from the result backwards."""
    function = call if isinstance(call, r.Function) else getattr(call, "op", None)
    if not isinstance(function, r.Function):
        return [call, call, call]
    inner = [node for node in post_order(function.body) if isinstance(node, r.Expr)]
    return [call, function, *reversed(inner)]
