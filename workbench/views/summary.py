"""A session in ten lines: what each layer made, and one line for all that has not run (looking runs nothing).

    ✓ Relay      13 passes      5 changed the program, 12.3 ms
    ✎ Schedule   48 steps       275.3 ms, changed by hand
    ◌ not run yet: TIR, LLVM, Assembly
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from ..driver.layers import GLYPHS, SessionLayer
from .html import visible
from .strings.tables import say

if TYPE_CHECKING:
    from ..driver.history import Step
    from ..driver.session import Session

_ROW: Final = "font:12px system-ui;padding:2px 10px"


def summary_text(session: Session) -> str:
    """The lines."""
    lines = [repr(session)]
    for layer in _ran(session):
        counted, note = _told(layer)
        lines.append(f"  {GLYPHS[layer.state]} {layer.title:<10} {counted:<14} {note}".rstrip())
    later = _later(session)
    return "\n".join([*lines, f"  {later}"] if later else lines)


def summary_html(session: Session) -> str:
    """The same as HTML; a layer opens to its steps."""
    steps = {step.label: step for step in session.history.computed(session.actions)}
    rows = [_layer_html(layer, [steps[label] for label in layer.steps if label in steps]) for layer in _ran(session)]
    heading = f'<div style="{_ROW};font-weight:600">{escape(visible(session.heading))}</div>'
    later = _later(session)
    folded = f'<div style="{_ROW};opacity:.7">{escape(later)}</div>' if later else ""
    return f"{heading}{''.join(rows)}{folded}"


def _ran(session: Session) -> list[SessionLayer]:
    """The layers to tell of; assembly is made with LLVM, in the same step."""
    return [layer for layer in session.layers if layer.state != "not run" and layer.name != "asm"]


def _later(session: Session) -> str:
    waiting = [layer for layer in session.layers if layer.state == "not run"]
    titles = [f"{layer.title} {GLYPHS['changed']}" if layer.by_hand else layer.title for layer in waiting]
    return f"{GLYPHS['not run']} {say.session.not_run(', '.join(titles))}" if waiting else ""


def _told(layer: SessionLayer) -> tuple[str, str]:
    """How many things a layer counts, and what became of its steps."""
    counted = "" if layer.count is None else say.session.counted(layer.count, layer.unit)
    if layer.failed:
        return counted, say.session.failed_at(layer.failed)
    if layer.state == "in part":
        return counted, say.session.in_part
    if not layer.steps:
        return counted, say.session.nothing_done
    changed = layer.changing if layer.unit == "passes" else None
    return counted, say.session.outcome(changed, layer.milliseconds, layer.by_hand)


def _layer_html(layer: SessionLayer, steps: Sequence[Step]) -> str:
    counted, note = _told(layer)
    listed = "".join(
        f'<tr><td style="text-align:left">{escape(visible(step.label))}</td>'
        f"<td>{escape(say.session.milliseconds(step.milliseconds))}</td>"
        f'<td style="text-align:left">{escape(_outcome(step))}</td></tr>'
        for step in steps
    )
    title = f"{GLYPHS[layer.state]} <b>{escape(layer.title)}</b> {escape(counted)} · {escape(visible(note))}"
    return f'<details style="{_ROW}"><summary>{title}</summary><table><tbody>{listed}</tbody></table></details>'


def _outcome(step: Step) -> str:
    if step.error is not None:
        return say.session.failed(step.error.code)
    return say.session.changed if step.changed else say.session.unchanged
