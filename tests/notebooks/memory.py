"""Memory of a process with all its children, from /proc: what a notebook's kernel costs its machine.

python -m tests.notebooks.memory notebooks/00_tour.ipynb     # runs it, prints seconds and megabytes
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests.notebooks.predictions import TRUTH, asks

_PAUSES = (0.002, 0.005, 0.011)
"""Seconds between the looks: shorter than what takes memory that counts, longer than a child's begin."""
ROOT = Path(__file__).resolve().parents[2]
PICTURES = ("image/png", "image/svg+xml", "application/vnd.jupyter.widget-view+json")


def family(root: int) -> list[int]:
    """A process and all that descend from it."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process and child not in found]
    return found


def megabytes(root: int) -> float:
    """Resident memory of a process and its children; pages that they share count once (PSS).

    A child that begins has its parent's memory until it runs its own program, and counts it once more (`vfork`): of
    some looks one after the other the least is taken.
    """
    return min(_seen(root, pause) for pause in (0.0, *_PAUSES))


def _seen(root: int, pause: float) -> float:
    time.sleep(pause)
    total = 0
    for process in family(root):
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


@dataclass
class Run:
    """A notebook's run: seconds from the kernel's start, and the greatest memory seen (every 0.1 s)."""

    book: nbformat.NotebookNode
    seconds: float = 0.0
    first_picture: float = 0.0
    first_screen: float = 0.0
    peak: float = 0.0
    cells: list[tuple[int, float, float]] = field(default_factory=list[tuple[int, float, float]])
    """Cell, seconds, greatest megabytes while it ran."""
    answers: list[Any] = field(default_factory=list[Any])
    """Of its predictions, whether revealed or not."""
    now: float = 0.0


def measured(path: Path, timeout: int = 240) -> Run:
    """Run a notebook headless and measure it; the answers of its predictions are asked for beside it."""
    run = Run(nbformat.read(path, as_version=4))
    client = NotebookClient(run.book, timeout=timeout, resources={"metadata": {"path": str(path.parent)}})
    environment = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    started = time.monotonic()
    with client.setup_kernel(env={**os.environ, "PYTHONPATH": environment}):
        kernel = _kernel_process(client)
        over = threading.Event()
        watcher = threading.Thread(target=_watch, args=(run, kernel, over))
        watcher.start()
        try:
            for number, cell in enumerate(run.book.cells):
                before, run.now = time.monotonic(), 0.0
                client.execute_cell(cell, number)
                kinds = {kind for output in cell.get("outputs", []) for kind in output.get("data", {})}
                now = time.monotonic() - started
                if kinds & set(PICTURES):
                    run.first_picture = run.first_picture or now
                if PICTURES[2] in kinds:
                    run.first_screen = run.first_screen or now
                if cell.cell_type == "code":
                    if asks(cell.source):
                        run.answers.append(json.loads(_said(client, TRUTH, number)))
                    run.cells.append((number, time.monotonic() - before, max(run.now, megabytes(kernel))))
        finally:
            over.set()
            watcher.join()
    run.seconds = time.monotonic() - started
    return run


def _said(client: NotebookClient, code: str, number: int) -> str:
    """What a piece of code prints in the kernel; the notebook does not have it."""
    cell, kept = nbformat.v4.new_code_cell(code), client.nb.cells[number]
    client.execute_cell(cell, number, store_history=False)
    client.nb.cells[number] = kept  # the client has put the other one there
    return "".join(output.text for output in cell.outputs)


def _kernel_process(client: Any) -> int:
    return int(client.km.provisioner.process.pid)


def _watch(run: Run, kernel: int, over: threading.Event) -> None:
    while not over.wait(0.1):
        seen = megabytes(kernel)
        run.now, run.peak = max(run.now, seen), max(run.peak, seen)


if __name__ == "__main__":
    done = measured(Path(sys.argv[1]))
    for number, seconds, memory in done.cells:
        print(f"cell {number:3}  {seconds:6.2f} s  {memory:6.0f} MB")
    print(
        f"first picture {done.first_picture:.1f} s, first screen {done.first_screen:.1f} s, whole {done.seconds:.1f} s"
    )
    print(f"greatest memory {done.peak:.0f} MB")
    if len(sys.argv) > 2:
        nbformat.write(done.book, sys.argv[2])
