"""What the command line does with models: compile, run, bench, against, inspect; and what it does with the cache.

    workbench compile model.onnx -o model.so --shape x=1,3,224,224
    workbench run model.so --input photo.npz -o scores.npz
    workbench bench model.onnx --threads 1 --against onnxruntime
    workbench against model.onnx --threads 1
    workbench inspect model.onnx --stage FuseOps

Each is a plain function, so that a notebook can call it too; `cli` gives them to the shell.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..core.errors import WorkbenchError, nearest
from ..core.whole_file import write_arrays
from ..frontend.onnx.inputs import OpenShapes
from ..frontend.onnx.model import from_onnx
from ..frontend.onnx.peer_options import PROVIDERS, session_options
from ..runtime.artifact import read_record
from ..runtime.native.loader import default_threads
from .given_inputs import random_inputs

ModelPath = Annotated[Path, typer.Argument(help="an ONNX file", metavar="MODEL")]
AnyModelPath = Annotated[Path, typer.Argument(help="an ONNX file, or a library that `compile` wrote", metavar="MODEL")]
TargetOption = Annotated[
    str | None, typer.Option(help='what to compile for, e.g. "llvm -mcpu=znver4"; default: this machine')
]
ShapeOption = Annotated[
    list[str] | None, typer.Option(help="extents of an input, where the file leaves them open: x=1,3,224,224")
]
ThreadsOption = Annotated[
    int,
    typer.Option(min=0, help="threads of parallel loops; 0: WORKBENCH_NUM_THREADS, else what this process may use"),
]


def compile(
    model: ModelPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="library to write, NAME.so")],
    shape: ShapeOption = None,
    target: TargetOption = None,
) -> None:
    """Compile MODEL to one shared library with its weights.

    `workbench run` and `runtime.load_module` load it; so does tvm-ffi from Python, C and C++.  It holds native code:
    load a library only from people you would run a program of.
    """
    _refuse_library(model)
    made = _built(model, _shapes(shape or []), target)
    path = made.export_library(output)
    typer.echo(f"{path}: {path.stat().st_size:,} bytes, {len(made.calls)} kernel calls")
    for spec in (*made.inputs, *made.outputs):
        typer.echo(f"{'input ' if spec in made.inputs else 'output'} {_shown(spec.name, spec.dtype, spec.shape)}")


def run(
    model: AnyModelPath,
    inputs: Annotated[
        Path | None,
        typer.Option("--input", "--inputs", help="npz file whose keys are the inputs' names; default: random"),
    ] = None,
    outputs: Annotated[
        Path | None, typer.Option("--output", "--outputs", "-o", help="npz file to write; keys are the outputs' names")
    ] = None,
    shape: ShapeOption = None,
    target: TargetOption = None,
    threads: ThreadsOption = 0,
) -> None:
    """Run MODEL once and write its outputs.

    An ONNX file is compiled first; what it leaves open of its inputs' shapes is as in the arrays.  Loading a library
    runs its code: load one only from people you would run a program of.
    """
    arrays = _read_npz(inputs) if inputs is not None else None
    made = _loaded_or_built(model, _shapes(shape or []), target, threads, arrays)
    if arrays is None:
        arrays = random_inputs(made.inputs)
        typer.echo("no --input: random numbers are used", err=True)
    results = made.run(arrays)
    if outputs is not None:
        _write_npz(outputs, results)
    for name, array in results.items():
        typer.echo(_shown(name, array.dtype, array.shape))


def bench(
    model: AnyModelPath,
    shape: ShapeOption = None,
    target: TargetOption = None,
    threads: ThreadsOption = 0,
    seconds: Annotated[float, typer.Option(min=0.01, max=600, help="how long to measure")] = 2.0,
    against: Annotated[str | None, typer.Option(help="measure this peer too, in turn: onnxruntime")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object instead of lines")] = False,
) -> None:
    """Measure MODEL on random inputs: median, least and largest time of a run in milliseconds.

    Times of one machine at different hours differ; ratios within one run, as `--against` gives, hold better.
    """
    if against not in (None, "onnxruntime"):
        raise WorkbenchError("E-BENCH-PEER", f"there is no peer {against!r}", expected="onnxruntime")
    started = time.perf_counter()
    made = _loaded_or_built(model, _shapes(shape or []), target, threads)
    built = time.perf_counter() - started
    arrays = random_inputs(made.inputs)
    runs: dict[str, Callable[[], Any]] = {"workbench": lambda: made.run(arrays)}
    if against is not None:
        runs[against] = _onnxruntime(model, arrays, threads)
    times = measured(runs, seconds)
    report = {**_machine(model, target), "model": str(model), "build_seconds": round(built, 3)}
    report |= _summary(times["workbench"])
    if against is not None:
        report[against] = _summary(times[against])
        report["ratio"] = round(report["median_ms"] / report[against]["median_ms"], 3)
        report["largest_difference"] = _difference(list(runs["workbench"]().values()), runs[against]())
    typer.echo(json.dumps(report) if as_json else "\n".join(_report_lines(report)))


def against(
    model: ModelPath,
    shape: ShapeOption = None,
    target: TargetOption = None,
    threads: ThreadsOption = 0,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object instead of a table")] = False,
) -> None:
    """Say which nodes of MODEL lose how much against onnxruntime, on random inputs: the largest difference first."""
    from .open import open_session

    _refuse_library(model)
    session = _with_shapes(
        _shapes(shape or []), lambda given: open_session(str(model), shape=given or None, target=target)
    )
    found = session.against(random_inputs(session.build().inputs), threads)
    report = {**_machine(model, target), "model": str(model), **found.to_json()}
    typer.echo(json.dumps(report) if as_json else str(found))


def inspect(
    model: Annotated[Path, typer.Argument(help="an ONNX file, or a session that was saved", metavar="MODEL")],
    stage: Annotated[
        str | None, typer.Option("--stage", "--step", help="print the program after this step of the pipeline")
    ] = None,
    kernel: Annotated[str | None, typer.Option(help="of the program only this function")] = None,
    form: Annotated[
        str, typer.Option(help="with --kernel: script, ll (LLVM IR), ll-opt, asm, origins, llvm-passes")
    ] = "script",
    shape: ShapeOption = None,
    target: Annotated[str | None, typer.Option(help="what to compile for; default: this machine")] = None,
) -> None:
    """Show what becomes of MODEL: its inputs, the steps that it walks through with what each changed, its kernels.

    MODEL may be a saved session, which says itself what it is compiled for.

    With `--stage` the program after one step is printed as text.  The names of all steps are listed without it.
    """
    from .open import open_session

    _refuse_library(model)
    session = _with_shapes(
        _shapes(shape or []), lambda given: open_session(str(model), shape=given or None, target=target)
    )
    if form != "script":
        _require_last(session, stage, form)
        typer.echo(_native_text(session, kernel, form))
    elif stage is not None or kernel is not None:
        if stage is not None and (error := session[stage].error) is not None:
            raise error
        program = session[stage].program if stage is not None else session.tir
        typer.echo(_function(program, kernel).script() if kernel is not None else program.script())
    else:
        _overview(session)


_FORMS = ("ll", "ll-opt", "asm", "origins", "llvm-passes")


def _require_last(session: Any, stage: str | None, form: str) -> None:
    """Native code is that of the last step: of another there is none."""
    if form in _FORMS and stage is not None and session[stage].name != session.labels[-1]:
        raise WorkbenchError(
            "E-CLI-FORM", f"{form} is of native code, which there is after the last step alone",
            found=f"--stage {stage}", expected=f"--stage {session.labels[-1]}, or none", fix="--form script",
        )  # fmt: skip


def _native_text(session: Any, kernel: str | None, form: str) -> str:
    if form not in _FORMS:
        raise WorkbenchError("E-CLI-FORM", f"there is no form {form!r}", expected=f"script, {', '.join(_FORMS)}")
    if kernel is None:
        raise WorkbenchError(
            "E-CLI-FORM", f"{form} is shown of one kernel", fix="--kernel NAME", found=", ".join(session.kernels)
        )
    if form == "llvm-passes":
        return str(session.llvm_passes(kernel))
    if form == "origins":
        return session.provenance.listing(kernel)
    return _function(session.codegen, kernel).source(form)


def _function(program: Any, name: str) -> Any:
    if name not in program.module:
        known = program.module.names()
        raise WorkbenchError(
            "E-KERNEL-UNKNOWN",
            f"there is no function {name!r} after step {program.step.label}",
            found=", ".join(known),
            fix=nearest(name, known),
        )
    return program[name]


def _overview(session: Any) -> None:
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


# --- the cache ------------------------------------------------------------------------------------------------------


def cache_show() -> None:
    """Where compiled code is kept, how much of it there is, and the limit."""
    layers = _layers()
    for store in layers:
        usage = store.usage()
        note = "only read" if store.read_only else f"limit {store.limit:,}"
        typer.echo(f"{store.path}: {usage.entries} entries, {usage.bytes:,} bytes ({note})")
    if not layers:
        typer.echo("nothing is kept on disk (WORKBENCH_CACHE=off, or no home folder)")


def cache_clear() -> None:
    """Remove all compiled code from the user's cache; it is made anew when needed."""
    for store in _layers():
        if not store.read_only:
            removed = store.clear()
            typer.echo(f"{store.path}: removed {removed.entries} entries, {removed.bytes:,} bytes")


def _layers() -> Sequence[Any]:
    from ..codegen.llvm.cache import stores

    return [*stores(), *stores(models=True)]


# --- models ---------------------------------------------------------------------------------------------------------


def _is_library(path: Path) -> bool:
    return path.suffix in (".so", ".dylib")


def _refuse_library(path: Path) -> None:
    if _is_library(path):
        raise WorkbenchError(
            "E-CLI-MODEL", f"{path.name} is compiled already", expected="an ONNX file", fix="workbench run | bench"
        )


def _built(path: Path, shapes: Mapping[str, Sequence[int]], target: str | None) -> Any:
    """The compiled model of an ONNX file."""
    from .build import build_model

    module, params = _with_shapes(shapes, lambda given: from_onnx(str(path), shape=dict(given) or None))
    return build_model(module, target or "llvm", params=params)


def _built_for(
    path: Path, shapes: Mapping[str, Sequence[int]], target: str | None, arrays: Mapping[str, np.ndarray]
) -> Any:
    """The same for arrays: they say what the file and `shapes` leave open, and only that."""
    try:
        return _built(path, shapes, target)
    except OpenShapes as error:
        found = {name: _fitting(name, said, arrays[name]) for name, said in error.stated.items() if name in arrays}
        if not found:
            raise
    return _built(path, {**found, **shapes}, target)


def _fitting(name: str, stated: Sequence[Any] | None, array: np.ndarray) -> tuple[int, ...]:
    """An array's shape, where it is one of those that the file allows."""
    said = array.shape if stated is None else stated
    if len(said) != array.ndim or any(
        isinstance(extent, int) and extent != own for extent, own in zip(said, array.shape, strict=True)
    ):
        wanted = ", ".join("?" if extent is None else str(extent) for extent in said)
        raise WorkbenchError(
            "E-RUN-SHAPE", f"input {name!r} has the wrong shape", found=str(array.shape), expected=f"({wanted})",
            fix=f"another shape than the file's is asked for by --shape {name}={','.join(map(str, array.shape))}",
        )  # fmt: skip
    return array.shape


def _with_shapes(shapes: Mapping[str, Any], use: Callable[[Mapping[str, Any]], Any]) -> Any:
    """`use(shapes)`; ``N=1`` may name a dimension as well as an input of one axis.  Advice is in the shell's words."""
    try:
        return use(shapes)
    except WorkbenchError as error:
        dimensions = {name: given[0] if len(given) == 1 else given for name, given in shapes.items()}
        if error.code == "E-ONNX-SHAPE" and dimensions != shapes:
            return use(dimensions)
        if error.code == "E-ONNX-DYNAMIC":
            error.fix = "give every extent, one --shape for each input, e.g. --shape x=1,3,224,224"
        raise


def _loaded_or_built(
    path: Path,
    shapes: Mapping[str, Sequence[int]],
    target: str | None,
    threads: int,
    arrays: Mapping[str, np.ndarray] | None = None,
) -> Any:
    """A library as it is, or an ONNX file compiled: for `arrays`, where there are some."""
    from ..runtime.model import CompiledModel
    from ..runtime.module import load_module
    from ..runtime.threads import set_num_threads

    set_num_threads(threads)
    if not _is_library(path):
        return _built_for(path, shapes, target, arrays or {})
    given = [name for name, value in (("--target", target), ("--shape", shapes)) if value]
    if given:
        raise WorkbenchError(
            "E-CLI-MODEL", f"{path.name} is compiled already, for the target and the shapes that it has",
            found=" and ".join(given), expected="a library by itself",
            fix=f"leave out {' and '.join(given)}, or compile the ONNX file anew",
        )  # fmt: skip
    loaded = load_module(path)
    if not isinstance(loaded, CompiledModel):
        raise WorkbenchError(
            "E-RUN-LIBRARY",
            f"{path.name} holds functions, not a model",
            found=", ".join(loaded.function_names),
            fix="call them from Python: runtime.load_module(path)[name](...)",
        )
    return loaded


def _shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """{"x": (1, 3)} of ["x=1,3"]."""
    shapes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, _, extents = text.rpartition("=")
        try:
            shapes[name] = tuple(int(extent) for extent in extents.split(",")) if extents else ()
            if not name or any(extent < 0 for extent in shapes[name]):
                raise ValueError
        except ValueError:
            raise WorkbenchError("E-CLI-SHAPE", f"{text!r} is not a shape", expected="name=1,3,224,224") from None
    return shapes


def _shown(name: str, dtype: Any, shape: Sequence[Any]) -> str:
    return f"{name}: {dtype}{list(shape)}"


# --- files ----------------------------------------------------------------------------------------------------------


def _read_npz(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as held:
            return {name: held[name] for name in held.files}
    except FileNotFoundError:
        raise WorkbenchError("E-RUN-INPUTS", f"there is no file {path}") from None
    except Exception as error:  # zipfile, zlib and NumPy each have errors of their own for what is no npz
        raise WorkbenchError(
            "E-RUN-INPUTS", f"{path} is not an npz file of plain arrays", found=str(error)[:200]
        ) from None


def _write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write all or nothing."""
    final = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
    write_arrays(final, arrays, code="E-CLI-OUTPUT")


# --- measuring ------------------------------------------------------------------------------------------------------


def measured(runs: Mapping[str, Callable[[], Any]], seconds: float) -> dict[str, list[float]]:
    """Milliseconds of each run by name; peers take turns, after a few runs to warm up."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for call in runs.values():
        call()
        call()
    end = time.perf_counter() + seconds * len(runs)
    while time.perf_counter() < end or min(map(len, times.values())) < 5:
        for name, call in runs.items():
            before = time.perf_counter()
            call()
            times[name].append((time.perf_counter() - before) * 1000)
    return times


def _summary(times: Sequence[float]) -> dict[str, Any]:
    return {
        "median_ms": round(statistics.median(times), 4),
        "min_ms": round(min(times), 4),
        "max_ms": round(max(times), 4),
        "runs": len(times),
    }


def _machine(path: Path, target: str | None) -> dict[str, Any]:
    """What the code is for: a library says itself which features it uses, and not for which processor it was made."""
    from ..codegen.llvm import machine
    from ..runtime.threads import num_threads
    from ..target.target import Target

    if _is_library(path):
        said, cpu, features = "", machine.host_processor()[0], str(read_record(path).get("cpu_features") or "")
    else:
        said = target or "llvm"
        cpu, features = machine.processor_of(Target(said))[0], machine.needed_features(Target(said))
    return {"target": said, "processor": cpu, "cpu_features": features.split(","), "threads": num_threads()}


def _onnxruntime(path: Path, arrays: Mapping[str, np.ndarray], threads: int) -> Callable[[], Any]:
    """A run of onnxruntime on the same file and inputs, with as many threads."""
    if _is_library(path):
        raise WorkbenchError("E-BENCH-PEER", "a peer needs the ONNX file", found=path.name)
    if importlib.util.find_spec("onnxruntime") is None:
        raise WorkbenchError("E-BENCH-PEER", "onnxruntime is not installed", fix="pip install onnxruntime")
    import onnxruntime

    options = session_options(threads or default_threads())
    session = onnxruntime.InferenceSession(str(path), options, providers=PROVIDERS)
    return lambda: session.run(None, dict(arrays))


def _difference(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> float:
    pairs = zip(ours, theirs, strict=True)
    gaps = [np.abs(a.astype(np.float64) - np.asarray(b, np.float64)).max(initial=0.0) for a, b in pairs]
    return float(max(gaps, default=0.0))


def _report_lines(report: Mapping[str, Any]) -> list[str]:
    lines = [
        f"{'model':<13}{report['model']}",
        f"{'machine':<13}{report['processor']} ({', '.join(report['cpu_features'])}), {report['threads']} "
        f"{'thread' if report['threads'] == 1 else 'threads'}",
        f"{'build':<13}{report['build_seconds']} s",
        _times_line("workbench", report),
    ]
    if "onnxruntime" in report:
        lines.append(_times_line("onnxruntime", report["onnxruntime"]))
        lines.append(f"{'ratio':<13}{report['ratio']} (below 1: faster than onnxruntime)")
        lines.append(f"{'outputs':<13}differ by at most {report['largest_difference']:.3g}")
    return lines


def _times_line(name: str, times: Mapping[str, Any]) -> str:
    shown = f"median {times['median_ms']} ms, min {times['min_ms']}, max {times['max_ms']}, {times['runs']} runs"
    return f"{name:<13}{shown}"
