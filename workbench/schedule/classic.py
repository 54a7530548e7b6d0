"""The parts of the classic `tir.Schedule` that are not primitives: seeds, nodes of references, checking by mask.

    sch = Schedule(mod, seed=7, debug_mask="all")
    sch.get_sref(sch.get_block("C")).stmt      # the Block
    other = Schedule(mod, seed=sch.fork_seed())

Invariant: nothing here is a step of the trace.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..core.errors import nearest
from ..tir import nodes as t
from ..tir.verify import verify
from .errors import ScheduleError, refuse, require
from .history import History
from .references import BlockRV, ExprRV, LoopRV, Reference
from .sampling import Draws, seeded
from .state import ScheduleState

MASKS = {"none": 0, "verify_sref_tree": 1, "verify_cached_flags": 2, "all": -1}
LEVELS = ("detail", "fast", "none")


@dataclass(frozen=True, eq=False)
class StmtSRef:
    """A loop or a block where it stands: the statement, and the loop or block around it."""

    stmt: t.For | t.Block
    parent: StmtSRef | None


@dataclass(frozen=True)
class Settings:
    """What `Schedule` was asked to do beside scheduling."""

    verify: bool = False
    """Verify the function after each step, and refuse the step if it is broken."""
    level: str = "detail"
    """ "detail" underlines the program in refusals, "fast" gives the place only, "none" the message only."""

    @staticmethod
    def of(debug_mask: str | int, error_render_level: str) -> Settings:
        """Raises `ScheduleError` for values that are not understood."""
        require(
            debug_mask in MASKS or (isinstance(debug_mask, int) and -1 <= debug_mask <= 3),
            "E-SCHEDULE-ARGUMENT",
            "Schedule(debug_mask) is not what it takes",
            found=repr(debug_mask)[:60],
            expected=", ".join(MASKS),
            fix=nearest(str(debug_mask), MASKS) or 'leave it out, or "all"',
        )
        require(
            error_render_level in LEVELS,
            "E-SCHEDULE-ARGUMENT",
            "Schedule(error_render_level) is not what it takes",
            found=repr(error_render_level)[:60],
            expected=", ".join(LEVELS),
            fix='leave it out, or "fast"',
        )
        return Settings(debug_mask not in ("none", 0), error_render_level)

    def rendered(self, error: ScheduleError) -> ScheduleError:
        """A refusal with as much of the program as was asked for."""
        return error if self.level == "detail" else error.shortened(self.level == "fast")

    def check(self, func: t.PrimFunc) -> None:
        """Raises `WorkbenchError` if the function is broken and that is to be looked for."""
        if self.verify:
            verify(func)


class ClassicSchedule:
    """The base of `Schedule` with what is here; see the module's header."""

    _history: History

    @property
    def state(self) -> ScheduleState:
        """The immutable state that this handle points to."""
        return self._history.state

    def seed(self, seed: int) -> None:
        """Let the samplers begin anew; equal seeds draw equally (the classic -1 is a seed like another here)."""
        require(
            isinstance(seed, int) and not isinstance(seed, bool),
            "E-SCHEDULE-ARGUMENT",
            "seed(seed) takes a whole number",
            found=repr(seed)[:60],
            expected="a whole number",
            fix="sch.seed(42)",
        )
        with self._history.alone():
            self._history.amend(replace(self.state, random=seeded(seed)))

    def fork_seed(self) -> int:
        """A seed for another schedule, whose draws are independent of this one's."""
        with self._history.alone():
            draws = Draws(self.state.random)
            made = draws.fork()
            self._history.amend(replace(self.state, random=draws.state))
        return made

    def get_sref(self, rand_var_or_stmt: Reference | t.For | t.Block) -> StmtSRef:
        """The loop or block of a reference, or a statement of the function, where it stands.

        Raises `ScheduleError` for a reference that is gone, or a statement of another function.
        """
        state = self.state
        if isinstance(rand_var_or_stmt, LoopRV):
            site: Any = state.loop_site(rand_var_or_stmt)
            return _sref(site.path, site.loop)
        if isinstance(rand_var_or_stmt, BlockRV):
            found = state.block(rand_var_or_stmt)
            return _sref(found.path, found.block)
        for loop in state.tree.loops.values():
            if loop.loop is rand_var_or_stmt:
                return _sref(loop.path, loop.loop)
        for block in state.tree.blocks.values():
            if block.block is rand_var_or_stmt:
                return _sref(block.path, block.block)
        raise refuse(
            "E-SCHEDULE-REFERENCE",
            "this is no loop or block of the function worked on",
            found=repr(rand_var_or_stmt)[:60],
            expected="a reference, or a For or Block of sch.func",
            fix="take it from sch.get(reference)",
        )

    def remove_rv(self, rand_var: Reference) -> None:
        """Forget a reference; using it afterwards is refused.  The trace keeps the step that made it."""
        with self._history.alone():
            state = self.state
            if isinstance(rand_var, ExprRV):
                state.number(rand_var)
            elif isinstance(rand_var, LoopRV):
                state.loop(rand_var)
            else:
                state.block(rand_var)
            self._history.amend(replace(state, named=state.named.without(rand_var.name)))


def _sref(path: tuple[t.Stmt, ...], stmt: t.For | t.Block) -> StmtSRef:
    made: StmtSRef | None = None
    for part in path:
        if isinstance(part, (t.For, t.Block)):
            made = StmtSRef(part, made)
    return StmtSRef(stmt, made)


def has_block(sch: ClassicSchedule, block_name: str) -> bool:
    """Whether the function worked on has a block of this name."""
    return block_name in sch.state.tree.blocks


def is_output_block(sch: ClassicSchedule, block: BlockRV) -> bool:
    """Whether a block writes a parameter of the function."""
    site = sch.state.block(block)
    parameters = {id(item) for item in sch.state.func.params}
    return any(id(region.buffer) in parameters for region in site.block.writes)
