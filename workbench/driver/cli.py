"""The command line: `workbench compile | run | bench | against | inspect | ask | replay | cache | teach | ...`.

A mistake of the user prints six lines and ends with status 2; Ctrl-C ends with status 130.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .._lazy import teach_commands
from ..core.errors import WorkbenchError
from . import commands, screen_commands

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="A machine-learning compiler that one can see and touch.",
)

for command in (commands.compile, commands.run, commands.bench, commands.against, commands.inspect):
    app.command()(command)
for command in (screen_commands.ask, screen_commands.replay):
    app.command()(command)

cache = typer.Typer(no_args_is_help=True, help="Compiled code that is kept between runs: show it, clear it.")
cache.command("show")(commands.cache_show)
cache.command("clear")(commands.cache_clear)
app.add_typer(cache, name="cache")
app.add_typer(teach_commands(), name="teach")


@app.command()
def doctor() -> None:
    """Say what works on this machine, and what to do about what does not."""
    wrong = 0
    for name, good, note in _examinations():
        wrong += not good
        typer.echo(f"{'ok  ' if good else 'FAIL'}  {name:<24} {note}")
    raise typer.Exit(1 if wrong else 0)


def _examinations() -> list[tuple[str, bool, str]]:
    found: list[tuple[str, bool, str]] = [
        ("python", sys.version_info >= (3, 11), platform.python_version()),
        ("distribution", *_distribution()),
        *[(name, *_package(name)) for name in ("numpy", "onnx", "llvmlite", "tvm_ffi", "ml_dtypes", "islpy")],
        ("native code", *_native()),
        ("linker", *_linker()),
        ("graph layout", *_layout()),
        ("jupyterlab", *_package("jupyterlab", '"compiler-workbench[lab]"')),
    ]
    return found


def _distribution() -> tuple[bool, str]:
    """The PyPI name `workbench` belongs to another package, which shadows ours when both are installed."""
    try:
        other = importlib.metadata.version("workbench")
    except importlib.metadata.PackageNotFoundError:
        return True, "no clash"
    return False, f"the unrelated package 'workbench' {other} is installed too: pip uninstall workbench"


def _package(name: str, wanted: str = "") -> tuple[bool, str]:
    """The version of a package; where it is missing, what is to be installed (itself by default)."""
    if importlib.util.find_spec(name) is None:
        return False, f"missing: pip install {wanted or name}"
    try:
        return True, importlib.metadata.version({"tvm_ffi": "apache-tvm-ffi"}.get(name, name))
    except importlib.metadata.PackageNotFoundError:
        return True, "version unknown"


def _native() -> tuple[bool, str]:
    """Compile and run one addition."""
    from .. import te
    from .build import build

    try:
        a = te.placeholder((4,), name="A")
        b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
        out = np.zeros(4, np.float32)
        build(te.create_prim_func([a, b], name="addone"), name="addone")["addone"](np.arange(4, dtype=np.float32), out)
    except WorkbenchError as error:
        return False, str(error).split("\n", 1)[0]
    return bool((out == np.arange(4) + 1).all()), "compiled and ran"


def _layout() -> tuple[bool, str]:
    """`dot`, or the package graphviz-pure (a command beside Python's)."""
    if shutil.which("dot"):
        return True, "dot"
    if shutil.which("graphviz-pure", path=str(Path(sys.executable).parent)):
        return True, "graphviz-pure"
    return False, "missing: install Graphviz (dot); graphviz-pure is not made for this machine"


def _linker() -> tuple[bool, str]:
    for name in ("cc", "gcc", "clang", "ld"):
        if shutil.which(name):
            return True, name
    if importlib.util.find_spec("ziglang") is not None:
        return True, "ziglang"
    return False, 'needed by export_library only: pip install "compiler-workbench[export]"'


_LAB_OFFLINE = (
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)
"""Nothing is asked of other machines on a person's behalf."""


@app.command()
def lab(
    folder: Annotated[Path | None, typer.Option(help="folder of notebooks to work in")] = None,
    browser: Annotated[bool, typer.Option(help="open a browser")] = True,
) -> None:
    """Start JupyterLab on the first notebook."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise WorkbenchError(
            "E-LAB-MISSING", "JupyterLab is not installed", fix='pip install "compiler-workbench[lab]"'
        )
    home = folder or _notebooks()
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={home}", *_LAB_OFFLINE]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # a container's only user; Jupyter refuses otherwise
    first = home / "00_tour.ipynb"
    if first.exists():
        command.append("--LabApp.default_url=/lab/tree/00_tour.ipynb")
    if not browser:
        command.append("--no-browser")
    raise typer.Exit(subprocess.call(command))


def _notebooks() -> Path:
    """The notebooks beside a clone, or a copy of the installed ones in the current folder."""
    package = Path(__file__).resolve().parent.parent
    for candidate in (package.parent / "notebooks", Path.cwd() / "notebooks"):
        if candidate.is_dir():
            return candidate
    installed = package / "notebooks"
    if installed.is_dir():
        return Path(shutil.copytree(installed, Path.cwd() / "notebooks"))
    return Path.cwd()


def main(arguments: list[str] | None = None) -> Any:
    """The entry point: errors of the user print as six lines, not as a traceback."""
    try:
        return app(arguments)
    except WorkbenchError as error:
        print(error, file=sys.stderr)
        if os.environ.get("WORKBENCH_TRACEBACK"):
            raise
        raise SystemExit(2) from None
    except BrokenPipeError:  # `workbench inspect ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
