"""A notebook full of screens, saved: small, and readable without its kernel."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.browser.lab import notebook

ROOT = Path(__file__).parents[2]
WIDGET = "application/vnd.jupyter.widget-view+json"
OPEN = "import workbench as wb\ns = wb.open('notebooks/data/efficientnet_lite0.onnx')\n_ = s.step('Codegen')"


@pytest.mark.nightly
@pytest.mark.timeout(240)
@pytest.mark.slow
def test_twenty_screens_take_at_most_three_megabytes() -> None:
    """Sixteen of sessions and four of schedules, with all that is computed."""
    cells = [OPEN, *["s.show()"] * 16, *(f"s.schedule(s.kernels[{number}]).show()" for number in range(4))]
    book = nbformat.from_dict(notebook(*cells))
    NotebookClient(book, timeout=200, resources={"metadata": {"path": str(ROOT)}}).execute()
    shown = [output["data"] for cell in book.cells for output in cell.outputs if "data" in output]
    live = [data for data in shown if WIDGET in data]
    drawn = [data for data in shown if "image/svg+xml" in data]
    folds = [data for data in shown if data.get("text/html", "").startswith("<details")]
    assert len(live) == len(drawn) == len(folds) == 20
    size = len(nbformat.writes(book).encode())
    print(f"20 screens: {size / 1e6:.2f} MB")
    assert size <= 3_000_000
    told = [data["text/plain"] for data in drawn]
    assert all(re.search(r"FuseOps: [1-9]\d* changes", text) for text in told[:16])
    assert all("sch.get_block(" in text for text in told[16:])
    assert all("<img" in data["text/html"] for data in folds), "there is room for the picture in each"
