"""Budgets of the importer: every bound that a hostile file could meet, in one place, named when hit.

>>> Limits().nesting
64
"""

from __future__ import annotations

from dataclasses import dataclass

from ...core.errors import WorkbenchError

OPSETS = (7, 28)
"""Least and greatest version of the default operator set that is read."""
IR_VERSIONS = (3, 14)
"""Least and greatest version of the file format that is read."""


@dataclass(frozen=True)
class Limits:
    """Bounds on what one import may make; raise them for a model you trust: ``convert_config={"limits": Limits(...)}``."""

    file_bytes: int = 16 << 30
    tensor_bytes: int = 4 << 30
    """Bytes of any one value of the model."""
    fold_bytes: int = 64 << 20
    """Bytes of one value computed during import."""
    fold_elements: int = 4096
    """A result with at most so many elements is computed at once when its operands are known."""
    nodes: int = 1_000_000
    """Nodes after inlining functions."""
    nesting: int = 64
    """Depth of subgraphs and of functions calling functions."""
    rank: int = 32


def byte_text(count: int) -> str:
    """A number of bytes for people: ``4.0 GiB``."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024:
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} EiB" if size < 1024 else f"more than {1024} EiB"


def require_tensor_bytes(count: int, limits: Limits, where: str, what: str) -> None:
    """Refuse a value larger than the limit, before anything is allocated.  Raises `WorkbenchError`."""
    if count <= limits.tensor_bytes:
        return
    raise WorkbenchError(
        "E-IMPORT-SIZE",
        f"{what} would take {byte_text(count)}",
        where=where,
        found=byte_text(count),
        expected=f"at most {byte_text(limits.tensor_bytes)} (Limits.tensor_bytes)",
        fix='if the model is meant to be this large: convert_config={"limits": Limits(tensor_bytes=...)}',
        kept="nothing imported",
    )
