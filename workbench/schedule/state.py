"""The immutable state of a schedule: the functions, and the steps that led here.

Invariant: a state never changes.  A primitive takes one and answers a `Change`; `advanced` makes the next state of
it, where references to loops and blocks that are gone are marked with the step that replaced them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

from ..analysis.tree import BlockSite, LoopSite, Tree
from ..core.equal import fingerprint
from ..core.errors import nearest
from ..core.node import EMPTY, FrozenMap
from ..tir import nodes as t
from ..tir.by_hand import hand_on
from ..tir.script import text
from .errors import IllegalError, refuse, require
from .references import INLINE, ROOT, BlockRV, ExprRV, LoopRV, Reference, Target
from .sampling import FIRST_SEED
from .trace import Step

R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Change(Generic[R]):
    """What a primitive answers: the new function, what its results stand for, and remarks on legality.

    `R` is what the user gets: `list[LoopRV]`, `BlockRV` or `None`.
    """

    func: t.PrimFunc
    made: tuple[Target, ...] = ()
    notes: tuple[str, ...] = ()
    decision: Any = None
    """What a sampler has drawn, as the trace keeps it."""
    random: int | None = None
    """The state of the random generator after drawing."""
    home: str = ""
    """The function that the results are of, if it is another than the one worked on."""
    relaid: tuple[int, str] | None = None
    """The number of a parameter whose elements callers must keep in other places from now on, and the map."""


@dataclass(frozen=True, eq=False)
class ScheduleState:
    """See the module's header."""

    functions: FrozenMap
    working: str
    """The function that primitives work on."""
    steps: tuple[Step, ...] = ()
    named: FrozenMap = EMPTY
    """What each reference stands for, by the reference's name."""
    homes: FrozenMap = EMPTY
    """The function that each loop or block is of, by the reference's name; only for modules of several functions."""
    consumed: FrozenMap = EMPTY
    """For references whose loop or block is gone: the number of the step that replaced it."""
    notes: FrozenMap = EMPTY
    """Remarks on legality, by the number of the step (as text)."""
    relaid: tuple[tuple[str, int, str], ...] = ()
    """Parameters whose elements lie in other places than at first: function, number of the parameter, map; in order."""
    counters: tuple[int, int, int] = field(default=(0, 0, 0))
    """How many blocks, loops and numbers have been named so far."""
    random: int = FIRST_SEED
    """The state of the random generator that samplers draw from (`sampling.Draws`); no part of the fingerprint."""
    waived: list[str] | None = None
    """Where a primitive runs with ``unsafe=True``: the legality refusals that it went over (`legality.forbid`)."""

    full: frozenset[int] | None = None
    """Where the function is the body of a block or loop of another one (`inner_scopes`): the buffers (by identity) all
    of whose elements have a value, as that one's parameters."""
    doubts: list[IllegalError] | None = None
    """Where a primitive has an exact tier: the legality refusals of the quick one (`exact.doubting`)."""

    def unsafe(self) -> ScheduleState:
        """The same state for a primitive that legality does not stop."""
        made = replace(self, waived=[])
        made.__dict__["tree"] = self.tree
        return made

    @property
    def func(self) -> t.PrimFunc:
        return self.functions[self.working]

    @cached_property
    def tree(self) -> Tree:
        return Tree.of(self.func)

    @cached_property
    def printed(self) -> Any:
        """The text of the function with the places of its nodes; refusals underline in it."""
        return text(self.func)

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal functions and equal steps."""
        digest = hashlib.sha256(self.working.encode())
        for name, function in self.functions.items():
            digest.update(f"{name}:{fingerprint(function)};".encode())
        for step in self.steps:
            digest.update(repr(step).encode())
        return digest.hexdigest()

    # --- what references stand for ---

    def at_home(self, arguments: Iterable[Any]) -> ScheduleState:
        """This state working on the function that the references among `arguments` are of.

        Raises `ScheduleError` if they are of several functions.
        """
        if not self.homes:
            return self
        found: list[str] = []
        stack: list[Any] = list(arguments)
        while stack:
            current = stack.pop()
            if isinstance(current, (LoopRV, BlockRV)):
                found.append(self.homes.get(current.name, self.working))
            elif isinstance(current, tuple):
                stack.extend(current)
        require(
            len(set(found)) <= 1,
            "E-SCHEDULE-SEVERAL-FUNCTIONS",
            "the loops and blocks are of different functions",
            found=", ".join(sorted(set(found))),
            expected="references of one function",
            fix="schedule one function at a time",
        )
        return replace(self, working=found[0]) if found and found[0] != self.working else self

    def _check(self, reference: Reference, kind: str) -> None:
        known = self.named.get(reference.name)
        target = reference.target
        if known is not target and not (isinstance(known, (str, int)) and known == target):
            raise refuse(
                "E-SCHEDULE-REFERENCE",
                f"{reference!r} is not a result of this schedule",
                found=f"a {kind} of another schedule, or of a step that was undone",
                expected=f"a {kind} that a step of this schedule answered",
                fix="draw it again from this schedule"
                if isinstance(target, int)
                else "ask this schedule for it again: get_block, get_loops",
            )
        if reference.name in self.consumed:
            number = self.consumed[reference.name]
            step = self.steps[number - 1]
            became = ", ".join(step.results) or "nothing that has a name"
            raise refuse(
                "E-SCHEDULE-CONSUMED",
                f"{kind} {reference.name} is gone: step {number} ({step.primitive}) replaced it",
                found=f"step {number}: {step.line()}",
                expected=f"a {kind} of the program as it is now",
                fix=f"use {became}, or ask for the loops again",
            )

    def number(self, reference: ExprRV) -> int:
        """The number that a reference stands for.  Raises `ScheduleError` if it is foreign."""
        self._check(reference, "number")
        return int(reference)

    def loop(self, reference: LoopRV) -> t.For:
        """The loop that a reference stands for.  Raises `ScheduleError` if it is gone or foreign."""
        return self.loop_site(reference).loop

    def loop_site(self, reference: LoopRV) -> LoopSite:
        self._check(reference, "loop")
        require(
            not is_mark(reference),
            "E-SCHEDULE-MARK",
            f"{reference.name} stands for no loop but for {'the root' if reference.target is ROOT else 'inlining'}",
            found="a drawn location that is no loop",
            expected="a loop",
            fix="hand it to compute_at, which leaves the block where it is or inlines it",
        )
        return self.tree.loops[id(reference.target)]

    def block(self, reference: BlockRV) -> BlockSite:
        """The block that a reference stands for, where it stands."""
        self._check(reference, "block")
        return self.tree.blocks[reference.target]

    def find_block(self, name: str) -> BlockSite:
        """A block by its name in the program."""
        found = self.tree.blocks.get(name)
        if found is None:  # the nearest name is costly to find: only where it is wanted
            raise refuse(
                "E-SCHEDULE-BLOCK",
                f"the function has no block {name!r}",
                found=f"blocks: {', '.join(self.tree.blocks)}",
                expected="the name of a block",
                fix=nearest(name, self.tree.blocks) or "sch.show() prints the function with its blocks",
            )
        return found

    # --- the next state ---

    def advanced(self, primitive: str, arguments: Sequence[tuple[str, Any]], change: Change[Any], version: int) -> Any:
        """(the next state, the references to the results)."""
        blocks, loops, numbers = self.counters
        names: list[str] = []
        for target in change.made:
            if isinstance(target, str):
                names.append(f"b{blocks}")
                blocks += 1
            elif isinstance(target, int):
                names.append(f"v{numbers}")
                numbers += 1
            else:
                names.append(f"l{loops}")
                loops += 1
        step = Step(primitive, tuple(arguments), tuple(names), change.decision, version)
        named = FrozenMap({**self.named, **dict(zip(names, change.made, strict=True))})
        steps = (*self.steps, step)
        functions = FrozenMap({**self.functions, self.working: change.func})
        hand_on(self.functions, functions)
        homes = self.homes
        if len(functions) > 1:
            home = change.home or self.working
            homes = FrozenMap({**homes, **dict.fromkeys(names, home)})
        notes = self.notes.set(str(len(steps)), change.notes) if change.notes else self.notes
        counters = (blocks, loops, numbers)
        relaid = (*self.relaid, (self.working, *change.relaid)) if change.relaid is not None else self.relaid
        made = replace(
            self, functions=functions, steps=steps, named=named, homes=homes, notes=notes, relaid=relaid,
            counters=counters,
        )  # fmt: skip
        if change.random is not None:
            made = replace(made, random=change.random)
        if change.func is not self.func:
            tree = made.tree
            made = replace(made, consumed=_consumed(made, self.consumed, len(steps)))
            made.__dict__["tree"] = tree  # of the same function: not made twice a step
        else:
            made.__dict__["tree"] = self.tree
        return made, names


def is_mark(reference: LoopRV) -> bool:
    """Whether a drawn location is no loop: the root, or inlining."""
    return reference.target is ROOT or reference.target is INLINE


def _consumed(state: ScheduleState, before: FrozenMap, number: int) -> FrozenMap:
    """`before` with the references added whose loop or block is no longer in the program."""
    gone = dict(before)
    for name, target in state.named.items():
        if state.homes.get(name, state.working) != state.working:
            continue
        if name not in gone and not isinstance(target, int) and target is not ROOT and target is not INLINE:
            present = target in state.tree.blocks if isinstance(target, str) else id(target) in state.tree.loops
            if not present:
                gone[name] = number
    return FrozenMap(gone)
