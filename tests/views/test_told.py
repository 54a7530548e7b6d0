"""Displays of answers, an error as a card, traces, breakpoints, trails, comparisons: harmless and of bounded size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.views.payloads import PAYLOADS
from tests.views.test_hostile_names import require_harmless
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.core.rewrite import RuleTable
from workbench.relay.patterns import any_, constant, op
from workbench.relay.transforms.rules import apply_rules
from workbench.views.told import table_html

NAME = PAYLOADS[0]
TABLE = RuleTable("doubling")


@TABLE.rule("double-twice", op("multiply", op("multiply", any_("x"), constant("a")), constant("b")))
def double_twice(m: Any) -> Any:
    """(x a) b is x (a b)."""
    return relay.multiply(m["x"], relay.multiply(m["a"], m["b"]))


@relay.transform.function_pass(opt_level=1, name="Doubling")
def doubling(function: Any, mod: Any, ctx: Any) -> Any:
    return apply_rules(function, TABLE)


@pytest.fixture(scope="module")
def session() -> Any:
    x = relay.var(NAME, shape=(4, 8), dtype="float32")
    two = relay.const(np.float32(2))
    opened = wb.open(relay.Function([x], relay.exp(relay.multiply(relay.multiply(x, two), two))))
    session = opened.rerun(insert={"InferType": doubling})
    session.step(-1)  # `became` and trails tell of the steps that have been computed
    return session


def _call(session: Any) -> Any:
    return session["InferType"].after["main"].body


def _compared(session: Any) -> Any:
    other = session.without("Doubling")
    return wb.compare(session, other, {NAME: np.ones((4, 8), "float32")}, names=(NAME, "without"))


SHOWN: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "module": (lambda s: s["InferType"].before, ("def main", "R.exp")),
    "stops": (lambda s: s.debug("Doubling"), ("double-twice", "multiply(", "2.0")),
    "one stop": (lambda s: s.debug("Doubling")[0], ("double-twice", "before", "after")),
    "trace": (lambda s: s.schedule(s.kernels[0]).trace, ("sch.get_block(", "sch.")),
    "became": (lambda s: s.became(_call(s)), ("Doubling", "FuseOps", "exp")),
    "trail": (lambda s: s.provenance.trail(_call(s)), ("Doubling", "asm", "line")),
    "comparison": (_compared, ("kernels", "milliseconds", "greatest difference of an output")),
}


@pytest.mark.parametrize("name", SHOWN)
def test_an_answer_shows_what_it_says_and_is_harmless(name: str, session: Any) -> None:
    make, words = SHOWN[name]
    bundle = make(session)._repr_mimebundle_()
    require_harmless(bundle)
    assert [word for word in words if word not in bundle["text/plain"]] == []
    assert len(bundle["text/html"]) < 30_000 and ("<table" in bundle["text/html"] or "<pre" in bundle["text/html"])


@pytest.mark.parametrize("text", PAYLOADS)
def test_an_error_is_a_card_with_every_field(text: str) -> None:
    error = WorkbenchError("E-TYPE-SHAPE", text, where=text, found=text, expected="two axes", fix=text, kept="nothing")
    bundle = error._repr_mimebundle_()
    require_harmless(bundle)
    assert all(f">{name}</th>" in bundle["text/html"] for name in ("where", "found", "expected", "fix", "kept"))
    assert "E-TYPE-SHAPE" in bundle["text/html"] and bundle["text/plain"].startswith("E-TYPE-SHAPE")


def test_ipython_shows_the_whole_error_as_plain_text_too() -> None:
    from IPython.core.formatters import DisplayFormatter

    data, _ = DisplayFormatter().format(WorkbenchError("E-X", "it failed", found="7", fix="use 8"))
    assert data["text/plain"].split("\n") == ["E-X  it failed", "  found     7", "  fix       use 8"]
    assert ">fix</th>" in data["text/html"]


def test_fields_that_an_error_does_not_have_take_no_row() -> None:
    page = WorkbenchError("E-X", "only a message")._repr_mimebundle_()["text/html"]
    assert "only a message" in page and "<tr>" not in page


def test_long_answers_are_cut_and_say_so() -> None:
    page = table_html(((str(number), "x" * 10_000) for number in range(10_000)), ("number", "text"))
    assert len(page) < 60_000 and "further rows" in page
    error = WorkbenchError("E-X", "m" * 100_000, found="f" * 100_000)
    assert len(error._repr_mimebundle_()["text/html"]) < 5_000


def test_a_rewrite_is_named_and_not_poured_out(session: Any) -> None:
    (fired,) = session["Doubling"].rewrites
    assert repr(fired).startswith("Firing(double-twice, test_told.py:")
