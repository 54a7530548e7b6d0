"""Files that earlier versions wrote: each is opened and means what it meant, or is refused by name.

`tests/golden/aging` holds what commit 4caf3bf wrote: sessions of file version 1, traces, a library, a cache entry.
`answers.json` has the steps, kernels, inputs and outputs of each session as that commit saw them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import WorkbenchError
from workbench.core.store import FOLDER, Store
from workbench.driver.text import parse_function
from workbench.runtime import load_module
from workbench.schedule import Schedule, Trace

AGING = Path(__file__).parent.parent / "golden" / "aging"
ANSWERS: dict[str, Any] = json.loads((AGING / "answers.json").read_text())


OF_KERNELS = ("schedule_bare.wb.json", "schedule_tail.wb.json", "tir_edit.wb.json")
"""Made on a machine with vectors of sixteen lanes, for which a product of eight columns is not packed; where it is, an
edit of that kernel says which one there is instead."""


def inputs_of(known: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.array(values, np.float32) for name, values in known["inputs"].items()}


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_a_session_of_file_version_1_opens_and_computes_what_it_did(name: str) -> None:
    known = ANSWERS[name]
    session = wb.open(str(AGING / name))
    assert list(session.labels) == known["labels"]
    if known["kernels"]:
        names = list(session.kernels)
        assert [name.replace("contrib_dense_pack", "dense") for name in names] == known["kernels"]
        if names != known["kernels"] and name in OF_KERNELS:
            with pytest.raises(WorkbenchError, match="did you mean 'fused_nn_contrib_dense_pack"):
                session.run(inputs_of(known))
            return
    found = session.run(inputs_of(known))
    assert {key: np.asarray(value).shape for key, value in found.items()} == {
        key: np.asarray(value).shape for key, value in known["outputs"].items()
    }
    for key, value in known["outputs"].items():
        np.testing.assert_allclose(found[key], np.array(value, np.float32), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["schedule_bare", "schedule_tail"])
def test_a_trace_still_replays_on_its_kernel(name: str) -> None:
    schedule = Schedule(parse_function((AGING / "kernel.py.txt").read_text()))
    trace = Trace.from_json((AGING / f"{name}.trace.json").read_text())
    trace.apply_to(schedule)
    assert len(schedule.trace) == len(trace) > 0


def test_a_library_runs_or_says_why_not(tmp_path: Path) -> None:
    known = ANSWERS["plain.wb.json"]
    shutil.copy(AGING / "model.library", tmp_path / "model.so")
    try:
        found = load_module(tmp_path / "model.so").run(inputs_of(known))
    except WorkbenchError as error:  # written on an x86-64 machine: another one refuses it by name
        assert error.code.startswith("E-") and error.expected, str(error)
        return
    for value, expected in zip(found.values(), known["outputs"].values(), strict=True):
        np.testing.assert_allclose(value, np.array(expected, np.float32), rtol=1e-5, atol=1e-6)


def test_a_cache_entry_is_read_or_missed(tmp_path: Path) -> None:
    (entry,) = AGING.glob("*.wb")
    folder = tmp_path / FOLDER
    folder.mkdir(mode=0o700)
    shutil.copy(entry, folder / entry.name)
    (folder / entry.name).chmod(0o600)  # a checkout may let its group write, which no entry of a cache does
    key = json.loads(_key_of(entry))
    found = Store(tmp_path).get(key)
    assert found is None or found.startswith(b"\x7fELF"), "a cache entry is an object file, or a miss"
    if FOLDER == "objects-1":
        assert found is not None, "the same format reads its own entries"


def _key_of(entry: Path) -> str:
    """The key stands whole behind a head of 64 bytes; its length is the head's first number."""
    raw = entry.read_bytes()
    return raw[64 : 64 + int.from_bytes(raw[16:24], "little")].decode()
