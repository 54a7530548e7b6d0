"""The interpreter ends while wrapped arrays are alive: what frees them was gone by then, and the process crashed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import workbench as wb
from tests.driver.programs import small_inputs, small_session
for target in ("llvm", "llvm -mcpu=no-such-processor", "llvm -mcpu=x86-64-v3"):
    try:
        small_session().rerun(target=target).run(small_inputs())
    except wb.WorkbenchError:
        continue
"""


def test_the_interpreter_ends_in_peace() -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr[-2000:]
