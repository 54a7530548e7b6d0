"""One selection through all layers: which lines of which texts carry out the same part of a model.

A *class* is one relay expression that a kernel carries out, at one call of the kernel; in a loop program, which has no
graph, one stage or imported statement.  Every layer says for each of its lines which classes it holds, so that a line
of one layer finds those of all others without a further question:

    links = session.provenance.links
    chosen = links.native("asm", kernel).on(41)              # the classes of line 41 of the assembly
    links.graph("Import").lit(chosen)                        # the lines of the imported graph that it comes from
    {name: layer.lit(chosen) for name, layer in links.layers(kernel).items()}

A loop holds the classes of all that is in it, and so does a signature those of the whole function; `Layer.grades` tells
the lines that do something from these, and `Layer.doing` gives them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from ..core.errors import WorkbenchError, nearest
from ..core.node import children, post_order, pre_order, traced_nodes
from ..core.origin import ImportedFrom
from ..core.text import Span, Text
from ..relay.ir import expr as r
from ..relay.ir.plan import plain_operands
from ..tir import nodes as t
from .anchors import unknown_kernel
from .origin_index import Known, Resolver, Site, Sources, expressions_of, index_of
from .provenance import in_order
from .step_listings import listings_of
from .text import function_text

if TYPE_CHECKING:
    from .history import Step
    from .session import Session
    from .trails import Provenance

Classes = frozenset[int]
NOTHING: Final[Classes] = frozenset()
_WORK: Final = (r.Call, r.Tuple, r.TupleGetItem)
_HOLDERS: Final = (t.PrimFunc, t.For, t.While, t.SeqStmt, t.IfThenElse, t.BlockRealize, t.Block, r.Function)
_DECLARED: Final = (t.AllocBuffer, t.LetStmt)
"""Statements that hold all that comes after them, and stand on one line."""
ROOT: Final = "root"
"""The block around a whole function, of which only its buffers are printed."""
DOES, AROUND, WHOLE = 0, 1, 2
"""Grades of lines: something is done on it; a loop, a branch or a block around that; the function and its buffers."""


@dataclass(frozen=True)
class Layer:
    """The lines of one text, each with its classes."""

    name: str
    """onnx, relay, fused, te, schedule, tir, ll, ll-opt or asm"""
    text: str
    lines: tuple[Classes, ...]
    """By line, the first at 0."""
    grades: tuple[int, ...] = ()
    """By line, how it has its classes: DOES, AROUND or WHOLE; empty where something is done on all of them."""

    def on(self, line: int) -> Classes:
        """The classes of a line, counted from 1; none for a line that the text has not."""
        return self.lines[line - 1] if isinstance(line, int) and 1 <= line <= len(self.lines) else NOTHING

    def lit(self, classes: Iterable[int]) -> tuple[int, ...]:
        """The lines, from 1, that share one of `classes`."""
        wanted = frozenset(classes)
        return tuple(number for number, held in enumerate(self.lines, 1) if not held.isdisjoint(wanted))

    def doing(self, classes: Iterable[int]) -> tuple[int, ...]:
        """Of these the lines, from 1, that do it themselves; where there are none, what is nearest around it."""
        found = self.lit(classes)
        graded = [self.grade(line) for line in found]
        return tuple(line for line, grade in zip(found, graded, strict=True) if grade == min(graded))

    def grade(self, line: int) -> int:
        """How a line, counted from 1, has its classes."""
        return self.grades[line - 1] if self.grades else DOES

    @property
    def every(self) -> Classes:
        """All classes of the text."""
        return NOTHING.union(*self.lines)


class Links:
    """The layers of one session; each is made when it is asked for and kept.

    `session.provenance.links` is the one to ask: it is another one where a step was computed anew.
    """

    def __init__(self, session: Session, provenance: Provenance) -> None:
        self._session = session
        self._provenance = provenance
        self._made: dict[tuple[str, str], Layer] = {}
        self._graphs: dict[int, Mapping[int, Classes]] = {}
        lowering = [number for number, action in enumerate(session.actions) if action.kind == "lower"]
        self._lower = lowering[0] if lowering else None

    # --- classes ---

    @property
    def sites(self) -> tuple[Site, ...]:
        """The calls of kernels in the entry, in order; none in a loop program."""
        return self._provenance.calls

    @cached_property
    def _classes(self) -> _Classes:
        if self._lower is None:
            return _of_statements(self._known(0))
        return _of_expressions(self.sites, _nodes(self._provenance.reached.path[self._lower - 1]))

    def at(self, site: int) -> Classes:
        """The classes of one call of a kernel.  Raises `WorkbenchError` for a number that no call has."""
        if not isinstance(site, int) or not 0 <= site < len(self.sites):
            raise WorkbenchError(
                "E-ORIGIN-CALL", f"the entry has no call {site!r}", expected=f"0 to {len(self.sites) - 1}",
                fix="s.provenance.calls lists them",
            )  # fmt: skip
        return self._classes.of((self.sites[site].expression,))

    def things(self, classes: Iterable[int]) -> tuple[Any, ...]:
        """What the classes stand for: relay expressions after the last graph pass, or stages and statements."""
        return tuple(self._classes.things[number] for number in sorted(set(classes)))

    @property
    def parts(self) -> tuple[Any, ...]:
        """What every class stands for, by its number."""
        return self._classes.things

    # --- layers ---

    def layers(self, kernel: str, native: bool = True) -> dict[str, Layer]:
        """All layers by name, from the file's nodes down to the assembly of one kernel; without `native`, down to its
        loops.  Where a step stops with an error, those before it."""
        plan, labels = self._session.plan, self._session.labels
        made: dict[str, Layer] = {}
        if self._lower is not None:
            if self.onnx.lines:
                made["onnx"] = self.onnx
            made |= {"relay": self.graph(labels[plan.relay_step()]), "fused": self.graph(labels[self._lower - 1])}
        reached = len(self._provenance.reached.path)
        for name, index in (("te", plan.kernel_step()), ("schedule", plan.loop_step())):
            if index < reached:
                made[name] = self.loops(labels[index], kernel)
        if self._session.actions[reached:] and self._session.actions[reached].level == "tir":
            return made
        return made | {name: self.native(name, kernel) for name in ("tir", "ll", "asm")[: 3 if native else 1]}

    @cached_property
    def onnx(self) -> Layer:
        """The nodes of the imported file, a line each in the order of the file; empty where there was no file."""
        held: dict[ImportedFrom, Classes] = {}
        by_node: Mapping[int, Classes] = self._graph_classes(0) if self._lower is not None else {}
        for identity, sources in self._known(0).sources.items():
            for label in sources:
                if isinstance(label, ImportedFrom):
                    held[label] = held.get(label, NOTHING) | by_node.get(identity, NOTHING)
        labels = self._onnx_labels
        return Layer("onnx", "\n".join(label.name for label in labels), tuple(held[label] for label in labels))

    @cached_property
    def _onnx_labels(self) -> list[ImportedFrom]:
        held = {label: None for sources in self._known(0).sources.values() for label in sources}
        found = in_order({label: None for label in held if isinstance(label, ImportedFrom)}) if held else ()
        return [label for label in found if "#" in label.name]  # others are data

    @cached_property
    def onnx_of_constants(self) -> tuple[int, ...]:
        """The lines (from 0) of `onnx` whose nodes compute on weights alone: casts, transposes, shapes of them."""
        constant: set[int] = set()
        expressions: set[int] = set()  # operators and types come from nodes of the file too
        for node in post_order(self._session.step(0).stage.module["main"]):
            if isinstance(node, r.Expr):
                expressions.add(id(node))
            if isinstance(node, r.Constant) or (
                isinstance(node, (r.Call, r.Tuple, r.TupleGetItem))
                and (operands := plain_operands(node)) and all(id(operand) in constant for operand in operands)
            ):  # fmt: skip
                constant.add(id(node))
        computing: set[ImportedFrom] = set()
        for identity, sources in self._known(0).sources.items():
            if identity in expressions and identity not in constant:
                computing.update(label for label in sources if isinstance(label, ImportedFrom))
        return tuple(number for number, label in enumerate(self._onnx_labels) if label not in computing)

    def graph(self, step: str) -> Layer:
        """The main function after a graph step, as text.  Raises `WorkbenchError` where the step has no graph."""
        index = self._index(step, "relay")
        return self._kept(step, "", lambda: self._graph(index))

    def loops(self, step: str, kernel: str) -> Layer:
        """A kernel after a loop step, as text.  Raises `WorkbenchError` where the step has no such kernel, and that of
        a step before it that stopped."""
        index = self._index(step, "tir")
        return self._kept(step, kernel, lambda: self._loops(index, kernel))

    def native(self, form: str, kernel: str) -> Layer:
        """A kernel as it is compiled: "tir", or its native text "ll", "ll-opt" or "asm"."""
        return self._kept(f" {form}", kernel, lambda: self._native(form, kernel))

    def _kept(self, what: str, kernel: str, make: Callable[[], Layer]) -> Layer:
        found = self._made.get((what, kernel))
        if found is None:
            found = self._made[what, kernel] = make()
        return found

    def _index(self, step: str, level: str) -> int:
        labels, actions = self._session.labels, self._session.actions
        if step not in labels:
            raise WorkbenchError("E-STEP-UNKNOWN", f"there is no step named {step!r}", fix=nearest(str(step), labels))
        index = labels.index(step)
        if actions[index].level != level:
            raise WorkbenchError(
                "E-STEP-UNKNOWN", f"step {step!r} has no {'graph' if level == 'relay' else 'loop program'}",
                found=f"a step of level {actions[index].level}",
                expected=", ".join(label for label, one in zip(labels, actions, strict=True) if one.level == level),
            )  # fmt: skip
        return index

    def _known(self, index: int) -> Known:
        return index_of(self._session, self._provenance.reached)[index]

    # --- graphs ---

    def _graph(self, index: int) -> Layer:
        held = self._graph_classes(index)
        name = "fused" if index + 1 == self._lower else "relay"
        text = listings_of(self._provenance.reached.path[index])["main"].text
        return _layer(name, text, lambda node: held.get(id(node), NOTHING))

    def of_graph(self, step: str) -> Mapping[int, Classes]:
        """By identity, the classes of the expressions of a graph step.  Raises `WorkbenchError` as `graph` does."""
        return self._graph_classes(self._index(step, "relay"))

    def _graph_classes(self, index: int) -> Mapping[int, Classes]:
        """By identity, what the expressions of a graph step became."""
        found = self._graphs.get(index)
        if found is None:
            found = self._graphs[index] = self._classes_before(index)
        return found

    def _classes_before(self, index: int) -> Mapping[int, Classes]:
        steps = self._provenance.reached.path[: self._lower]
        if index == len(steps) - 1:
            return self._classes.by_thing
        stems: dict[int, Sources] = {id(node): frozenset((node,)) for node in _nodes(steps[index])}
        for step in steps[index + 1 :]:
            resolve = Resolver(step.origins, stems)
            stems = {id(node): resolve(node) for node in _nodes(step)}
        held: dict[int, set[int]] = {}
        for number, expression in enumerate(self._classes.things):
            for node in stems.get(id(expression), ()):
                held.setdefault(id(node), set()).add(number)
        _give_to_operands(steps[index].stage.module["main"], held)
        return {identity: frozenset(numbers) for identity, numbers in held.items()}

    # --- loops and native code ---

    def _loops(self, index: int, kernel: str) -> Layer:
        reached = self._provenance.reached.path
        if index >= len(reached) and (stopped := self._session.step(index).error) is not None:
            raise stopped
        module = reached[index].stage.module
        if not isinstance(module.functions.get(kernel), t.PrimFunc):
            raise unknown_kernel(kernel, module.names(), self._session.labels[index])
        name = "te" if index <= self._session.plan.kernel_step() else "schedule"
        return self._of_function(name, kernel, module[kernel], self._known(index))

    def _native(self, form: str, kernel: str) -> Layer:
        provenance = self._provenance
        if form == "tir":
            return self._of_function(form, kernel, provenance.function(kernel), provenance.known)
        text = provenance.text(kernel, form)
        lines = [NOTHING] * (text.rstrip("\n").count("\n") + 1)
        grades = [DOES] * len(lines)
        found_of = provenance.sources if self._lower is None else provenance.calls_of
        for spot in provenance.native(kernel, form).spots:
            lines[spot.text_line - 1] |= self._classes.of(found_of(kernel, spot))
            grades[spot.text_line - 1] = min(map(_grade, provenance.statements(kernel, spot.line)), default=DOES)
        return Layer(form, text, tuple(lines), tuple(grades))

    def _of_function(self, name: str, kernel: str, function: t.PrimFunc, known: Known) -> Layer:
        found_of = known.sources_of if self._lower is None else known.calls_of
        return _layer(name, function_text(kernel, function), lambda node: self._classes.of(found_of(node)))


def _give_to_operands(main: Any, held: dict[int, set[int]]) -> None:
    """Give calls of which no code is left, and constants, what their readers have: their values are a part of those."""
    readers: dict[int, set[int]] = {}
    for node in reversed(list(post_order(main))):
        if id(node) in readers and isinstance(node, (*_WORK, r.Constant)):
            held.setdefault(id(node), readers[id(node)])
        for child in children(node) if id(node) in held and isinstance(node, _WORK) else ():
            readers.setdefault(id(child), set()).update(held[id(node)])


def _nodes(step: Step) -> Iterable[Any]:
    return traced_nodes(list(step.stage.module.functions.values()))


def _layer(name: str, text: Text, classes_of: Callable[[Any], Classes]) -> Layer:
    """The classes of each line of a printed function: of what does something on it, else of the innermost around it."""
    count = len(text.lines) - text.text.endswith("\n")
    precise: list[Classes] = [NOTHING] * count
    around: list[tuple[int, Classes, int]] = [(len(text.text) + 1, NOTHING, WHOLE)] * count
    for node, span in _defined(text):
        held = classes_of(node)
        first, last = text.position(span.start)[0] - 1, text.position(max(span.start, span.end - 1))[0] - 1
        size = span.end - span.start
        for number in range(first, first + 1 if isinstance(node, _DECLARED) else min(last + 1, count)):
            if not isinstance(node, _HOLDERS):
                precise[number] |= held
            elif size < around[number][0]:
                around[number] = size, held, _grade(node)
    lines = tuple(own or wider for own, (_, wider, _) in zip(precise, around, strict=True))
    grades = tuple(DOES if own else grade for own, (_, _, grade) in zip(precise, around, strict=True))
    return Layer(name, text.text, lines, grades)


def _grade(node: Any) -> int:
    """How what begins on a line, or is the innermost around it, has its classes."""
    if isinstance(node, t.BlockRealize):
        node = node.block
    if isinstance(node, (t.PrimFunc, r.Function)) or (isinstance(node, t.Block) and node.name == ROOT):
        return WHOLE
    return AROUND if isinstance(node, _HOLDERS) else DOES


def _defined(text: Text) -> list[tuple[Any, Span]]:
    """Statements and relay expressions where they are written first; after that a graph's text only names them."""
    found: dict[int, tuple[Any, Span]] = {}
    for node, span in text.spans:
        if isinstance(node, (t.Stmt, t.PrimFunc, r.Expr)):
            known = found.get(id(node))
            if known is None or span.start < known[1].start:
                found[id(node)] = node, span
    return list(found.values())


# --- classes ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Classes:
    """What classes there are."""

    things: tuple[Any, ...]
    by_thing: Mapping[int, Classes]
    """By identity: of the things, and of what holds them."""

    def of(self, found: Iterable[Any]) -> Classes:
        return NOTHING.union(*(self.by_thing.get(id(thing), NOTHING) for thing in found))


def _of_expressions(sites: tuple[Site, ...], graph: Iterable[Any]) -> _Classes:
    """A class for each call in a fused function, at each call of its kernel; for the call of a bare operator one.

    Calls of the graph that have no kernel, since they only name the same bytes, have classes too.
    """
    things: list[Any] = []
    held: dict[int, set[int]] = {}
    carried = [(site.expression, [here for _, here in site.pairs]) for site in sites]
    known = {id(here) for _, found in carried for here in found}
    others = [(node, expressions_of(node)) for node in graph if isinstance(node, r.Call) and id(node) not in known]
    inside = {id(here) for call, found in others for here in found if here is not call}
    for call, found in [*carried, *(one for one in others if id(one[0]) not in inside)]:
        begin = len(things)
        inner = {id(here): here for here in reversed(found) if isinstance(here, _WORK) and here is not call}
        for here in inner.values() or (call,):
            held.setdefault(id(here), set()).add(len(things))
            things.append(here)
        for here in found:
            if id(here) not in inner:
                held.setdefault(id(here), set()).update(range(begin, len(things)))
    return _Classes(tuple(things), {identity: frozenset(numbers) for identity, numbers in held.items()})


def _of_statements(known: Known) -> _Classes:
    """A class for each stage of tensor expressions; where there are none, for each statement that does something.

    Loops, blocks and functions hold what is in them.
    """
    numbers: dict[int, int] = {}
    things: list[Any] = []
    held: dict[int, set[int]] = {}
    open_nodes: list[tuple[Any, tuple[Any, ...]]] = [(item, ()) for item in known.step.stage.module.functions.values()]
    while open_nodes:
        node, outside = open_nodes.pop()
        inner = [child for child in children(node) if isinstance(child, t.Stmt)]
        open_nodes.extend((child, (*outside, node)) for child in reversed(inner))
        if inner or not isinstance(node, t.Stmt):
            continue
        for source in known.sources_of(node):
            number = numbers.setdefault(id(source), len(things))
            things += [source] * (number == len(things))
            for holder in (source, *outside, *pre_order(node)):
                held.setdefault(id(holder), set()).add(number)
    return _Classes(tuple(things), {identity: frozenset(numbers) for identity, numbers in held.items()})
