"""A background check as data for a page: a badge for each step, and what is known of what is wrong.

    view = checks_view(session.check(inputs))
    [(badge.step, badge.verdict, badge.glyph) for badge in view.badges]
    checks_html(view)          # the same as static HTML

A verdict is told by a glyph and a word as well as by colour.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, Final

from .html import visible
from .schema import ErrorView, View
from .strings.tables import say

GLYPHS: Final = {
    "waiting": "◌", "running": "…", "right": "✓", "same": "=", "carried": "↓", "covered": "✓", "wrong": "✗",
    "failed": "!", "not checked": "–",
}  # fmt: skip
_COLOURS: Final = {"right": "#00794f", "covered": "#00794f", "wrong": "#c0392b", "failed": "#c0392b"}
_QUIET: Final = "#6a737d"
_LONG: Final = 300


@dataclass(frozen=True, slots=True)
class TensorView(View):
    """The first wrong tensor: where it is made, its worst element, how many are wrong."""

    place: str
    element: str
    found: str
    expected: str
    ulp: str
    wrong: int
    size: int
    note: str


@dataclass(frozen=True, slots=True)
class BadgeView(View):
    """One step's badge.  `text` says the error in words; empty where there is none to tell."""

    step: str
    group: str
    """graph, loops or native"""
    verdict: str
    glyph: str
    text: str
    note: str
    milliseconds: float
    tensor: TensorView | None = None
    since: str = ""
    """Of a wrong step: what is wrong lies from this step to it."""
    suspects: tuple[str, ...] = ()
    """The steps among these that a person made."""


@dataclass(frozen=True, slots=True)
class NarrowedView(View):
    """What is wrong in a step; `kind` is "rewrite", "pass", "step" or "edit"."""

    step: str
    kind: str
    rule: str
    source: str
    number: int
    count: int
    error: str
    why: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    text: str
    """The finding in one sentence."""
    tensor: TensorView | None = None


@dataclass(frozen=True, slots=True)
class ChecksView(View):
    """A check: `state` is "none", "running", "done", "cancelled" or "failed"."""

    state: str
    title: str
    badges: tuple[BadgeView, ...]
    known: int
    """Steps with a verdict that was found out."""
    first_wrong: str
    narrowed: tuple[NarrowedView, ...] = ()
    narrowing: str = ""
    """The step that is being narrowed down just now."""
    saving: str = ""
    """The step of which a test is being written."""
    saved: str = ""
    """The file that was written last."""
    error: ErrorView | None = None
    inputs: str = ""
    """What it ran on, in words."""
    number: int = 0
    """Grows with everything that becomes known."""


def checks_view(check: Any, **more: Any) -> ChecksView:
    """A `BackgroundCheck` as it is now."""
    badges = check.badges
    levels = [action.level for action in check.session.actions]
    return ChecksView(
        check.state,
        check.session.heading,
        tuple(_badge(badge, level) for badge, level in zip(badges, levels, strict=True)),
        sum(badge.verdict not in ("waiting", "running", "not checked") for badge in badges),
        check.first_wrong or "",
        tuple(map(_narrowed, check.narrowings.values())),
        error=ErrorView.of(check.error) if check.error is not None else None,
        **more,
    )


def nothing_checked(labels: tuple[str, ...], title: str) -> ChecksView:
    """Before a check has begun."""
    badges = tuple(BadgeView(label, "", "waiting", GLYPHS["waiting"], "", "", 0.0) for label in labels)
    return ChecksView("none", title, badges, 0, "")


def _badge(badge: Any, level: str) -> BadgeView:
    group = {"relay": "graph", "native": "native"}.get(level, "loops")
    text = ""
    if badge.verdict in ("right", "wrong"):
        text = say.checks.greatest_error(badge.absolute)
    elif badge.verdict == "carried":
        text = say.checks.added_error(badge.absolute)
    return BadgeView(
        badge.step, group, badge.verdict, GLYPHS[badge.verdict], text, badge.note[:_LONG],
        round(badge.milliseconds, 1), _tensor(badge.tensor), badge.since, badge.suspects,
    )  # fmt: skip


def _tensor(tensor: Any) -> TensorView | None:
    if tensor is None:
        return None
    index = ", ".join(map(str, tensor.index))
    found, expected = (f"{one:.8g}" if isinstance(one, float) else str(one) for one in (tensor.found, tensor.expected))
    ulp = tensor.units if tensor.expected != 0 else ""
    element = f"{tensor.buffer}[{index}]"
    return TensorView(tensor.place, element, found, expected, ulp, tensor.count, tensor.size, tensor.note)


def _narrowed(found: Any) -> NarrowedView:
    sentence = {
        "rewrite": say.checks.first_wrong_rewrite(found.number + 1, found.count),
        "pass": say.checks.wrong_before_rewrites(found.count),
        "step": say.checks.first_wrong_step_found,
        "edit": say.checks.wrong_edit_found,
    }[found.kind]
    return NarrowedView(
        found.step, found.kind, found.rule, found.source, found.number, found.count, f"{found.error:.3g}", found.why,
        found.before, found.after, sentence, _tensor(found.tensor),
    )  # fmt: skip


# --- static ---------------------------------------------------------------------------------------------------------


def checks_html(view: ChecksView) -> str:
    """A table: a line a step; below it what is wrong."""
    rows = "".join(_row(badge) for badge in view.badges)
    said = [say.checks.known(view.title, say.checks.states[view.state], view.known, len(view.badges))]
    said += [f"{one.step}: {one.text}: {one.rule} {one.source}" for one in view.narrowed]
    said += [f"{view.error.code} {view.error.message}"] if view.error is not None else []
    lines = "".join(f'<div style="font:12px system-ui;padding:2px 10px">{escape(visible(line))}</div>' for line in said)
    return f"<table><tbody>{rows}</tbody></table>{lines}"


def _row(badge: BadgeView) -> str:
    colour = _COLOURS.get(badge.verdict, _QUIET)
    tensor = badge.tensor
    wrong = badge.note
    if tensor is not None and not badge.since:
        wrong = say.checks.wrong_element(tensor.place, tensor.element, tensor.found, tensor.expected)
    cells = (badge.step, f"{badge.glyph} {say.checks.verdicts[badge.verdict]}", badge.text, wrong)
    made = "".join(
        f'<td style="text-align:left{f";color:{colour}" if place == 1 else ""}">{escape(visible(cell))}</td>'
        for place, cell in enumerate(cells)
    )
    return f"<tr>{made}</tr>"
