"""What the linter and the type checker say, as tests, so that a stray line does not hide what the other tests say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_ruff_has_nothing_to_say() -> None:
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format=concise", "."]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50, check=False)
    assert result.returncode == 0, f"{result.stdout}{result.stderr}"


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_pyright_has_nothing_to_say() -> None:
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=800, check=False)
    assert result.returncode == 0, f"{result.stdout}{result.stderr}"
