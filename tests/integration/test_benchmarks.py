"""The benchmarks run as their headers say: figures are theirs, and asserted nowhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import peers, timed
from benchmarks.peers import Contest
from benchmarks.results import Row, load, save, slipped, tightened


@pytest.mark.nightly
def test_the_matrix_product_of_the_lesson_is_measured() -> None:
    """It runs the cells of the lesson, which may come to use what only a notebook has."""
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.matmul", "--rounds", "1"], capture_output=True, text=True, timeout=250
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    names = [line[:34].strip() for line in ran.stdout.splitlines()]
    assert names[0] == "the peak" and "packed panels" in names and names[-1] == "numpy"


@pytest.mark.nightly
def test_an_operator_is_timed_against_its_peer(tmp_path: Path) -> None:
    saved = tmp_path / "found.json"
    command = [sys.executable, "-m", "benchmarks.kernels", "softmax_12x128x128", "--peers", "onnxruntime", "--rounds"]
    ran = subprocess.run([*command, "2", "--json", str(saved)], capture_output=True, text=True, timeout=250)
    assert ran.returncode == 0, ran.stderr[-2000:]
    (row,), about = load(saved)
    assert set(row.times) == {"workbench", "onnxruntime"} and all(len(times) == 2 for times in row.times.values())
    assert about["limits"]["flops"] > 0 and set(about["versions"]) == set(row.times)
    page = tmp_path / "page.html"
    subprocess.run([sys.executable, "-m", "benchmarks.report", str(saved), str(page)], check=True, timeout=250)
    assert row.subject in page.read_text(encoding="utf-8")


@pytest.mark.nightly
def test_code_generation_of_a_network_is_timed() -> None:
    command = [sys.executable, "-m", "benchmarks.codegen", "--rounds", "1", "squeezenet"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert ran.returncode == 0, ran.stderr[-2000:]
    lines = [line.split() for line in ran.stdout.splitlines()[1:]]
    assert [line[1] for line in lines] == ["build", "code"] and all(float(line[-3]) > 0 for line in lines)


def test_a_peer_that_stops_is_told_and_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[str]] = []

    def start(peer: str, subject: str, threads: int) -> subprocess.Popen[str]:
        lives = "print('{\"build\": 1}', flush=True); input()"
        code = lives if peer == "workbench" else "raise SystemExit(3)"
        started.append(subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True))
        return started[-1]

    monkeypatch.setattr(peers, "_started", start)
    with pytest.raises(peers.Stopped, match="onnxruntime stopped on softmax"):
        Contest("softmax", ("workbench", "onnxruntime")).__enter__()
    assert [process.poll() is not None for process in started] == [True, True]


def test_a_subject_that_stops_loses_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def times(name: str, *_: object) -> Row:
        if name == "bad":
            raise peers.Stopped("onnxruntime stopped on bad")
        return Row(name, "group", 1, {"workbench": [2.0], "onnxruntime": [1.0]})

    monkeypatch.setattr(timed, "timed", times)
    monkeypatch.setattr(timed.limits, "measured", lambda threads: {"flops": 1e9, "bandwidth": 1e9})
    saved = tmp_path / "found.json"
    monkeypatch.setattr(sys, "argv", ["kernels", "bad", "good", "--peers", "onnxruntime", "--json", str(saved)])
    assert timed.command("", [], []) == 1
    assert [row.subject for row in load(saved)[0]] == ["good"] and "stopped on bad" in capsys.readouterr().out


@pytest.mark.parametrize("given", [["--peers", "onnxruntim"], ["--ratchet", "tighten", "--peers"]])
def test_what_could_keep_no_ratio_is_refused(monkeypatch: pytest.MonkeyPatch, given: list[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["kernels", *given])
    monkeypatch.setattr(timed.limits, "measured", lambda threads: {"flops": 1e9, "bandwidth": 1e9})
    with pytest.raises(SystemExit):
        timed.command("", [], [])


def test_a_ratio_is_the_median_of_rounds_and_its_spread(tmp_path: Path) -> None:
    row = Row("one", "group", 1, {"workbench": [2.0, 6.0, 4.0], "a": [2.0, 3.0, 4.0], "b": [4.0, 4.0, 4.0]})
    assert row.ratio("a") == (1.0, 1.0, 2.0)
    assert row.ratio("b") == (0.5, 1.0, 1.5)
    assert row.best("workbench") == 2.0
    save(tmp_path / "found.json", [row], {"machine": "this"})
    assert load(tmp_path / "found.json") == ([row], {"machine": "this"})
    assert json.loads((tmp_path / "found.json").read_text())["rows"][0]["subject"] == "one"


def test_a_ratchet_tells_what_slipped_and_keeps_what_is_better() -> None:
    """Against the better peer; what the rounds of one machine differ by is no slip."""
    row = Row("one", "group", 2, {"workbench": [3.0], "a": [2.0], "b": [3.0]})
    assert row.against_best() == 1.5
    assert not slipped([row], {}) and not slipped([row], {"one@2": 1.4})
    (told,) = slipped([row], {"one@2": 1.2})
    assert "one@2" in told and "1.50" in told and "1.20" in told
    assert tightened([row], {"one@2": 1.2, "other@1": 2.0}) == {"one@2": 1.2, "other@1": 2.0}
    assert tightened([row], {"one@2": 1.9}) == {"one@2": 1.5}
