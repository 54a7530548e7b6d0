"""What tests of screens may use besides: `kept_here`."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def kept_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Changes of screens are kept, in the test's own folder."""
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("WORKBENCH_CHANGES", raising=False)
