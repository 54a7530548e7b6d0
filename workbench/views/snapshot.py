"""What a notebook keeps of a screen: a picture and a text with the graph, a difference and the slowest kernel's loops.

A screen lives as long as its kernel; its snapshot is read anywhere, without script, style sheet or kernel, and holds
what is cheap to find out: the graph passes are run for it, kernels are lowered where there are few, and one scheduled.

    snapshot = snapshot_of(session)                # or step="FoldConstant", kernel="fused_nn_dense"
    print(snapshot.text)
    snapshot.outputs()                             # mime bundles, for GitHub, nbconvert and Jupyter
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, Final

from ..analysis.loop_trees import LoopTree, loop_tree
from ..core.errors import WorkbenchError
from ..driver.difference import Difference
from .candidates import CandidatesView, candidates_html, candidates_text, candidates_view
from .graph import graph_view
from .graph_groups import boxes_of, drawn
from .graph_view import GraphView
from .html import changes_html, plain, program_html, text_html, visible
from .kernel_work import work_of_kernels
from .loop_tree import dataflow_svg, loop_line
from .snapshot_picture import picture_of
from .strings.tables import say
from .summary import summary_html, summary_text
from .svg import embedded

if TYPE_CHECKING:
    from ..driver.history import Step
    from ..driver.session import Session
    from ..schedule.schedule import Schedule

BYTES: Final = 120_000
"""All forms of a snapshot together; twenty of them in a notebook are small."""
_AT_ONCE: Final = 64
"""Calls of a graph up to which its kernels are lowered for a snapshot; that of a larger one waits for the screen."""
_SUMMARY: Final = 14
_CODE: Final = 40
_BOXES: Final = 60
_ROWS: Final = 60
_LINE: Final = 160
"""How much the text has: lines of the summary and of a schedule, boxes of a graph, loops, characters of a line."""


@dataclass(frozen=True)
class Snapshot:
    """A screen at one moment, without a kernel."""

    title: str
    text: str
    """All of it."""
    html: str = ""
    """The same; reads without styles too."""
    svg: str = ""
    """The same as one picture; empty where there is nothing to draw."""

    def outputs(self) -> list[dict[str, str]]:
        """The mime bundles that a notebook keeps: the picture, and the text in a fold.

        They are two since a page that has HTML shows no picture beside it, and GitHub takes pictures out of HTML.
        JupyterLab draws no SVG of a notebook that it does not trust (one that was run elsewhere), but images in cleaned
        HTML: so the fold holds the picture once more, where there is room, and its title stands for it elsewhere.
        """
        title = visible(self.title)
        told = say.snapshot.saved_view(title)
        body = self.html or f"<pre>{escape(self.text)}</pre>"
        if not self.svg:
            return [{"text/html": _fold(told, body, True), "text/plain": self.text}]
        drawn = {"image/svg+xml": self.svg, "text/plain": self.text}
        image = embedded(self.svg, told)
        with_picture = image + body, say.snapshot.saved_view_with_picture(title)
        for inside, told_so in (with_picture, (body, say.snapshot.saved_view_as_text(title))):
            folded = {"text/html": _fold(told_so, inside), "text/plain": told_so}
            if sum(len(text.encode()) for bundle in (drawn, folded) for text in bundle.values()) <= BYTES:
                break
        return [drawn, folded]

    @staticmethod
    def of_text(title: str, text: str) -> Snapshot:
        """Of a screen that shows one text."""
        return Snapshot(title, plain(text), text_html(text, budget=60_000))


def _fold(title: str, body: str, opened: bool = False) -> str:
    """A fold; where a screen is live, its style hides what has this class."""
    return f'<details class="wb-saved"{" open" if opened else ""}><summary>{escape(title)}</summary>{body}</details>'


@dataclass(frozen=True)
class Contents:
    """What a snapshot tells of, before it is written in any form."""

    title: str
    summary: tuple[str, ...]
    boxes: tuple[str, ...]
    """The graph as lines: its boxes in order, operands first."""
    graph: GraphView | None
    """Laid out; None without a graph, and where no Graphviz answers."""
    flow: str
    """Of a loop program: the SVG of its stages; else empty."""
    difference: Difference | None
    tree: LoopTree | None
    candidates: CandidatesView | None = None
    """What can compute the kernel of the tree; None where there is nothing to choose."""
    later: str = ""
    """What is not there, and why."""


def snapshot_of(session: Session, step: str = "", kernel: str = "") -> Snapshot:
    """See the module's header.  `step` is a label, `kernel` a name."""
    found = contents_of(session, step, kernel)
    made = Snapshot(found.title, text_of(found), html_of(found, session), picture_of(found))
    if (
        size_of(made) > BYTES
    ):  # a graph without groups, names of thousands of letters: the text tells of it all the same
        made = replace(made, svg=picture_of(replace(found, graph=None, flow="")))
    return made if size_of(made) <= BYTES else Snapshot(made.title, made.text)


def schedule_snapshot(schedule: Schedule) -> Snapshot:
    """Of a schedule alone: the Python that leads to it, its stages and its loops."""
    name, code = schedule.func_working_on, schedule.code()
    lines = tuple(f"{say.snapshot.schedule_of(name)}\n{code or say.snapshot.nothing_done}".split("\n"))
    try:
        flow = dataflow_svg(schedule)
    except WorkbenchError:  # no blocks
        flow = ""
    tree = loop_tree(schedule)
    found = Contents(name, lines[:_CODE], (), None, flow, None, tree)
    texts = {say.snapshot.schedule: code or say.snapshot.nothing_done, name: schedule.script()}
    folds = program_html(texts, opened=name)
    made = Snapshot(name, text_of(replace(found, summary=lines)), _tree_html(tree) + folds, picture_of(found))
    return made if size_of(made) <= BYTES else replace(made, svg="")


def size_of(snapshot: Snapshot) -> int:
    """Bytes of all forms together."""
    return sum(len(text.encode()) for bundle in snapshot.outputs() for text in bundle.values())


def contents_of(session: Session, step: str = "", kernel: str = "") -> Contents:
    """What there is to tell; never an error: a session that stopped tells of what it has."""
    graph = [index for index, action in enumerate(session.actions) if action.level == "relay"]
    last = session.step(graph[-1]) if graph else session.step(0)
    main = last.stage.module.functions.get("main") if graph else None
    few = main is None or len(drawn(main.body)) <= _AT_ONCE
    tree, later = _slowest(session, kernel, few or _lowered(session))
    return Contents(
        session.heading,
        tuple(summary_text(session).split("\n")[:_SUMMARY]),
        tuple(f"{box.id:<4} {box.title}" for box in boxes_of(main)) if main is not None else (),
        _laid_out(main) if main is not None else None,
        _flow(session, kernel) if main is None else "",
        _difference(session, step, last),
        tree,
        _candidates(session, tree),
        later,
    )


def _lowered(session: Session) -> bool:
    """Whether the kernels are there already, or cannot be."""
    try:
        return session.history.peek(session.actions, session.plan.kernel_step()) is not None
    except WorkbenchError:  # a plan without lowering
        return True


def _slowest(session: Session, kernel: str, now: bool) -> tuple[LoopTree | None, str]:
    """The loops of a kernel as they are scheduled; by default of the one whose calls do most of the arithmetic."""
    if not now:
        return None, say.snapshot.loops_when_lowered
    try:
        index, row = session.plan.schedule_row()
        before = session.step(index - 1)
        if before.error is not None:
            raise before.error
        kernels = before.stage.kernels(session.target)
        if not kernels:
            return None, say.snapshot.no_kernels
        work = work_of_kernels({one: found.func for one, found in kernels.items()}, before.stage.lowered)
        name = kernel if kernel in kernels else max(work, key=lambda one: work[one])
        made = session.history.peek(session.actions, index)
        touched = row is not None and any(tail.at.name == name for tail in row.tails)
        if made is not None or touched:
            return loop_tree(session.schedule(name)), ""
        return loop_tree(before.stage.default_schedule(kernels[name])), ""
    except WorkbenchError as error:
        return None, say.snapshot.no_loops(error.code, error.message)


def _candidates(session: Session, tree: LoopTree | None) -> CandidatesView | None:
    try:
        found = candidates_view(session, tree.name) if tree is not None else None
    except WorkbenchError:  # the program stopped before its kernels: the summary tells it
        return None
    return found if found is not None and found.rows else None


def _laid_out(main: Any) -> GraphView | None:
    try:
        return graph_view(main)
    except WorkbenchError:  # no Graphviz: the boxes are listed
        return None


def _flow(session: Session, kernel: str) -> str:
    """What passes between the stages of a loop program; empty where it has no blocks."""
    functions = session.step(session.plan.kernel_step()).stage.kernels(session.target)
    name = kernel if kernel in functions else next(iter(functions), "")
    try:
        return dataflow_svg(functions[name].func) if name else ""
    except WorkbenchError:
        return ""


def _difference(session: Session, step: str, last: Step) -> Difference | None:
    """What the chosen step changed; else the last one of those that have run, the import aside, that changed much."""
    path = last.path
    if step in session.labels:
        return session[step].diff()
    changing = [one for one in path[1:] if one.changed and one.error is None]
    fusing = [one for one in changing if one.action.name == "FuseOps"]
    chosen = (fusing or changing)[-1:]
    return session[chosen[0].label].diff() if chosen else None


# --- as text and HTML ---------------------------------------------------------------------------------------------


def text_of(found: Contents) -> str:
    """Everything in lines."""
    parts = ["\n".join(found.summary)]
    if found.boxes:
        boxes = _first(found.boxes, _BOXES, say.snapshot.more_boxes)
        parts.append("\n".join([say.snapshot.graph, *(f"  {box}" for box in boxes)]))
    if found.difference:
        parts.append(str(found.difference))
    if found.tree is not None:
        parts.append(f"{say.snapshot.loops_of(found.tree.name)}\n{tree_text(found.tree)}")
    if found.candidates is not None:
        parts.append(candidates_text(found.candidates))
    if found.later:
        parts.append(found.later)
    return plain("\n\n".join(parts))


def tree_text(tree: LoopTree) -> str:
    """The loops as boxes that are open at the right: a loop's box ends where its bar does."""
    rows = list(tree.walk())
    lines = [
        ("  " + "│ " * depth + ("┌ " if node.children else "■ ") + loop_line(node))[:_LINE] for depth, node in rows
    ]
    return "\n".join(_first(lines, _ROWS, say.snapshot.more_loops))


def _first(lines: tuple[str, ...] | list[str], most: int, more: Callable[[int], str]) -> Iterator[str]:
    yield from lines[:most]
    if len(lines) > most:
        yield more(len(lines) - most)


def html_of(found: Contents, session: Session) -> str:
    """The same as HTML that needs no style: headings, lists and fixed-width text."""
    parts = [summary_html(session)]
    if found.boxes:
        listed = "\n".join(escape(visible(box)) for box in _first(found.boxes, _BOXES, say.snapshot.more_boxes))
        parts.append(f"<h4>{escape(say.snapshot.graph_heading)}</h4><pre>{listed}</pre>")
    if found.difference:
        kinds = [(kind.heading, rows) for kind, rows in found.difference.opened()]
        parts.append(changes_html(found.difference.summary, kinds, budget=24_000))
    if found.tree is not None:
        parts.append(_tree_html(found.tree))
    if found.candidates is not None:
        parts.append(candidates_html(found.candidates))
    if found.later:
        parts.append(f"<p>{escape(visible(found.later))}</p>")
    return "".join(parts)


def _tree_html(tree: LoopTree) -> str:
    heading = say.snapshot.loops_heading(visible(tree.name))
    return f"<h4>{escape(heading)}</h4><pre>{escape(visible(tree_text(tree)))}</pre>"
