"""Tensors of a graph step as plain data: a row each with its error, one of them looked into, outputs of two steps.

Pure: arrays in, numbers out; runs nothing.  A picture of a tensor is a slice of its last two axes, at most 64 by 64.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..core.errors import WorkbenchError
from ..driver.numerics.compare import Gap, compare
from .graph_groups import Box, boxes_of, operators
from .schema import SCHEMA_VERSION, View
from .strings.tables import say

if TYPE_CHECKING:
    from ..driver.intermediates import Intermediates

_SIDE: Final = 64
"""Rows and columns of a slice that are sent."""
_BINS: Final = 24
_NAME: Final = 120


@dataclass(frozen=True, slots=True)
class TensorRow(View):
    """One tensor in the list.  Errors are null where nothing of the imported model stands beside it."""

    number: int
    name: str
    box: str
    """Which box of the graph gives it (`graph_groups.Box.id`), of the innermost level."""
    shape: tuple[int, ...]
    dtype: str
    classes: tuple[int, ...]
    against: str
    right: bool
    absolute: float | None
    relative: float | None
    part: float | None
    """Greatest part of the tolerance that an element uses up; above 1 the tensor is wrong."""


@dataclass(frozen=True, slots=True)
class TensorsView(View):
    step: str
    rows: tuple[TensorRow, ...]
    inputs: str
    """What they were computed on, in words."""
    tolerance: float
    version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class TensorPicture(View):
    """A tensor looked into.  Numbers that JSON has not (NaN, infinity) are null in slices and in statistics."""

    number: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    facts: tuple[tuple[str, str], ...]
    """Statistics, each with its name."""
    low: float
    high: float
    counts: tuple[int, ...]
    """How many elements lie in each of equal parts from `low` to `high`."""
    error_low: float
    error_high: float
    error_counts: tuple[int, ...]
    """The same of the absolute error; empty without an imported tensor to compare with."""
    index: tuple[int, ...]
    """Where the slice is taken: of every axis but the last two."""
    values: tuple[tuple[float | None, ...], ...]
    clipped: bool
    """Whether the slice is larger than what is sent."""
    version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class OutputRow(View):
    name: str
    shape: tuple[int, ...]
    right: bool
    absolute: float | None
    relative: float | None
    ulp: float | None
    """Greatest distance in units in the last place; null where that means nothing."""
    nans: tuple[int, int]
    equal: int
    """Elements that are the same, bit for bit."""
    size: int


@dataclass(frozen=True, slots=True)
class OutputsView(View):
    """The outputs after one step beside those after another."""

    before: str
    after: str
    rows: tuple[OutputRow, ...]
    inputs: str
    version: int = SCHEMA_VERSION


def tensors_view(
    found: Intermediates, function: Any, classes: Mapping[int, frozenset[int]], inputs: str, tolerance: float
) -> TensorsView:
    """The rows of a step's tensors; `function` is the graph, `classes` what links its calls to other layers."""
    places = {id(box.nodes[0]): box.id for top in boxes_of(function) for box in _leaves(top)}
    rows = tuple(
        TensorRow(
            number, " · ".join(operators(one.call))[:_NAME], places.get(id(one.call), ""), one.value.shape,
            str(one.value.dtype), tuple(sorted(classes.get(id(one.call), ()))), one.against,
            one.gap is None or one.gap.right,
            *_errors(one.gap),
        )
        for number, one in enumerate(found.tensors)
    )  # fmt: skip
    return TensorsView(found.step, rows, inputs, tolerance)


def _errors(gap: Gap | None) -> tuple[float | None, float | None, float | None]:
    if gap is None:
        return None, None, None
    return _finite(gap.absolute), _finite(gap.relative), _finite(gap.part)


def _leaves(box: Box) -> list[Box]:
    return [leaf for child in box.children for leaf in _leaves(child)] if box.children else [box]


def tensor_picture(found: Intermediates, number: int, index: Sequence[int] = ()) -> TensorPicture:
    """One tensor: statistics, histograms, a slice.  Raises `WorkbenchError` for a number or place that is not there."""
    if not 0 <= number < len(found.tensors):
        raise WorkbenchError(
            "E-UI-ARGUMENT", "there is no such tensor", found=str(number), expected=f"0 to {len(found.tensors) - 1}"
        )
    one = found.tensors[number]
    value = one.value
    place, piece = _slice(value, index)
    low, high, counts = _histogram(value)
    gap = np.abs(value.astype(np.float64) - one.expected.astype(np.float64)) if one.expected is not None else None
    error_low, error_high, error_counts = _histogram(gap) if gap is not None else (0.0, 0.0, ())
    shown = piece[:_SIDE, :_SIDE]
    return TensorPicture(
        number, " · ".join(operators(one.call))[:_NAME], value.shape, str(value.dtype), _facts(value),
        low, high, counts, error_low, error_high, error_counts,
        place, tuple(tuple(_rounded(item) for item in row) for row in shown.tolist()), shown.shape != piece.shape,
    )  # fmt: skip


def outputs_view(
    before: tuple[str, Mapping[str, np.ndarray]], after: tuple[str, Mapping[str, np.ndarray]], inputs: str,
    tolerance: float,
) -> OutputsView:  # fmt: skip
    """The outputs after two steps compared, by name."""
    rows: list[OutputRow] = []
    for name, one in before[1].items():
        other = after[1][name]
        gap = compare(other, one, tolerance)
        same = (one == other) | (np.isnan(one) & np.isnan(other)) if one.shape == other.shape else np.zeros(1, bool)
        nans = int(np.isnan(one).sum()), int(np.isnan(other).sum())
        rows.append(
            OutputRow(
                name,
                other.shape,
                gap.right,
                _finite(gap.absolute),
                _finite(gap.relative),
                _ulps(one, other),
                nans,
                int(same.sum()),
                int(other.size),
            )
        )
    return OutputsView(before[0], after[0], tuple(rows), inputs)


def _ulps(one: np.ndarray, other: np.ndarray) -> float | None:
    if one.dtype.kind != "f" or one.shape != other.shape or not one.size:
        return None
    with np.errstate(all="ignore"):
        unit = np.spacing(np.maximum(np.abs(one), np.finfo(one.dtype).tiny)).astype(np.float64)
        return _finite(float(np.max(np.abs(one.astype(np.float64) - other.astype(np.float64)) / unit)))


def _facts(value: np.ndarray) -> tuple[tuple[str, str], ...]:
    wide = value.astype(np.float64)
    good = wide[np.isfinite(wide)]
    told = say.checks
    found = [(told.elements, f"{value.size:,}"), (told.size, f"{value.nbytes:,}")]
    if good.size:
        named = ((told.least, np.min), (told.greatest, np.max), (told.mean, np.mean), (told.deviation, np.std))
        found += [(name, f"{float(work(good)):.6g}") for name, work in named]
    found.append((told.zeros, f"{100 * float(np.mean(value == 0)) if value.size else 0:.1f} %"))
    found.append((told.nans, f"{int(np.isnan(wide).sum()):,}"))
    found.append((told.infinite, f"{int(np.isinf(wide).sum()):,}"))
    return tuple(found)


def _histogram(value: np.ndarray) -> tuple[float, float, tuple[int, ...]]:
    wide = value.astype(np.float64)
    good = wide[np.isfinite(wide)]
    if not good.size:
        return 0.0, 0.0, ()
    low, high = float(good.min()), float(good.max())
    if low == high:
        return low, high, (int(good.size),)
    counts, _ = np.histogram(good, bins=_BINS, range=(low, high))
    return low, high, tuple(int(count) for count in counts)


def _slice(value: np.ndarray, index: Sequence[int]) -> tuple[tuple[int, ...], np.ndarray]:
    """Where the slice is, clipped into the tensor, and its matrix."""
    if value.ndim < 2:
        return (), value.reshape(1, -1)
    leading = value.shape[:-2]
    if 0 in leading:  # there is no slice
        return (0,) * len(leading), np.empty((0, 0), value.dtype)
    given = [*index[: len(leading)], *([0] * (len(leading) - len(index)))]
    place = tuple(min(max(int(at), 0), extent - 1) for at, extent in zip(given, leading, strict=True))
    return place, value[place]


def _rounded(value: Any) -> float | None:
    number = float(value)
    return float(f"{number:.5g}") if np.isfinite(number) else None


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
