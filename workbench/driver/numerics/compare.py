"""Comparing tensors: is what was found within what rounding explains, and if not, where is it wrong?

The yardstick is a float64 value; beside it may stand what float32 gives for the same thing.  An element is right when
it lies within (of the float64 value, or of the float32 one where the two disagree)

    tolerance * |expected|  +  ABSOLUTE * (1, or the mean size of the tensor if that is less)  +  rounding

where `rounding` is four times the greatest difference between the float32 and the float64 value (more where an
operator's algorithm rounds more than the sum as written, `Operator.rounding`), but at most ten times what the tolerance
allows an element of mean size.  A NaN equals a NaN; infinities, integers and bools are equal
or wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

ABSOLUTE: Final = 1e-4
"""Absolute part of the tolerance, for values near zero."""
CHUNK: Final = 1 << 16
"""Elements that are compared at once: float64 copies and masks of a whole tensor took ten times its memory."""
_ROUNDINGS: Final = 4.0
_MOST_ROUNDING: Final = 10.0
_FEW_UNITS: Final = 1e6
"""Units in the last place up to which they tell more than the difference: zero is 1e45 of them away from one."""


@dataclass(frozen=True)
class WrongTensor:
    """A tensor that is wrong, by its element that is furthest beyond the tolerance."""

    place: str
    """Which relay call or kernel computes it."""
    buffer: str
    """Its name there."""
    index: tuple[int, ...]
    found: Any
    expected: Any
    ulp: float
    """Distance in units in the last place of the tensor's dtype; NaN where that means nothing."""
    count: int
    """Elements that are wrong."""
    size: int
    note: str = ""

    def __str__(self) -> str:
        where = ", ".join(map(str, self.index))
        distance = f", {self.units} ulp away" if self.units else self._off()
        text = (
            f"{self.place}: {self.buffer}[{where}] is {_shown(self.found)}, expected {_shown(self.expected)}{distance}"
            f"; {self.count:,} of {self.size:,} elements are wrong"
        )
        return f"{text}; {self.note}" if self.note else text

    @property
    def units(self) -> str:
        """The distance in units in the last place; empty where it says nothing."""
        return f"{self.ulp:.3g}" if self.ulp <= _FEW_UNITS else ""

    def _off(self) -> str:
        """How far away it is, where units say nothing; empty where that is no number."""
        if not np.isfinite(self.ulp):
            return ""  # NaN, or names of kernels that are called instead of each other
        difference = abs(float(self.found) - float(self.expected))
        return f", off by {difference:.3g}" if np.isfinite(difference) else ""


def _shown(value: Any) -> str:
    return f"{value:.8g}" if isinstance(value, (float, np.floating)) else str(value)


@dataclass(frozen=True)
class Gap:
    """How far tensors are from what they should be."""

    right: bool = True
    absolute: float = 0.0
    relative: float = 0.0
    part: float = 0.0
    """Greatest part of its tolerance that an element uses up; above 1 it is wrong."""
    tensor: WrongTensor | None = None
    rounds: bool = False
    """Whether it is right in float64 only: float32 rounds more than the tolerance allows."""

    def joined(self, other: Gap) -> Gap:
        """The worse of both in each respect; the wrong tensor of the first that has one."""
        return Gap(
            self.right and other.right,
            max(self.absolute, other.absolute),
            max(self.relative, other.relative),
            max(self.part, other.part),
            self.tensor or other.tensor,
            self.rounds or other.rounds,
        )


def compare(
    found: np.ndarray,
    expected: np.ndarray,
    tolerance: float,
    narrow: np.ndarray | None = None,
    place: str = "",
    buffer: str = "",
    rounding: float = 1.0,
) -> Gap:
    """Compare one tensor with its yardstick; `narrow` is what float32 gives, and `found` rounds so often as much."""
    if found.shape != expected.shape:
        wrong = WrongTensor(place, buffer, (), found.shape, expected.shape, np.nan, found.size, found.size, "the shape")
        return Gap(False, np.inf, np.inf, np.inf, wrong)
    if found.size == 0:
        return Gap()
    x, y = found.reshape(-1), expected.reshape(-1)
    z = None if narrow is None else np.broadcast_to(narrow, expected.shape).reshape(-1)
    worst = _Worst()
    with np.errstate(all="ignore"):
        allowed = _allowance(found.dtype, y, z, tolerance, rounding)
        for start in range(0, x.size, CHUNK):
            part = slice(start, start + CHUNK)
            worst.see(start, x[part], y[part], None if z is None else z[part], allowed, tolerance)
    right = worst.share <= 1.0
    tensor = None if right else _wrong(found, expected, worst, place, buffer)
    return Gap(right, worst.gap, worst.relative, worst.share, tensor)


@dataclass
class _Worst:
    """What the elements seen so far differ by at most."""

    share: float = -np.inf
    at: int = 0
    """Place of the first element with the greatest share of its tolerance."""
    gap: float = 0.0
    relative: float = 0.0
    count: int = 0
    """Elements that are wrong."""

    def see(
        self,
        start: int,
        found: np.ndarray,
        expected: np.ndarray,
        narrow: np.ndarray | None,
        allowed: _Allowance,
        tolerance: float,
    ) -> None:
        """Look at the elements from a place on."""
        x, y = found.astype(np.float64), expected.astype(np.float64)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        gap = np.abs(x - y)
        gap[np.isnan(gap)] = np.inf
        if _is_exact(found.dtype) and _is_exact(expected.dtype):
            same = found == expected  # float64 holds whole numbers up to 2^53 apart
            gap = np.maximum(gap, 1.0)
        gap[same] = 0.0
        share = gap / allowed.of(y)
        share[same] = 0.0
        share[np.isnan(share)] = np.inf
        # Both infinite and unequal, or one of them: no tolerance helps.
        share[~same & ~(np.isfinite(x) & np.isfinite(y))] = np.inf
        if narrow is not None and bool((share > 1.0).any()):
            share = np.minimum(share, _share_of_narrow(found, narrow, tolerance))
        worst = int(np.argmax(share))
        if share[worst] > self.share:
            self.share, self.at = float(share[worst]), start + worst
        self.gap = max(self.gap, float(gap.max()))
        relative = gap / np.maximum(np.abs(y), ABSOLUTE)
        self.relative = max(self.relative, float(relative.max(initial=0.0, where=~same & np.isfinite(y))))
        self.count += int((share > 1.0).sum())


def _share_of_narrow(found: np.ndarray, narrow: np.ndarray, tolerance: float) -> np.ndarray:
    """1 where an element is what float32 gives (a comparison at a tie, a sum that cancels), else infinity."""
    x, y = found.astype(np.float64), narrow.astype(np.float64)
    allowed = 0.0 if _is_exact(found.dtype) else tolerance * np.abs(y)
    near = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= allowed)
    return np.where(near, 1.0, np.inf)


@dataclass(frozen=True)
class _Allowance:
    """How far an element of a tensor may be off: `tolerance` of its size, and what is added for all alike."""

    tolerance: float
    absolute: float
    rounding: float | None
    exact: bool = False

    def of(self, y: np.ndarray) -> Any:
        if self.exact:
            return 0.5
        allowed = self.tolerance * np.abs(y) + self.absolute
        if self.rounding is not None:
            allowed = allowed + self.rounding
        return np.maximum(allowed, np.finfo(np.float32).tiny)


def _allowance(
    dtype: np.dtype, y: np.ndarray, narrow: np.ndarray | None, tolerance: float, rounding: float
) -> _Allowance:
    """What the header says, for flat arrays."""
    if _is_exact(dtype):
        return _Allowance(0.0, 0.0, None, exact=True)
    scale = _mean_size(y)
    if narrow is None:
        return _Allowance(tolerance, ABSOLUTE * min(1.0, scale), None)
    noise = 0.0
    for start in range(0, y.size, CHUNK):
        part = slice(start, start + CHUNK)
        gap = np.abs(narrow[part].astype(np.float64) - y[part].astype(np.float64))
        noise = max(noise, _ROUNDINGS * rounding * float(gap.max(initial=0.0, where=np.isfinite(gap))))
    return _Allowance(tolerance, ABSOLUTE * min(1.0, scale), min(noise, _MOST_ROUNDING * tolerance * scale))


def _mean_size(y: np.ndarray) -> float:
    """Of the finite elements; summed in one go, for the order of a sum decides its last bits."""
    sizes = np.abs(y.astype(np.float64))
    finite = np.isfinite(sizes)
    if not finite.all():
        sizes = sizes[finite]
    return float(sizes.mean()) if sizes.size else 0.0


def _is_exact(dtype: np.dtype) -> bool:
    return dtype.kind in "biu" or dtype.name.startswith(("int", "uint"))


def _wrong(found: np.ndarray, expected: np.ndarray, worst: _Worst, place: str, buffer: str) -> WrongTensor:
    index = tuple(int(axis) for axis in np.unravel_index(worst.at, found.shape))
    one, other = found[index], expected[index]
    note = ""
    if one != one and other == other:
        note = "NaN: never written, or computed from something that is not"
    return WrongTensor(
        place, buffer, index, _plain(one), _plain(other), _ulp(one, other), worst.count, found.size, note
    )


def _plain(value: Any) -> Any:
    if isinstance(value, (np.bool_, np.integer)):
        return value.item()
    return float(value)


def _ulp(found: Any, expected: Any) -> float:
    dtype = np.asarray(found).dtype
    if dtype.kind != "f" or not (np.isfinite(found) and np.isfinite(expected)):
        return float("nan")
    with np.errstate(all="ignore"):
        unit = float(np.spacing(np.abs(dtype.type(expected))))
    return abs(float(found) - float(expected)) / unit if unit else float("nan")


def compare_all(
    found: list[np.ndarray],
    expected: list[np.ndarray],
    tolerance: float,
    narrow: list[np.ndarray] | None = None,
    place: str = "",
    names: tuple[str, ...] = (),
    rounding: float = 1.0,
) -> Gap:
    """Compare several tensors."""
    if len(found) != len(expected):
        wrong = WrongTensor(place, "results", (), len(found), len(expected), np.nan, len(found), len(found), "how many")
        return Gap(False, np.inf, np.inf, np.inf, wrong)
    total = Gap()
    for index, (one, other) in enumerate(zip(found, expected, strict=True)):
        name = names[index] if index < len(names) else f"result {index}" if len(found) > 1 else "result"
        total = total.joined(compare(one, other, tolerance, narrow[index] if narrow else None, place, name, rounding))
    return total
