"""LLVM's passes as the pipeline screen sees them: a list of steps, each with its difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.errors import WorkbenchError
from ..core.line_diff import line_hunks
from .schema import Chunk, PipelineView, RewriteView, StepSummary, StepView
from .step_parts import near
from .strings.tables import say

if TYPE_CHECKING:
    from ..driver.difference import Difference
    from ..driver.llvm_passes import LlvmPass, LlvmPasses


class LlvmPassesModel:
    """A `PipelineModel` on the passes that changed something."""

    def __init__(self, passes: LlvmPasses) -> None:
        self.passes = passes

    def view(self) -> PipelineView:
        """The list of passes."""
        steps = tuple(self._summary(step) for step in self.passes.changed)
        title = say.pipeline.llvm_passes(self.passes.kernel, self.passes.label)
        return PipelineView(f"llvm-{self.passes.kernel}", steps, title)

    @staticmethod
    def _summary(step: LlvmPass) -> StepSummary:
        before, after = step.instructions
        return StepSummary(
            id=f"llvm-{step.index}",
            name=step.name,
            kind="codegen",
            changed=True,
            milliseconds=0.0,
            ops_before=before,
            ops_after=after,
            group=say.pipeline.llvm_groups[step.phase],
            note=step.where,
        )

    def _find(self, identity: str) -> LlvmPass:
        for step in self.passes.changed:
            if identity == f"llvm-{step.index}":
                return step
        raise WorkbenchError("E-STEP-UNKNOWN", "there is no such pass here", found=repr(identity)[:60])

    def step(self, step: str) -> StepView:
        """One pass closely: its difference, with lines around the changes."""
        found = self._find(step)
        before, after = _lines(found.before), _lines(found.after)
        hunks = line_hunks(before, after)
        return StepView(
            id=step,
            state=step,
            before=near(before, [(hunk.before_start, hunk.before_count) for hunk in hunks]),
            after=near(after, [(hunk.after_start, hunk.after_count) for hunk in hunks]),
            hunks=hunks,
            language="llvm" if found.phase == "ir" else "text",
            call=f"s.llvm_passes({self.passes.kernel!r})[{found.index}].diff()",
        )

    def difference(self, step: str) -> Difference:
        """What a pass changed, by kinds of changes."""
        return self._find(step).diff()

    def rewrite(self, step: str, index: int) -> RewriteView:
        """LLVM tells of no rewrites inside a pass."""
        raise WorkbenchError("E-REWRITE-UNKNOWN", "LLVM's passes have no rewrites to look at", found=str(index))

    def text(self, step: str, side: Any, start: int, count: int) -> Chunk:
        """Further lines of the text before or after a pass."""
        found = self._find(step)
        lines = _lines(found.before if side == "before" else found.after)
        return Chunk(start, lines[start : start + count])


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.rstrip("\n").replace("\t", "    ").split("\n"))
