"""Index maps: text, shapes, one-to-one, inverses against NumPy, refusals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Golden
from workbench.arith.evaluate import evaluate
from workbench.arith.nodes import Var
from workbench.core.errors import WorkbenchError
from workbench.tir.index_map import IndexMap, table
from workbench.tir.script import script

MAPS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "transpose": (lambda i, j: (j, i), (3, 5)),
    "blocks": (lambda i, j: (i // 4, j, i % 4), (8, 3)),
    "blocks with a rest": (lambda i, j: (i // 4, j, i % 4), (10, 3)),
    "flat": (lambda i, j: i * 5 + j, (3, 5)),
    "blocked flat": (lambda i, j: ((i * 6 + j) // 8, (i * 6 + j) % 8), (4, 6)),
    "nchwc": (lambda n, c, h, w: (n, c // 4, h, w, c % 4), (1, 8, 2, 3)),
    "two levels": (lambda i: (i // 8, i % 8 // 2, i % 2), (24,)),
    "spread": (lambda i: i * 2, (5,)),
    "backwards": (lambda i: 4 - i, (5,)),
    "strided, backwards": (lambda i, j: (i * 2 + 1, 5 - j), (3, 6)),
    "sum": (lambda i, j: i + j, (3, 3)),
    "dropped": (lambda i, j: i, (3, 3)),
    "unit": (lambda i, j: (i,), (3, 1)),
}


@pytest.mark.parametrize("name", MAPS)
def test_against_brute_force(name: str) -> None:
    function, shape = MAPS[name]
    found = IndexMap.from_func(function)
    points = [tuple(map(int, point)) for point in table(found, shape)]
    assert IndexMap.parse(found.text) == found
    extents = [extent.value for extent in found.map_shape(shape)]
    assert extents == [1 + max(point[axis] for point in points) for axis in range(len(extents))]
    injective = len(set(points)) == len(points)
    assert found.is_injective(shape) is injective
    assert found.is_bijective(shape) is (injective and len(points) == math.prod(extents))


@pytest.mark.parametrize("name", [name for name in MAPS if name not in ("sum", "dropped")])
def test_inverse_leads_back_and_padding_is_told(name: str) -> None:
    function, shape = MAPS[name]
    found = IndexMap.from_func(function)
    inverse, missing = found.non_surjective_inverse(shape)
    met = {tuple(map(int, point)): at for point, at in zip(table(found, shape), np.ndindex(*shape), strict=True)}
    for point in itertools.product(*(range(extent.value) for extent in found.map_shape(shape))):
        values = dict(zip(inverse.initial_indices, point, strict=True))
        assert bool(evaluate(missing, values)) is (point not in met)
        if point in met:
            assert tuple(evaluate(output, values) for output in inverse.final_indices) == met[point]
    if found.is_bijective(shape):
        assert found.inverse(shape) == inverse


@given(st.lists(st.integers(1, 7), min_size=1, max_size=3), st.permutations([0, 1, 2]), st.integers(1, 4))
def test_random_blocked_maps(shape: list[int], order: list[int], factor: int) -> None:
    def function(*indices: Var) -> list[Any]:
        parts = [part for index in indices for part in (index // factor, index % factor)]
        return [parts[at] for at in sorted(range(len(parts)), key=lambda at: order[at % 3])]

    found = IndexMap.from_func(function, ndim=len(shape))
    assert found.is_injective(shape)
    assert IndexMap.parse(found.text) == found
    inverse, missing = found.non_surjective_inverse(shape)
    for point, at in zip(table(found, shape), np.ndindex(*shape), strict=True):
        values = dict(zip(inverse.initial_indices, map(int, point), strict=True))
        assert not evaluate(missing, values)
        assert tuple(evaluate(output, values) for output in inverse.final_indices) == at


def test_symbolic_shapes() -> None:
    n = Var("n")
    found = IndexMap.from_func(lambda i, j: (i // 4, j, i % 4))
    assert [script(extent) for extent in found.map_shape([n, 3])] == ["(n + 3) // 4", "3", "4"]
    assert found.is_injective([n, 3]) is True and found.is_bijective([n, 3]) is None
    assert found.is_injective([n, n]) is True
    transpose = IndexMap.from_func(lambda i, j: (j, i))
    assert transpose.is_bijective([n, 3]) is True


def test_separators_and_varargs() -> None:
    found = IndexMap.from_func(lambda *i: (i[1], IndexMap.AXIS_SEPARATOR, i[0]), ndim=2)
    assert found.text == "lambda i_0, i_1: (i_1, IndexMap.AXIS_SEPARATOR, i_0)"
    assert found.separators == (1,) and IndexMap.parse(found.text) == found


def test_equivalence() -> None:
    one = IndexMap.from_func(lambda i, j: (i * 4 + j) // 4)
    assert not one.is_equivalent_to(IndexMap.from_func(lambda i, j: i))
    assert IndexMap.from_func(lambda i: (i * 4) // 4).is_equivalent_to(IndexMap.from_func(lambda k: k))


BAD: dict[str, Any] = {
    "not a lambda": "i", "unknown name": "lambda i: j", "a call": "lambda i: __import__('os')",
    "division by zero": "lambda i: i // 0", "a float": "lambda i: 1.5", "varargs": "lambda *a: a",
    "a default": "lambda i=1: i", "a load": "lambda i: A[i]", "separator last": "lambda i: (i, AXIS_SEPARATOR)",
    "too long": "lambda i: (" + "i, " * 2000 + ")", "unclosed": "lambda i: (" * 50,
    "no function": 3, "fails": lambda i: 1 // 0, "float output": lambda i: 1.5, "how many": lambda *i: i,
    "foreign variable": lambda i: Var("z"), "text output": lambda i: "x",
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_refusal(name: str, golden: Golden) -> None:
    bad = BAD[name]
    with pytest.raises(WorkbenchError) as caught:
        IndexMap.parse(bad) if isinstance(bad, str) else IndexMap.from_func(bad)
    assert caught.value.code == "E-TIR-INDEX-MAP"
    golden(f"{caught.value}\n")


def test_wrong_questions() -> None:
    found = IndexMap.from_func(lambda i, j: (j, i))
    for action in (
        lambda: found.map_indices([1]),
        lambda: found.map_shape([1, 2, 3]),
        lambda: IndexMap.from_func(lambda i: i - 1).map_shape([4]),
        lambda: IndexMap.from_func(lambda i: i * 2).inverse([4]),
        lambda: IndexMap.from_func(lambda i: i // 2).non_surjective_inverse([5]),
    ):
        with pytest.raises(WorkbenchError) as caught:
            action()
        assert caught.value.code == "E-TIR-INDEX-MAP" and caught.value.found


def test_shared_parts_do_not_explode() -> None:
    def doubling(i: Var) -> Any:
        value = i
        for _ in range(40):
            value = value + value
        return value

    with pytest.raises(WorkbenchError) as caught:
        IndexMap.from_func(doubling)
    assert "too large" in caught.value.message


SYMBOLIC: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (lambda i, j: (i // 4, j // 3, i % 4, j % 3), ("n", "m")),
    (lambda i, j: (j, i // 4, i % 4), ("n", 3)),
    (lambda i, j: (i * 3 + j,), ("n", 3)),
    (lambda i: (i // 4, i % 4 // 2, i % 2), ("n",)),
    (lambda i, j: ((i * 4 + j) // 2, (i * 4 + j) % 2), ("n", 4)),
)


@pytest.mark.parametrize(("function", "shape"), SYMBOLIC)
def test_symbolic_shapes_at_all_small_sizes(function: Callable[..., Any], shape: tuple[Any, ...]) -> None:
    """Told apart, led back, and padding told, for whatever the sizes are."""
    sizes = {"n": Var("n"), "m": Var("m")}
    found = IndexMap.from_func(function)
    extents = [sizes.get(extent, extent) for extent in shape]
    assert found.is_injective(extents) is True
    inverse, missing = found.non_surjective_inverse(extents)
    for values in itertools.product(range(7), repeat=len({extent for extent in shape if extent in sizes})):
        known = dict(zip((sizes[name] for name in dict.fromkeys(e for e in shape if e in sizes)), values, strict=True))
        box = [known.get(extent, extent) for extent in extents]
        met = {tuple(map(int, point)): at for point, at in zip(table(found, box), np.ndindex(*box), strict=True)}
        assert len(met) == math.prod(box)
        outputs = [int(evaluate(extent, known)) for extent in found.map_shape(extents)]
        assert all(value < size for point in met for value, size in zip(point, outputs, strict=True))
        for point in itertools.product(*map(range, outputs)):
            at = {**known, **dict(zip(inverse.initial_indices, point, strict=True))}
            assert bool(evaluate(missing, at)) is (point not in met)
            if point in met:
                assert tuple(evaluate(output, at) for output in inverse.final_indices) == met[point]


def test_sizes_in_outputs() -> None:
    n = Var("n", "int32")
    found = IndexMap.from_func(lambda x, y, z, w: x * 32 * n + y * n + z * n + w, sizes=(n,))
    assert found.text == "lambda x, y, z, w: (x * 32 * n + y * n + z * n + w,)" and found.sizes == (n,)
    assert IndexMap.parse(found.text, {"n": n}) == found
    assert found.is_bijective([1, 32, 1, n]) is True
    assert found.is_injective([2, 32, 2, n]) is None and found.is_injective([1, 32, 1, Var("m")]) is None
    assert [script(extent) for extent in found.map_shape([1, 32, 1, Var("k")])] == ['T.Cast("int64", n) * 31 + k']
    with pytest.raises(WorkbenchError, match="E-TIR-INDEX-MAP"):
        IndexMap.from_func(lambda x: x * n)
    with pytest.raises(WorkbenchError, match="E-TIR-INDEX-MAP"):
        IndexMap.parse("lambda n: n * n", {"n": n}).map_shape([n])
    with pytest.raises(WorkbenchError, match="has the name of a size"):
        IndexMap.from_func(eval("lambda n: n * size", {"size": n}), sizes=(n,))
