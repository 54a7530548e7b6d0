"""What the system refuses a confined process, whatever way Python offers to ask for it."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench.core.confinement import confined
from workbench.core.forks import in_fork

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")


def refused(folder: Path, *tries: Callable[[], Any]) -> list[bool]:
    """Whether each try is refused in a fork that is confined to `folder`; nothing where the kernel cannot."""

    def work() -> dict[str, Any]:
        held = confined(folder, [sys.prefix, sys.base_prefix])
        if held != {"files", "calls"}:
            return {"lacking": sorted({"files", "calls"} - held)}
        answers = []
        for attempt in tries:
            try:
                attempt()
                answers.append(False)
            except OSError:
                answers.append(True)
        return {"refused": answers}

    found = in_fork(work, 20.0)
    if "lacking" in found:
        pytest.skip(f"this kernel does not see to {found['lacking']}")
    return found["refused"]


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """The folder of the process, and another's with a file in it."""
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    (other / "answer.py").write_text("def answer(): ...\n")
    return own, other


def test_files_of_others_are_neither_read_nor_changed(places: tuple[Path, Path]) -> None:
    own, other = places
    file = other / "answer.py"

    def by_folder() -> None:
        os.open("answer.py", os.O_WRONLY | os.O_TRUNC, dir_fd=os.open(other, os.O_PATH))

    tries = (
        by_folder, lambda: file.write_text(""), lambda: file.read_text(), lambda: list(other.iterdir()),
        lambda: os.remove(file), lambda: os.mkfifo(other / "fifo"), lambda: os.mkdir(other / "new"),
        lambda: os.rename(file, own / "mine"), lambda: os.symlink(file, other / "link"), lambda: os.truncate(file, 0),
        lambda: os.chmod(file, 0o777), lambda: os.utime(file), lambda: os.setxattr(file, "user.a", b"1"),
    )  # fmt: skip
    assert refused(own, *tries) == [True] * len(tries)
    assert [path.name for path in other.iterdir()] == ["answer.py"] and file.read_text() == "def answer(): ...\n"


def test_other_processes_are_out_of_reach(places: tuple[Path, Path]) -> None:
    import _posixsubprocess

    own, _ = places
    above = os.getpid()
    kept = (True, (), None, None, -1, -1, -1, -1, -1, -1, *os.pipe(), False, True, -1, None, None, None, -1, None, True)
    tries = (
        lambda: os.kill(above, 0), lambda: os.kill(0, 0), lambda: os.pidfd_open(above), lambda: os.fork(),
        lambda: os.execv("/bin/true", ["true"]), lambda: os.posix_spawn("/bin/true", ["true"], {}),
        lambda: _posixsubprocess.fork_exec([b"/bin/true"], [b"/bin/true"], *kept),
        lambda: resource.prlimit(above, resource.RLIMIT_NOFILE, (0, 0)), lambda: os.setpriority(os.PRIO_PROCESS, 0, 9),
        lambda: os.sched_setaffinity(above, {0}), lambda: socket.socket(),
    )  # fmt: skip
    assert refused(own, *tries) == [True] * len(tries)


def test_a_processs_own_business_goes_on(places: tuple[Path, Path]) -> None:
    own, _ = places

    def thread() -> None:
        seen: list[int] = []
        one = threading.Thread(target=seen.append, args=(1,))
        one.start()
        one.join()
        assert seen == [1]

    def signalled() -> None:
        seen: list[int] = []
        signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
        os.kill(os.getpid(), signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        assert len(seen) == 2

    tries = (
        thread, signalled, lambda: (own / "note.txt").write_text("mine"), lambda: (own / "folder").mkdir(),
        lambda: (own / "note.txt").rename(own / "folder" / "note.txt"), lambda: Path(os.devnull).write_text("gone"),
        lambda: Path(os.__file__).read_text(), lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )  # fmt: skip
    assert refused(own, *tries) == [False] * len(tries)
