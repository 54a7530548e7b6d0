"""Versions that are read, and bounds of the importer that `wb.limits` does not carry."""

from __future__ import annotations

from typing import Final

OPSETS: Final = (7, 28)
"""Least and greatest version of the default operator set that is read."""
IR_VERSIONS: Final = (3, 14)
"""Least and greatest version of the file format that is read."""
FILE_BYTES: Final = 16 << 30
"""Largest model file; larger weights belong into external data."""
FOLD_ELEMENTS: Final = 4096
"""A result with at most so many elements is computed at import when its operands are known."""
