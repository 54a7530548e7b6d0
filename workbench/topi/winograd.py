"""Winograd's minimal filtering: m outputs of a filter of r taps by m + r - 1 multiplications instead of m * r.

    y = A^T [(G g) * (B^T d)]          y: m outputs, g: r taps, d: m + r - 1 inputs, *: element by element

In two dimensions each matrix is applied to rows and to columns: F(4x4, 3x3) takes 36 multiplications where 144 are
written.  The matrices are exact (`fractions`), from Toom's and Cook's interpolation at 0, 1, -1, 2, -2, 1/2, -1/2 and
infinity: A^T evaluates the outputs' polynomial, G the filter's divided by the derivative of the nodal polynomial, and
the rows of B^T are the coefficients of the nodal polynomial without one of its roots.  Source: A. Lavin and S. Gray,
Fast Algorithms for Convolutional Neural Networks, 2015; R. E. Blahut, Fast Algorithms for Signal Processing, 5.4.

>>> matrices(2, 3).data[0]
(Fraction(-1, 1), Fraction(0, 1), Fraction(1, 1), Fraction(0, 1))
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import prod
from typing import Final

from ..core.errors import WorkbenchError

POINTS: Final = tuple(Fraction(*pair) for pair in ((0, 1), (1, 1), (-1, 1), (2, 1), (-2, 1), (1, 2), (-1, 2)))
"""Where polynomials are evaluated, beside infinity; in this order, so that small tiles have the smallest numbers."""
ZERO, ONE = Fraction(0), Fraction(1)
LARGEST: Final = len(POINTS) + 1
"""Inputs of the largest tile."""

Matrix = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Matrices:
    """The three matrices of F(m, r), each as its rows."""

    data: Matrix
    """B^T: (m + r - 1) x (m + r - 1)."""
    filter: Matrix
    """G: (m + r - 1) x r."""
    output: Matrix
    """A^T: m x (m + r - 1)."""


@cache
def matrices(outputs: int, taps: int) -> Matrices:
    """Those of F(outputs, taps).  Raises `WorkbenchError` where they are less than one, or the tile is too large."""
    size = outputs + taps - 1
    if outputs < 1 or taps < 1 or size > LARGEST:
        raise WorkbenchError(
            "E-WINOGRAD-TILE",
            f"there is no Winograd transform F({outputs}, {taps})",
            found=f"a tile of {size} inputs",
            expected=f"at least one output and one tap, at most {LARGEST} inputs (outputs + taps - 1)",
            fix=f"take a tile_size of at most {LARGEST + 1 - max(taps, 1)}",
        )
    points = POINTS[: size - 1]
    others = [tuple(one for one in points if one is not point) for point in points]
    slopes = [prod((point - one for one in rest), start=ONE) for point, rest in zip(points, others, strict=True)]
    data = [*((*_polynomial(rest), ZERO) for rest in others), _polynomial(points)]
    kernel = [_powers(point, taps, slope) for point, slope in zip(points, slopes, strict=True)]
    kernel.append((*(ZERO,) * (taps - 1), ONE))
    columns = [_powers(point, outputs) for point in points]
    columns.append((*(ZERO,) * (outputs - 1), ONE))
    return Matrices(tuple(data), tuple(kernel), tuple(zip(*columns, strict=True)))


def _powers(point: Fraction, count: int, divisor: Fraction = ONE) -> tuple[Fraction, ...]:
    return tuple(point**power / divisor for power in range(count))


def _polynomial(roots: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """The coefficients, lowest power first, of the polynomial with these roots and leading coefficient one."""
    found = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *found]
        found = [high - root * low for high, low in zip(shifted, [*found, Fraction(0)], strict=True)]
    return tuple(found)


@cache
def growth(outputs: int, taps: int) -> float:
    """How much larger the products between the transforms may be than those of the sum itself, in two dimensions.

    The largest factor that an input and a tap have together in the terms of an output, signs left out: the square of
    max over k, j, t of sum over i of |A^T[k, i] G[i, j] B^T[i, t]|.  Times the unit of rounding it is what an element's
    error grows by against the direct sum's, as a part of the greatest sum of absolute products in its tile: where all
    of a window is padding, what should be 0 has the roundings of its neighbours.  (1: nothing; F(2, 3): 4, F(4, 3):
    114, F(6, 3): 204.)
    """
    own = matrices(outputs, taps)
    size = range(outputs + taps - 1)
    largest = max(
        sum(abs(row[i] * own.filter[i][j] * own.data[i][t]) for i in size)
        for row in own.output
        for j in range(taps)
        for t in size
    )
    return float(largest) ** 2
