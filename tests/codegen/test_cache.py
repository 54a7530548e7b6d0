"""The cache of compiled code: what hits, what misses, and that nothing wrong ever runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench import IRModule, Target
from workbench.codegen.llvm import cache, machine, pipelines
from workbench.codegen.llvm.backend import backend
from workbench.core.store import CacheWarning
from workbench.tir import script

ADD = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.serial(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + T.float32({number})
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "cache"))
    cache.memory.clear()
    yield
    cache.memory.clear()


def program(number: float, name: str = "f") -> IRModule:
    parsed = script.parse(ADD.format(number=number))
    return IRModule({name: parsed})


def result(number: float, name: str = "f") -> float:
    out = np.zeros(8, np.float32)
    backend.compile_module(program(number, name)).module()[name](np.zeros(8, np.float32), out)
    return float(out[0])


class Tally:
    """How many jobs were done since the last look, by where they came from."""

    def __init__(self) -> None:
        self.look()

    def look(self) -> tuple[int, int, int]:
        now = (cache.counts.memory, cache.counts.disk, cache.counts.compiled)
        before = getattr(self, "before", now)
        self.before = now
        return tuple(a - b for a, b in zip(now, before, strict=True))  # type: ignore[return-value]


def objects(folder: Path) -> list[Path]:
    return sorted((folder / "cache" / "objects-1").glob("*.wb"))


def test_memory_then_disk_then_the_compiler() -> None:
    tally = Tally()
    assert result(1.0) == 1.0
    assert tally.look() == (0, 0, 1)
    assert result(1.0) == 1.0
    assert tally.look() == (1, 0, 0)
    cache.memory.clear()
    assert result(1.0) == 1.0
    assert tally.look() == (0, 1, 0)
    assert result(2.0) == 2.0
    assert tally.look() == (0, 0, 1)


def test_what_the_key_holds() -> None:
    job = machine.job_of("define i32 @f() { ret i32 0 }", Target("llvm"))
    first = cache.key_of(job)
    changes = {"text": "x", "cpu": "znver1", "features": "-avx", "optimise": 0, "form": "asm", "triple": "wasm32"}
    for field, value in changes.items():
        assert cache.key_of(replace(job, **{field: value})) != first, field
    assert {"llvm", "llvmlite", "abi", "code"} <= set(first["versions"])
    assert set(first) == {*vars(job), "versions"}


@pytest.mark.parametrize(("module", "name"), [(pipelines, "FULL"), (pipelines, "ATTRIBUTE"), (machine, "LEAN")])
def test_the_constants_of_the_code_that_runs_llvm_are_in_the_key(
    module: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache._versions.cache_clear()
    first = cache._versions()
    monkeypatch.setattr(module, name, getattr(module, name) * 7)
    cache._versions.cache_clear()
    second = cache._versions()
    monkeypatch.undo()
    cache._versions.cache_clear()
    assert first == cache._versions() != second


def test_another_version_or_processor_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    assert result(1.0) == 1.0
    for version in ({"llvm": "99.0.0"}, {"llvmlite": "9"}, {"abi": "9"}, {"code": "changed"}):
        cache.memory.clear()
        known = cache._versions()
        monkeypatch.setattr(cache, "_versions", lambda known=known, version=version: {**known, **version})
        tally = Tally()
        assert result(1.0) == 1.0
        assert tally.look() == (0, 0, 1)
        monkeypatch.undo()
        monkeypatch.setenv("WORKBENCH_CACHE_DIR", os.environ.get("WORKBENCH_CACHE_DIR", ""))


@pytest.mark.parametrize("damage", ["cut", "zero", "flip", "swap", "key of another processor"])
def test_damaged_entries_are_compiled_anew(tmp_path: Path, damage: str) -> None:
    assert (result(1.0), result(2.0)) == (1.0, 2.0)
    files = objects(tmp_path)
    assert len(files) == 2
    kept = [path.read_bytes() for path in files]
    for path, data, other in zip(files, kept, reversed(kept), strict=True):
        changed = {
            "cut": data[: len(data) // 2],
            "zero": bytes(len(data)),
            "flip": data[:-9] + bytes([data[-9] ^ 4]) + data[-8:],
            "swap": other,
            "key of another processor": data.replace(b'"cpu":"', b'"cpu":"x', 1),
        }
        path.write_bytes(changed[damage])
    cache.memory.clear()
    with pytest.warns(CacheWarning) as caught:
        assert (result(1.0), result(2.0)) == (1.0, 2.0)
    assert len(caught) == 2
    assert {str(path) for path in files} == {word for w in caught for word in str(w.message).split() if "/" in word}
    cache.memory.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (result(1.0), result(2.0)) == (1.0, 2.0)


def test_the_key_is_readable_in_the_file(tmp_path: Path) -> None:
    result(1.0)
    data = objects(tmp_path)[0].read_bytes()
    assert json.JSONDecoder().raw_decode(data[data.index(b'{"abi"') :].decode("latin1"))[0]["form"] == "object"


def test_a_folder_that_vanishes_while_running(tmp_path: Path) -> None:
    import shutil

    assert result(1.0) == 1.0
    shutil.rmtree(tmp_path / "cache")
    cache.memory.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert result(1.0) == 1.0
    assert len(objects(tmp_path)) == 1


def test_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE", "off")
    assert result(1.0) == 1.0
    assert not (tmp_path / "cache").exists()


def test_a_shared_layer_lies_under_one_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert result(1.0) == 1.0
    monkeypatch.setenv("WORKBENCH_CACHE_SHARED", str(tmp_path / "cache"))
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "own"))
    cache.memory.clear()
    tally = Tally()
    assert result(1.0) == 1.0
    assert tally.look() == (0, 1, 0)
    assert result(3.0) == 3.0
    assert len(objects(tmp_path)) == 1
    assert len(list((tmp_path / "own" / "objects-1").glob("*.wb"))) == 1


def test_without_a_home_code_stays_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WORKBENCH_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)
    cache._stores.cache_clear()
    with pytest.warns(CacheWarning, match="WORKBENCH_CACHE_DIR") as caught:
        assert (result(1.0), result(2.0)) == (1.0, 2.0)
    assert len(caught) == 1


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(CacheWarning, match="WORKBENCH_CACHE_DIR") as caught:
        assert (result(1.0), result(2.0)) == (1.0, 2.0)
    assert len(caught) == 1


BUILDER = """
import sys, warnings
warnings.simplefilter("error")
import numpy as np
from workbench import IRModule
from workbench.codegen.llvm import cache
from workbench.codegen.llvm.backend import backend
from workbench.tir import script
for number in range(6):
    mod = IRModule({"f": script.parse(open(sys.argv[1]).read().replace("{number}", str(float(number))))})
    out = np.zeros(8, np.float32)
    backend.compile_module(mod).module()["f"](np.zeros(8, np.float32), out)
    assert out.tolist() == [number] * 8, out
    print(number, flush=True)
print("compiled", cache.counts.compiled, "disk", cache.counts.disk)
"""


def builder(folder: Path) -> subprocess.Popen[str]:
    (folder / "program.tir").write_text(ADD)
    root = str(Path(__file__).resolve().parents[2])
    return subprocess.Popen(
        [sys.executable, "-c", BUILDER, str(folder / "program.tir")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip


@pytest.mark.slow
def test_eight_builders_at_once(tmp_path: Path) -> None:
    running = [builder(tmp_path) for _ in range(8)]
    answers = [process.communicate(timeout=50) for process in running]
    assert [process.returncode for process in running] == [0] * 8, answers
    assert len(objects(tmp_path)) == 6
    out, err = builder(tmp_path).communicate(timeout=30)
    assert "compiled 0 disk 6" in out, err


@pytest.mark.slow
def test_a_builder_killed_at_any_moment(tmp_path: Path) -> None:
    for lines in (0, 1, 3, 5):
        process = builder(tmp_path)
        assert process.stdout is not None
        for _ in range(lines):
            process.stdout.readline()
        process.kill()
        process.communicate(timeout=20)
    out, err = builder(tmp_path).communicate(timeout=30)  # warnings are errors in it
    assert "compiled" in out, err
