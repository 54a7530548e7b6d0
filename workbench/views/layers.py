"""A session as one screen sees it: its layers, any two of them beside each other, and what links their lines.

The model is a value and computes when it is looked at: opening it runs the graph passes, a layer below them its steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from ..core.errors import WorkbenchError, nearest
from ..core.node import post_order
from ..driver.history import identities
from ..driver.layers import GLYPHS
from ..driver.links import Layer, Links
from ..driver.step_listings import listings_of
from ..driver.trips import hottest, trips
from ..relay.ir import expr as r
from ..tir.nodes import Buffer, PrimFunc
from ..tir.script import text as written
from .eager import runs_graph_passes
from .formulas import FormulasView, formulas_of
from .graph import graph_view
from .graph_calls import CallsView, call_at, calls_of, changed_calls, with_attribute, work_of
from .graph_groups import Box, boxes_of
from .graph_tree import TreeView, graph_tree
from .graph_view import GraphView
from .kernel_work import operations_of, work_of_kernels
from .link_boxes import linked_boxes
from .links import LinkView, link_table, parts_key, runs
from .places import PlacesView, PlaceView, place_of, places_of
from .schema import SCHEMA_VERSION, Chunk, TextView, View
from .words import WordsView, words_of

if TYPE_CHECKING:
    from ..driver.history import Step
    from ..driver.session import Session

LANGUAGES: Final = {"llvm": "llvm", "asm": "asm", "onnx": "text"}
"""By layer, where it is not Python's syntax."""
GRAPHS: Final = ("relay", "fused")
"""Layers that are drawn as graphs."""
_FIRST: Final = 400
"""Lines that are sent with a pane; the page asks for others."""
_GRAPHS_KEPT: Final = 4
"""Graphs whose boxes are remembered."""
_MOST_WORK: Final = 2**53
"""Greater numbers are no integers to a page."""
_NATIVE: Final = {"llvm": "ll", "asm": "asm", "tir": "tir"}


@dataclass(frozen=True, slots=True)
class LayerView(View):
    """A layer on the spine."""

    name: str
    title: str
    state: str
    """ran, not run, changed or failed"""
    glyph: str
    count: int | None
    unit: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class KernelView(View):
    """A kernel that panes can show."""

    name: str
    operations: int
    """Arithmetic of one call of its loops; 0 where that is not known."""
    share: float = 0.0
    """The part of the model's arithmetic that all its calls do, 0 to 1."""
    classes: tuple[int, ...] = ()
    """Which parts of the model it carries out, in all its calls (`driver.links`)."""
    parts: tuple[float, ...] = ()
    """How much of its work each of these is, 0 to 1: by the arithmetic of the operators."""
    calls: int = 1
    """How often one run of the model calls it."""
    shape: str = ""
    """The extents of its last parameter, which is its output: "1 × 6 × 7 × 7"; empty for a scalar."""


@dataclass(frozen=True, slots=True)
class LayersView(View):
    """The spine: what there is to show."""

    state: str
    title: str
    layers: tuple[LayerView, ...]
    kernels: tuple[KernelView, ...]
    """The one whose calls do most of the arithmetic first."""
    version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class PaneView(View):
    """A layer as text."""

    layer: str
    kernel: str
    """Empty for layers of the whole model."""
    language: str
    text: TextView
    call: str = ""
    """The same in Python."""
    hidden: tuple[int, ...] = ()
    """Stretches of lines that say nothing of what is computed (directives, metadata): first, count, first, count ..."""
    trips: tuple[int, ...] = ()
    """How often the statements of lines are run in one call: lines, times, lines, times ...; empty if not counted."""
    hottest: int = 0
    """The line, from 1, of the statement that most instructions are run for; 0 where nothing is counted."""
    constant: tuple[int, ...] = ()
    """Of the file's nodes the lines (from 0) that compute on weights alone."""
    step: str = ""
    """The name of the step after which the kernel or graph has this very text, so that it can be edited; else empty."""


@dataclass(frozen=True)
class LayersModel:
    """What the screen shows of a session."""

    session: Session
    _kernels: list[KernelView] = field(default_factory=list[KernelView], compare=False, repr=False)
    _names: list[str] = field(default_factory=list[str], compare=False, repr=False)
    _boxes: dict[int, tuple[object, tuple[Box, ...]]] = field(default_factory=dict, compare=False, repr=False)
    """Of graphs that were drawn, by identity: opening a group asks for them again."""

    def view(self) -> LayersView:
        """The spine; the graph passes are run for it, except on a graph so large that they take a second."""
        session = self.session
        graph = [index for index, action in enumerate(session.actions) if action.level == "relay"]
        if graph and runs_graph_passes(session):
            session.step(graph[-1])
        known = session.history.computed(session.actions)
        layers = tuple(
            LayerView(one.name, one.title, one.state, GLYPHS[one.state], one.count, one.unit, one.failed)
            for one in session.layers
        )
        return LayersView(known[-1].state if known else "", session.heading, layers, tuple(self._kernels))

    def kernels(self) -> tuple[KernelView, ...]:
        """The kernels, computed now: those whose calls do most of the arithmetic first."""
        if not self._kernels:
            stage = self.session.step(self.session.plan.kernel_step()).stage
            module = stage.module
            links = self.session.provenance.links
            held: dict[str, dict[int, float]] = {}
            times = Counter(site.kernel for site in links.sites)
            for site in links.sites:
                parts = held.setdefault(site.kernel, {})
                for number, part in _parts(links, links.at(site.number)).items():
                    parts[number] = parts.get(number, 0.0) + part / times[site.kernel]
            work = work_of_kernels({name: module[name] for name in self.session.kernels}, stage.lowered)
            total = sum(work.values()) or 1
            found = [
                KernelView(
                    name,
                    operations_of(module[name]),
                    count / total,
                    tuple(sorted(held.get(name, ()))),
                    tuple(part for _, part in sorted(held.get(name, {}).items())),
                    times.get(name, 1),
                    _shape(module[name]),
                )
                for name, count in work.items()
            ]
            self._kernels.extend(sorted(found, key=lambda kernel: -kernel.share))
        return tuple(self._kernels)

    def numbering(self) -> str:
        """Whose numbers the classes of the kernels are: a page that knows others has selected what is gone."""
        links = self.session.provenance.links
        return parts_key(links) if links.sites else identities(self.session.actions)[0]  # statements of the import

    @cached_property
    def origins(self) -> tuple[tuple[int, ...], ...]:
        """By class, the calls of the imported graph that it stems from, by their places there.

        Other programs made of the same import have others classes and kernels of other names; these calls are the same.
        """
        links = self.session.provenance.links
        if not links.sites:
            return ()
        held = links.of_graph(self.session.labels[0])
        found: list[list[int]] = [[] for _ in links.parts]
        calls = (node for node in post_order(self.session.step(0).stage.module["main"]) if isinstance(node, r.Call))
        for place, call in enumerate(calls):
            for number in held.get(id(call), ()):
                found[number].append(place)
        return tuple(map(tuple, found))

    @cached_property
    def does(self) -> Mapping[str, Mapping[int, int]]:
        """By kernel, which calls of the imported graph it carries out, by their places there, and its arithmetic for
        each in all its calls.  What is done without arithmetic counts as one; nothing is known of loop programs."""
        if not self.origins:
            return {}
        parts, found = self.session.provenance.links.parts, dict[str, dict[int, int]]()
        for kernel in self.kernels():
            does = found.setdefault(kernel.name, {})
            for number in kernel.classes:
                work = max(work_of(parts[number]) or 0, 1)
                for call in self.origins[number]:
                    does[call] = min(does.get(call, 0) + work, _MOST_WORK)
        return found

    def pane(self, layer: str, kernel: str = "") -> PaneView:
        """A layer's text, the first lines of it.  Raises `WorkbenchError` for a layer or kernel that is not there."""
        lines = self.text(layer, kernel)
        named = "" if layer in ("onnx", *GRAPHS) else kernel
        text = TextView(len(lines), (Chunk(0, lines[:_FIRST]),) if lines else ())
        language = LANGUAGES.get(layer, "python")
        counted = runs(trips(self.session.provenance, kernel, _NATIVE[layer])) if layer in _NATIVE else ()
        hot = hottest(self.session.provenance, kernel, _NATIVE[layer]) if layer in _NATIVE else 0
        constant = self.session.provenance.links.onnx_of_constants if layer == "onnx" else ()
        return PaneView(
            layer, named, language, text, self._call(layer, kernel), _noise(lines, language), counted, hot, constant,
            self._graph_step(layer) if layer in GRAPHS else self._loop_step(layer),
        )  # fmt: skip

    def place(self, layer: str, kernel: str, line: int) -> PlaceView:
        """Where a line (from 1) of a kernel's loops, LLVM or assembly comes from."""
        self._require(layer, list(_NATIVE))
        return place_of(self.session, kernel, layer, line)

    def places(self, layer: str, kernel: str) -> PlacesView:
        """The same of all lines at once."""
        self._require(layer, list(_NATIVE))
        return places_of(self.session, kernel, layer)

    def text(self, layer: str, kernel: str = "") -> tuple[str, ...]:
        """All lines of a layer."""
        return _lines(self._layer(layer, kernel))

    def words(self, layer: str, kernel: str = "") -> WordsView:
        """What the words of a layer's text mean, and what folds in it."""
        text, listing = self.text(layer, kernel), None  # without a text (and there is none without "main"), no words
        if layer in GRAPHS:
            listing = listings_of(self.session.step(self._graph_step(layer)))["main"]
        return words_of(layer, kernel, text, LANGUAGES.get(layer, "python"), listing)

    def lines(self, layer: str, kernel: str, start: int, count: int) -> Chunk:
        """Further lines of a layer."""
        return Chunk(start, self.text(layer, kernel)[start : start + count])

    def links(self, kernel: str, native: bool = True) -> LinkView:
        """What links the lines of all layers, for one kernel; without `native`, of those that nothing is compiled
        for."""
        return link_table(self.session.provenance.links, kernel, native, partial(linked_boxes, self.session))

    def graph(self, layer: str, opened: tuple[str, ...] = (), step: str = "") -> GraphView:
        """The imported or the fused graph, laid out, with the classes of its boxes.

        With the label of a graph step: the graph after it, with what it changed marked.
        """
        label = self._label(layer, step)
        found = self._relay_step(label)
        main = found.stage.module["main"]
        changed: frozenset[int] = frozenset()
        if step and found.previous is not None and found.changed:
            changed = changed_calls(found.previous.stage.module["main"], main, found.origins)
        linked = self._lowered()
        classes = self.session.provenance.links.of_graph(label) if linked else {}
        drawn, boxes = self._boxes.get(id(main)) or (None, ())
        if drawn is not main:
            while len(self._boxes) >= _GRAPHS_KEPT:
                del self._boxes[next(iter(self._boxes))]
            boxes = boxes_of(main)
            self._boxes[id(main)] = main, boxes
        return replace(graph_view(main, opened, classes, changed, boxes), linked=linked)

    def _lowered(self) -> bool:
        """Whether the loop programs are known, as far as they can be: links take no long computing then."""
        session = self.session
        loops = [index for index, action in enumerate(session.actions) if action.level == "tir"]
        known = session.history.computed(session.actions)
        stopped = next((index for index, step in enumerate(known) if step.error is not None), None)
        if stopped is not None:
            return stopped > session.plan.kernel_step()
        return bool(loops) and len(known) > loops[-1]

    def calls(self, layer: str, step: str = "") -> CallsView:
        """The calls of the same graph."""
        label = self._label(layer, step)
        return CallsView(layer, step, tuple(calls_of(self._relay_step(label).stage.module["main"])))

    def tree(self, layer: str, step: str = "") -> TreeView:
        """The same graph in words."""
        label = self._label(layer, step)
        linked = self._lowered()
        classes = self.session.provenance.links.of_graph(label) if linked else {}
        return graph_tree(self._relay_step(label), classes, linked)

    def with_attribute(
        self, layer: str, step: str, place: str, number: int, name: str, text: str
    ) -> tuple[Session, str]:
        """The session with one attribute of one call changed after a graph step, and the same in Python."""
        label = self._label(layer, step)
        before = self._relay_step(label).stage.module["main"]
        try:
            made = self.session.changed_at(label, {"main": with_attribute(before, place, number, name, text)})
        except WorkbenchError as error:
            if type(error) is not WorkbenchError:  # one that holds more than these
                raise
            operator = getattr(call_at(before, place, number).op, "name", "")
            raise WorkbenchError(
                error.code, error.message,
                where=f"{name[:40]}={text[:80]} of {operator}: {error.where}".removesuffix(": "),
                found=error.found, expected=error.expected,
                fix=error.fix or "where it does not fit what reads its result, change that too, in the graph's text",
                kept=error.kept, nodes=error.nodes,
            ) from None  # fmt: skip
        return made, f"s = s[{label!r}].edit({{'main': ...}})  # {name}={text}"

    def call(self, layer: str, step: str, place: str, number: int) -> r.Call:
        """A call of a graph, as `calls` numbers them.  Raises `WorkbenchError` where there is none."""
        main = self._relay_step(step or self._label(layer, step)).stage.module["main"]
        return call_at(main, place, number)

    def _relay_step(self, label: str) -> Step:
        labels = [
            name for name, one in zip(self.session.labels, self.session.actions, strict=True) if one.level == "relay"
        ]
        if label not in labels:
            raise WorkbenchError(
                "E-STEP-UNKNOWN", f"there is no graph step {label[:40]!r}", expected=", ".join(labels),
                fix=nearest(label, labels),
            )  # fmt: skip
        step = self.session.step(label)
        if step.error is not None:  # what it holds is the graph before the step that stopped
            raise step.error
        return step

    def formulas(self, kernel: str) -> FormulasView:
        """The stages of a kernel before it is scheduled."""
        lines = self.text("te", kernel)  # refuses unknown kernels
        label = self.session.labels[self.session.plan.kernel_step()]
        return FormulasView(kernel, formulas_of(self.session.step(label).stage.module[kernel], lines))

    def _loop_step(self, layer: str) -> str:
        """The label of the step whose loop program a layer shows; empty for layers that show none."""
        plan, labels = self.session.plan, self.session.labels
        if layer == "tir":  # what is handed to code generation
            return labels[next(n for n, one in enumerate(self.session.actions) if one.level == "native") - 1]
        return labels[plan.kernel_step() if layer == "te" else plan.loop_step()] if layer in ("te", "schedule") else ""

    def _layer(self, layer: str, kernel: str) -> Layer:
        self._require(layer, self.names())
        links = self.session.provenance.links
        if layer == "onnx":
            return links.onnx
        if layer in GRAPHS:
            return links.graph(self._graph_step(layer))
        if layer in _NATIVE:
            return links.native(_NATIVE[layer], kernel)
        return links.loops(self._loop_step(layer), kernel)

    def names(self) -> list[str]:
        """The layers that the session has: they follow from its steps."""
        if not self._names:
            self._names.extend(layer.name for layer in self.session.layers)
        return self._names

    def _require(self, layer: str, names: list[str]) -> None:
        if layer not in names:
            raise WorkbenchError(
                "E-UI-ARGUMENT", f"this session shows no layer {layer[:40]!r} like that",
                expected=", ".join(names) or "one of a model", fix=nearest(layer, names),
            )  # fmt: skip

    def _label(self, layer: str, step: str) -> str:
        """The label of the step asked about: that of the layer, where none is named.  Refuses layers of no graph."""
        self._require(layer, [name for name in self.names() if name in GRAPHS])
        return step or self._graph_step(layer)

    def _graph_step(self, layer: str) -> str:
        if layer == "relay":
            return self.session.labels[self.session.plan.relay_step()]
        last = [number for number, action in enumerate(self.session.actions) if action.level == "relay"][-1]
        return self.session.labels[last]

    def _call(self, layer: str, kernel: str) -> str:
        if layer == "onnx":
            return "s.provenance.links.onnx.text"
        if layer in GRAPHS:
            return f"s[{self._graph_step(layer)!r}].script()"
        if layer in _NATIVE:
            return f"s.provenance.text({kernel!r}, {_NATIVE[layer]!r})"
        return f"s[{self._loop_step(layer)!r}].program[{kernel!r}].script()"


def _noise(lines: tuple[str, ...], language: str) -> tuple[int, ...]:
    """The stretches of lines that a reader of the computation can do without."""
    says_nothing = {"asm": _is_directive, "llvm": _is_metadata}.get(language)
    if says_nothing is None:
        return ()
    found: list[int] = []
    for number, line in enumerate(lines):
        if not says_nothing(line.strip()):
            continue
        if found and found[-2] + found[-1] == number:
            found[-1] += 1
        else:
            found += [number, 1]
    return tuple(found)


def _is_directive(line: str) -> bool:
    """An assembler directive, a label that no instruction names or that names constants, or an empty line."""
    if not line.startswith("."):
        return not line
    # What a constant holds stands as a remark where it is loaded; its label would stand above nothing.
    return not line.split("#", 1)[0].rstrip().endswith(":") or line.startswith((".Ltmp", ".Lfunc_", ".LCPI"))


def _is_metadata(line: str) -> bool:
    return not line or line.startswith(("!", ";", "attributes #", "declare ", "source_filename", "target "))


def _lines(layer: Layer) -> tuple[str, ...]:
    return tuple(layer.text.rstrip("\n").replace("\t", "    ").split("\n")) if layer.text else ()


def _shape(func: object) -> str:
    """The extents of what a kernel writes: kernels of one name differ by them."""
    given = [one for one in func.params if isinstance(one, Buffer)] if isinstance(func, PrimFunc) else []
    return " × ".join(written(extent).text for extent in given[-1].shape) if given else ""


def _parts(links: Links, classes: Iterable[int]) -> dict[int, float]:
    """How much of a call's work each of its operators is; all alike where none does any."""
    numbers = sorted(set(classes))
    work = [work_of(thing) or 0 for thing in links.things(numbers)]
    if not any(work):
        work = [1] * len(numbers)
    return {number: count / sum(work) for number, count in zip(numbers, work, strict=True)}
