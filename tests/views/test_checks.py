"""Badges as data: plain JSON, the fields that the page reads, names that are markup."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.driver.checking import Badge
from workbench.driver.narrowing import Narrowed
from workbench.driver.numerics.compare import WrongTensor
from workbench.views import checks
from workbench.views.checks import checks_html, checks_view, nothing_checked

TYPES = Path(__file__).parents[2] / "extensions" / "widgets" / "src" / "checks.ts"
HOSTILE = "<script>alert(1)</script>"


def checked(name: str = "FuseOps") -> Any:
    """What a check of three steps looks like, without one."""
    tensor = WrongTensor(f"relay call {name}", "result", (0, 2), 1.5, -2.0, 3.0e7, 4, 8)
    badges = (
        Badge("Import", "right", 1e-7), Badge(name, "wrong", 3.5, 1.0, 9.0, "", tensor), Badge("Codegen", "running"),
    )  # fmt: skip
    found = Narrowed(name, "rewrite", "drop", "rules.py:7", 2, 5, 3.5, "x is x", ("a = b",), ("c = d",), tensor)
    levels = [SimpleNamespace(level=level) for level in ("relay", "relay", "native")]
    session = SimpleNamespace(actions=levels, heading=name)
    return SimpleNamespace(
        state="running", badges=badges, session=session, first_wrong=name, narrowings={name: found}, error=None
    )


def test_a_check_is_plain_data() -> None:
    view = checks_view(checked(), narrowing="FuseOps", number=3)
    sent = json.loads(json.dumps(view.to_json(), allow_nan=False))
    assert [(one["step"], one["glyph"], one["group"]) for one in sent["badges"]] == [
        ("Import", "✓", "graph"), ("FuseOps", "✗", "graph"), ("Codegen", "…", "native"),
    ]  # fmt: skip
    assert sent["known"] == 2 and sent["badges"][1]["tensor"]["element"] == "result[0, 2]"
    assert sent["narrowed"][0]["text"] == "rewrite 3 of 5 is the first wrong one"


def test_a_step_that_keeps_an_earlier_error_says_what_it_adds_itself() -> None:
    given = checked()
    given.badges = (*given.badges[:2], Badge("Codegen", "carried", 2.5e-7))
    *others, last = checks_view(given).badges
    assert (last.verdict, last.glyph, last.text) == ("carried", "↓", "adds at most 2.50e-07")
    assert [one.text for one in others] == ["max error 1.00e-07", "max error 3.50e+00"]


def test_a_step_that_was_not_looked_at_is_not_counted_and_a_range_goes_with_its_suspects() -> None:
    given = checked()
    tensor = given.badges[1].tensor
    last = Badge("Codegen", "wrong", 3.5, 1.0, 9.0, "from Edit on", tensor, since="Edit", suspects=("Edit",))
    given.badges = (given.badges[0], Badge("Edit", "not checked"), last)
    view = checks_view(given)
    assert view.known == 2 and (view.badges[2].since, view.badges[2].suspects) == ("Edit", ("Edit",))
    assert "from Edit on" in checks_html(view)


def test_before_a_check_all_steps_wait() -> None:
    view = nothing_checked(("Import", "FuseOps"), "a model")
    assert view.state == "none" and [badge.verdict for badge in view.badges] == ["waiting", "waiting"]


def test_every_verdict_has_a_glyph_of_its_own_kind() -> None:
    assert checks.GLYPHS["wrong"] not in {glyph for word, glyph in checks.GLYPHS.items() if word != "wrong"}


def test_names_are_text_in_static_pages() -> None:
    html = checks_html(checks_view(checked(HOSTILE)))
    assert "<script" not in html and "&lt;script&gt;" in html and "✗ wrong" in html


@pytest.mark.parametrize("view", [checks.TensorView, checks.BadgeView, checks.NarrowedView, checks.ChecksView])
def test_the_page_knows_every_field(view: type) -> None:
    body = re.search(rf"interface {view.__name__} {{(.*?)}}\n", TYPES.read_text(encoding="utf-8"), re.S)
    assert body is not None
    assert set(re.findall(r"(\w+)\??:", body.group(1))) == {field.name for field in dataclasses.fields(view)}
