"""Two thousand random small relay programs: print, parse, infer, verify, passes in any order, executors agree.

`relay_checks` says what is checked.  Every second program is compiled here, all of them (and ten times as many
programs besides) in the nightly run.  What was found lies in `tests/regress`.
"""

from __future__ import annotations

import pytest

from tests.property.relay_checks import check, relay_passes
from tests.property.relay_programs import random_program

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


@pytest.mark.parametrize("begin", range(0, PROGRAMS, CHUNK))
def test_random_programs(begin: int) -> None:
    told, ran = findings(begin, compiled_every=2)
    assert told == []
    assert ran >= CHUNK // 4, "most programs are straight graphs, which native code takes"


@pytest.mark.nightly
@pytest.mark.parametrize("begin", range(0, PROGRAMS, CHUNK))
def test_random_programs_all_compiled(begin: int) -> None:
    assert findings(begin, compiled_every=1)[0] == []


@pytest.mark.nightly
@pytest.mark.parametrize("begin", range(PROGRAMS, NIGHTLY, CHUNK))
def test_more_random_programs(begin: int) -> None:
    assert findings(begin, compiled_every=0, passes=4)[0] == []


def test_every_relay_pass_takes_part() -> None:
    names = relay_passes()
    assert len(names) >= 20 and {"FuseOps", "ToANormalForm", "FoldScaleAxis", "InferType"} <= set(names)


def test_the_same_seed_gives_the_same_program() -> None:
    one, other = random_program(11), random_program(11)
    assert one.mod.script() == other.mod.script() and one.mod.same(other.mod)
