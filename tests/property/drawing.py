"""Random schedules: draws primitives from the live table with random arguments; see test_random_schedules."""

from __future__ import annotations

import inspect
import random
from typing import Any

from workbench.core.equal import fingerprint
from workbench.core.errors import WorkbenchError
from workbench.schedule import PRIMITIVES, BlockRV, LoopRV, Schedule, ScheduleError
from workbench.schedule.registry import Primitive, accepted

FACTORS: tuple[list[int | None], ...] = (
    [None, 2], [None, 3], [None, 4], [2, None], [3, None], [None, 2, 2], [None, 1], [2, None, 3], [4, 4], [None, 16],
)  # fmt: skip


WEIGHTS = {"get": 0, "loop": 3, "place": 12, "inline": 3, "cache": 2, "reduction": 6, "annotation": 1}
"""How often primitives of a category are drawn."""


def fresh_references(schedule: Schedule, rng: random.Random) -> tuple[list[BlockRV], list[LoopRV]]:
    """References to all blocks but the root, and to the loops of some of them."""
    blocks = [schedule.get_block(name) for name in schedule.state.tree.blocks if name != "root"]
    loops = [loop for block in blocks for loop in schedule.get_loops(block)]
    return blocks, loops


def random_call(
    entry: Primitive, blocks: list[BlockRV], loops: list[LoopRV], schedule: Schedule, rng: random.Random
) -> list[Any] | None:
    """Random arguments for a primitive; None if there is nothing to apply it to."""
    arguments: list[Any] = []
    for item in entry.parameters:
        if item.kind is item.VAR_POSITIONAL:
            return _random_chain(entry, blocks, schedule, rng)
        pool = _pool(entry, item, blocks, loops)
        if not pool:
            return None
        arguments.append(rng.choice(pool))
    return arguments


def _pool(entry: Primitive, item: inspect.Parameter, blocks: list[BlockRV], loops: list[LoopRV]) -> list[Any]:
    """The values to draw an argument from."""
    if item.name == "factors":
        return list(FACTORS)
    if item.name == "index":
        return [-1, -1, -2, 0, 1]
    if item.name in entry.suggest:
        return list(entry.suggest[item.name])
    if item.default is not item.empty:
        return [item.default]
    kinds = accepted(entry.annotations[item.name])
    return [*(blocks if BlockRV in kinds else ()), *(loops if LoopRV in kinds else ())]


def _random_chain(
    entry: Primitive, blocks: list[BlockRV], schedule: Schedule, rng: random.Random
) -> list[LoopRV] | None:
    """Loops around one block: neighbours mostly for fuse, any for reorder."""
    chain = schedule.get_loops(rng.choice(blocks)) if blocks else []
    if not chain:
        return None
    count = rng.randint(1, len(chain))
    if entry.name == "fuse" and rng.random() < 0.8:
        start = rng.randrange(len(chain))
        return chain[start : start + count]
    return rng.sample(chain, count)


def scheduled(schedule: Schedule, rng: random.Random, count: int) -> tuple[int, list[ScheduleError]]:
    """Apply random primitives; (how many were legal, the refusals).  Checks that refusals change nothing."""
    names = [name for name, entry in PRIMITIVES.items() for _ in range(WEIGHTS.get(entry.category, 1))]
    legal, refusals = 0, []
    for _ in range(count):
        blocks, loops = fresh_references(schedule, rng)
        entry = PRIMITIVES[rng.choice(names)]
        call = random_call(entry, blocks, loops, schedule, rng)
        if call is None:
            continue
        before, program = schedule.fingerprint(), fingerprint(schedule.func)
        try:
            getattr(schedule, entry.name)(*call)
            legal += 1
        except ScheduleError as error:
            refusals.append(error)
            assert schedule.fingerprint() == before and fingerprint(schedule.func) == program
            assert error.code and error.message and error.found and error.expected and error.fix and error.kept, error
        except WorkbenchError as error:
            raise AssertionError(f"{entry.name} raised a {type(error).__name__}: {error}") from error
    return legal, refusals
