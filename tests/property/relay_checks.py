"""What must hold of a random relay program: texts, types, verifier, every pass in any order, every executor.

    python -m tests.property.relay_checks 0 2000 --compile        # seeds 0 to 1999; prints what does not hold

Each check answers a list of findings, empty when all holds.
"""

from __future__ import annotations

import argparse
import collections
import random
import time
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.property.relay_programs import Program, random_program
from workbench.core.equal import first_difference
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.node import post_order
from workbench.core.transform import PASSES, Pass, PassContext
from workbench.relay.interpret import interpret
from workbench.relay.ir import expr as e
from workbench.relay.ir.classic import astext, fromtext
from workbench.relay.ir.infer import infer_type
from workbench.relay.ir.script import constants_of, parse, script
from workbench.relay.ir.verify import verify

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "FuseOps": [{}, {"fuse_opt_level": 0}, {"fuse_opt_level": 2}],
    "PackWeights": [{}, {"lanes": 4}],
    "DeadCodeElimination": [{}, {"inline_once": True}],
    "ConvertLayout": [
        {"desired_layouts": {"nn.conv2d": ["NHWC", "default"]}},
        {"desired_layouts": {"nn.conv2d": ["NHWC", "default"], "nn.max_pool2d": ["NHWC"]}},
        {"desired_layouts": "NHWC"},
        {"desired_layouts": "NCHW"},
        {"desired_layouts": {"nn.conv2d": ["NCHW2c", "default"], "nn.avg_pool2d": ["NCHW2c"]}},
    ],
    "CombineParallelConv2D": [{"min_num_branches": 2}],
    "CombineParallelDense": [{"min_num_branches": 2}, {"min_num_branches": 2, "to_batch": False}],
    "CombineParallelBatchMatmul": [{"min_num_branches": 2}],
    "SimplifyFCTranspose": [{"target_weight_name": []}],
    "EtaExpand": [{"expand_constructor": True, "expand_global_var": True}],
}
"""Options to choose from, for passes that need some or change with them."""

APPROXIMATE = frozenset({"FastMath"})
"""Passes that say that they change numbers."""

LOSSY = frozenset({"ToMixedPrecision"})
"""Passes that change numbers by more than tells a right result from a wrong one; they are tested on their own."""

TOLERANCE = {2: 2e-2, 4: 2e-5, 8: 1e-11}
"""By bytes of a float: relative to the greatest magnitude of the tensor."""


def relay_passes() -> list[str]:
    """The live passes over relay programs."""
    found = []
    for name in PASSES:
        entry: Any = PASSES[name]
        code: Any = entry.function if isinstance(entry, Pass) else entry
        if code.__module__.startswith("workbench.relay.") and name not in LOSSY:
            found.append(name)
    return sorted(found)


# --- texts, types, verifier ---------------------------------------------------------------------------------------


def check_texts(mod: IRModule, where: str = "") -> list[str]:
    """Both texts read back, types are found again, and the verifier has nothing to say."""
    found: list[str] = [f"{where}verifier: {violation}" for violation in verify(mod)]
    again = parse(script(mod), constants_of(mod))
    place = first_difference(mod.functions, again.functions, names=True, map_free_variables=True)
    if place is not None:
        found.append(f"{where}script reads back differently at {place}")
    infer_type(again)
    for name, function in mod.items():
        if again[name].checked_type != function.checked_type:
            found.append(f"{where}type of {name} after reading back: {again[name].checked_type}")
    classic = fromtext(astext(mod, show_meta_data=True))
    place = first_difference(mod.functions, classic.functions, names=False, map_free_variables=True)
    if place is not None:
        found.append(f"{where}classic text reads back differently at {place}")
    return found


# --- numbers ------------------------------------------------------------------------------------------------------


def flat(value: Any) -> list[np.ndarray]:
    """The arrays of a result, tuples opened."""
    return [array for item in value for array in flat(item)] if isinstance(value, tuple) else [np.asarray(value)]


class Expected:
    """A program's results by the interpreter, and by it in float64 when two disagree."""

    def __init__(self, program: Program) -> None:
        self.program = program
        with np.errstate(all="ignore"):
            self.values = flat(interpret(program.mod, *program.inputs))
        self._wide: list[np.ndarray] | None = None

    @property
    def wide(self) -> list[np.ndarray]:
        if self._wide is None:
            with np.errstate(all="ignore"):
                self._wide = flat(interpret(self.program.mod, *self.program.inputs, float64=True))
        return self._wide

    def differences(self, found: list[np.ndarray], factor: float = 1.0) -> list[str]:
        """What of `found` is not the program's result, rounding aside."""
        if len(found) != len(self.values):
            return [f"{len(found)} results for {len(self.values)}"]
        told = []
        for index, (one, other) in enumerate(zip(found, self.values, strict=True)):
            problem = self._difference(index, np.asarray(one), other, factor)
            if problem:
                told.append(f"result {index}: {problem}")
        return told

    def _difference(self, index: int, found: np.ndarray, expected: np.ndarray, factor: float) -> str:
        if found.shape != expected.shape or found.dtype != expected.dtype:
            return f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
        if expected.dtype.kind != "f":
            return "" if np.array_equal(found, expected) else _worst(found, expected)
        finite = np.isfinite(expected) & np.isfinite(found)
        scale = float(np.max(np.abs(expected[finite]), initial=1e-3))
        tolerance = TOLERANCE[expected.dtype.itemsize] * factor * scale
        if _within(found, expected, tolerance):
            return ""
        own = self.wide[index].astype(np.float64)
        rounding = np.max(np.abs(own - expected.astype(np.float64)), initial=0.0, where=np.isfinite(own) & finite)
        return "" if _within(found, own, 32 * float(rounding) + tolerance) else _worst(found, expected)


def _within(found: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    return bool(np.allclose(found.astype(np.float64), expected.astype(np.float64), 0.0, tolerance, equal_nan=True))


def _worst(found: np.ndarray, expected: np.ndarray) -> str:
    with np.errstate(all="ignore"):
        gap = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    where = np.unravel_index(int(np.nanargmax(np.where(np.isnan(gap), np.inf, gap))), gap.shape) if gap.size else ()
    return f"{found[where]} for {expected[where]} at {tuple(int(at) for at in where)}"


# --- passes -------------------------------------------------------------------------------------------------------


def sequences(seed: int, count: int) -> Iterator[list[Any]]:
    """Sequences of live passes with options, drawn from a seed."""
    chosen = random.Random(seed * 7919 + 1)
    names = relay_passes()
    for _ in range(count):
        picked = [chosen.choice(names) for _ in range(chosen.randint(2, 7))]
        yield [PASSES[name](**chosen.choice(OPTIONS.get(name, [{}]))) for name in picked]


def check_sequence(program: Program, expected: Expected, passes: list[Any], exact_texts: bool) -> list[str]:
    """One sequence of passes: well-formed after each, the same numbers (and texts that read back) at the end."""
    mod = program.mod
    done: list[str] = []
    with PassContext(opt_level=4):
        for one in passes:
            done.append(repr(one))
            mod = one(mod)
            infer_type(mod)
            wrong = verify(mod)
            if wrong:
                return [f"after {' '.join(done)}: verifier: {wrong[0]}"]
    where = f"after {' '.join(done)}: "
    with np.errstate(all="ignore"):
        values = flat(interpret(mod, *program.inputs))
    factor = 300.0 if any(one.name in APPROXIMATE for one in passes) else 4.0
    found = [where + problem for problem in expected.differences(values, factor)]
    return found + (check_texts(mod, where) if exact_texts else [])


# --- native code --------------------------------------------------------------------------------------------------


def is_straight(mod: IRModule) -> bool:
    """Whether a module is one graph, as native code needs it."""
    functions = [node for node in post_order(mod["main"]) if isinstance(node, (e.If, e.Function, e.Let, e.Match))]
    return len(functions) == 1 and len(mod.names()) == 1


def check_compiled(program: Program, expected: Expected, level: int) -> list[str] | None:
    """The graph executor and the debug executor against the interpreter; None where native code is not claimed."""
    from workbench.contrib.debugger import debug_executor
    from workbench.contrib.graph_executor import GraphModule
    from workbench.driver.build import build_model
    from workbench.runtime import cpu

    with PassContext(opt_level=3):
        mod = straightened(program.mod)
    if not is_straight(mod):
        return None
    with PassContext(opt_level=level):
        lib = build_model(mod, "llvm")
    names = [param.name_hint for param in mod["main"].params]
    module = GraphModule(lib["default"](cpu(0)))
    module.set_input(**dict(zip(names, program.inputs, strict=True)))
    module.run()
    plain = [module.get_output(index).numpy() for index in range(module.get_num_outputs())]
    found = [f"compiled at level {level}: {problem}" for problem in expected.differences(plain, 8.0)]
    debug = debug_executor.GraphModuleDebug(lib["default"](cpu(0)))
    debug.set_input(**dict(zip(names, program.inputs, strict=True)))
    debug.run()
    stepped = [debug.get_output(index).numpy() for index in range(debug.get_num_outputs())]
    for index, (one, other) in enumerate(zip(stepped, plain, strict=True)):
        if not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
            found.append(f"debug executor, result {index}: {_worst(one, other)}")
    return found


def straightened(mod: IRModule) -> IRModule:
    """Lets, functions that are called where they stand and single-use functions resolved, where passes can."""
    mod = PASSES["ToGraphNormalForm"]()(mod)
    if "Inline" in PASSES:
        for name in ("Inline", "ToGraphNormalForm", "RemoveUnusedFunctions"):
            mod = PASSES[name]()(mod)
    return mod


# --- all of it ----------------------------------------------------------------------------------------------------


def check(program: Program, *, passes: int = 2, compiled: bool = False, texts: bool = False) -> tuple[list[str], bool]:
    """Everything of one program: findings, and whether it ran compiled."""
    ran = False
    try:
        found = check_texts(program.mod)
        expected = Expected(program)
        for index, sequence in enumerate(sequences(program.seed, passes)):
            found += check_sequence(program, expected, sequence, texts and index == 0)
        if compiled:
            native = check_compiled(program, expected, program.seed // 2 % 4)
            ran = native is not None
            found += native or []
        return found, ran
    except WorkbenchError as error:
        place = [frame.name for frame in traceback.extract_tb(error.__traceback__) if "relay_checks" in frame.filename]
        return [f"{'/'.join(place[1:])}: {error}"], ran


def main() -> None:
    """Check a range of seeds and print what does not hold, kinds counted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("begin", type=int)
    parser.add_argument("end", type=int)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--passes", type=int, default=2)
    given = parser.parse_args()
    kinds: collections.Counter[str] = collections.Counter()
    started, ran = time.process_time(), 0
    for seed in range(given.begin, given.end):
        try:
            found, native = check(random_program(seed), passes=given.passes, compiled=given.compile, texts=True)
        except Exception as error:  # what no program may cause: shown with its place
            place = traceback.extract_tb(error.__traceback__)[-1]
            shown = f"{type(error).__name__}: {error} ({place.filename.rsplit('/', 1)[-1]}:{place.lineno})"
            found, native = [shown], False
        ran += native
        for problem in found:
            kind = problem.split("\n")[0][:60]
            kinds[kind] += 1
            if kinds[kind] <= 2:
                print(f"seed {seed}: {problem}", flush=True)
    count = given.end - given.begin
    seconds = time.process_time() - started
    print(f"{count} programs, {ran} compiled, {sum(kinds.values())} findings, {1000 * seconds / count:.1f} CPU ms each")


if __name__ == "__main__":
    main()
