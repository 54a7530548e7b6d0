"""The command line: `workbench run | inspect | doctor | lab`."""

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

from ..core.errors import WorkbenchError

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="A machine-learning compiler that one can see and touch."
)

ModelPath = Annotated[Path, typer.Argument(help="an ONNX file", metavar="MODEL")]
TargetOption = Annotated[str, typer.Option(help='what to compile for, e.g. "llvm -mcpu=znver4"')]


@app.command()
def run(
    model: ModelPath,
    inputs: Annotated[Path, typer.Option(help="npz file whose keys are the inputs' names")],
    outputs: Annotated[Path, typer.Option(help="npz file to write; keys are the outputs' names")],
    target: TargetOption = "llvm",
) -> None:
    """Compile MODEL for the shapes of the inputs, run it once, and write its outputs."""
    from .open import open_session

    arrays = _read_npz(inputs)
    session = open_session(str(model), shape={name: array.shape for name, array in arrays.items()}, target=target)
    results = session.run(arrays)
    np.savez(_suffixed(outputs), **results)
    for name, array in results.items():
        typer.echo(f"{name}: {array.dtype}{list(array.shape)}")


def _suffixed(path: Path) -> Path:
    return path if path.suffix == ".npz" else path.with_name(path.name + ".npz")


def _read_npz(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as held:
            return {name: held[name] for name in held.files}
    except FileNotFoundError:
        raise WorkbenchError("E-RUN-INPUTS", f"there is no file {path}") from None
    except (OSError, ValueError, EOFError) as error:
        raise WorkbenchError(
            "E-RUN-INPUTS", f"{path} is not an npz file of plain arrays", found=str(error)[:200]
        ) from None


@app.command()
def inspect(
    model: ModelPath,
    shape: Annotated[list[str] | None, typer.Option(help="extents of an input: x=1,3,224,224")] = None,
    target: TargetOption = "llvm",
    step: Annotated[str | None, typer.Option(help="print the program after this step")] = None,
) -> None:
    """List the inputs, the steps that MODEL walks through with what each changed, and the kernels."""
    from .open import open_session

    session = open_session(str(model), shape=_shapes(shape or []), target=target)
    if step is not None:
        typer.echo(session[step].script())
        return
    main = session.step(0).stage.module["main"]
    for parameter in main.params:
        typer.echo(f"input  {parameter.name_hint}: {parameter.checked_type!r}")
    for handle in session.steps:
        note = f"failed: {handle.error}" if handle.error else "changed" if handle.changed else "no change"
        typer.echo(
            f"step   {handle.name:<28} {handle.milliseconds:>10.1f} ms  {len(handle.rewrites):>5} rewrites  {note}"
        )
    for name in session.kernels:
        typer.echo(f"kernel {name}")


def _shapes(texts: list[str]) -> dict[str, tuple[int, ...]]:
    """{"x": (1, 3)} of ["x=1,3"]."""
    shapes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, _, extents = text.rpartition("=")
        try:
            shapes[name] = tuple(int(extent) for extent in extents.split(","))
        except ValueError:
            raise WorkbenchError("E-CLI-SHAPE", f"{text!r} is not a shape", expected="name=1,3,224,224") from None
    return shapes


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
        (
            "graph layout",
            _has_layout(),
            "dot or graphviz-pure",
        ),
        (
            "jupyterlab",
            importlib.util.find_spec("jupyterlab") is not None,
            'pip install "compiler-workbench[lab]"',
        ),
    ]
    return found


def _distribution() -> tuple[bool, str]:
    """The PyPI name `workbench` belongs to another package, which shadows ours when both are installed."""
    try:
        other = importlib.metadata.version("workbench")
    except importlib.metadata.PackageNotFoundError:
        return True, "no clash"
    return False, f"the unrelated package 'workbench' {other} is installed too: pip uninstall workbench"


def _package(name: str) -> tuple[bool, str]:
    if importlib.util.find_spec(name) is None:
        return False, f"missing: pip install {name}"
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


def _has_layout() -> bool:
    """Whether `dot` or the package graphviz-pure (a command beside Python's) is there."""
    return bool(shutil.which("dot") or shutil.which("graphviz-pure", path=str(Path(sys.executable).parent)))


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


if __name__ == "__main__":
    main()
