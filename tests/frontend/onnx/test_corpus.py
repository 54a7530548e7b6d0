"""Every hostile model, imported, compiled and run in a process of its own: 85 kinds, each as its row says."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.frontend.onnx import hostile
from tests.frontend.onnx.contained import ROOT, Contained
from tests.frontend.onnx.corpus import AT_RUN_TIME, KINDS

CASES = [(number, file) for number, kind in KINDS.items() for file in kind.files]
SECONDS = 5.0
SLOW = {"72_chain_20000": 30.0}
"""Files that take longer than a hang would look; each with its bound in seconds of processor time."""
EXTRA_BYTES = 1 << 30
FIELDS = ("code", "message", "file", "where", "found", "expected", "fix", "kept")


@pytest.fixture(scope="module")
def contained() -> Iterator[Contained]:
    with Contained() as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder with data, links, a FIFO, and a secret beside it."""
    inside = tmp_path / "model"
    inside.mkdir()
    secret = tmp_path / "secret.bin"
    secret.write_bytes(b"\x01" * 24)
    (inside / "data.bin").write_bytes(np.arange(6, dtype="f").tobytes())
    (inside / "link.bin").symlink_to(secret)
    (inside / "linked").symlink_to(tmp_path)
    os.link(secret, inside / "hard.bin")
    os.mkfifo(inside / "fifo")
    (inside / "folder").mkdir()
    return inside


def written(folder: Path, file: str) -> Path:
    """The file of the corpus, in the folder."""
    if file in hostile.EXTERNAL:
        made: Any = hostile.external(**hostile.EXTERNAL[file])
    else:
        made = (hostile.REFUSED.get(file) or hostile.ACCEPTED[file])()
    path = folder / f"{file}.onnx"
    path.write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
    return path


def require_contained(found: dict[str, Any], path: Path, seconds: float = SECONDS) -> None:
    """It ended by itself, in time and memory; nothing was opened outside the model's folder, nothing written."""
    assert not found["hung"] and not found["signal"], found
    assert "escaped" not in found, found.get("traceback")
    assert found["seconds"] < seconds and found["extra_bytes"] < EXTRA_BYTES, found
    helped = {"subprocess.Popen", "os.posix_spawn"} if seconds > SECONDS else set[str]()  # compiled by helpers
    assert not set(found["acts"]) - helped, found["acts"]
    own = (str(ROOT), sys.prefix, sys.base_prefix, "/proc/self/", "/usr/lib/", "/sys/")
    for name, writing in found["opened"]:
        if name.startswith(own) and "/__pycache__/" in name:
            continue  # Python keeps the bytecode of what it imports, the first time in a fresh clone
        plain = "/" not in name and not name.isdigit()  # one step of a walk below the folder, links not followed
        ours = name.startswith(own) and not writing
        assert name == str(path) or name == str(path.parent) or plain or ours or seconds > SECONDS, name
        assert not writing or seconds > SECONDS, name


def test_all_85_kinds_are_here() -> None:
    assert len(KINDS) == 85
    assert all(file.startswith(number) for number, file in CASES)


@pytest.mark.parametrize(("number", "file"), [case for case in CASES if KINDS[case[0]].code])
def test_refused(number: str, file: str, contained: Contained, folder: Path, golden) -> None:
    path = written(folder, file)
    kind = KINDS[number]
    found = contained.run("import_and_compile", path=str(path))
    require_contained(found, path)
    assert found["stage"] == "import", found
    error = found["error"]
    assert error["type"] == "WorkbenchError" and error["code"] == kind.code, error["text"]
    assert all(error[name] for name in FIELDS), error
    assert error["file"] == path.name and path.name in error["text"]
    assert "Node ''" not in error["text"] and str(folder) not in error["text"] and ".py" not in error["text"]
    for text in kind.says:
        assert text in error["text"], error["text"]
    golden(error["text"])


ACCEPTED = [
    pytest.param(*case, marks=pytest.mark.nightly if case[1] in SLOW else ())
    for case in CASES
    if not KINDS[case[0]].code
]


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("number", "file"), ACCEPTED)
def test_accepted(number: str, file: str, contained: Contained, folder: Path) -> None:
    path = written(folder, file)
    kind = KINDS[number]
    found = contained.run("import_and_compile", path=str(path), inputs=kind.inputs.get(file))
    require_contained(found, path, SLOW.get(file, SECONDS))
    assert found["stage"] == "done", found
    assert found["outputs"] == ["y"]
    for text in kind.says:
        assert any(text in note for note in found["notes"]), found["notes"]
    if not kind.says:
        assert found["notes"] == []
    if file in kind.results:
        assert found["results"]["y"] == kind.results[file]


@pytest.mark.parametrize("file", AT_RUN_TIME)
def test_faults_that_only_a_run_sees(file: str, contained: Contained, folder: Path) -> None:
    path = written(folder, file)
    found = contained.run("import_and_compile", path=str(path), inputs=AT_RUN_TIME[file])
    require_contained(found, path)
    assert found["stage"] in ("done", "run"), found


def test_nothing_beside_the_folder_is_read(folder: Path, contained: Contained) -> None:
    """The secret beside the model keeps the time of its last reading through all path attacks."""
    secret = folder.parent / "secret.bin"
    os.utime(secret, ns=(1, secret.stat().st_mtime_ns))  # long ago: any reading would bring it up to date
    for file in hostile.EXTERNAL:
        contained.run("import_and_compile", path=str(written(folder, file)))
    assert secret.stat().st_atime_ns == 1
    assert secret.read_bytes() == b"\x01" * 24


STRICT = ("14_not_sorted", "80_type_lie", "81_shape_lie", "92_not_finite")


@pytest.mark.parametrize("file", STRICT)
def test_strict_refuses_what_is_noted(file: str, contained: Contained, folder: Path, golden) -> None:
    path = written(folder, file)
    found = contained.run("import_and_compile", path=str(path), config={"strict": True})
    assert found["error"]["code"] == "E-IMPORT-STRICT"
    golden(found["error"]["text"])
