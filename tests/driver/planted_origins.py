"""Models with planted origins: each element-wise node has a constant of its own, so that whatever holds the constant
tells which node it must come from.

    model, nodes = planted_model(seed=3)
    nodes[1.015625]          # {"Mul#4 ('n4')"}: more than one where equal nodes are merged or kernels shared
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.arith.nodes import FloatImm
from workbench.core.node import Node, children, pre_order
from workbench.core.origin import ImportedFrom
from workbench.driver.origin_index import index_of
from workbench.relay.ir import expr as r
from workbench.tir import nodes as t

CHANNELS, SIDE = 4, 6
KINDS = ("Mul", "Add", "Sub", "Max", "Min", "LeakyRelu", "Mul", "Add")
LARGE = ("Conv", "MaxPool", "Transpose", "Softmax", "Relu", "Sqrt")


@dataclass
class Graph:
    """An ONNX graph under construction."""

    random: np.random.Generator
    nodes: list[Any] = field(default_factory=list)
    held: list[Any] = field(default_factory=list)
    planted: dict[float, set[str]] = field(default_factory=dict)

    def constant(self) -> float:
        """A float32 not given out before, and no neutral element."""
        value = 1.0 + (len(self.planted) + 1) / 64
        return value if self.random.random() < 0.5 else -value

    def node(self, op: str, *inputs: str, **attrs: Any) -> str:
        from onnx import helper

        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [f"{name}_out"], name=name, **attrs))
        return f"{name}_out"

    def planted_node(self, op: str, value: float, data: str) -> str:
        """A node that holds `value`."""
        from onnx import numpy_helper

        label = f"{op}#{len(self.nodes)} ('n{len(self.nodes)}')"
        self.planted.setdefault(float(np.float32(value)), set()).add(label)
        if op == "LeakyRelu":
            return self.node(op, data, alpha=value)
        name = f"c{len(self.held)}"
        self.held.append(numpy_helper.from_array(np.float32(value), name))
        return self.node(op, data, name)

    def weights(self, *shape: int) -> str:
        from onnx import numpy_helper

        name = f"w{len(self.held)}"
        drawn = self.random.standard_normal(shape).astype(np.float32)
        self.held.append(numpy_helper.from_array(drawn, name))
        return name

    def large(self, op: str, data: str) -> str:
        """A node without a constant."""
        if op == "Conv":
            return self.node(op, data, self.weights(CHANNELS, CHANNELS, 3, 3), pads=[1, 1, 1, 1])
        if op == "MaxPool":
            return self.node(op, data, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        if op == "Transpose":
            return self.node(op, data, perm=[0, 1, 3, 2])
        return self.node("Abs" if op == "Sqrt" else op, data)


def planted_model(seed: int, length: int = 14) -> tuple[Any, dict[float, set[str]]]:
    """A random graph; the nodes by constant.  It holds a pair of equal nodes (merged) and of equal chains (shared)."""
    graph = Graph(np.random.default_rng(seed))
    values = ["x"]
    for _ in range(length):
        data = values[int(graph.random.integers(max(0, len(values) - 3), len(values)))]
        if graph.random.random() < 0.35:
            values.append(graph.large(str(graph.random.choice(LARGE)), data))
        else:
            values.append(graph.planted_node(str(graph.random.choice(KINDS)), graph.constant(), data))
    values.append(_merged(graph, values[-1]))
    values.append(_shared(graph, values[-1]))
    left = values[-1]
    for other in values[1:-1:3]:
        left = graph.node("Add", left, other)
    return _finished(graph, left), graph.planted


def _merged(graph: Graph, data: str) -> str:
    """Two equal nodes on the same data."""
    value = graph.constant()
    one, other = graph.planted_node("Mul", value, data), graph.planted_node("Mul", value, data)
    return graph.node("Add", graph.large("MaxPool", one), graph.large("Softmax", other))


def _shared(graph: Graph, data: str) -> str:
    """Two equal chains on different data: one kernel, called twice."""
    scale, shift = graph.constant(), 0.0
    ends: list[str] = []
    for start in (graph.large("Conv", data), graph.large("MaxPool", data)):
        padded = graph.node("MaxPool", start, kernel_shape=[1, 1])
        scaled = graph.planted_node("Mul", scale, padded)
        shift = shift or graph.constant()
        ends.append(graph.large("MaxPool", graph.planted_node("Max", shift, scaled)))
    return graph.node("Sub", *ends)


def _finished(graph: Graph, result: str) -> Any:
    from onnx import TensorProto, checker, helper

    shape = [1, CHANNELS, SIDE, SIDE]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info(result, TensorProto.FLOAT, shape)]
    made = helper.make_graph(graph.nodes, "planted", inputs, outputs, graph.held)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    return model


# --- what holds a constant ----------------------------------------------------------------------------------------


def constants_of(node: Node) -> set[float]:
    """The float constants that a statement itself holds, or that a relay call has as attributes and operands."""
    found: set[float] = set()
    if isinstance(node, r.Call):
        for argument in node.args:
            if isinstance(argument, r.Constant) and argument.data.size == 1:
                found.add(float(argument.data.numpy().reshape(())))
        fields = getattr(node.op, "field_names", ())
        found |= {float(np.float32(v)) for name in fields if isinstance(v := getattr(node.op, name), float)}
        return found
    expressions = [child for child in children(node) if not isinstance(child, t.Stmt)]
    return {float(part.value) for part in pre_order(expressions) if isinstance(part, FloatImm)}


_HEX = re.compile(r"\bf?0x([0-9A-Fa-f]{16}|[0-9A-Fa-f]{8})\b")
_DECIMAL = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[+-]?\d+)?")


def floats_in(line: str) -> set[float]:
    """The float constants in a line of LLVM IR or of a constant pool."""
    found = {float(word) for word in _DECIMAL.findall(line)}
    for digits in _HEX.findall(line):
        form = ">d" if len(digits) == 16 else ">f"
        found.add(struct.unpack(form, bytes.fromhex(digits))[0])
    return found


def constant_pool(assembly: str) -> dict[str, set[float]]:
    """The floats behind each label of an assembly text's constant pools."""
    found: dict[str, set[float]] = {}
    label = ""
    for line in assembly.split("\n"):
        head = re.match(r"(\.LCPI\w+):", line)
        if head is not None:
            label = head[1]
        elif line.startswith("\t.long") or line.startswith("\t.zero"):
            if label and ".long" in line:
                found.setdefault(label, set()).update(floats_in(line.split("#")[0]))
        else:
            label = ""
    return found


# --- scores -------------------------------------------------------------------------------------------------------


@dataclass
class Score:
    """How many claims of planted nodes are right, and how many planted nodes were found."""

    claimed: int = 0
    right: int = 0
    planted: int = 0
    found: int = 0

    def add(self, claims: Iterable[Any], truth: list[set[str]], among: set[str]) -> list[str]:
        """Compare the labels claimed for a holder with the true ones, for each constant in it the nodes that have it.

        Nodes that are not `among` those whose constants are in the program are no matter.  Returns what is wrong.
        """
        named = {label.name for label in claims if isinstance(label, ImportedFrom)} & among
        true: set[str] = set().union(*truth)
        missed = [nodes for nodes in truth if not nodes & named]
        self.claimed += len(named)
        self.right += len(named & true)
        self.planted += len(truth)
        self.found += len(truth) - len(missed)
        return [f"foreign {name}" for name in named - true] + [f"missing {sorted(nodes)}" for nodes in missed]

    @property
    def precision(self) -> float:
        return self.right / self.claimed if self.claimed else 1.0

    @property
    def recall(self) -> float:
        return self.found / self.planted if self.planted else 1.0

    def __add__(self, other: Score) -> Score:
        return Score(
            self.claimed + other.claimed,
            self.right + other.right,
            self.planted + other.planted,
            self.found + other.found,
        )

    def __str__(self) -> str:
        return f"{self.precision:.1%} of {self.claimed} claims right, {self.recall:.1%} of {self.planted} found"


def score_step(session: Any, index: int, planted: dict[float, set[str]]) -> tuple[Score, list[str]]:
    """How right the origins of one step's calls and stores are, and what is wrong."""
    known = index_of(session)[index]
    holders: list[tuple[Node, set[float]]] = []
    for function in session.step(index).stage.module.functions.values():
        for node in pre_order(function):
            if isinstance(node, t.BufferStore) or (isinstance(node, r.Call) and not isinstance(node.op, r.Function)):
                holders.append((node, constants_of(node) & planted.keys()))
    present = {value for _, values in holders for value in values}
    among = {name for value in present for name in planted[value]}
    total, wrong = Score(), []
    for node, values in holders:
        score = Score()
        wrong += score.add(known.sources_of(node), [planted[value] for value in values], among)
        total += score
    return total, wrong


def score_native(session: Any, form: str, planted: dict[float, set[str]]) -> tuple[Score, Score, list[str]]:
    """How right the origins of a native text's instructions are: of those that hold planted constants, and of the rest.

    An instruction that holds constants must claim their nodes and no other planted one, however many were fused into
    its statement.  Any other may claim what its line (or its loop, if that is all that is known) computes.
    """
    provenance = session.provenance
    holders, rest, wrong = Score(), Score(), []
    for kernel in provenance.kernels:
        native = provenance.native(kernel, form)
        among = {name for value in _held(provenance.function(kernel)) & planted.keys() for name in planted[value]}
        held_by_line: dict[int, set[str]] = {}
        lines, pool = native.text.split("\n"), constant_pool(native.text)
        for spot in native.spots:
            line = lines[spot.text_line - 1]
            values = set().union(*(pool.get(label, set()) for label in re.findall(r"\.LCPI\w+", line)))
            values = (values if form == "asm" else floats_in(line)) & planted.keys()
            if spot.line not in held_by_line:
                statements = provenance.statements(kernel, spot.line)
                there = set().union(*(_held(statement) for statement in statements)) & planted.keys()
                held_by_line[spot.line] = {name for value in there for name in planted[value]}
            score = Score()
            own = [planted[value] for value in values]
            claims = provenance.sources(kernel, spot)
            problems = score.add(claims, own, among)
            if own:
                holders += score
            else:
                named = {label.name for label in claims if isinstance(label, ImportedFrom)} & among
                score.right = len(named & held_by_line[spot.line])
                problems = [f"foreign {name}" for name in named - held_by_line[spot.line]]
                rest += score
            wrong += [f"{kernel}:{spot}: {problem}" for problem in problems]
    return holders, rest, wrong


def _held(root: Node) -> set[float]:
    """The float constants in a statement and all statements in it."""
    return set().union(*(constants_of(node) for node in pre_order(root) if isinstance(node, t.Stmt)))
