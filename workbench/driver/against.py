"""Where the time went against onnxruntime: the same model, inputs and threads, group of nodes by group of nodes.

    found = session.against({"x": photo})
    print(found)                             # the largest difference first
    found.rows[0].ours / found.rows[0].theirs

The peer runs in a process of its own; both run in turn, many runs in a row.  What it writes (its graph with all
weights, a profile) is in a folder of ours that goes with the comparison, however that ends.  Both sides merge nodes of
the file into kernels, each in its own way: what shares a node is compared as one group (the connected components of
calls and nodes).
"""

from __future__ import annotations

import importlib.util
import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .._lazy import against_bundle
from ..core.child import Child, ChildFailure
from ..core.errors import WorkbenchError, shorten
from ..core.origin import ImportedFrom
from ..frontend.onnx.model import from_onnx
from ..runtime.executor import DebugExecutor
from ..runtime.threads import num_threads, set_num_threads
from .plan import ONNX_MODEL
from .programs import with_params
from .run_profile import require_calls, whole_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .session import Session

_ROUNDS: Final = 15
_FEWEST: Final = 3
_PATIENCE: Final = 2.5
"""Seconds of whole runs, and of runs call by call, after which no further round is begun, once there were a few."""
_ROW_SECONDS: Final = 0.05
_MOST_IN_A_ROW: Final = 50
_STEP, _PEER_STEP = 1e-7, 1e-6
"""Seconds that the clocks which time calls can tell apart: onnxruntime's profile is in whole microseconds."""
_CLEAR_STEPS: Final = 10
_APART: Final = 1.25
"""By how much calls and whole runs may differ without a word."""
_EMPTY_RUNS: Final = 30
_ANSWER_SECONDS: Final = 300.0
"""The most that the peer may take for one answer; preparing a large model is one."""
_SERVICE: Final = "workbench.frontend.onnx.peer_service"
_LABEL: Final = re.compile(r"(.*?)#(\d+)(?: |$)")


@dataclass(frozen=True)
class PeerCall:
    """One node that the peer runs."""

    name: str
    """Its operator, as the peer calls it."""
    nodes: frozenset[int]
    """Numbers of the file's nodes that it carries out; none where that is not known."""
    seconds: float


@dataclass(frozen=True)
class OwnCall:
    """One kernel call of ours."""

    kernel: str
    nodes: frozenset[int]
    seconds: float


@dataclass(frozen=True)
class AgainstRow:
    """A group: calls of both sides that share nodes of the file."""

    nodes: tuple[str, ...]
    """As provenance names them: "Conv#3"; of ours alone where the peer has none."""
    kernels: tuple[str, ...]
    peers: tuple[str, ...]
    ours: float
    theirs: float
    floor: float = 0.0
    """A time of ours below it cannot be told from the clock's steps and an empty call."""
    peer_floor: float = 0.0

    @property
    def difference(self) -> float:
        """Seconds that ours takes longer."""
        return self.ours - self.theirs

    @property
    def ratio(self) -> float | None:
        """Ours by theirs; None where one side has nothing of its own for these nodes, or too little to be told."""
        clear = self.ours > self.floor and self.theirs > self.peer_floor
        return self.ours / self.theirs if clear else None

    @property
    def short(self) -> bool:
        """Whether it is too short to tell which side is faster."""
        return self.ratio is None and abs(self.difference) <= self.floor + self.peer_floor


@dataclass(frozen=True)
class Against:
    """The groups, that with the largest difference of either sign first, those too short to tell last.

    A call is told by its least time (another program that comes in between meets some call in every round), without
    what a call takes that does nothing; a whole run by the median of `rounds`.
    """

    rows: tuple[AgainstRow, ...]
    ours: float
    """Of a whole run, not kernel by kernel."""
    theirs: float
    threads: int
    rounds: int
    peer: str
    """Name and version."""
    own_alone: tuple[OwnCall, ...]
    """Our calls that no node of the file is known for."""
    peer_alone: tuple[PeerCall, ...]
    cost: float
    """Seconds of an empty call of ours: each is told so much shorter than it was timed."""
    peer_cost: float

    @property
    def kernels(self) -> float:
        """Seconds of all our kernel calls, each timed by itself."""
        return sum(row.ours for row in self.rows) + sum(call.seconds for call in self.own_alone)

    @property
    def peer_kernels(self) -> float:
        return sum(row.theirs for row in self.rows) + sum(call.seconds for call in self.peer_alone)

    def share(self, row: AgainstRow) -> float:
        """The part of all differences between groups that is this one; below zero where ours is faster."""
        return row.difference / (sum(abs(other.difference) for other in self.rows if not other.short) or 1.0)

    @property
    def floors(self) -> tuple[float, float]:
        """From how many seconds on one call of each side is told."""
        return floors_of(self.cost, self.peer_cost)

    @property
    def parts(self) -> tuple[float, float]:
        """What all calls of ours take as a part of a whole run, and the same of the peer's."""
        return self.kernels / self.ours, self.peer_kernels / self.theirs

    @property
    def apart(self) -> bool:
        """Whether calls and whole runs, or the ratios of both, differ by more than a quarter."""
        ours, theirs = self.parts
        return any(part * _APART < 1 or part > _APART for part in (ours, theirs, ours / theirs if theirs else 1.0))

    def to_json(self) -> dict[str, Any]:
        """As plain data: times in seconds, and of each group its ratio and its share of the differences."""
        totals = ("peer", "threads", "rounds", "ours", "theirs", "cost", "peer_cost")
        return {
            **{name: getattr(self, name) for name in totals},
            "ratio": self.ours / self.theirs,
            "rows": [{**asdict(row), "ratio": row.ratio, "share": self.share(row)} for row in self.rows],
            "own_alone": [{"kernel": call.kernel, "seconds": call.seconds} for call in self.own_alone],
            "peer_alone": [{"name": call.name, "seconds": call.seconds} for call in self.peer_alone],
        }

    def __str__(self) -> str:
        return against_bundle(self)["text/plain"]

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return against_bundle(self)


# --- measuring ----------------------------------------------------------------------------------------------------


def against(
    session: Session, inputs: Mapping[str, Any], threads: int = 0, model: Any = None, patience: float = _PATIENCE
) -> Against:
    """Run the model by both in turn; see the module's header.

    `threads`: of both sides, 0 for those that our kernels run with.  `model`: the ONNX model (path, bytes, ModelProto)
    of a session that was not opened from a file.  Raises `WorkbenchError`: E-AGAINST-PEER without onnxruntime, and
    where it does not run the model; E-AGAINST-MODEL without the model, E-RUN-CALLS for a loop program.
    """
    if importlib.util.find_spec("onnxruntime") is None:
        raise WorkbenchError("E-AGAINST-PEER", "onnxruntime is not installed", fix="pip install onnxruntime")
    source = _model_of(session, model)
    _require_the_same(session, source)
    sites = require_calls(session)
    arrays = {name: np.asarray(value, order="C") for name, value in inputs.items()}
    with (
        _running_on(threads) as count,
        tempfile.TemporaryDirectory(prefix="workbench-peer-", ignore_cleanup_errors=True) as folder,
        Child(_SERVICE, seconds=_ANSWER_SECONDS) as child,  # it has ended before its folder goes
    ):
        opened = _asked(child, "open", *_opening(source, arrays, count, folder))
        labels = [label_of(number, kind, name) for number, (kind, name) in enumerate(opened["nodes"])]
        own = own_nodes(session, [kind for kind, _ in opened["nodes"]])
        times = _in_turn(session, arrays, partial(_peer_runs, child), patience)
        told = _asked(child, "nodes")["calls"]
        peer_cost = _peer_cost(child, count, folder)
    ours = [OwnCall(site.kernel, nodes, taken) for site, nodes, taken in zip(sites, own, times.kernels, strict=True)]
    theirs = [
        PeerCall(one["operator"], frozenset(one["nodes"]), max(0.0, min(one["seconds"][1:]) - peer_cost))
        for one in told
    ]
    groups, own_alone, peer_alone = grouped(ours, theirs, labels, floors=floors_of(times.cost, peer_cost))
    return Against(
        groups, median(times.ours), median(times.theirs), count, len(times.ours), f"onnxruntime {opened['version']}",
        own_alone, peer_alone, times.cost, peer_cost,
    )  # fmt: skip


def _model_of(session: Session, model: Any) -> str | bytes:
    """The path of the session's model, or its bytes."""
    program = session.plan.program
    if model is None and program.source != ONNX_MODEL and program.path.endswith(".onnx") and not program.saved:
        model = program.path
    if isinstance(model, (str, os.PathLike)):
        path = os.path.abspath(os.fsdecode(model))
        if os.path.isfile(path):
            return path
        raise WorkbenchError("E-AGAINST-MODEL", "the file of the model is not there", found=path)
    if isinstance(model, bytes):
        return model
    if model is not None and hasattr(model, "SerializeToString"):
        return model.SerializeToString()
    raise WorkbenchError(
        "E-AGAINST-MODEL", "this session has no ONNX model at hand that onnxruntime could run", found=session.heading,
        expected="a session that was opened from an ONNX file", fix="against(inputs, model=path or ModelProto)",
    )  # fmt: skip


def _require_the_same(session: Session, source: str | bytes) -> None:
    """Refuse another model than the session was opened from: nodes would be compared with others of their places.

    Of what was opened from an object, or with values bound to it, only the kinds of nodes are compared (`own_nodes`).
    """
    program = session.plan.program
    file = program.path.endswith(".onnx") or program.source == ONNX_MODEL
    if not file or program.saved or program.assume or program.params:
        return
    module, held = from_onnx(source, shape=dict(program.shape) or None)
    if with_params(module, held).fingerprint() != program.digest:
        raise WorkbenchError(
            "E-AGAINST-MODEL", "this is not the model that the session was opened from",
            found=source if isinstance(source, str) else "an ONNX model", expected="the same nodes and weights",
            fix="open the model as it is now: wb.open(...)",
        )  # fmt: skip


def _opening(
    source: str | bytes, arrays: Mapping[str, np.ndarray], threads: int, folder: str
) -> tuple[dict[str, Any], list[Any]]:
    """What the child is told at the beginning."""
    header = {
        "threads": threads, "folder": folder, "path": source if isinstance(source, str) else "", "names": list(arrays),
        "arrays": [[array.dtype.str, list(array.shape)] for array in arrays.values()],
    }  # fmt: skip
    packed = [array.reshape(-1).view(np.uint8) for array in arrays.values()]
    return header, [*packed, *([source] if isinstance(source, bytes) else [])]


@contextmanager
def _running_on(threads: int) -> Iterator[int]:
    """Our kernels run on so many threads meanwhile (0: as many as before); gives how many that are."""
    before = num_threads()
    set_num_threads(threads or before)
    try:
        yield num_threads()
    finally:
        set_num_threads(before)


def _asked(
    child: Child, do: str, header: Mapping[str, Any] | None = None, data: Sequence[Any] = ()
) -> Mapping[str, Any]:
    try:
        return child.ask(do, header, data).header
    except ChildFailure as failure:
        raise WorkbenchError(
            "E-AGAINST-PEER", f"the process of onnxruntime {failure.phrase}", found=failure.detail
        ) from None


def _peer_runs(child: Child, profiled: bool, count: int) -> Sequence[float]:
    """Seconds of so many runs of the peer, one after another."""
    return _asked(child, "run", {"profiled": profiled, "count": count})["seconds"]


@dataclass(frozen=True)
class _Times:
    """Seconds of whole runs, of each of our kernel calls the least, and of an empty call."""

    ours: Sequence[float]
    theirs: Sequence[float]
    kernels: Sequence[float]
    cost: float


_Runs = Callable[[int], Sequence[Any]]
"""So many runs, one after another: what each took."""


def _in_turn(
    session: Session, inputs: Mapping[str, Any], peer: Callable[[bool, int], Sequence[float]], patience: float
) -> _Times:
    """Whole runs of both in turn; then runs call by call (`peer(True, count)`), the first of which does not count."""
    built = session.build()
    executor = DebugExecutor(built)
    executor.set_input(**inputs)
    whole, theirs = _rounds(lambda count: whole_runs(lambda: built.run(inputs), count), partial(peer, False), patience)
    calls, _ = _rounds(lambda count: [_by_call(executor) for _ in range(count)], partial(peer, True), patience)
    return _Times(whole, theirs, [min(one) for one in zip(*calls, strict=True)], median(executor.empty_seconds))


def _by_call(executor: DebugExecutor) -> Sequence[float]:
    executor.run()
    return executor.seconds


def _rounds(ours: _Runs, theirs: _Runs, patience: float) -> tuple[list[Any], list[Any]]:
    """As many runs of both, in turn, many in a row: what runs after another program finds its data elsewhere."""
    begin = time.perf_counter()
    ours(1)
    theirs(1)
    taken = time.perf_counter() - begin
    count = min(_MOST_IN_A_ROW, max(1, int(_ROW_SECONDS / taken)))
    begin, mine, others = time.perf_counter(), list[Any](), list[Any]()
    for number in range(_ROUNDS):
        if number >= _FEWEST and time.perf_counter() - begin >= patience:
            break
        mine += ours(count)
        others += theirs(count)
    return mine, others


def _peer_cost(child: Child, threads: int, folder: str) -> float:
    """Seconds of a call of the peer that does nothing worth the name, by its own profile."""
    return min(_asked(child, "empty", {"threads": threads, "folder": folder, "count": _EMPTY_RUNS})["seconds"])


def floors_of(cost: float, peer_cost: float) -> tuple[float, float]:
    """Seconds from which on a call of ours, and one of the peer's, is told from the clock's steps and an empty call."""
    return _CLEAR_STEPS * _STEP + cost, _CLEAR_STEPS * _PEER_STEP + peer_cost


# --- what belongs together ----------------------------------------------------------------------------------------


def label_of(number: int, kind: str, name: str) -> str:
    """A node of the file as provenance names it."""
    return f"{kind}#{number}" + (f" ('{name}')" if name else "")


def own_nodes(session: Session, kinds: Sequence[str]) -> list[frozenset[int]]:
    """The numbers of the file's nodes that each of our calls carries out, those that compute on weights left out.

    `kinds`: the operators of the file's nodes.  Raises `WorkbenchError` E-AGAINST-MODEL where the file has others.
    """
    links = session.provenance.links
    names = links.onnx.text.split("\n") if links.onnx.lines else []
    constant = {names[line] for line in links.onnx_of_constants}
    numbers = {name: number for name in names if (number := _number(name, kinds)) is not None}
    if 2 * len(numbers) <= len(names) or not names:
        raise WorkbenchError(
            "E-AGAINST-MODEL", "the nodes of the model are not those of the session", found=session.heading,
            expected="the file that the session was opened from, as it was",
        )  # fmt: skip
    made: list[frozenset[int]] = []
    for site in links.sites:
        labels = {
            origin.name for thing in links.things(links.at(site.number)) for origin in session.origins(thing)
            if isinstance(origin, ImportedFrom)
        }  # fmt: skip
        made.append(frozenset(numbers[name] for name in labels - constant if name in numbers))
    return made


def _number(label: str, kinds: Sequence[str]) -> int | None:
    """The node of the file that a label names; None for one of a graph inside a node, or of another file."""
    found = _LABEL.match(label)
    number = int(found[2]) if found else len(kinds)
    return number if found and number < len(kinds) and shorten(kinds[number], 60) == found[1] else None


def grouped(
    ours: Sequence[OwnCall], theirs: Sequence[PeerCall], labels: Sequence[str], floors: tuple[float, float] = (0.0, 0.0)
) -> tuple[tuple[AgainstRow, ...], tuple[OwnCall, ...], tuple[PeerCall, ...]]:
    """(the connected components, calls of ours and of the peer's without nodes); the largest difference first.

    `floors`: from how many seconds on a call of each side can be told.
    """
    heads: dict[int, int] = {}

    def head(node: int) -> int:
        while heads.setdefault(node, node) != node:
            heads[node] = node = heads[heads[node]]
        return node

    for call in (*ours, *theirs):
        first, *others = sorted(call.nodes) or [-1]
        for other in others:
            heads[head(other)] = head(first)
    groups: dict[int, tuple[list[OwnCall], list[PeerCall]]] = {}
    for side, calls in enumerate((ours, theirs)):
        for call in calls:
            if call.nodes:
                group: tuple[list[Any], list[Any]] = groups.setdefault(head(min(call.nodes)), ([], []))
                group[side].append(call)
    rows = [_row(*group, labels, floors) for group in groups.values()]
    rows.sort(key=lambda row: (row.short, -abs(row.difference)))
    return tuple(rows), tuple(call for call in ours if not call.nodes), tuple(call for call in theirs if not call.nodes)


def _row(
    ours: Sequence[OwnCall], theirs: Sequence[PeerCall], labels: Sequence[str], floors: tuple[float, float]
) -> AgainstRow:
    nodes = sorted(frozenset[int]().union(*(call.nodes for call in (*ours, *theirs))))
    return AgainstRow(
        tuple(labels[number] for number in nodes),
        tuple(call.kernel for call in ours),
        tuple(call.name for call in theirs),
        sum(call.seconds for call in ours),
        sum(call.seconds for call in theirs),
        floors[0] * len(ours),
        floors[1] * len(theirs),
    )
