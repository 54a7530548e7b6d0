"""First use in fresh processes: from eight threads at once, and after an interrupt anywhere in the first build."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SWITCHES = ("0.005", "0.0001", "0.00001")
"""Seconds between switches of threads: Python's own, and shorter ones, which bring more meetings."""


def fresh(*words: str) -> dict[str, Any]:
    """What a fresh process says of its first uses."""
    command = [sys.executable, "-m", "tests.integration.first_use", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def whole() -> dict[str, float]:
    """How many lines of modules and of functions a first build runs, and its seconds, that nothing interrupts."""
    found = fresh("line", "0")
    assert not found["caught"] and found["failures"] == []
    return found["seen"] | {"signal": fresh("signal", "0")["seen"]["signal"]}


def test_threads() -> None:
    assert fresh("threads", SWITCHES[-1])["failures"] == []


@pytest.mark.parametrize("seed", ["1", "2"])
def test_every_module(seed: str) -> None:
    assert fresh("modules", seed)["failures"] == []


@pytest.mark.parametrize(("what", "share"), [("module", 0.6), ("line", 0.03)])
def test_interrupt(whole: dict[str, float], what: str, share: float) -> None:
    found = fresh(what, str(whole[what] * share))
    assert found["caught"] and found["failures"] == []


def test_interrupt_between_the_making_and_the_running_of_an_extension_module() -> None:
    """Freed at that moment, the one of onnx ended the process with a segmentation fault."""
    found = fresh("extension", "onnx.onnx_cpp2py_export")
    assert found["caught"] and found["failures"] == []


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_threads_of_100_processes(record_property) -> None:
    record_property("processes", 100)
    failures = [found for at in range(100) if (found := fresh("threads", SWITCHES[at % 3])["failures"])]
    assert failures == []


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_every_module_in_100_orders() -> None:
    assert [found for seed in range(100) if (found := fresh("modules", str(seed))["failures"])] == []


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("what", ["module", "line", "signal"])
def test_interrupts_at_100_moments(whole: dict[str, float], what: str, record_property) -> None:
    """As many as it takes for 100 that meet a build: one near its end may come after it."""
    rng, runs = random.Random(what), []
    while sum(found["caught"] for _, found in runs) < 100 and len(runs) < 150:
        moment = whole[what] * rng.random() + (what != "signal")
        runs.append((moment, fresh(what, str(moment))))
    record_property("interrupted", sum(found["caught"] for _, found in runs))
    assert [(moment, found["failures"]) for moment, found in runs if found["failures"]] == []
    assert sum(found["caught"] for _, found in runs) == 100
