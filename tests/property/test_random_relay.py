"""Two thousand random small relay programs: print, parse, infer, verify, passes in any order, executors agree.

`relay_checks` says what is checked.  Every second program is compiled here, all of them (and twice as many programs
besides, ten times in five nights) in the nightly run.  What was found lies in `tests/regress`.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.nightly import some, tonight
from tests.property.relay_checks import Expected, check, check_sequence, relay_passes
from tests.property.relay_programs import random_program
from workbench import relay
from workbench.core.module import IRModule
from workbench.core.node import rewrite
from workbench.core.transform import Pass, PassInfo
from workbench.relay.analysis import list_op_freqs
from workbench.relay.ir import expr as e

CHUNK = 50
PROGRAMS = 2_000
NIGHTLY = 22_000


def findings(begin: int, compiled_every: int, passes: int = 2) -> tuple[list[str], int]:
    """What does not hold of a chunk's programs, and how many of them ran compiled."""
    told: list[str] = []
    ran = 0
    for seed in range(begin, begin + CHUNK):
        native = bool(compiled_every) and seed % compiled_every == 0
        found, compiled = check(random_program(seed), passes=passes, compiled=native, texts=seed % 3 == 0)
        told += [f"seed {seed}: {problem}" for problem in found]
        ran += compiled
    return told, ran


@pytest.mark.parametrize("begin", some(range(0, PROGRAMS, 10 * CHUNK), 2))
def test_random_programs(begin: int) -> None:
    """A tenth of them, half of these compiled; the night takes all."""
    told, ran = findings(begin, compiled_every=2)
    assert told == []
    assert ran >= CHUNK // 4, "most programs are straight graphs, which native code takes"


@pytest.mark.nightly
@pytest.mark.parametrize("begin", range(0, PROGRAMS, CHUNK))
def test_random_programs_all_compiled(begin: int, record_property) -> None:
    told, ran = findings(begin, compiled_every=1)
    record_property("programs", CHUNK)
    record_property("ran compiled", ran)
    assert told == []


@pytest.mark.nightly
@pytest.mark.parametrize("begin", tonight(range(PROGRAMS, NIGHTLY, CHUNK)))
def test_more_random_programs(begin: int, record_property) -> None:
    record_property("programs", CHUNK)
    assert findings(begin, compiled_every=0, passes=4)[0] == []


def test_every_relay_pass_takes_part() -> None:
    names = relay_passes()
    assert len(names) >= 20 and {"FuseOps", "ToANormalForm", "FoldScaleAxis", "InferType"} <= set(names)


def test_the_same_seed_gives_the_same_program() -> None:
    one, other = random_program(11), random_program(11)
    assert one.mod.script() == other.mod.script() and one.mod.same(other.mod)


WRONG: dict[str, tuple[str, Any]] = {
    "subtract the other way round": ("subtract", lambda call: relay.subtract(*call.args[::-1])),
    "a sign lost": ("negative", lambda call: relay.op.call("copy", call.args[0])),
    "least for greatest": ("maximum", lambda call: relay.minimum(*call.args)),
    "a hundredth too much": ("tanh", lambda call: relay.multiply(call, e.const(1.01, call.checked_type.dtype))),
}


@pytest.mark.parametrize("bug", WRONG)
def test_a_planted_bug_is_noticed(bug: str) -> None:
    name, wrong = WRONG[bug]

    def run(mod: IRModule, ctx: Any) -> IRModule:
        def post(node: Any) -> Any:
            return wrong(node) if isinstance(node, e.Call) and getattr(node.op, "name", "") == name else None

        return mod.with_functions({key: rewrite(func, post) for key, func in mod.items()})

    planted = Pass(PassInfo("Planted"), run, {})
    noticed = 0
    for seed in range(300):
        program = random_program(seed)
        if name in list_op_freqs(program.mod):
            noticed += bool(check_sequence(program, Expected(program), [planted], False))
    assert noticed >= 2
