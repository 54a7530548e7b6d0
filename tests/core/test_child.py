"""Children: what they answer, and each way not to answer is a named failure; none is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench import te
from workbench.core.child import Child, ChildFailure, Idle, Limits
from workbench.core.errors import WorkbenchError

SERVICE = "tests.core.child_service"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def child() -> Iterator[Child]:
    with Child(SERVICE, seconds=60.0) as made:
        yield made


def gone(pid: int) -> bool:
    """Whether a process ends; waits for it, and for all its threads: before that its parent is not told."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            if state == "Z" and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        except ChildProcessError:  # another's child
            return True
        time.sleep(0.02)
    return False


def failure(child: Child, do: str, header: dict[str, Any] | None = None, **options: Any) -> ChildFailure:
    with pytest.raises(ChildFailure) as caught:
        child.ask(do, header, **options)
    assert not child.alive and caught.value.detail
    return caught.value


# --- answers --------------------------------------------------------------------------------------------------------


def test_headers_and_frames_come_back(child: Child) -> None:
    data = [b"", b"abc", bytes(range(256)) * 20_000, memoryview(b"xyz")]
    answer = child.ask("echo", {"name": "é", "list": [1, 2.5, None]}, data)
    assert answer.header["got"] == {"name": "é", "list": [1, 2.5, None]}
    assert [bytes(frame) for frame in answer.frames] == [bytes(frame)[::-1] for frame in data]


def test_one_process_serves_many_requests_and_is_replaced_when_it_died(child: Child) -> None:
    first = child.ask("count").header
    assert child.ask("count").header == {"count": 2, "pid": first["pid"]}
    assert child.started == 1 and child.alive and child.pid == first["pid"] != os.getpid()
    os.kill(first["pid"], signal.SIGKILL)
    assert gone(first["pid"])
    again = child.ask("count").header
    assert again["count"] == 1 and again["pid"] != first["pid"] and child.started == 2


def test_an_error_of_the_service_is_the_callers_and_the_child_goes_on(child: Child) -> None:
    with pytest.raises(WorkbenchError) as caught:
        child.ask("refuse")
    error = caught.value
    assert (error.code, error.message, error.where, error.found) == ("E-TEST", "no", "here", "a")
    assert (error.expected, error.fix, error.kept) == ("b", "c", "d")
    assert child.ask("count").header["count"] == 1 and child.started == 1


def test_what_is_printed_disturbs_no_answer(child: Child) -> None:
    assert child.ask("print").header == {"read": ""}, "and standard input is empty"
    printed = child.printed().read()
    for words in (b"printed by Python", b"written to the output", b"put by C"):
        assert words in printed
    assert child.ask("count").header["count"] == 1


# --- failures, each by its name ---------------------------------------------------------------------------------------

FAILURES: dict[str, tuple[str, str]] = {
    "fault": ("fault", "KeyError: 'a fault of the service'"),
    "leave": ("fault", "SystemExit: 3"),
    "nothing of that name": ("fault", "KeyError: 'nothing of that name'"),
    "crash": ("crashed", "SIGSEGV"),
    "abort": ("crashed", "SIGABRT: Assertion `x' failed."),
    "exit": ("crashed", "exit status 5: last words"),
    "close_pipes": ("garbled", "it closed its pipe and went on"),
    "close_and_end": ("crashed", "exit status 0"),
    "garbage": ("garbled", "it does not carry the number of the request"),
    "fake": ("garbled", "it does not carry the number of the request"),
    "cut": ("crashed", "exit status 0"),
}


@pytest.mark.parametrize("do", FAILURES)
def test_a_child_that_does_not_answer_is_named(do: str, child: Child) -> None:
    kind, detail = FAILURES[do]
    found = failure(child, do)
    assert (found.kind, detail in found.detail) == (kind, True), found
    assert found.phrase in str(found)
    assert child.ask("count").header["count"] == 1 and child.started == 2, "the next one starts afresh"


def test_an_answer_that_is_too_long_is_none(child: Child) -> None:
    found = failure(child, "huge", most=1 << 20)
    assert found.kind == "garbled" and "2,097,152 bytes" in found.detail
    assert len(child.ask("huge", most=3 << 20).frames[0]) == 2 << 20


def test_what_comes_after_an_answer_is_not_the_next_one(child: Child) -> None:
    child.ask("late_thread")
    assert failure(child, "sleep").kind == "garbled"


def test_a_service_that_cannot_be_imported_is_a_fault() -> None:
    with Child("tests.core.no_such_service") as child:
        assert "ModuleNotFoundError" in failure(child, "echo").detail


@pytest.mark.parametrize("lacking", ["interpreter", "folder for temporary files"])
def test_a_child_that_cannot_be_started(lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if lacking == "interpreter":
        monkeypatch.setattr(sys, "executable", "/no/such/python")
    else:
        monkeypatch.setattr(tempfile, "tempdir", "/no/such/folder")
    with Child(SERVICE) as child:
        assert failure(child, "echo").kind == "absent"
    with pytest.raises(WorkbenchError, match="E-CODEGEN-TRIAL"):
        wb.build(loops(), target="llvm -mcpu=generic")


def loops() -> Any:
    a = te.placeholder((8,), name="A")
    return te.create_prim_func([a, te.compute((8,), lambda i: a[i] + 1.0, name="B")], name="f")


@pytest.mark.parametrize("do", ["sleep", "spin", "sleep_in_c"])
def test_a_child_that_hangs_is_ended(do: str) -> None:
    with Child(SERVICE, seconds=60.0) as child:
        pid = child.ask("count").header["pid"]
        child.seconds = 0.5
        found = failure(child, do)
        assert found.kind == "hangs" and "0.5 s" in found.detail
        assert found.of_the_machine == (do != "spin"), f"one that waits says nothing, one that computes does: {found}"
        assert gone(pid)


def test_a_child_that_does_not_read_its_request_hangs() -> None:
    """A pipe holds 64 KiB: writing 100 MB to one that is busy would last for ever."""
    with Child(SERVICE, seconds=60.0) as child:
        pid = child.ask("count").header["pid"]
        os.kill(pid, signal.SIGSTOP)
        child.seconds = 0.5
        assert failure(child, "echo", data=[bytes(100 << 20)]).kind == "hangs"
        assert gone(pid)


LIMITED: dict[str, tuple[str, Limits, str]] = {
    "processor time": ("spin", Limits(processor_seconds=1), "more than 1 s of processor time"),
    "memory": ("hoard", Limits(memory_bytes=700_000_000), "more than 700,000,000 bytes of memory"),
    "a file": ("write_file", Limits(file_bytes=1_000_000), "a file of more than 1,000,000 bytes"),
    "what it prints": ("print_for_ever", Limits(printed_bytes=100_000), "printed more than 100,000 bytes"),
    "a file of prints": ("print_for_ever", Limits(file_bytes=100_000), "a file of more than 100,000 bytes"),
}


@pytest.mark.parametrize("what", LIMITED)
def test_a_limit_that_is_reached_is_named(what: str, tmp_path: Path) -> None:
    do, limits, detail = LIMITED[what]
    with Child(SERVICE, seconds=60.0, limits=limits) as child:
        found = failure(child, do, {"path": str(tmp_path / "file")})
        assert found.kind == "limit" and detail in found.detail, found
    assert not (tmp_path / "file").exists() or (tmp_path / "file").stat().st_size <= 1_000_000


# --- nobody is left behind -------------------------------------------------------------------------------------------


def test_closing_ends_the_child_and_what_it_started() -> None:
    with Child(SERVICE, seconds=60.0) as child:
        other = child.ask("start_another").header["pid"]
        own = child.pid
    assert own is not None and gone(own) and gone(other)


def test_what_a_child_started_ends_with_it_when_it_dies(child: Child) -> None:
    found = failure(child, "start_and_crash")
    assert found.kind == "crashed" and gone(int(found.said))


def test_a_child_that_nobody_closes_ends_with_its_last_user() -> None:
    child = Child(SERVICE, seconds=60.0)
    pid = child.ask("count").header["pid"]
    del child
    assert gone(pid)


def test_kill_from_another_thread_ends_the_wait(child: Child) -> None:
    child.ask("count")
    failures: list[ChildFailure] = []

    def wait() -> None:
        failures.append(failure(child, "sleep"))

    waiting = threading.Thread(target=wait)
    waiting.start()
    while waiting.is_alive():
        child.kill()
        waiting.join(0.05)
    assert failures[0].kind == "ended"


def python(body: str, **options: Any) -> subprocess.Popen[str]:
    """A process of its own, in which `child` is one that answered already; it prints the child's pid first."""
    head = f"""
        import os, signal, sys, time
        from workbench.core.child import Child, ChildFailure, Idle
        child = Child({SERVICE!r}, seconds=60.0)
        print(child.ask("count").header["pid"], flush=True)
    """
    source = textwrap.dedent(head) + textwrap.dedent(body)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    return subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, text=True, env=environment, **options
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("do", ["sleep", "spin", "sleep_in_c"])
def test_the_child_ends_with_its_parent(do: str) -> None:
    """Killed, the parent can do nothing about it; the child is busy, so it reads no end of its input."""
    process = python(f"child.ask({do!r})")
    pid = int(first_line(process))
    process.kill()
    process.wait()
    assert gone(pid)


def test_the_child_ends_when_its_parent_leaves() -> None:
    process = python("")
    pid = int(first_line(process))
    assert process.wait(60) == 0 and gone(pid)


@pytest.mark.parametrize("ignoring", [False, True], ids=["usual", "the caller ignores SIGINT"])
def test_ctrl_c_ends_the_wait_and_the_child(ignoring: bool, tmp_path: Path) -> None:
    """Also where the process that started ours ignores SIGINT, as a script does for its background jobs."""
    inside = tmp_path / "inside"
    body = f"""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            child.ask("sleep", {{"inside": {str(inside)!r}}})
        except KeyboardInterrupt:
            print("interrupted", child.alive, flush=True)
    """
    start: Callable[[], object] | None = (lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if ignoring else None
    process = python(body, preexec_fn=start)
    pid = int(first_line(process))
    while not inside.exists():  # the child has the request, so the parent waits for its answer
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert first_line(process) == "interrupted False"
    assert process.wait(60) == 0 and gone(pid)


def test_signals_are_the_childs_own() -> None:
    """Whatever the parent ignores or blocks."""
    body = """
        child.close()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR2})
        import json
        print(json.dumps(child.ask("signals").header))
    """
    process = python(body)
    first_line(process)
    found = json.loads(first_line(process))
    with Child(SERVICE, seconds=60.0) as own:
        assert found == own.ask("signals").header
    ignored = {name for name, handler in found["handlers"].items() if "SIG_IGN" in handler}
    assert ignored == {"SIGINT", "SIGPIPE"} and found["blocked"] == [] and found["session"]
    process.wait(60)


def test_ctrl_c_of_the_terminal_does_not_reach_the_child(child: Child) -> None:
    pid = child.ask("count").header["pid"]
    os.kill(pid, signal.SIGINT)
    assert child.ask("count").header == {"count": 2, "pid": pid}


@pytest.mark.parametrize("number", [0, 1, 2])
def test_it_works_without_standard_streams(number: int) -> None:
    body = f"""
        child.close()
        kept = os.dup(1)
        os.close({number})
        got = child.ask("echo", {{}}, [b"abc"]).frames[0]
        os.write(kept, b"answered " + bytes(got) + b"\\n")
        os._exit(0)
    """
    process = python(body, stderr=subprocess.DEVNULL)
    first_line(process)
    assert first_line(process) == "answered cba"
    process.wait(60)


def test_a_forked_process_leaves_its_parents_child_alone() -> None:
    body = """
        idle = Idle(child.service, 30.0)
        idle.give_back(child)
        if (pid := os.fork()) == 0:
            own = idle.take()
            own.seconds = 60.0
            print("forked", own is not child, own.ask("count").header["count"], flush=True)
            own.close()
            print("same", child.alive, child.ask("count").header["count"], flush=True)
            child.close()
            os._exit(0)
        os.waitpid(pid, 0)
        again = idle.take()
        print("parent", again is child, again.ask("count").header["count"], flush=True)
    """
    process = python(body)
    first_line(process)
    assert [first_line(process) for _ in range(3)] == ["forked True 1", "same False 1", "parent True 2"]
    assert process.wait(60) == 0


def test_idle_children_leave() -> None:
    idle = Idle(SERVICE, 0.05)
    child = idle.take()
    child.seconds = 60.0
    pid = child.ask("count").header["pid"]
    idle.give_back(child)
    assert len(idle) == 1
    assert gone(pid), "a moment later"
    assert len(idle) == 0


def test_one_thread_looks_after_all_idle_children(child: Child) -> None:
    idle = Idle("looked_after", 30.0)
    child.ask("count")
    for _ in range(20):
        idle.give_back(child)
    assert [thread.name for thread in threading.enumerate()].count("idle children of looked_after") == 1
    assert len([thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]) == 0
    idle.close()
    assert len(idle) == 0 and not child.alive


def test_a_child_that_is_killed_while_it_is_started_is_ended(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    start = subprocess.Popen

    def killed_meanwhile(*arguments: Any, **options: Any) -> Any:
        child.kill()
        return start(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", killed_meanwhile)
    assert failure(child, "count").kind == "ended"
    monkeypatch.undo()
    assert child.ask("count").header["count"] == 1, "the next request has a process of its own"
    child.kill()
    assert child.ask("count").header["count"] == 1, "and so has one after a child was ended between requests"


def test_a_dead_child_is_not_kept() -> None:
    idle = Idle(SERVICE, 30.0)
    child = idle.take()
    pid = child.ask("count").header["pid"]
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)
    idle.give_back(child)
    assert len(idle) == 0


def test_a_package_found_through_the_current_folder_is_found_from_another_one(tmp_path: Path) -> None:
    """As in a clone, where nothing is installed and `sys.path` begins with the empty text."""
    source = f"""
        import os, sys
        assert sys.path[0] == ""
        from workbench.core.child import Child
        os.chdir({str(tmp_path)!r})
        with Child({SERVICE!r}, seconds=60.0) as child:
            print(child.ask("count").header["count"])
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", textwrap.dedent(source)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", done.stderr


def test_modules_of_the_current_folder_are_not_taken_for_those_of_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('planted')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(ROOT), *(path for path in sys.path if path)])
    with Child(SERVICE, seconds=60.0) as child:
        assert child.ask("count").header["count"] == 1
    assert str(wb.__file__).startswith(str(ROOT))


def test_children_are_held_in_one_place() -> None:
    """Programs of others (a linker, dot, clang) are run and waited for; a Python process of ours is a `Child`."""
    package = ROOT / "workbench"
    starting = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if any(word in path.read_text() for word in ("Popen(", "multiprocessing", "ProcessPool", "os.fork("))
    }
    assert starting == {"core/child.py", "core/forks.py"}, "forks: what a child that runs nothing foreign begins"
