"""Operator cases of the standard with one thing broken: each is imported, or refused by one located error.

    python -m tests.frontend.onnx.mutations [--each N] [--seed S] [OPERATOR...]      # counts, and what fell through

`mutants(model, rng)` breaks copies of a model's nodes: operands and results left out, doubled, unnamed or exchanged;
attributes with huge, negative, not finite or contradicting values, missing, or of wrong lengths; other ranks and
extents; bodies of other arity; the whole graph inside a branch, a loop or a function.
"""

from __future__ import annotations

import copy
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import InternalError, WorkbenchError
from workbench.frontend.onnx import import_model

HUGE = (2**31, 2**39, 2**62, -(2**40), -1, 0, 7)
NUMBERS = (float("nan"), float("inf"), -1.0, 0.0, 1e38)
SLOW = 5.0
"""Seconds of processor time that no import of so small a model may take."""


@dataclass(frozen=True)
class Outcome:
    """`status`: imported, refused, or one of the faults: crashed, internal, slow."""

    name: str
    mutation: str
    status: str
    reason: str = ""

    @property
    def is_fault(self) -> bool:
        return self.status in ("crashed", "internal", "slow")


def _nodes(graph: Any) -> Iterator[Any]:
    """Every node of a graph, those of its subgraphs included."""
    waiting = [graph]
    while waiting:
        for node in waiting.pop().node:
            yield node
            waiting.extend(item.g for item in node.attribute if item.HasField("g"))


def _bodies(model: Any) -> list[Any]:
    return [item.g for node in _nodes(model.graph) for item in node.attribute if item.HasField("g")]


def _drop_operand(model: Any, node: Any, rng: random.Random) -> bool:
    if node.input:
        del node.input[rng.randrange(len(node.input))]
    return True


def _drop_result(model: Any, node: Any, rng: random.Random) -> bool:
    if node.output:
        del node.output[rng.randrange(len(node.output))]
    return True


def _unnamed_operand(model: Any, node: Any, rng: random.Random) -> bool:
    if node.input:
        node.input[rng.randrange(len(node.input))] = ""
    return True


def _unnamed_result(model: Any, node: Any, rng: random.Random) -> bool:
    if node.output:
        node.output[rng.randrange(len(node.output))] = ""
    return True


def _doubled_operand(model: Any, node: Any, rng: random.Random) -> bool:
    if node.input:
        node.input.append(rng.choice(list(node.input)))
    return True


def _more_results(model: Any, node: Any, rng: random.Random) -> bool:
    node.output.append(f"more_{rng.randrange(10**6)}")
    return True


def _exchanged_operands(model: Any, node: Any, rng: random.Random) -> bool:
    names = list(node.input)
    rng.shuffle(names)
    node.input[:] = names
    return True


def _one_operand_everywhere(model: Any, node: Any, rng: random.Random) -> bool:
    if node.input:
        node.input[:] = [rng.choice(list(node.input))] * len(node.input)
    return True


def _attribute(model: Any, node: Any, rng: random.Random) -> bool:
    """One attribute gets another value of its type."""
    if not node.attribute:
        return False
    item = rng.choice(list(node.attribute))
    if item.HasField("i"):
        item.i = rng.choice(HUGE)
    elif item.HasField("f"):
        item.f = rng.choice(NUMBERS)
    elif item.HasField("s"):
        item.s = rng.choice((b"", b"other", b"SAME_UPPER", b"reverse", b"bidirectional", b"\xff"))
    else:
        _change_list(item, rng)
    return True


def _change_list(item: Any, rng: random.Random) -> None:
    """One entry of an attribute that is a list changes, goes or comes."""
    if item.ints:
        at = rng.randrange(len(item.ints))
        change = rng.randrange(3)
        if change == 0:
            item.ints[at] = rng.choice(HUGE)
        elif change == 1:
            del item.ints[at]
        else:
            item.ints.append(rng.choice(HUGE))
    elif item.floats:
        item.floats[rng.randrange(len(item.floats))] = rng.choice(NUMBERS)
    elif item.strings:
        if rng.random() < 0.5:
            del item.strings[rng.randrange(len(item.strings))]
        else:
            item.strings[rng.randrange(len(item.strings))] = rng.choice((b"", b"Tanh", b"other"))


def _new_attribute(model: Any, node: Any, rng: random.Random) -> bool:
    """An attribute of the operator that the case does not give."""
    from onnx import defs, helper

    try:
        schema = defs.get_schema(node.op_type, model.opset_import[0].version, node.domain)
    except defs.SchemaError:
        return False
    given = {item.name for item in node.attribute}
    free = [item for name, item in sorted(schema.attributes.items()) if name not in given]
    if not free:
        return False
    chosen = rng.choice(free)
    values = {
        "INT": rng.choice(HUGE), "FLOAT": rng.choice(NUMBERS), "STRING": rng.choice(("", "other", "SAME_LOWER")),
        "INTS": [rng.choice(HUGE) for _ in range(rng.randrange(4))], "FLOATS": [rng.choice(NUMBERS)],
        "STRINGS": [rng.choice(("Relu", "other"))],
    }  # fmt: skip
    kind = chosen.type.name
    if kind not in values or values[kind] == []:
        return False
    node.attribute.append(helper.make_attribute(chosen.name, values[kind]))
    return True


def _drop_attribute(model: Any, node: Any, rng: random.Random) -> bool:
    if not node.attribute:
        return False
    del node.attribute[rng.randrange(len(node.attribute))]
    return True


def _input_shape(model: Any, node: Any, rng: random.Random) -> bool:
    """One input of the graph has another rank or extent."""
    if not model.graph.input:
        return False
    shape = rng.choice(list(model.graph.input)).type.tensor_type.shape
    change = rng.randrange(4)
    if change == 0:
        shape.dim.add().dim_value = rng.choice((1, 2, 3))
    elif not shape.dim:
        return False
    elif change == 1:
        del shape.dim[rng.randrange(len(shape.dim))]
    elif change == 2:
        shape.dim[rng.randrange(len(shape.dim))].dim_value = rng.choice((0, 1, 5, 2**20))
    else:
        del shape.dim[:]
    return True


def _input_type(model: Any, node: Any, rng: random.Random) -> bool:
    if not model.graph.input:
        return False
    rng.choice(list(model.graph.input)).type.tensor_type.elem_type = rng.choice((1, 2, 3, 6, 7, 9, 10, 11, 13, 16))
    return True


def _constant_input(model: Any, node: Any, rng: random.Random) -> bool:
    """One input of the graph is a constant, with awkward values."""
    import numpy as np
    from onnx import helper, numpy_helper

    if not model.graph.input:
        return False
    at = rng.randrange(len(model.graph.input))
    value = model.graph.input[at]
    kind = value.type.tensor_type
    shape = [item.dim_value for item in kind.shape.dim]
    try:
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
    except KeyError:
        return False
    if dtype.kind not in "iufb" or int(np.prod(shape)) > 4096:
        return False
    values = HUGE if dtype.kind in "iu" else NUMBERS
    drawn = np.array([rng.choice(values) for _ in range(int(np.prod(shape)))], "O").reshape(shape)
    with np.errstate(all="ignore"):
        array = drawn.astype("float64" if dtype.kind in "fb" else "int64").astype(dtype)
    model.graph.initializer.append(numpy_helper.from_array(array, value.name))
    del model.graph.input[at]
    return True


def _body_arity(model: Any, node: Any, rng: random.Random) -> bool:
    """A subgraph takes or gives one thing more or less."""
    bodies = _bodies(model)
    if not bodies:
        return False
    body = rng.choice(bodies)
    side = rng.choice((body.input, body.output))
    change = rng.randrange(3)
    if change == 0 and side:
        del side[rng.randrange(len(side))]
    elif change == 1 and side:
        side.append(copy.deepcopy(rng.choice(list(side))))
    elif body.input:
        added = copy.deepcopy(body.input[0])
        added.name = f"added_{rng.randrange(10**6)}"
        body.input.append(added)
    return True


def _in_branch(model: Any, node: Any, rng: random.Random) -> bool:
    """The graph stands in both branches of an If."""
    from onnx import TensorProto, helper

    graph = model.graph
    if rng.random() < 0.7:
        flag = [helper.make_tensor_value_info("branch_flag", TensorProto.BOOL, [])]
        held = []
    else:
        flag, held = [], [helper.make_tensor("branch_flag", TensorProto.BOOL, [], [rng.random() < 0.5])]
    branches = [helper.make_graph(list(graph.node), name, [], _renamed(graph.output, "")) for name in ("then", "else")]
    outputs = [f"branch_{value.name}" for value in graph.output]
    made = helper.make_node("If", ["branch_flag"], outputs, then_branch=branches[0], else_branch=branches[1])
    _replace_graph(model, [made], [*graph.input, *flag], _renamed(graph.output, "branch_"), [*graph.initializer, *held])
    return True


def _in_loop(model: Any, node: Any, rng: random.Random) -> bool:
    """The graph stands in the body of a Loop, its results stacked."""
    from onnx import TensorProto, helper

    graph = model.graph
    inputs = [
        helper.make_tensor_value_info("loop_step", TensorProto.INT64, []),
        helper.make_tensor_value_info("loop_going", TensorProto.BOOL, []),
    ]
    going = helper.make_tensor_value_info("loop_still", TensorProto.BOOL, [])
    body = helper.make_graph(
        [*graph.node, helper.make_node("Identity", ["loop_going"], ["loop_still"])], "body", inputs,
        [going, *_renamed(graph.output, "")],
    )  # fmt: skip
    held = [helper.make_tensor("loop_trips", TensorProto.INT64, [], [rng.choice((0, 1, 2))])]
    outputs = [f"loop_{value.name}" for value in graph.output]
    made = helper.make_node("Loop", ["loop_trips", ""], outputs, body=body)
    _replace_graph(model, [made], list(graph.input), _renamed(graph.output, "loop_"), [*graph.initializer, *held])
    return True


def _in_function(model: Any, node: Any, rng: random.Random) -> bool:
    """The nodes stand in a function of the model, called with one input too few now and then."""
    from onnx import helper

    graph = model.graph
    names = [value.name for value in graph.input] + [tensor.name for tensor in graph.initializer]
    outputs = [value.name for value in graph.output]
    function = helper.make_function("own", "Body", names, outputs, list(graph.node), list(model.opset_import))
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("own", 1))
    given = names[:-1] if rng.random() < 0.4 else names
    made = helper.make_node("Body", given, [f"call_{name}" for name in outputs], domain="own")
    _replace_graph(model, [made], list(graph.input), _renamed(graph.output, "call_"), list(graph.initializer))
    return True


def _renamed(values: Any, prefix: str) -> list[Any]:
    made = [copy.deepcopy(value) for value in values]
    for value in made:
        value.name = prefix + value.name
        value.type.tensor_type.ClearField("shape")
    return made


def _replace_graph(
    model: Any, nodes: list[Any], inputs: list[Any], outputs: list[Any], initializers: list[Any]
) -> None:
    from onnx import helper

    model.graph.CopyFrom(helper.make_graph(nodes, model.graph.name or "g", inputs, outputs, initializers))


Mutation = Callable[[Any, Any, random.Random], bool]
MUTATIONS: dict[str, Mutation] = {
    function.__name__.strip("_"): function
    for function in (
        _drop_operand, _drop_result, _unnamed_operand, _unnamed_result, _doubled_operand, _more_results,
        _exchanged_operands, _one_operand_everywhere, _attribute, _new_attribute, _drop_attribute, _input_shape,
        _input_type, _constant_input, _body_arity, _in_branch, _in_loop, _in_function,
    )
}  # fmt: skip


def mutants(model: Any, rng: random.Random) -> Iterator[tuple[str, Any]]:
    """One broken copy of a model for each mutation that applies; sometimes a second one on top."""
    for name, mutation in MUTATIONS.items():
        broken = copy.deepcopy(model)
        nodes = list(_nodes(broken.graph))
        if not nodes or not mutation(broken, rng.choice(nodes), rng):
            continue
        if rng.random() < 0.3:
            second = rng.choice(list(MUTATIONS))
            nodes = list(_nodes(broken.graph))
            MUTATIONS[second](broken, rng.choice(nodes), rng)
            name = f"{name}+{second}"
        yield name, broken


def outcome(name: str, mutation: str, model: Any) -> Outcome:
    """Import a model, and say what became of it."""
    begun = time.process_time()
    try:
        import_model(model)
    except InternalError as error:
        return Outcome(name, mutation, "internal", f"{error.where}: {error.message}"[:300])
    except WorkbenchError as error:
        if time.process_time() - begun > SLOW:
            return Outcome(name, mutation, "slow", error.code)
        return Outcome(name, mutation, "refused" if error.where else "crashed", error.code)
    except Exception as error:
        return Outcome(name, mutation, "crashed", f"{type(error).__name__}: {error}"[:200])
    slow = time.process_time() - begun > SLOW
    return Outcome(name, mutation, "slow" if slow else "imported")


def one_case_each(count: int = 1) -> dict[str, Any]:
    """Models of the standard's cases by name: the first `count` of each operator."""
    from tests.conformance.onnx_nodes import cases

    taken: Counter[str] = Counter()
    chosen: dict[str, Any] = {}
    for case in cases():
        operator = case.model.graph.node[0].op_type
        if taken[operator] < count:
            taken[operator] += 1
            chosen[case.name] = case.model
    return chosen


def sweep(models: dict[str, Any], seed: int) -> Iterator[Outcome]:
    for name, model in models.items():
        rng = random.Random(f"{seed} {name}")
        for mutation, broken in mutants(model, rng):
            yield outcome(name, mutation, broken)


def main(each: int, seed: int, names: list[str]) -> int:
    models = {name: model for name, model in one_case_each(each).items() if not names or any(n in name for n in names)}
    counts: Counter[str] = Counter()
    for found in sweep(models, seed):
        counts[found.status] += 1
        if found.is_fault:
            print(f"{found.status:<9} {found.name:<48} {found.mutation:<36} {found.reason}", flush=True)
    print(f"{len(models)} cases, seed {seed}:", dict(counts))
    return sum(counts[status] for status in ("crashed", "internal", "slow"))


if __name__ == "__main__":
    import argparse

    parser = argparse.ArgumentParser(description="Broken operator cases through the importer.")
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    sys.exit(1 if main(given.each, given.seed, given.names) else 0)
