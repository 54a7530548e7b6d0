"""A screen's answers, recorded, so that a page without a kernel can play them (`ui.page`, `player.ts`).

What is worth asking stands in one place, `_asked`: by the screen's commands and what they answer, and nothing else of
the screen.  Commands that are not asked here (edits, measurements) a recording refuses, with one sentence.

    recording = record(Workbench(session))
    recording.replies['["graph",{"layer":"fused","opened":[],"step":""}]']
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any, Final

from workbench.core import progress
from workbench.ui.protocol import VERSION
from workbench.ui.screen import Screen
from workbench.views.strings.tables import say

BUDGET: Final = 2_400_000
"""Bytes of answers, packed one by one; together they pack better."""
_CHUNK: Final = 2_000
_REWRITES: Final = 400
_ROOFLINES: Final = 4
"""Kernels whose way under the roofline is asked: it models up to 16 states of each, which takes a tenth of a second."""
_OPENED: Final = 7
"""Groups of a graph that may be open in every combination; of more, one or two at a time."""
_SHARED: Final = 120
"""Characters from which a value that comes again is written once."""
_REFERENCE: Final = "$"
QUIET: Final = ("select", "pipeline.select")
"""Commands that only tell the kernel something."""
TOGETHER: Final = {"pipeline.steps": {"args": "steps", "op": "pipeline.step", "arg": "step", "view": "steps"}}
"""Commands that answer several others at once: the page's player puts their answers together."""


@dataclass
class Recording:
    """Answers by what was asked.  Texts and places of lines are kept whole: pages ask for any stretch of them."""

    kind: str
    replies: dict[str, Any] = field(default_factory=dict[str, Any])
    texts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Lines by the command and its arguments without `start` and `count`."""
    rows: dict[str, Any] = field(default_factory=dict[str, Any])
    """Of commands that are asked of one `line` (from 1): which of the answers is its, and the answers."""
    left_out: list[str] = field(default_factory=list[str])
    """What was not asked since it would have been too much, in words."""
    size: int = 0
    """About how many bytes it packs to."""

    def packed(self) -> bytes:
        """As JSON (`{"v", "kind", "replies", ..., "pool"}`), what comes again written once, as gzip."""
        pool = _Pool()
        parts = {"replies": self.replies, "texts": self.texts, "rows": self.rows}
        document = {
            "v": VERSION, "kind": self.kind, "quiet": QUIET, "together": TOGETHER, "refusal": refusal(),
            **{name: pool.shared(part) for name, part in parts.items()}, "pool": pool.entries,
        }  # fmt: skip
        return gzip.compress(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(), 9, mtime=0)


def key_of(op: str, args: dict[str, Any]) -> str:
    """What was asked, as the player writes it too: JSON with sorted keys."""
    return json.dumps([op, args], ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def refusal() -> dict[str, Any]:
    """What a page is told that asks for what was not recorded."""
    told = say.protocol
    return {
        "code": "E-UI-RECORDED", "message": told.recording, "where": "", "found": "", "expected": told.recording_can,
        "kept": told.recording_keeps, "nodes": [], "fix": told.open_in_notebook,
    }  # fmt: skip


def record(screen: Screen, budget: int = BUDGET) -> Recording:
    """Ask the screen what a page may ask, the most useful first, up to `budget` bytes."""
    recorder = _Recorder(screen, budget)
    for what, ask in progress.track(_asked(recorder), "record", lambda part: part[0]):
        ask()
        if recorder.made.size > budget and what not in recorder.made.left_out:
            recorder.made.left_out.append(what)
    told = screen.ask("python").content
    changes = recorder.reply("python", {})["changes"] if told["ok"] else [f"# {told['err']['message']}"]
    recorder.calls = [first + "…" * bool(rest) for first, _, rest in (call.partition("\n") for call in changes)]
    for op in ("open", "pipeline.open"):  # once more: by now all has run
        recorder.last(op)
    return recorder.made


class _Recorder:
    """Asks and keeps; over the budget nothing is asked any more."""

    def __init__(self, screen: Screen, budget: int) -> None:
        self._screen, self._budget = screen, budget
        self.made = Recording(screen.kind)
        self.calls: list[str] = []
        """The Python of what was done to the session, here or elsewhere, a line each: pages show it as done."""

    @property
    def full(self) -> bool:
        return self.made.size > self._budget

    def answer(self, op: str, **args: Any) -> Any:
        """The answer, not kept; None for a refusal, and over the budget."""
        return None if self.full else self.reply(op, args)

    def reply(self, op: str, args: dict[str, Any]) -> Any:
        """The answer, not kept, whatever the budget; None for a refusal."""
        reply = self._screen.ask(op, **args)
        return reply.view() if reply.content["ok"] else None

    def ask(self, op: str, **args: Any) -> Any:
        """The answer, kept."""
        view = self.answer(op, **args)
        if view is not None:
            if op == "open":
                view.pop("changes", None)  # what this user's disk holds is nothing for a file that is sent around
                view["calls"] = self.calls
            self.made.replies[key_of(op, args)] = view
            self._count(view)
        return view

    def last(self, op: str) -> None:
        """What a page begins with, as it is after all else has been asked; whatever the budget."""
        self._budget = self.made.size + 1
        self.ask(op)

    def text(self, op: str, total: int, **args: Any) -> None:
        """All lines of a text that comes in stretches."""
        lines: list[str] = []
        for start in range(0, total, _CHUNK):
            chunk = self.answer(op, **args, start=start, count=min(_CHUNK, total - start))
            if chunk is None:
                return
            lines += chunk["lines"]
        self.made.texts[key_of(op, args)] = lines
        self._count(lines)

    def rows(self, op: str, every: str, **args: Any) -> None:
        """The answers of `op` for every line, which the command `every` gives at once."""
        view = self.answer(every, **args)
        if view is not None:
            self.made.rows[key_of(op, args)] = {"of": view["of"], "views": view["places"]}
            self._count(view)

    def _count(self, view: Any) -> None:
        self.made.size += len(zlib.compress(json.dumps(view, ensure_ascii=False).encode(), 6))


# --- what is asked ------------------------------------------------------------------------------------------------

_GRAPHS: Final = ("relay", "fused")
_OF_A_KERNEL: Final = ("schedule", "tir", "asm", "llvm", "te")
_PLACED: Final = ("tir", "asm", "llvm")


_Part = tuple[str, Callable[[], object]]
"""What is asked, in words, and asking it."""


def _asked(ask: _Recorder) -> list[_Part]:
    """What there is to ask, after what a page begins with."""
    layers = [layer["name"] for layer in (ask.ask("open") or {"layers": ()})["layers"]]
    kernels = [kernel["name"] for kernel in (ask.ask("kernels") or {"kernels": ()})["kernels"]]
    steps = (ask.ask("pipeline.open") or {"steps": ()})["steps"]
    graphs = [one for one in _GRAPHS if one in layers]
    texts = [one for one in ("onnx", *graphs) if one in layers]
    parts: list[_Part] = [(say.snapshot.graphs, partial(_whole_graph, ask, layer)) for layer in graphs]
    parts += [
        (say.snapshot.graph_texts, partial(_pane, ask, one, kernels[0] if kernels else "", True)) for one in texts
    ]
    parts += [(say.snapshot.first_kernel, partial(_kernel, ask, one, layers, True)) for one in kernels[:1]]
    parts += [(say.snapshot.steps, partial(ask.ask, "python"))]
    parts += [(say.snapshot.steps, partial(ask.ask, "checks.state"))] if "relay" in layers else []
    parts += [(say.snapshot.steps, partial(_step, ask, step)) for step in steps if not step["left_out"]]
    parts += [(say.snapshot.rewrites, partial(_rewrites, ask, step)) for step in steps]
    parts += [(say.snapshot.opened_groups, partial(_groups, ask, layer)) for layer in graphs]
    parts += [(say.snapshot.kernels, partial(_kernel, ask, one, layers, False)) for one in kernels[1:]]
    editors = (partial(_editor, ask, one, number) for number, one in enumerate(kernels))
    return [*parts, *((say.snapshot.schedules, editor) for editor in editors)]


def _whole_graph(ask: _Recorder, layer: str) -> None:
    _graph(ask, layer, ())
    ask.ask("calls", layer=layer, step="")
    ask.ask("tree", layer=layer, step="")


def _kernel(ask: _Recorder, kernel: str, layers: list[str], closely: bool) -> None:
    ask.ask("links", kernel=kernel)
    ask.ask("formulas", kernel=kernel)
    ask.ask("candidates", kernel=kernel)
    for layer in (one for one in _OF_A_KERNEL if one in layers):
        _pane(ask, layer, kernel, closely)
        if layer in _PLACED:
            ask.rows("place", "places", layer=layer, kernel=kernel)


def _rewrites(ask: _Recorder, step: dict[str, Any]) -> None:
    for index in range(min(step["rewrite_count"], _REWRITES)):
        ask.ask("pipeline.rewrite", step=step["id"], index=index)


def _pane(ask: _Recorder, layer: str, kernel: str, aids: bool) -> None:
    """A layer's text: what a pane opens with, its further lines, perhaps what its words mean."""
    view = ask.ask("pane", layer=layer, kernel=kernel)
    if aids:
        ask.ask("words", layer=layer, kernel=kernel)
    if view is not None and view["text"]["total"] > sum(len(chunk["lines"]) for chunk in view["text"]["chunks"]):
        ask.text("lines", view["text"]["total"], layer=layer, kernel=kernel)


def _step(ask: _Recorder, summary: dict[str, Any]) -> None:
    view = ask.ask("pipeline.step", step=summary["id"])
    if summary["changed"] and summary["kind"] != "codegen":
        ask.ask("pipeline.kinds", step=summary["id"])
    ask.ask("spoken", step=summary["name"])
    ask.ask("pipeline.verify", step=summary["id"])
    for side in ("before", "after"):
        if view is not None and view[side]["total"] > sum(len(chunk["lines"]) for chunk in view[side]["chunks"]):
            ask.text("pipeline.text", view[side]["total"], step=summary["id"], side=side)


def _editor(ask: _Recorder, kernel: str, number: int) -> None:
    """A kernel's schedule in its editor; of the first with what can be done at each box.

    The page is told where the way under the roofline is there too: its button cannot be used elsewhere.
    """
    view = ask.ask("schedule.open", kernel=kernel)
    if view is not None:
        view["roofline"] = number < _ROOFLINES and ask.ask("schedule.roofline", kernel=kernel) is not None
    boxes = list(view["tree"]) if view is not None and number == 0 else []
    while boxes:
        one = boxes.pop()
        ask.ask("schedule.reasons", kernel=kernel, selection=one["id"])
        boxes.extend(one["children"])


def _graph(ask: _Recorder, layer: str, opened: tuple[str, ...]) -> list[str]:
    """A graph with groups opened; gives the groups in it."""
    view = ask.ask("graph", layer=layer, opened=list(opened), step="")
    return [box["id"] for box in view["boxes"] if box["kind"] == "group"] if view is not None else []


def _groups(ask: _Recorder, layer: str) -> None:
    """Groups opened: each with those around it, pairs, and all combinations where they are few."""
    outer = _graph(ask, layer, ())
    chains = [((one,), _graph(ask, layer, (one,))) for one in outer]
    while chains and not ask.full:
        above, inner = chains.pop()
        inside = [one for one in inner if one.startswith(f"{above[-1]}.")]
        chains += [((*above, one), _graph(ask, layer, (*above, one))) for one in inside]
    for several in range(2, (len(outer) if len(outer) <= _OPENED else 2) + 1):
        for chosen in combinations(outer, several):
            _graph(ask, layer, chosen)


# --- what comes again, written once -------------------------------------------------------------------------------


class _Pool:
    """Values that occur more than once, by number.  `{"$": 3}` stands for the fourth entry; an object of a program that
    looks like that is an entry itself, whose outermost level stands for nothing else."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        self._numbers: dict[str, int] = {}
        self._seen: set[str] = set()

    def shared(self, value: Any) -> Any:
        """The value with references in it."""
        self._look(value)
        return self._written(value)

    def _look(self, value: Any) -> None:
        if not isinstance(value, (dict, list)):
            return
        text = json.dumps(value, ensure_ascii=False)
        if len(text) >= _SHARED:
            if text in self._seen:
                self._numbers.setdefault(text, -1)
                return
            self._seen.add(text)
        for inner in value.values() if isinstance(value, dict) else value:
            self._look(inner)

    def _written(self, value: Any) -> Any:
        if not isinstance(value, (dict, list)):
            return value
        text = json.dumps(value, ensure_ascii=False)
        if self._numbers.get(text, 0) == -1 or (isinstance(value, dict) and list(value) == [_REFERENCE]):
            self._numbers[text] = len(self.entries)
            self.entries.append(None)
            self.entries[self._numbers[text]] = self._inner(value)
        if text in self._numbers:
            return {_REFERENCE: self._numbers[text]}
        return self._inner(value)

    def _inner(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._written(inner) for key, inner in value.items()}
        return [self._written(inner) for inner in value]
