"""The whole chain of a session, and back: node of the file, relay expressions, kernels, lines of tir, LLVM, assembly.

    p = s.provenance
    place = p.line("fused_nn_dense", 41)              # line 41 of its assembly
    place.line, place.how, place.onnx                 # the tir line, how that is known, the nodes of the file
    trail = p.trail("Gemm#8 ('dense')")               # forward, down to the lines of each native form
    trail.kernels[0].native["asm"]

Nothing is built for this: a kernel is compiled for its text when it is asked about, and kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from .._lazy import told, views
from ..arith.nodes import Mul
from ..codegen.backend import backend_of
from ..codegen.llvm.lines import FUNCTION, KEPT, Spot
from ..codegen.llvm.places import MOST_COLUMNS, SourcePlace, printed
from ..codegen.llvm.tracing import FORMS, NativeForm, trace
from ..core import reliance
from ..core.errors import WorkbenchError
from ..core.node import children, pre_order
from ..core.origin import ImportedFrom
from ..tir import nodes as t
from .anchors import unknown_kernel
from .expression_origins import expression_calls
from .links import Links
from .origin_index import NONE, Known, Site, Sources, index_of
from .provenance import became, in_order, label_named, site_of

if TYPE_CHECKING:
    from ..codegen.llvm.backend import Artefact
    from .history import Step
    from .session import Session

TIR: Final = "tir"
_LEAVES = (t.BufferStore, t.Evaluate, t.AssertStmt, t.LetStmt, t.AllocBuffer)
_HEADERS = (t.For, t.While, t.IfThenElse)


@dataclass(frozen=True)
class Place:
    """Where one line of a kernel's text comes from."""

    kernel: str
    form: str
    text_line: int
    line: int
    """The line of the kernel's tir."""
    how: str
    """How that is known: "line", "flow", "loop" or "function" (see `codegen.llvm.lines`)."""
    loops: tuple[tuple[int, int], ...]
    """The loops around it, outermost first: the line of each and its ordinal there."""
    statements: tuple[t.Stmt | t.PrimFunc, ...]
    calls: tuple[Any, ...]
    """The relay expressions that it carries out, as they are after the last graph pass."""
    onnx: tuple[Any, ...]
    """The nodes of the imported file (or the imported expressions, where there was no file)."""


@dataclass(frozen=True)
class KernelTrail:
    """What a thing became in one kernel: lines of each text, from 1."""

    kernel: str
    sites: tuple[int, ...]
    """The calls of the entry that it is in."""
    tir: tuple[int, ...]
    native: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Trail:
    """What a thing became, from graph to machine code."""

    onnx: tuple[Any, ...]
    steps: Mapping[str, tuple[Any, ...]]
    """Nodes of the program, by step."""
    kernels: tuple[KernelTrail, ...]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return told().trail_bundle(self)


class Provenance:
    """Questions about one session; see the module's header."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._expressions: dict[str, Mapping[int, Sources]] = {}
        self._numbers: dict[int, list[Any]] = {}
        self._native: dict[str, Mapping[str, NativeForm]] = {}
        self._places: dict[str, dict[int, SourcePlace]] = {}
        self._by_line: dict[str, dict[int, tuple[Any, ...]]] = {}

    def __repr__(self) -> str:
        return "Provenance: .line(kernel, line), .trail(thing), .listing(kernel), .links"

    @cached_property
    def links(self) -> Links:
        """Which lines of all layers belong together."""
        return Links(self._session, self)

    # --- what there is ---

    @cached_property
    def _last(self) -> int:
        """The position of the last loop step, whose functions are compiled."""
        step = self._session.step(self._loop_steps[-1])
        if step.error is not None:
            raise step.error
        return self._loop_steps[-1]

    @cached_property
    def _loop_steps(self) -> list[int]:
        found = [index for index, action in enumerate(self._session.actions) if action.level == "tir"]
        if not found:
            raise WorkbenchError(
                "E-ORIGIN-NATIVE", "this session has no loop programs", fix="run the default pipeline, with Lower"
            )
        return found

    @cached_property
    def known(self) -> Known:
        """The origins of the program that is compiled."""
        return index_of(self._session, self.compiled)[-1]

    @cached_property
    def compiled(self) -> Step:
        """The last loop step: one for all questions, also where a user's rule makes it another at each run."""
        return self._session.step(self._last)

    @cached_property
    def reached(self) -> Step:
        """The last loop step that there is a program after: `compiled`, unless a step stops with an error.

        Raises that step's error where it comes before all loop programs.
        """
        stopped: WorkbenchError | None = None
        for index in reversed(self._loop_steps):
            step = self._session.step(index)
            if step.error is None:
                return step
            stopped = step.error
        assert stopped is not None
        raise stopped

    def holds(self) -> bool:
        """Whether the program that it tells of, if one was asked about, would be the same again."""
        compiled, now = self.__dict__.get("reached") or self.__dict__.get("compiled"), reliance.Now()
        return compiled is None or all(step.relied.holds(now) for step in compiled.path)

    @cached_property
    def _artefact(self) -> Artefact:
        target = self._session.target
        module = self.compiled.stage.module
        return backend_of(target).emit_module(module, target, expressions=True)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The compiled functions, the entry among them."""
        return tuple(self._artefact.texts)

    @property
    def calls(self) -> tuple[Site, ...]:
        """The calls of kernels in the entry, in order."""
        return index_of(self._session, self.reached)[-1].sites

    def _required(self, kernel: str) -> str:
        if not isinstance(kernel, str) or kernel not in self._artefact.texts:
            raise unknown_kernel(kernel, self._artefact.texts)
        return kernel

    def function(self, kernel: str) -> t.PrimFunc:
        """A kernel as it is compiled."""
        found = self._artefact.lowered[self._required(kernel)]
        assert isinstance(found, t.PrimFunc)
        return found

    def text(self, kernel: str, form: str = "asm") -> str:
        """A kernel's text: "tir", "ll", "ll-opt" or "asm"."""
        if form == TIR:
            return self._artefact.sources[self._required(kernel)]
        return self.native(kernel, form).text

    def native(self, kernel: str, form: str = "asm") -> NativeForm:
        """A native text of a kernel with the place of each instruction."""
        if not isinstance(form, str) or form not in FORMS:
            raise WorkbenchError(
                "E-SOURCE-FORM", f"there is no native form {form!r}", expected=", ".join((TIR, *FORMS))
            )
        if self._required(kernel) not in self._native:
            self._native[kernel] = trace(self._artefact.texts[kernel], self._session.target)
            self.is_compiled(kernel)
        return self._native[kernel][form]

    def is_compiled(self, kernel: str) -> None:
        """Note that a kernel of the program was compiled by itself: `session.layers` tells of it."""
        self._session.history.compiled_apart.setdefault(self.compiled.id, set()).add(kernel)

    def listing(self, kernel: str, form: str = "asm") -> str:
        """A kernel's native text with the line of tir and the nodes of the file in front of each line."""
        return views().listing_of(self, kernel, form)

    def show(self, kernel: str, form: str = "asm") -> Any:
        """Display a kernel's native text with the origin of each line."""
        return views().show_listing(self, kernel, form)

    # --- lines of tir ---

    def statements(self, kernel: str, line: int) -> tuple[Any, ...]:
        """What stands on a line of a kernel's tir: statements, loops, or (line 1) the function."""
        if kernel not in self._by_line:
            self._by_line[kernel] = self._lines_of(kernel)
        return self._by_line[kernel].get(line, ())

    def _lines_of(self, kernel: str) -> dict[int, tuple[Any, ...]]:
        function = self.function(kernel)
        _, places = printed(function, kernel)
        self._places[kernel] = places
        found: dict[int, list[Any]] = {1: [function]}
        for node in pre_order(function):
            if isinstance(node, (*_LEAVES, *_HEADERS)) and id(node) in places:
                found.setdefault(places[id(node)].line, []).append(node)
        return {line: _sharpest(nodes) for line, nodes in found.items()}

    # --- back ---

    def line(self, kernel: str, line: int, form: str = "asm", call: int | None = None) -> Place:
        """Where a line of a kernel's text comes from; lines without an instruction belong to the next that has one.

        `call`: the number of one call of a shared kernel; without it, all calls answer.
        """
        if form == TIR:
            return self._place(Spot(line, kernel, line, (), KEPT), kernel, form, call)
        spots = self.native(kernel, form).spots
        last = self.text(kernel, form).count("\n") + 1
        if not isinstance(line, int) or not 1 <= line <= last:
            raise WorkbenchError(
                "E-ORIGIN-LINE", f"{kernel} has no line {line} of {form}", expected=f"1 to {last}", found=str(line)
            )
        spot = next((spot for spot in spots if spot.text_line >= line), Spot(line, kernel, 1, (), FUNCTION))
        return self._place(spot._replace(text_line=line), kernel, form, call)

    def _place(self, spot: Spot, kernel: str, form: str, call: int | None) -> Place:
        site = site_of(self.known, call)
        nodes = self.statements(kernel, spot.line)
        return Place(
            kernel,
            form,
            spot.text_line,
            spot.line,
            spot.how,
            spot.loops,
            nodes,
            tuple(self.calls_of(kernel, spot, site)),
            in_order(self.sources(kernel, spot, site)),
        )

    def sources(self, kernel: str, spot: Spot, site: Site | None = None) -> Sources:
        """What of the imported program an instruction comes from, at one call of its kernel or at any.

        An instruction whose part of a fused statement is known comes from that part alone.
        """
        if self._part(kernel, spot):
            return self.known.sources_of_calls(self.calls_of(kernel, spot, site))
        return _joined(self.known.sources_of(node, site) for node in self.statements(kernel, spot.line))

    def calls_of(self, kernel: str, spot: Spot, site: Site | None = None) -> Sources:
        """The relay expressions that an instruction carries out, at one call of its kernel or at all."""
        part = self._part(kernel, spot)
        if part:
            return self.known.at_sites(part, site)
        return _joined(self.known.calls_of(node, site) for node in self.statements(kernel, spot.line))

    def _part(self, kernel: str, spot: Spot) -> Sources:
        """The relay expressions of the part of a statement that an instruction works for; empty if unknown."""
        nodes = self.statements(kernel, spot.line) if spot.column else ()
        if len(nodes) != 1 or not isinstance(nodes[0], t.BufferStore):
            return NONE
        if id(nodes[0]) not in self._numbers:
            self._numbers[id(nodes[0])] = list(islice(pre_order(nodes[0]), MOST_COLUMNS))
        part = self._numbers[id(nodes[0])][abs(spot.column) - 1]
        known = self._parts(kernel).get(id(part), NONE)
        if spot.column > 0 or not known:
            return known
        products = [self._parts(kernel).get(id(child)) for child in children(part) if isinstance(child, Mul)]
        return known.union(*(found for found in products if found))

    def _parts(self, kernel: str) -> Mapping[int, Sources]:
        """By identity, the relay expressions of parts of a kernel's statements."""
        if kernel not in self._expressions:
            self._expressions[kernel] = self._laid_over(kernel)
        return self._expressions[kernel]

    def _laid_over(self, kernel: str) -> Mapping[int, Sources]:
        lower = [index for index, action in enumerate(self._session.actions) if action.kind == "lower"]
        edited = any(action.kind == "edit" and action.level == "tir" for action in self._session.actions)
        stage = self._session.step(lower[0]).stage if lower else None
        func = stage.module.functions.get(kernel) if stage is not None else None
        if edited or not isinstance(func, t.PrimFunc) or kernel == "main":
            return {}
        return expression_calls(self.function(kernel), func, index_of(self._session, self.compiled)[lower[0]])

    # --- forward ---

    def trail(self, thing: Any, native: bool = True) -> Trail:
        """What `thing` (a label, its name, or a node of any step's program) became.

        With `native`, each kernel that it is in is compiled for its texts.
        """
        last = self._last
        if isinstance(thing, str):
            thing = label_named(self._session, thing)
        steps = became(self._session, thing)
        here = {id(node) for node in steps.get(self._session.labels[last], ())}
        kernels = [self._kernel_trail(kernel, thing, here, native) for kernel in self.kernels]
        own = (thing,) if isinstance(thing, ImportedFrom) else in_order(self._sources_anywhere(thing))
        return Trail(own, steps, tuple(found for found in kernels if found is not None))

    def _sources_anywhere(self, thing: Any) -> Sources:
        return next((found for known in reversed(index_of(self._session)) if (found := known.sources_of(thing))), NONE)

    def _kernel_trail(self, kernel: str, thing: Any, here: set[int], native: bool) -> KernelTrail | None:
        self.statements(kernel, 1)
        places = self._places[kernel]
        nodes = [node for node in pre_order(self.function(kernel)) if id(node) in here and id(node) in places]
        lines = tuple(sorted({places[id(node)].line for node in nodes}))
        if not lines:
            return None
        sites = tuple(
            site.number
            for site in self.calls
            if site.kernel == kernel and any(self._is_at(node, thing, site) for node in nodes)
        )
        wanted = set(lines)
        forms = {
            form: tuple(spot.text_line for spot in self.native(kernel, form).spots if spot.line in wanted)
            for form in (FORMS if native else ())
        }
        return KernelTrail(kernel, sites, lines, forms)

    def _is_at(self, node: Any, thing: Any, site: Site) -> bool:
        if isinstance(thing, ImportedFrom):
            return thing in self.known.sources_of(node, site)
        return bool(self.known.calls_of(node, site))


def _sharpest(nodes: list[Any]) -> tuple[Any, ...]:
    """Of what begins on a line, what does something; else the loops; else the function."""
    for kinds in (_LEAVES, _HEADERS):
        found = tuple(node for node in nodes if isinstance(node, kinds))
        if found:
            return found
    return tuple(nodes)


def _joined(sources: Any) -> Sources:
    return NONE.union(*sources)


__all__ = ["KernelTrail", "Place", "Provenance", "Trail"]
