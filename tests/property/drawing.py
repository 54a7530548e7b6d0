"""Random schedules: draws primitives from the live table with random arguments; see schedule_checks."""

from __future__ import annotations

import inspect
import random
import types
import typing
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from workbench.analysis.reduction_loops import reduce_variables
from workbench.arith.nodes import IntImm
from workbench.core.equal import fingerprint
from workbench.core.errors import WorkbenchError
from workbench.schedule import PRIMITIVES, BlockRV, LoopRV, Schedule, ScheduleError
from workbench.schedule.registry import Primitive, accepted

FACTORS: tuple[list[int | None], ...] = (
    [None, 2], [None, 3], [None, 4], [2, None], [3, None], [None, 2, 2], [None, 1], [2, None, 3], [4, 4], [None, 16],
)  # fmt: skip

WEIGHTS = {"get": 0, "loop": 3, "place": 12, "inline": 3, "cache": 2, "reduction": 6, "annotation": 1}
"""How often primitives of a category are drawn."""
OWN_WEIGHTS = {
    "compute_at": 14, "reverse_compute_at": 16, "rolling_buffer": 6, "decompose_padding": 3, "pad_einsum": 3,
    "decompose_reduction": 7, "rfactor": 7, "reorder": 8, "fuse": 5, "loop_partition": 5, "bind": 4, "parallel": 4,
    "split": 4, "compute_inline": 6, "reverse_compute_inline": 5, "cache_read": 5, "cache_write": 4, "blockize": 2,
}  # fmt: skip
"""The same for single primitives: those that order and values hang on more often, those that seldom apply less."""
DRAWN_DEFAULT = 0.6
"""How often an argument with a default is left out."""
FEW = (6, 16)
"""How many different primitives a swarm draws from, at least and at most."""


@dataclass
class Told:
    """What happened to the primitives of a schedule."""

    legal: Counter[str] = field(default_factory=Counter[str])
    refusals: list[ScheduleError] = field(default_factory=list[ScheduleError])


@dataclass
class References:
    """What primitives are drawn on: the live blocks, the loops around each, and some references of earlier steps."""

    blocks: list[BlockRV]
    chains: dict[str, list[LoopRV]]
    earlier: list[BlockRV | LoopRV]
    extents: dict[str, int]
    """Those of the loops, by reference, that are numbers."""
    reduced: list[LoopRV]
    """Loops of reductions."""
    flow: set[tuple[str, str]]
    """Pairs of blocks, by name, of which the second one reads what the first one writes."""

    @classmethod
    def of(cls, schedule: Schedule, earlier: list[BlockRV | LoopRV]) -> References:
        """Fresh references to all blocks but the root, and to the loops around them."""
        blocks = [schedule.get_block(name) for name in schedule.state.tree.blocks if name != "root"]
        chains = {block.target: schedule.get_loops(block) for block in blocks}
        found = {loop.name: schedule.get(loop).extent for chain in chains.values() for loop in chain}
        extents = {name: extent.value for name, extent in found.items() if isinstance(extent, IntImm)}
        reduced: list[LoopRV] = []
        flow: set[tuple[str, str]] = set()
        for name, site in schedule.state.tree.blocks.items():
            over = reduce_variables(site)
            reduced += [loop for loop in chains.get(name, []) if id(schedule.get(loop).var) in over]
            written = [region.buffer for region in site.block.writes]
            flow |= {(name, reader.name) for buffer in written for reader in schedule.state.tree.readers(buffer)}
        return cls(blocks, chains, earlier, extents, reduced, flow)

    @property
    def loops(self) -> list[LoopRV]:
        return [loop for chain in self.chains.values() for loop in chain]

    def all(self) -> list[BlockRV | LoopRV]:
        return [*self.blocks, *self.loops]

    def related(self, entry: Primitive, block: BlockRV) -> list[LoopRV]:
        """The loops that a primitive means that takes a block and a loop: mostly those of another block to move it
        there (of a consumer or a producer, if that is what it asks for), its own to take a reduction apart."""
        if entry.category != "place":
            return self.chains[block.target]
        others = [name for name in self.chains if name != block.target]
        if entry.name == "compute_at":
            others = [name for name in others if (block.target, name) in self.flow] or others
        elif entry.name == "reverse_compute_at":
            others = [name for name in others if (name, block.target) in self.flow] or others
        return [loop for name in others for loop in self.chains[name]]


def random_call(
    entry: Primitive, known: References, schedule: Schedule, rng: random.Random
) -> tuple[list[Any], dict[str, Any]] | None:
    """Random arguments for a primitive, by position and by name; None if there is nothing to apply it to."""
    arguments: list[Any] = []
    named: dict[str, Any] = {}
    for item in entry.parameters:
        if item.kind is item.VAR_POSITIONAL:
            chosen = _random_chain(entry, known, rng)
            if chosen is None:
                return None
            arguments.extend(chosen)
            continue
        if item.default is not item.empty and rng.random() < DRAWN_DEFAULT:
            continue
        pool = pool_of(entry, item, known, arguments, rng)
        if not pool:
            return None
        value = rng.choice([other for other in pool if other is not item.default] or pool)
        if item.default is item.empty and item.kind is not item.KEYWORD_ONLY:
            arguments.append(value)
        else:
            named[item.name] = value
    return arguments, named


def pool_of(
    entry: Primitive, item: inspect.Parameter, known: References, before: list[Any], rng: random.Random
) -> list[Any]:
    """The values to draw an argument from: what the primitive suggests, else all that its annotation names."""
    if item.name == "factors" and entry.name == "split":
        return [*FACTORS, *_near(known, before)]
    if item.name == "index":
        return [-1, -1, -2, 0, 1]
    if item.name in entry.suggest:
        return list(entry.suggest[item.name])
    annotation = entry.annotations[item.name]
    kinds = accepted(annotation)
    if kinds and known.earlier and rng.random() < 0.02:
        return list(known.earlier)
    values: list[Any] = list(known.blocks) if BlockRV in kinds else []
    if LoopRV in kinds:
        first = before[0] if before and isinstance(before[0], BlockRV) else None
        near = first is not None and first.target in known.chains and rng.random() < 0.9
        if near and first is not None:
            values += known.related(entry, first)
        else:
            sums = entry.category == "reduction" and rng.random() < 0.9
            values += (known.reduced if sums else []) or known.loops
    if values and any(typing.get_origin(part) is list for part in typing.get_args(annotation)):
        values = [rng.sample(values, min(len(values), count)) for count in (1, 1, 2, 2, 3)]
    values += _values_of(annotation)
    return values or ([item.default] if item.default is not item.empty else [])


def _near(known: References, before: list[Any]) -> list[list[int | None]]:
    """Two numbers that make as many iterations as the loop has, or one less."""
    extent = known.extents.get(before[0].name, 0) if before else 0
    return [[extent, 1], [1, extent - 1]] if extent > 1 else []


def _values_of(annotation: Any) -> list[Any]:
    """Values of a small type: booleans, literals, None."""
    origin = typing.get_origin(annotation)
    if annotation is bool:
        return [True, False]
    if annotation is type(None):
        return [None]
    if origin is Literal:
        return list(typing.get_args(annotation))
    if origin is Annotated:
        return _values_of(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return [value for part in typing.get_args(annotation) for value in _values_of(part)]
    return []


def _random_chain(entry: Primitive, known: References, rng: random.Random) -> list[Any] | None:
    """Loops around one block: neighbours mostly for fuse and merge, any for reorder."""
    chain = known.chains[rng.choice(known.blocks).target] if known.blocks else []
    if not chain:
        return None
    count = rng.randint(1, len(chain))
    if entry.name != "reorder" and rng.random() < 0.8:
        start = rng.randrange(len(chain))
        return chain[start : start + count]
    return rng.sample(chain, count)


def names_to_draw() -> list[str]:
    """The primitives that change programs, each as often as it weighs."""
    weights = {name: OWN_WEIGHTS.get(name, WEIGHTS.get(entry.category, 1)) for name, entry in PRIMITIVES.items()}
    return [name for name, weight in weights.items() for _ in range(weight)]


def swarm(rng: random.Random) -> list[str]:
    """A few of the primitives, each as often as all are drawn: some faults need the same one several times.

    Groce, Zhang, Eide, Chen, Regehr: Swarm Testing, ISSTA 2012.
    """
    names, count = names_to_draw(), rng.randint(*FEW)
    chosen: set[str] = set()
    while len(chosen) < count:
        chosen.add(rng.choice(names))
    return [name for name in names if name in chosen]


class Unchanged:
    """A state that refusals must leave as it is: its identity at once and, if `deep`, its content at the end."""

    def __init__(self, schedule: Schedule, deep: bool) -> None:
        self.state, self.func = schedule.state, schedule.func
        self.content = fingerprint(self.func) if deep else ""
        self.refused = ""

    def refusal(self, schedule: Schedule, name: str) -> None:
        assert schedule.state is self.state and schedule.func is self.func, f"{name} was refused and changed the state"
        self.refused += name + " "

    def leave(self) -> None:
        if self.refused and self.content:
            assert fingerprint(self.func) == self.content, f"one of {self.refused}changed the program it refused"


def scheduled(schedule: Schedule, rng: random.Random, count: int, names: Sequence[str] = ()) -> Told:
    """Apply `count` random primitives (those of `names`, if given), in at most three times as many attempts.

    Checks that a refusal changes nothing and says all that it must.  That it changed nothing inside of the nodes,
    which are frozen, is asked of one schedule in four: it takes longer than the refusals do.
    """
    told, names, deep = Told(), list(names) or names_to_draw(), rng.random() < 1 / 4
    known, held = References.of(schedule, []), Unchanged(schedule, deep)
    for _ in range(3 * count):
        if told.legal.total() >= count:
            break
        entry = PRIMITIVES[rng.choice(names)]
        call = random_call(entry, known, schedule, rng)
        if call is None:
            continue
        try:
            getattr(schedule, entry.name)(*call[0], **call[1])
        except ScheduleError as error:
            told.refusals.append(error)
            held.refusal(schedule, entry.name)
            assert error.code and error.message and error.found and error.expected and error.kept, error
            # A hint is found by trying, which takes as long as some primitives: every eighth is asked for.
            assert rng.random() >= 1 / 8 or error.fix, error
        except WorkbenchError as error:
            raise AssertionError(f"{entry.name} raised a {type(error).__name__}: {error}") from error
        else:
            held.leave()
            told.legal[entry.name] += 1
            known = References.of(schedule, [*known.earlier, *known.all()])
            held = Unchanged(schedule, deep)
    held.leave()
    return told
