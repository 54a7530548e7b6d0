"""What an import may cost (B29): bytes, work, nodes, depth, names, seconds; each limit is named, and can be raised."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.frontend.onnx import hostile
from tests.frontend.onnx.contained import Contained
from workbench.core.errors import WorkbenchError
from workbench.core.limits import FoldBudget, limits
from workbench.frontend.onnx import import_model
from workbench.relay.ir.expr import Call, Constant

node, model, value = hostile.node, hostile.model, hostile.value


@pytest.fixture
def kept() -> Iterator[None]:
    """Limits as they were, afterwards."""
    before = asdict(limits)
    yield
    for name, number in before.items():
        setattr(limits, name, number)


def weights_of_nothing(count: int, extent: int) -> Any:
    """A small file that asks for large weights: `count` matrices of `extent` x `extent`, multiplied."""
    shape = hostile.ints("s", extent, extent)
    nodes = [node("ConstantOfShape", ["s"], [f"w{index}"]) for index in range(count)]
    names = ["x", *[f"t{index}" for index in range(1, count)], "y"]
    nodes += [node("MatMul", [names[index], f"w{index}"], [names[index + 1]]) for index in range(count)]
    return model(nodes, [value("x", (1, extent))], initializers=[shape])


def distinct_constants(count: int, bytes_each: int) -> Any:
    """A small file whose constants, once computed, are large and different."""
    side = bytes_each // 4
    table: list[Any] = [hostile.ints("times", side // 8)]
    nodes = []
    for index in range(count):
        table.append(hostile.weights(f"c{index}", np.arange(8, dtype="f") + index))
        nodes.append(node("Tile", [f"c{index}", "times"], [f"w{index}"]))
    names = ["x", *[f"t{index}" for index in range(1, count)], "y"]
    nodes += [node("Add", [names[index], f"w{index}"], [names[index + 1]]) for index in range(count)]
    return model(nodes, [value("x", (side,))], initializers=table)


def products(count: int, extent: int) -> Any:
    """Constant matrices multiplied with each other: little to store, long to compute."""
    start = hostile.weights("m0", np.eye(extent, dtype="f") * 0.5)
    nodes = [node("MatMul", [f"m{index}", "m0"], [f"m{index + 1}"]) for index in range(count)]
    nodes.append(node("Add", ["x", f"m{count}"], ["y"]))
    return model(nodes, [value("x", (extent, extent))], initializers=[start])


BOMBS: dict[str, Callable[[], Any]] = {
    "weights_of_nothing": lambda: weights_of_nothing(40, 4096),
    "distinct_constants": lambda: distinct_constants(60, 32 << 20),
    "products": lambda: products(60, 1024),
}
"""Files of a few kilobytes (4 MiB the last) that would make gigabytes, or compute for minutes."""


@pytest.fixture(scope="module")
def contained() -> Iterator[Contained]:
    with Contained() as found:
        yield found


@pytest.mark.parametrize("name", BOMBS)
def test_an_import_costs_what_its_file_may(name: str, contained: Contained, tmp_path: Path) -> None:
    path = tmp_path / "bomb.onnx"
    path.write_bytes(BOMBS[name]().SerializeToString())
    found = contained.run("import_and_fold", path=str(path))
    assert found.get("stage") == "done", found
    assert not found["hung"] and found["extra_bytes"] < 3 * path.stat().st_size + (320 << 20), found
    assert found["seconds"] < 12, found


def test_fills_stay_fills() -> None:
    """40 matrices of 64 MiB each, as shapes and one number."""
    module = import_model(weights_of_nothing(40, 4096)).module
    folded = wb.relay.transform.FoldConstant()(wb.relay.transform.InferType()(module))
    constants = [part for part in folded.nodes() if isinstance(part, Constant) and part.data.size > 4096]
    assert constants and all(part.data.fill_value is not None for part in constants)


def test_the_budget_has_two_purses() -> None:
    budget = FoldBudget(bytes_read=10)
    assert budget.bytes == 30 + limits.import_bytes
    assert budget.take(1, 30 + limits.import_bytes) and not budget.take(1, 1) and budget.spent == "import_bytes"
    other = FoldBudget()
    assert not other.take(limits.fold_work + 1, 0) and other.spent == "fold_work" and other.take(limits.fold_work, 0)


@pytest.mark.usefixtures("kept")
def test_folding_stops_at_its_work_and_says_so() -> None:
    limits.fold_work = 1000
    found = import_model(
        model(
            [node("Mul", ["a", "a"], ["b"]), node("Add", ["x", "b"], ["y"])],
            [value("x", (512,))],
            initializers=[hostile.weights("a", np.ones(512, "f"))],
        )
    )
    assert any("wb.limits.fold_work" in note for note in found.notes)
    assert any(isinstance(part, Call) and part.op.name == "multiply" for part in found.module.nodes())


@pytest.mark.usefixtures("kept")
def test_a_constant_that_is_needed_and_costs_too_much() -> None:
    limits.fold_work = 8
    shape = model(
        [node("Mul", ["a", "a"], ["s"]), node("Reshape", ["x", "s"], ["y"])],
        [value("x", (4, 9))],
        initializers=[hostile.ints("a", 3, 2)],
    )
    with pytest.raises(WorkbenchError) as caught:
        import_model(shape)
    assert caught.value.code == "E-LIMIT" and "raise wb.limits.fold_work" in caught.value.fix, str(caught.value)


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    ("name", "number", "made"),
    [
        ("nodes", 10, lambda: hostile.chain(20)),
        ("tensor_bytes", 20, hostile.good),
        ("rank", 1, lambda: hostile.with_tensor(lambda tensor: None)),
        ("nesting", 3, lambda: hostile.nested_ifs(8)),
    ],
)
def test_each_limit_is_named_and_can_be_raised(name: str, number: int, made: Callable[[], Any]) -> None:
    import_model(made())
    setattr(limits, name, number)
    with pytest.raises(WorkbenchError) as caught:
        import_model(made())
    assert f"wb.limits.{name}" in caught.value.expected and f"raise wb.limits.{name}" in caught.value.fix
    setattr(limits, name, 1 << 30)
    import_model(made())


@pytest.mark.usefixtures("kept")
def test_names_are_cut_and_told_apart() -> None:
    limits.name_length = 40
    long = [("n" * 60) + str(index) for index in range(2)]
    found = import_model(model([node("Add", long, ["y"])], [value(name) for name in long]))
    assert len(set(found.input_names)) == 2 and all(len(name) == 40 for name in found.input_names)
    assert any("40 are kept" in note for note in found.notes)


def test_an_import_is_time_boxed() -> None:
    started = time.process_time()
    with pytest.raises(WorkbenchError) as caught:
        wb.open(hostile.chain(20_000), time_limit=0.2)
    assert caught.value.code == "E-TIME-LIMIT" and "time_limit" in caught.value.fix
    assert time.process_time() - started < 10


@pytest.mark.usefixtures("kept")
def test_seconds_of_an_import_are_a_limit_too() -> None:
    limits.import_seconds = 1
    with pytest.raises(WorkbenchError) as caught:
        import_model(hostile.chain(40_000))
    assert caught.value.code == "E-TIME-LIMIT" and caught.value.fix == "if it is meant, raise wb.limits.import_seconds"
    assert caught.value.kept


def test_large_weights_are_read_from_the_file_itself(tmp_path: Path) -> None:
    """Files over 16 MiB are parsed without their weights; what is read later is what the file holds."""
    from workbench.frontend.onnx.read import read_model

    array = np.random.default_rng(0).standard_normal((1 << 22) + 3).astype(np.float32)
    other = np.arange(1 << 20, dtype=np.int8)
    made = model(
        [node("Add", ["x", "w"], ["y"]), node("Identity", ["v"], ["z"])],
        [value("x", array.shape)],
        [value("y", None), value("z", None)],
        [hostile.weights("w", array), hostile.weights("v", other), hostile.weights("small", np.ones(3, "f"))],
    )
    path = tmp_path / "large.onnx"
    path.write_bytes(made.SerializeToString())
    source = read_model(path)
    assert len(source.deferred.ranges) == 2 and len(source.proto.SerializeToString()) < 10_000
    source.close()
    parts = [part for part in import_model(path).module.nodes() if isinstance(part, Constant)]
    constants = {part.data.size: part.data.numpy() for part in parts}
    assert np.array_equal(constants[array.size], array) and np.array_equal(constants[other.size], other)
    whole = path.read_bytes()
    for cut in (1, 100, len(whole) // 2):
        path.write_bytes(whole[:-cut])
        with pytest.raises(WorkbenchError) as caught:
            import_model(path)
        assert caught.value.code == "E-IMPORT-TRUNCATED" and caught.value.file == "large.onnx"
    path.write_bytes(whole.replace(b"\x08\x80\x80\x40", b"\x08\x80\x80\x41", 1))  # another shape than the data's
    with pytest.raises(WorkbenchError):
        import_model(path)
