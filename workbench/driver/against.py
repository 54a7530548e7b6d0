"""Where the time went against onnxruntime: the same model, inputs and threads, group of nodes by group of nodes.

    found = session.against({"x": photo})
    print(found)                             # the group that loses most first
    found.rows[0].ours / found.rows[0].theirs

The peer runs in a process of its own; runs alternate.  What it writes (its graph with all weights, a profile) is in a
folder of ours that goes with the comparison, however that ends.  Both sides merge nodes of the file into
kernels, each in its own way: what shares a node is compared as one group (the connected components of calls and nodes).
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
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .._lazy import against_bundle
from ..core.child import Child, ChildFailure
from ..core.errors import WorkbenchError, shorten
from ..core.origin import ImportedFrom
from ..runtime.executor import DebugExecutor
from ..runtime.threads import num_threads, set_num_threads
from .plan import ONNX_MODEL
from .run_profile import require_calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .session import Session

_ROUNDS: Final = 15
_FEWEST: Final = 3
_PATIENCE: Final = 5.0
"""Seconds after which no further round is begun, once there were a few."""
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

    @property
    def difference(self) -> float:
        """Seconds that ours takes longer."""
        return self.ours - self.theirs

    @property
    def ratio(self) -> float | None:
        """Ours by theirs; None where one side has nothing of its own for these nodes."""
        return self.ours / self.theirs if self.ours and self.theirs else None


@dataclass(frozen=True)
class Against:
    """The groups, that which loses most first.  Of `rounds` rounds a call is told by its least time (another program
    that comes in between meets some call in every round), a whole run by its median.

    To take the time of a call takes time itself: where calls together exceed a whole run, each is told without its part
    of that (`cost`, `peer_cost`).
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
    """Seconds that each of our calls is told shorter than it was timed."""
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
        return row.difference / (sum(abs(other.difference) for other in self.rows) or 1.0)

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
        times = _in_turn(session, arrays, lambda which: _asked(child, "run", {"profiled": which})["seconds"], patience)
        told = _asked(child, "nodes")["calls"]
    mine, cost = without_cost(times.kernels, times.ours)
    spent, peer_cost = without_cost([one["seconds"][1:] for one in told], times.theirs)
    ours = [OwnCall(site.kernel, nodes, taken) for site, nodes, taken in zip(sites, own, mine, strict=True)]
    theirs = [PeerCall(one["operator"], frozenset(one["nodes"]), taken) for one, taken in zip(told, spent, strict=True)]
    groups, own_alone, peer_alone = grouped(ours, theirs, labels)
    return Against(
        groups, median(times.ours), median(times.theirs), count, len(times.ours), f"onnxruntime {opened['version']}",
        own_alone, peer_alone, cost, peer_cost,
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


@dataclass(frozen=True)
class _Times:
    """Seconds of every round: of whole runs, and of our kernel calls by their place in a run."""

    ours: Sequence[float]
    theirs: Sequence[float]
    kernels: Sequence[Sequence[float]]


def _in_turn(session: Session, inputs: Mapping[str, Any], peer: Callable[[bool], float], patience: float) -> _Times:
    """Whole runs and runs kernel by kernel (`peer(True)`), of both in turn, after one of each that is not counted."""
    built = session.build()
    executor = DebugExecutor(built)

    def one() -> tuple[float, float, list[float]]:
        begin = time.perf_counter()
        built.run(inputs)
        ours = time.perf_counter() - begin
        theirs = peer(False)
        executor.run(**inputs)
        peer(True)
        return ours, theirs, executor.seconds

    one()
    begin, found = time.perf_counter(), [one()]
    while len(found) < _ROUNDS and (len(found) < _FEWEST or time.perf_counter() - begin < patience):
        found.append(one())
    ours, theirs, kernels = zip(*found, strict=True)
    return _Times(ours, theirs, [*zip(*kernels, strict=True)])


def without_cost(calls: Sequence[Sequence[float]], runs: Sequence[float]) -> tuple[list[float], float]:
    """(the least time of each call without what it costs to time it, that cost): what they exceed a run by, shared."""
    least = [min(one) for one in calls]
    cost = max(0.0, (sum(least) - min(runs)) / max(1, len(calls)))
    return [max(one - cost, one / 10) for one in least], cost


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
    ours: Sequence[OwnCall], theirs: Sequence[PeerCall], labels: Sequence[str]
) -> tuple[tuple[AgainstRow, ...], tuple[OwnCall, ...], tuple[PeerCall, ...]]:
    """(the connected components, calls of ours and of the peer's without nodes); what loses most first."""
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
    rows = [_row(*group, labels) for group in groups.values()]
    rows.sort(key=lambda row: -row.difference)
    return tuple(rows), tuple(call for call in ours if not call.nodes), tuple(call for call in theirs if not call.nodes)


def _row(ours: Sequence[OwnCall], theirs: Sequence[PeerCall], labels: Sequence[str]) -> AgainstRow:
    nodes = sorted(frozenset[int]().union(*(call.nodes for call in (*ours, *theirs))))
    return AgainstRow(
        tuple(labels[number] for number in nodes),
        tuple(call.kernel for call in ours),
        tuple(call.name for call in theirs),
        sum(call.seconds for call in ours),
        sum(call.seconds for call in theirs),
    )
