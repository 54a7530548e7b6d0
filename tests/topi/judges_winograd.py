"""A judge of Winograd's operators that knows only the points, and solves for what the data's transform must be."""

from __future__ import annotations

from typing import Any

import numpy as np

POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5)


def _known(outputs: int, taps: int) -> tuple[np.ndarray, np.ndarray]:
    """(outputs' matrix, filter's matrix): powers of the points, the filter's divided by differences of points."""
    points = np.array(POINTS[: outputs + taps - 2])
    slopes = [np.prod(point - np.delete(points, number)) for number, point in enumerate(points)]
    output = np.vstack([points[None, :] ** np.arange(outputs)[:, None], np.zeros((0, len(points)))])
    output = np.hstack([output, np.eye(outputs)[:, -1:]])
    kernel = np.vstack([points[:, None] ** np.arange(taps) / np.array(slopes)[:, None], np.eye(taps)[-1:]])
    return output, kernel


def _data(output: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """The matrix B^T for which sum_i A[k, i] G[i, j] B^T[i, t] is 1 where t = k + j, else 0."""
    (outputs, size), taps = output.shape, kernel.shape[1]
    system = np.einsum("ki,ij->kji", output, kernel).reshape(-1, size)
    wanted = np.array([[float(t == k + j) for t in range(size)] for k in range(outputs) for j in range(taps)])
    found, *_ = np.linalg.lstsq(system, wanted, rcond=None)
    assert np.abs(system @ found - wanted).max() < 1e-10
    return found


def weight_transform(op: Any, weight: np.ndarray) -> Any:
    _, kernel = _known(op.tile_size, weight.shape[2])
    return [np.einsum("ei,ocij,uj->euoc", kernel, weight.astype(np.float64), kernel)]


def without_weight_transform(op: Any, data: np.ndarray, weight: np.ndarray) -> Any:
    """Window by window."""
    m, size = op.tile_size, weight.shape[0]
    output, kernel = _known(m, size - m + 1)
    turned = _data(output, kernel)
    if op.kernel_layout != "HWOI":
        weight = np.moveaxis(weight, 4, 3).reshape(size, size, -1, weight.shape[3])[:, :, : op.channels]
    plain = data.astype(np.float64)
    plain = plain.transpose(0, 3, 1, 2) if op.data_layout == "NHWC" else plain
    top, left, bottom, right = op.padding
    high, wide = plain.shape[2] + top + bottom - size + m, plain.shape[3] + left + right - size + m
    padded = np.pad(plain, ((0, 0), (0, 0), (top, bottom + m), (left, right + m)))
    found = np.zeros((len(data), weight.shape[2], high + m, wide + m))
    for n, o, y, x in np.ndindex(len(data), weight.shape[2], -(-high // m), -(-wide // m)):
        tile = padded[n, :, y * m : y * m + size, x * m : x * m + size]
        sums = np.einsum("ei,cij,uj,euc->eu", turned, tile, turned, weight[:, :, o].astype(np.float64))
        found[n, o, y * m : y * m + m, x * m : x * m + m] = output @ sums @ output.T
    found = found[:, :, :high, :wide]
    return [found.transpose(0, 2, 3, 1) if op.data_layout == "NHWC" else found]


WINOGRAD = {
    "nn.contrib_conv2d_winograd_weight_transform": weight_transform,
    "nn.contrib_conv2d_winograd_without_weight_transform": without_weight_transform,
}
