"""The base of facts: frozen data that prints as a table, displays in a notebook, and goes to screens as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from .._lazy import fact_html


class Fact:
    """A fact; `str(fact)` is a table, `fact.to_json()` plain data."""

    def to_json(self) -> dict[str, Any]:
        """Dicts, lists, strings, numbers, booleans and None; field names are the keys."""
        return {
            item.name: _plain(getattr(self, item.name))
            for item in dataclasses.fields(self)  # type: ignore[arg-type]
            if item.metadata.get("json", True)
        }

    def _repr_html_(self) -> str:
        return fact_html(self)


def _plain(value: Any) -> Any:
    if isinstance(value, Fact):
        return value.to_json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {part.name: _plain(getattr(value, part.name)) for part in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    as_number: Any = getattr(value, "item", None)
    return as_number() if callable(as_number) else value


def table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns of text under headings; numbers stand right, text left.

    >>> print(table(("name", "count"), [("A", 10), ("long", 2000)]))
    name  count
    A        10
    long  2,000
    """
    shown = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(headings, *shown, strict=True)]
    right = [bool(rows) and all(isinstance(row[i], (int, float)) for row in rows) for i in range(len(headings))]

    def line(cells: Sequence[str]) -> str:
        parts = (
            cell.rjust(width) if aligned else cell.ljust(width)
            for cell, width, aligned in zip(cells, widths, right, strict=True)
        )
        return "  ".join(parts).rstrip()

    return "\n".join([line(headings), *map(line, shown)])


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)


def bytes_text(count: int) -> str:
    """A number of bytes for reading.

    >>> bytes_text(1536), bytes_text(48 * 1024)
    ('1.5 KiB', '48 KiB')
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.1f}".removesuffix(".0") + f" {unit}"
        size /= 1024
    return ""
