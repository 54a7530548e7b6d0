"""How memory of a process with its children is told."""

from __future__ import annotations

import pytest

from tests.notebooks import memory


def test_a_child_that_begins_counts_its_parents_memory_no_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """654 MB were told of a lesson that takes 560: of several looks one had met a process between fork and exec."""
    looks = iter([900.0, 505.0, 500.0, 510.0])
    monkeypatch.setattr(memory, "_seen", lambda root, pause: next(looks))
    assert memory.megabytes(1) == 500.0
