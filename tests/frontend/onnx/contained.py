"""A warm process that forks for each hostile file: a crash, a hang or a memory bomb is one red test, not a dead run.

    with Contained() as contained:
        found = contained.run("import_and_compile", path="/tmp/model.onnx")
    found["error"]["code"], found["seconds"], found["extra_bytes"]

The server is started by exec, imports what is needed, and never runs anything itself.  Each child has limits on its
address space, processor time and wall time, an audit hook that writes down every file it opens, and answers one line of
JSON.  `extra_bytes` is the peak of its resident memory beyond that of the idle server.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[3]
STILL_SECONDS: Final = 5.0
"""A hang: so long without using the processor.  Mere wall time would blame a busy machine."""
CPU_SECONDS: Final = 40
EXTRA_ADDRESSES: Final = 3 << 30
"""The linker reserves addresses that it never touches; resident memory is judged by the test."""
WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
ACTS: Final = (
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "subprocess.Popen", "socket.bind",
    "socket.connect", "socket.getaddrinfo", "pickle.find_class", "ctypes.dlopen", "shutil.rmtree",
)  # fmt: skip
"""Audit events that a model must never cause."""


class Contained:
    """The parent's handle of the warm process."""

    def __enter__(self) -> Contained:
        path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
        # Without the cache of compiled kernels nothing at all may be written.
        environment = {**os.environ, "PYTHONPATH": path, "WORKBENCH_CACHE": "off"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.frontend.onnx.contained"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()

    def run(self, job: str, **arguments: Any) -> dict[str, Any]:
        """What the job `job_<name>` answered, and how the child ended: signal, seconds, extra_bytes, opened, acts."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"job": job, **arguments}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


# --- the server ---------------------------------------------------------------------------------------------------


def serve() -> None:
    warm()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps(forked(request.pop("job"), request)) + "\n")
        answers.flush()


def warm() -> None:
    """Load all code, and compile once, so that children only do what their file asks for."""
    import numpy as np

    from tests.frontend.onnx import hostile
    from workbench import relay
    from workbench.frontend.onnx import import_model

    relay.build(import_model(hostile.good()).module).run({"x": np.ones((2, 3), "f")})


def status_bytes(key: str) -> int:
    """A line of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) << 10
    return 0


def forked(job: str, arguments: dict[str, Any]) -> dict[str, Any]:
    idle = status_bytes("VmRSS")
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        child(job, arguments, write)
    os.close(write)
    answer, hung = received(read, pid)
    if hung:
        os.kill(pid, signal.SIGKILL)
    os.close(read)
    _, status, usage = os.wait4(pid, 0)
    found: dict[str, Any] = json.loads(answer) if answer else {}
    found |= {
        "hung": hung,
        "signal": signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "",
        "seconds": usage.ru_utime + usage.ru_stime,
        "extra_bytes": max(0, (usage.ru_maxrss << 10) - idle),
    }
    return found


def received(read: int, pid: int) -> tuple[bytes, bool]:
    """All that the child writes until it closes the pipe, and whether it stood still."""
    used, since = -1, time.monotonic()
    parts: list[bytes] = []
    while True:
        if select.select([read], [], [], 0.5)[0]:
            part = os.read(read, 1 << 16)
            if not part:
                return b"".join(parts), False
            parts.append(part)
            continue
        now = ticks(pid)
        if now != used:
            used, since = now, time.monotonic()
        elif time.monotonic() - since > STILL_SECONDS:
            return b"", True


def ticks(pid: int) -> int:
    """Processor time of a process and its children, and whether it waits for its turn, as one number."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        waited = Path(f"/proc/{pid}/schedstat").read_text().split()[1]
        helpers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, IndexError):  # a helper that has just ended
        return 0
    own = sum(map(int, fields[11:15])) + int(waited)
    return own + sum(ticks(int(helper)) for helper in helpers)


def child(job: str, arguments: dict[str, Any], write: int) -> None:
    """The forked child's whole life."""
    opened: list[tuple[str, bool]] = []
    acts: list[str] = []
    answer: dict[str, Any] = {}
    try:
        os.chdir(tempfile.gettempdir())
        addresses = status_bytes("VmSize") + EXTRA_ADDRESSES
        resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        def hook(event: str, details: tuple[Any, ...]) -> None:
            if event == "open":
                path, _, flags = details
                opened.append((str(path), bool((flags or 0) & WRITING)))
            elif event in ACTS:
                acts.append(event)

        sys.addaudithook(hook)
        answer = globals()[f"job_{job}"](**arguments)
    except BaseException as error:
        answer = {"escaped": f"{type(error).__name__}: {error}"[:500], "traceback": traceback.format_exc()[-2000:]}
    finally:
        facts = {"opened": opened[:2000], "acts": acts[:200]}
        data = memoryview(json.dumps(answer | facts).encode())
        while data:
            data = data[os.write(write, data) :]
        os._exit(0)


# --- jobs: what a child can be asked ------------------------------------------------------------------------------


def described(error: Any) -> dict[str, Any]:
    names = ("code", "message", "file", "where", "found", "expected", "fix", "kept")
    return {"type": type(error).__name__, "text": str(error), **{name: getattr(error, name) for name in names}}


def job_import_and_compile(path: str, inputs: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """Import a file, compile it, and run it on `inputs` (lists and dtypes by name; zeros where absent)."""
    import numpy as np

    from workbench import relay
    from workbench.core.errors import WorkbenchError
    from workbench.frontend.onnx import import_model

    stage = "import"
    answer: dict[str, Any] = {}
    try:
        found = import_model(path, **options)
        answer = {"notes": list(found.notes), "outputs": list(found.output_names)}
        stage = "compile"
        model = relay.build(found.module)
        stage = "run"
        given = {spec.name: np.zeros(spec.concrete_shape, spec.dtype.to_numpy()) for spec in model.inputs}
        for name, (dtype, value) in (inputs or {}).items():
            given[name] = np.array(value, dtype)
        results = model.run(given)
        answer["results"] = {name: np.asarray(value).reshape(-1)[:64].tolist() for name, value in results.items()}
    except WorkbenchError as error:
        return answer | {"stage": stage, "error": described(error)}
    return answer | {"stage": "done"}


def job_import_and_fold(path: str) -> dict[str, Any]:
    """Import a file and compute its constants."""
    from workbench import relay
    from workbench.core.errors import WorkbenchError
    from workbench.frontend.onnx import import_model

    try:
        found = import_model(path)
        relay.transform.FoldConstant()(relay.transform.InferType()(found.module))
    except WorkbenchError as error:
        return {"stage": "refused", "error": described(error)}
    return {"stage": "done", "notes": list(found.notes)}


if __name__ == "__main__":
    serve()
