"""The benchmarks run as their headers say: figures are theirs, and asserted nowhere."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.nightly
def test_the_matrix_product_of_the_lesson_is_measured() -> None:
    """It runs the cells of the lesson, which may come to use what only a notebook has."""
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.matmul", "--rounds", "1"], capture_output=True, text=True, timeout=250
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    names = [line[:34].strip() for line in ran.stdout.splitlines()]
    assert names[0] == "the peak" and "packed panels" in names and names[-1] == "numpy"
