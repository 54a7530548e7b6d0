"""Files are written whole or not at all, and never through a link that somebody planted."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

import workbench as wb
from workbench import IRModule, relay, te
from workbench.contrib.debugger import debug_executor
from workbench.core.errors import WorkbenchError
from workbench.core.instrument import DumpIR
from workbench.core.whole_file import free_path, write_arrays, write_whole
from workbench.driver.commands import _write_npz


def relu() -> IRModule:
    x = relay.var("x", shape=(2, 3))
    return IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))


def function() -> Any:
    a = te.placeholder((8,), name="A")
    return wb.build(te.create_prim_func([a, te.compute((8,), lambda i: a[i] + 1.0, name="B")], name="f"))


def dump(path: Path) -> None:
    model = relay.build(relu())
    executor = debug_executor.create(model.get_graph_json(), model, wb.cpu())
    executor.set_input("x", np.ones((2, 3), np.float32))
    executor.run()
    executor.dump_outputs(path)


def instrumented(path: Path) -> None:
    with wb.PassContext(instruments=[DumpIR(path.parent)]):
        relay.transform.InferType()(relu())


WRITERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a session": ("s.wb.json", lambda path: wb.open(relu()).save(str(path))),
    "a library": ("f.so", lambda path: function().export_library(path)),
    "a model": ("m.so", lambda path: relay.build(relu()).export_library(str(path))),
    "object code": ("f.o", lambda path: function().save(path)),
    "assembly": ("f.s", lambda path: function().save(path)),
    "arrays of the command line": ("a.npz", lambda path: _write_npz(path, {"x": np.ones(3)})),
    "values of a debugging run": ("v.npz", dump),
    "a dump of a pass": ("000_InferType.py", instrumented),
    "a text": ("t.txt", lambda path: write_whole(path, "text")),
}


@pytest.mark.parametrize("what", WRITERS)
def test_no_planted_link_is_followed(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither at the names that used to be taken, nor at the new one, were it known, nor at the file's own."""
    name, write = WRITERS[what]
    path, victim = tmp_path / name, tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr(secrets, "token_hex", lambda size=16: "guessed")
    planted = [f"{name}.{os.getpid()}.tmp", f".{name}.{os.getpid()}.tmp"]
    for link in (*planted, name):
        (tmp_path / link).symlink_to(victim)
    write(path)
    assert victim.read_text() == "precious"
    assert path.is_file() and not path.is_symlink() and path.stat().st_size > 0
    assert all((tmp_path / link).is_symlink() for link in planted), "others' files are left alone"
    path.unlink()
    (tmp_path / ".guessed.tmp").symlink_to(victim)
    with pytest.raises(WorkbenchError) as caught:
        write(path)
    assert caught.value.found or caught.value.where
    assert victim.read_text() == "precious" and not path.exists()


@pytest.mark.parametrize("what", WRITERS)
def test_nothing_else_is_left_behind(what: str, tmp_path: Path) -> None:
    name, write = WRITERS[what]
    write(tmp_path / name)
    assert [each for each in os.listdir(tmp_path) if each.startswith(".") or each.endswith(".tmp")] == []


def test_the_name_written_to_first_cannot_be_guessed(tmp_path: Path) -> None:
    seen: list[str] = []

    def note(file: IO[bytes]) -> None:
        seen.extend(os.listdir(tmp_path))

    for _ in range(2):
        write_whole(tmp_path / "a", note)
    first, second = (name for name in seen if name != "a")
    assert first != second and len(first) == len(".") + 32 + len(".tmp")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("bad")])
def test_a_failure_keeps_what_was_there(error: BaseException, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("before")

    def fail(file: IO[bytes]) -> None:
        file.write(b"half")
        raise error

    with pytest.raises((WorkbenchError, KeyboardInterrupt)) as caught:
        write_whole(path, fail, code="E-SAVE-WRITE")
    assert isinstance(error, KeyboardInterrupt) or "E-SAVE-WRITE" in str(caught.value)
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["a"]


def test_access_rights(tmp_path: Path) -> None:
    """A new file gets the usual ones; one that was private stays private; the target of a link says nothing."""
    path, private = tmp_path / "a", tmp_path / "private"
    umask = os.umask(0o022)
    try:
        assert stat.S_IMODE(write_whole(path, "x").stat().st_mode) == 0o644
        assert stat.S_IMODE(write_whole(tmp_path / "run", "x", mode=0o777).stat().st_mode) == 0o755
        private.write_text("secret")
        private.chmod(0o600)
        assert stat.S_IMODE(write_whole(private, "x").stat().st_mode) == 0o600
    finally:
        os.umask(umask)


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to a pipe", "no folder", "NUL"])
def test_what_is_no_plain_file_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link to a pipe":  # as /dev/stdout is
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to(tmp_path / "pipe")
    path = {"no folder": path / "b", "NUL": tmp_path / "a\0b"}.get(kind, path)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(WorkbenchError, match="E-FILE-WRITE") as caught:
        write_whole(path, "x")
    assert len(str(caught.value).splitlines()) <= 6
    assert sorted(os.listdir(tmp_path)) == before


WRITES_OTHERWISE = {
    "core/whole_file.py": "the one place",
    "core/store.py": "the first publisher wins, in a folder that nobody else may write to",
    "runtime/export.py": "in a folder of its own, made for the linker",
    "contrib/clang.py": "in a folder of its own, made for the compiler",
    "runtime/native/build.py": "in a folder of its own; it is run before the package is there",
    "teach/predictions.py": "a line is added to a record",
}


def test_files_are_written_in_one_place() -> None:
    package = Path(wb.__file__).parent
    opened = r"""\bopen\((.*, *|)["'][wxa]b?\+?["']"""
    pattern = re.compile(rf"\.write_text\(|\.write_bytes\(|os\.(replace|rename)\(|{opened}|\.tofile\(")
    writing = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if any(pattern.search(line) for line in path.read_text().splitlines())
    }
    assert writing == set(WRITES_OTHERWISE)


def test_arrays_have_whatever_names_they_have(tmp_path: Path) -> None:
    names = ("file", "allow_pickle", "a/b", "x.npy")
    arrays = {name: np.full(3, place, np.float32) for place, name in enumerate(names)}
    with np.load(write_arrays(tmp_path / "a.npz", arrays)) as stored:
        assert set(stored.files) == set(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(stored[name], array)


def test_a_free_path_is_one_where_nothing_is(tmp_path: Path) -> None:
    """Not a link to nowhere either, nor a file that would come beside it."""
    path = tmp_path / "test_it.py"
    assert free_path(path, ".npz") == path
    path.write_text("here")
    (tmp_path / "test_it_2.py").symlink_to(tmp_path / "nowhere")
    (tmp_path / "test_it_3.npz").write_bytes(b"")
    assert free_path(path, ".npz") == tmp_path / "test_it_4.py"
    assert free_path(path) == tmp_path / "test_it_3.py"
