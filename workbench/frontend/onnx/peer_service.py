"""The side of a child process that runs a model by onnxruntime and says which nodes of the file its time went to.

onnxruntime rewrites the graph before it runs it: operators are fused, layouts changed, nodes added.  What is left of a
node is known by names: each node and each value between nodes is named by its number in the file beforehand, and names
that onnxruntime makes are made of those.  A node that no name tells of went into its readers.

    child.ask("open", {"threads": 1, "folder": folder, "names": ["x"], "arrays": [["float32", [1, 3]]]}, [x, model])
    child.ask("run", {"profiled": False, "count": 20}).header["seconds"]      # of each, one after another
    child.ask("empty", {"threads": 1, "folder": folder, "count": 30}).header["seconds"]  # of a call of nothing
    child.ask("nodes").header["calls"]        # [{"name", "operator", "nodes": [3, 4], "seconds": [...]}]
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx

from ...core.errors import WorkbenchError
from ...core.serving import Action
from .peer_options import PROVIDERS, session_options

_NODE, _VALUE = "wbn{}_", "wbt{}_{}_"
_NUMBERS: Final = re.compile(r"wb[nt](\d+)_")
_TIMED: Final = "_kernel_time"
_OPTIMISED: Final = "optimized.onnx"
_ACTIVATIONS: Final = frozenset(("Clip", "HardSigmoid", "LeakyRelu", "Relu", "Sigmoid", "Tanh"))
"""What onnxruntime computes in the node before."""


def actions() -> dict[str, Action]:
    state: dict[str, _Runs] = {}

    def start(header: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[Any]]:
        state["runs"] = _Runs(header, frames)
        return {"nodes": state["runs"].nodes, "version": state["runs"].version}, []

    def run(header: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[Any]]:
        return {"seconds": [state["runs"].run(bool(header["profiled"])) for _ in range(header.get("count", 1))]}, []

    def nodes(header: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[Any]]:
        return {"calls": state["runs"].calls()}, []

    return {"open": start, "run": run, "nodes": nodes, "empty": empty}


def empty(header: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[Any]]:
    """Seconds of a call of next to nothing, as the profiler tells it, in each of `count` runs but the first."""
    folder = Path(header["folder"]) / "empty"
    folder.mkdir(exist_ok=True)
    given = {"threads": header["threads"], "folder": str(folder), "names": ["x"], "arrays": [["float32", [1]]]}
    runs = _Runs(given, [bytearray(4), bytearray(smallest_model())])
    for _ in range(header["count"]):
        runs.run(profiled=True)
    return {"seconds": runs.calls()[0]["seconds"][1:]}, []


class _Runs:
    """Two sessions on one model: one that is only timed, and one whose profiler is on.

    What onnxruntime writes goes into the parent's folder: this process may be killed before it could remove any.
    """

    def __init__(self, header: Mapping[str, Any], frames: Sequence[bytearray]) -> None:
        import onnxruntime

        path = str(header.get("path", ""))
        model = onnx.load(path) if path else onnx.load_from_string(bytes(frames[-1]))
        arrays = [
            np.frombuffer(data, np.dtype(dtype)).reshape(shape)
            for data, (dtype, shape) in zip(frames, header["arrays"], strict=False)
        ]
        self.version: str = onnxruntime.__version__
        self.nodes = [[node.op_type, node.name] for node in model.graph.node]
        self._inputs = dict(zip(header["names"], arrays, strict=True))
        self._graph = numbered(model)
        self._folder, threads = Path(header["folder"]), int(header["threads"])
        packed, profiled = model.SerializeToString(), _profiled_options(threads, self._folder)
        try:
            self._plain = onnxruntime.InferenceSession(packed, session_options(threads), PROVIDERS)
            self._profiled = onnxruntime.InferenceSession(packed, profiled, PROVIDERS)
        except Exception as error:  # of several kinds, none of which is a part of its interface
            raise _refused(error) from None

    def run(self, profiled: bool) -> float:
        session = self._profiled if profiled else self._plain
        begin = time.perf_counter()
        try:
            session.run(None, self._inputs)
        except Exception as error:  # as above
            raise _refused(error) from None
        return time.perf_counter() - begin

    def calls(self) -> list[dict[str, Any]]:
        """The nodes that were run, each with its seconds in every run; the profiler is off then."""
        events = json.loads(Path(self._profiled.end_profiling()).read_text())
        found: dict[str, dict[str, Any]] = {}
        for event in events:
            if event.get("cat") == "Node" and str(event.get("name", "")).endswith(_TIMED):
                name = event["name"].removesuffix(_TIMED)
                one = found.setdefault(name, {"name": name, "operator": event["args"]["op_name"], "seconds": []})
                one["seconds"].append(event["dur"] / 1e6)
        written = self._folder / _OPTIMISED
        rewritten = onnx.load(written, load_external_data=False).graph.node if written.exists() else ()
        outer = {node.name for node in rewritten}  # the time of a node holds that of the graphs in it
        found = {name: one for name, one in found.items() if name in outer or not outer}
        parts = parts_of(self._graph, rewritten, found)
        return [{**one, "nodes": sorted(parts[name])} for name, one in found.items()]


def _profiled_options(threads: int, folder: Path) -> Any:
    options = session_options(threads)
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    options.optimized_model_filepath = str(folder / _OPTIMISED)
    return options


def _refused(error: Exception) -> WorkbenchError:
    return WorkbenchError("E-AGAINST-PEER", "onnxruntime does not run this model", found=str(error).strip()[:400])


# --- which nodes of the file a call is ----------------------------------------------------------------------------


@dataclass(frozen=True)
class FileGraph:
    """The nodes of the file by number: the names of what each reads and gives; and the names of weights."""

    kinds: Sequence[str]
    """Their operators."""
    reads: Sequence[Sequence[str]]
    gives: Sequence[Sequence[str]]
    weights: frozenset[str] = frozenset()

    @cached_property
    def makers(self) -> Mapping[str, int]:
        """The node that gives a value."""
        return {name: number for number, names in enumerate(self.gives) for name in names if name}

    @cached_property
    def readers(self) -> Mapping[int, set[int]]:
        """The nodes that read what a node gives."""
        found: dict[int, set[int]] = {}
        for number, names in enumerate(self.reads):
            for name in names:
                if name in self.makers:
                    found.setdefault(self.makers[name], set()).add(number)
        return found

    @cached_property
    def constant(self) -> frozenset[int]:
        """Nodes that compute on weights alone: they are computed once, and are no part of a run."""
        found: set[int] = set()
        for number, names in enumerate(self.reads):  # (a file holds its nodes in an order that computes)
            if all(not name or name in self.weights or self.makers.get(name) in found for name in names):
                found.add(number)
        return frozenset(found)


def numbered(model: onnx.ModelProto) -> FileGraph:
    """Name each node of the graph and each value between nodes by its number.

    Values keep their names where a graph inside a node may read them.
    """
    graph = model.graph
    nested = any(attribute.HasField("g") or attribute.graphs for node in graph.node for attribute in node.attribute)
    kept = {value.name for value in graph.output}
    renamed: dict[str, str] = {}
    for number, node in enumerate(graph.node):
        node.name = _NODE.format(number)
        for place, name in enumerate(node.output):
            if name and name not in kept and not nested:
                renamed[name] = node.output[place] = _VALUE.format(number, place)
    for node in graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
    del graph.value_info[:]
    return FileGraph(
        [node.op_type for node in graph.node], [tuple(node.input) for node in graph.node],
        [tuple(node.output) for node in graph.node], frozenset(tensor.name for tensor in graph.initializer),
    )  # fmt: skip


def parts_of(graph: FileGraph, rewritten: Iterable[Any], calls: Iterable[str]) -> dict[str, set[int]]:
    """The numbers of the file's nodes that each call carries out, by the call's name; none where nothing tells.

    `rewritten`: the nodes (`NodeProto`) of the graph that is run.
    """
    nodes = {node.name: node for node in rewritten}
    parts = {name: _numbers(name) | _made(nodes.get(name), graph) for name in calls}
    feeds = _feeds(parts, nodes)
    _join_neighbours(parts, nodes)
    _join_sums(parts, feeds, graph)
    owned = set[int]().union(*parts.values())
    for number in set(range(len(graph.reads))) - owned - graph.constant:
        into = _reached(number, graph.readers, owned)
        for part in parts.values():
            if not part.isdisjoint(into):
                part.add(number)
    return parts


def _feeds(parts: Mapping[str, set[int]], nodes: Mapping[str, Any]) -> dict[str, set[str]]:
    """The calls whose values a call reads, also through changes of layout, which are named after nothing."""
    given = {name: call for call, node in nodes.items() for name in node.output}
    found: dict[str, set[str]] = {}
    for call in nodes:  # in an order that computes
        before = [given[name] for name in nodes[call].input if name in given]
        found[call] = set[str]().union(*({other} if parts.get(other) else found.get(other, set()) for other in before))
    return found


def _join_sums(parts: dict[str, set[int]], feeds: Mapping[str, set[str]], graph: FileGraph) -> None:
    """A sum that was fused into what makes one of its operands, which then reads the others; and what follows it."""
    calls = {number: call for call, part in parts.items() if call in feeds for number in part}
    followed: set[int] = set()
    for number, names in enumerate(graph.reads):
        operands = {graph.makers[name] for name in names if name in graph.makers} - graph.constant
        if number in calls or number in graph.constant or not operands or not operands <= calls.keys():
            continue
        for operand in sorted(operands):
            call = calls[operand]
            others = {calls[other] for other in operands} - {call}
            follows = operand in followed and graph.kinds[number] in _ACTIVATIONS
            if others <= feeds[call] and (others or follows):
                parts[call].add(number)
                calls[number] = call
                followed.add(number)
                break


def _numbers(text: str) -> set[int]:
    return {int(number) for number in _NUMBERS.findall(text)}


def _made(node: Any, graph: FileGraph) -> set[int]:
    """Of a node that is run: those whose values it gives."""
    outputs = list(node.output) if node is not None else []
    return {graph.makers[name] for name in outputs if name in graph.makers} | _numbers(" ".join(outputs))


def _join_neighbours(parts: dict[str, set[int]], nodes: Mapping[str, Any]) -> None:
    """What onnxruntime added and named after nothing (a change of layout) is a part of what reads it, or it reads."""
    given = {name: call for call, node in nodes.items() for name in node.output}
    taken: dict[str, list[str]] = {}
    for call, node in nodes.items():
        for name in node.input:
            taken.setdefault(name, []).append(call)
    waiting = [name for name, found in parts.items() if not found and name in nodes]
    while waiting:
        joined: dict[str, set[int]] = {}
        for call in waiting:
            after = [other for name in nodes[call].output for other in taken.get(name, ())]
            before = [given[name] for name in nodes[call].input if name in given]
            near = next((parts[other] for other in (*after, *before) if parts.get(other)), None)
            if near:
                joined[call] = set(near)
        parts.update(joined)
        waiting = [call for call in waiting if call not in joined] if joined else []


def _reached(number: int, readers: Mapping[int, set[int]], owned: set[int]) -> set[int]:
    """The nodes that a call is known for which read this one, through others that none is known for."""
    found: set[int] = set()
    seen, waiting = {number}, [number]
    while waiting:
        for reader in readers.get(waiting.pop(), ()):
            if reader in owned:
                found.add(reader)
            elif reader not in seen:
                seen.add(reader)
                waiting.append(reader)
    return found


def smallest_model() -> bytes:
    """An ONNX model that changes the sign of one number: a call of next to nothing."""
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Neg", ["x"], ["y"])], "smallest", [x], [y])
    opset = [onnx.helper.make_opsetid("", 17)]
    return onnx.helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
