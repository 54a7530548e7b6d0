"""The snapshot of a list of steps, such as LLVM's passes: each in a line, and what the chosen one changed."""

from __future__ import annotations

from typing import Final

from ..driver.difference import text_difference
from .html import changes_html, plain, text_html
from .schema import PipelineView, StepView, TextView
from .snapshot import Snapshot
from .strings.tables import say

_STEPS: Final = 120


def steps_snapshot(view: PipelineView, chosen: StepView | None = None) -> Snapshot:
    """See the module's header; nothing is run for it."""
    changed = sum(step.changed for step in view.steps)
    title = view.title or say.pipeline.pipeline
    lines = [say.pipeline.steps(title, len(view.steps), changed)]
    for step in view.steps[:_STEPS]:
        sign = "–" if step.left_out else "✗" if step.error else "◌" if step.pending else "✎" if step.changed else "·"
        time = step.note if step.left_out else "" if step.pending else say.pipeline.milliseconds(step.milliseconds)
        rewrites = f"  {say.pipeline.rewrites(step.rewrite_count)}" if step.rewrite_count else ""
        lines.append(f"  {sign} {step.name:<32} {time}{rewrites}".rstrip())
    if len(view.steps) > _STEPS:
        lines.append(f"  {say.pipeline.more_steps(len(view.steps) - _STEPS)}")
    text = "\n".join(lines)
    if chosen is None:
        return Snapshot(title, plain(text), text_html(text, budget=40_000))
    name = next((step.name for step in view.steps if step.id == chosen.id), chosen.id)
    difference = text_difference(name, _near(chosen.before), _near(chosen.after))
    kinds = [(kind.heading, rows) for kind, rows in difference.opened()]
    html = text_html(text, budget=40_000) + changes_html(difference.summary, kinds, budget=24_000)
    return Snapshot(title, plain(f"{text}\n\n{difference}"), html)


def _near(text: TextView) -> str:
    """The lines that a step's view holds: those near its changes."""
    return "\n".join(line for chunk in text.chunks for line in chunk.lines)
