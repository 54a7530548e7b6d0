"""The table of a night: what passed on this commit is kept, added up and not run again."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.nightly import BEGUN, NIGHTS, Night, Result, read, table, tonight


def report(name: str, outcome: str, **told: int) -> Any:
    return SimpleNamespace(
        nodeid=name, outcome=outcome, when="call", duration=30.0, keywords={"nightly": 1} if told else {},
        user_properties=list(told.items()), failed=outcome == "failed", longreprtext="E  assert 1 == 2",
        sections=[("page", "asked last: []")],
    )  # fmt: skip


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Night:
    monkeypatch.setenv(BEGUN, "0")  # the night's own, if this is one
    made = Night(keeping=True)
    made.path, made.clean, made.results = tmp_path / "night" / "commit.jsonl", True, {}
    return made


def test_parts_of_a_sweep_are_added(night: Night) -> None:
    night.pytest_runtest_logreport(report("tests/property/test_a.py::sweep[0]@group.py", "passed", programs=3))
    night.pytest_runtest_logreport(report("tests/property/test_a.py::sweep[x@1]", "failed", programs=1_400))
    night.pytest_runtest_logreport(report("tests/tir/test_b.py::one@browser", "passed"))
    assert table("abc", list(night.results.values())) == [
        "commit abc",
        "                                 passed  failed  skipped  minutes  counted",
        "tests/property/test_a.py::sweep       1       1        0      1.0  programs 1,403",
        "tests/tir                             1       0        0      0.5",
        "all                                   2       1        0      1.5",
    ]  # fmt: skip


def test_what_passed_is_not_run_again(night: Night) -> None:
    for name, outcome in (("a", "passed"), ("b", "failed"), ("c", "skipped")):
        night.pytest_runtest_logreport(report(name, outcome))
    night.path.write_text(night.path.read_text() + '{"test": "d", "sw')
    again = {result.test: result for result in read(night.path)}
    assert again == night.results and set(again) == {"a", "b", "c"}
    items = [SimpleNamespace(nodeid=name) for name in "abcd"]
    left_out: list[Any] = []
    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items)))
    night.pytest_collection_modifyitems(config, items)  # type: ignore[arg-type]
    assert [item.nodeid for item in items] == ["b", "c", "d"] and [item.nodeid for item in left_out] == ["a"]


def test_a_worker_that_replaces_another_leaves_out_the_same_tests(night: Night) -> None:
    """A crashed one is replaced in the middle; with other tests than the rest, the whole night ended."""
    night.pytest_runtest_logreport(report("a", "passed"))
    begun = night.path.stat().st_size
    night.pytest_runtest_logreport(report("b", "passed"))
    assert [result.test for result in read(night.path, begun)] == ["a"]


def test_changed_files_are_not_kept_for_a_commit(night: Night) -> None:
    night.clean = False
    night.pytest_runtest_logreport(report("a", "passed"))
    assert not night.path.exists() and list(night.results) == ["a"]


def test_a_result_is_a_line_of_json(night: Night) -> None:
    night.pytest_runtest_logreport(report("a", "passed", programs=2))
    assert Result(**json.loads(night.path.read_text())) == night.results["a"]
    night.pytest_runtest_logreport(report("b", "failed"))
    assert json.loads(night.path.read_text().splitlines()[-1])["why"] == "E  assert 1 == 2\nasked last: []"


def test_what_changed_while_it_ran_is_kept_for_no_commit(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    night.pytest_runtest_logreport(report("a", "passed"))
    monkeypatch.setattr("tests.nightly.state", lambda: (night.commit, False))
    lines: list[str] = []
    night.pytest_terminal_summary(SimpleNamespace(section=lines.append, write_line=lines.append))
    assert not night.path.exists() and f"commit {night.commit}, with changes" in lines


def test_what_a_cut_night_did_not_come_to_is_told(night: Night) -> None:
    """A table without it looked like that of a small night."""
    ids = [
        "tests/property/test_a.py::sweep[0]@group.py",
        "tests/property/test_a.py::sweep[1]",
        "tests/tir/test_b.py::one",
    ]
    night.pytest_xdist_node_collection_finished(None, ids)
    night.pytest_runtest_logreport(report("tests/property/test_a.py::sweep[0]@group.py", "passed", programs=3))
    lines: list[str] = []
    night.pytest_terminal_summary(SimpleNamespace(section=lines.append, write_line=lines.append))
    assert lines[-1] == "NOT RUN: 2 tests, of tests/property/test_a.py::sweep, tests/tir/test_b.py::one"


def test_a_crashed_part_counts_for_its_sweep(night: Night) -> None:
    """xdist tells of what a worker was at when it died, without the test's marks."""
    night.pytest_runtest_logreport(report("tests/a/test_a.py::sweep[0]", "passed", programs=3))
    night.pytest_runtest_logreport(report("tests/a/test_a.py::sweep[1]", "failed"))
    assert night.results["tests/a/test_a.py::sweep[1]"].sweep


def test_a_file_that_cannot_be_imported_has_failed(night: Night) -> None:
    night.pytest_collectreport(SimpleNamespace(failed=True, nodeid="tests/tir/test_b.py"))  # type: ignore[arg-type]
    assert "  0       1        0" in next(
        line for line in table("abc", list(night.results.values())) if "tests/tir" in line
    )


def test_five_nights_in_a_row_take_all_of_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[int] = []
    for commits in range(77, 82):
        monkeypatch.setattr("tests.nightly._commits", lambda commits=commits: commits)
        share = tonight(range(1_000, 2_000, 50))
        assert len(share) == 4
        parts += share
    assert sorted(parts) == list(range(1_000, 2_000, 50))
    monkeypatch.setenv(NIGHTS, "1")
    assert tonight(range(7)) == list(range(7))
