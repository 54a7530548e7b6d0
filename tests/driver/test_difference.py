"""Differences of programs: what a step did, statement by statement, whatever the values are called."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.models import light_model
from tests.property.relay_checks import relay_passes
from tests.property.relay_programs import random_program
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.driver.difference import Difference, text_changes, text_difference
from workbench.driver.graph_difference import graph_changes
from workbench.driver.text import function_text
from workbench.relay.ir import expr as e
from workbench.relay.ir.listing import listing

WINOGRAD = "contrib_conv2d_winograd_without_weight_transform"
"""How some convolutions are computed: which, the length of vectors decides."""


@pytest.fixture(scope="module")
def resnet() -> Any:
    session = wb.open(light_model("resnet50")).without("AlterOpLayout")  # which layouts pay, the machine decides
    assert len(session.relay) == 1
    return session


def rows_by_sign(difference: Any) -> tuple[Counter[str], Counter[str]]:
    rows = [row for change in difference.changes for row in change.rows]
    return Counter(line for sign, line in rows if sign == "-"), Counter(line for sign, line in rows if sign == "+")


# --- what a step did ---


def test_alike_changes_are_one_kind(resnet: Any) -> None:
    difference = resnet["FuseOps"].diff()
    ways = {f"fuse: nn.{way} + add + nn.relu -> fused_{way}_add_relu" for way in ("conv2d", WINOGRAD)}
    convolutions = [kind for kind in difference.kinds if kind.title in ways]
    assert sum(len(kind.changes) for kind in convolutions) == 33 and len(convolutions) <= 2
    assert len(difference.kinds) <= 10
    assert sum(len(kind.changes) for kind in difference.kinds) == len(difference.changes) == 58


def test_a_display_opens_the_first_of_each_kind_and_at_most_forty_lines(resnet: Any) -> None:
    difference = resnet["FuseOps"].diff()
    shown = str(difference).split("\n")
    assert sum(line[0] in "+-" for line in shown) <= 40
    assert re.fullmatch(r"FuseOps: 58 changes of \d kinds, 586 lines", shown[0])
    for kind in difference.kinds:
        assert f"@ {kind.heading}" in shown, "a kind without room is still named"
    assert shown[-1].startswith("@") or any("more lines" in line for line in shown), "not all had room"


def test_what_a_rule_decomposes_and_what_folds_with_it_is_one_change(resnet: Any) -> None:
    assert [len(kind.changes) for kind in resnet["SimplifyInference"].diff().kinds] == [53]
    assert [len(kind.changes) for kind in resnet["FoldConstant"].diff().kinds] == [53]
    assert [kind.title for kind in resnet["FoldScaleAxis"].diff().kinds] == [
        "scale-after: nn.conv2d + multiply -> multiply + nn.conv2d"
    ]


def test_an_operator_edited_in_the_text_shows_itself_and_its_neighbours_only(resnet: Any) -> None:
    lines = resnet["FoldConstant#2"].program["main"].script().split("\n")
    places = [number for number, line in enumerate(lines) if "R.nn.relu(" in line]
    at = places[20]
    lines[at] = lines[at].replace("R.nn.relu(", "R.nn.leaky_relu(").replace(")", ", alpha=0.1)")
    edited = resnet["FoldConstant#2"].edit("\n".join(lines))
    (change,) = edited["Edit"].diff().changes
    assert [sign for sign, _ in change.rows] == [" ", "-", "+", " "], "what was taken out stands where the new one does"
    assert "nn.relu(" in change.rows[1][1] and "nn.leaky_relu(" in change.rows[2][1]


def test_an_operator_put_in_renames_nothing(resnet: Any) -> None:
    lines = resnet["FoldConstant#2"].program["main"].script().split("\n")
    at = next(number for number, line in enumerate(lines) if "R.nn.relu(" in line)
    name = lines[at].split(" = ")[0].strip()
    lines.insert(at + 1, f"    extra = R.nn.relu({name})")
    users = [number for number in range(at + 2, len(lines)) if f"({name}," in lines[number]]
    lines[users[0]] = lines[users[0]].replace(f"({name},", "(extra,")
    (change,) = resnet["FoldConstant#2"].edit("\n".join(lines))["Edit"].diff().changes
    assert change.size <= 4, change.rows


def test_what_is_read_before_a_change_is_shown_before_it() -> None:
    x = relay.var("x", shape=(4,))
    value = relay.nn.relu(relay.add(x, x))
    session = wb.open(relay.Function([x], relay.multiply(value, relay.exp(value))))
    changed = session.edit(relay=session["InferType"].script().replace("R.exp", "R.tanh"), at="InferType")
    lines = str(changed["Edit"].diff()).split("\n")[2:]
    assert [line[0] for line in lines] == [" ", "-", "+", " "]
    assert ["relu" in lines[0], "exp" in lines[1], "tanh" in lines[2], "multiply" in lines[3]] == [True] * 4


def test_branches_are_compared_by_what_they_stem_from(resnet: Any) -> None:
    lines = resnet["FoldConstant#2"].program["main"].script().split("\n")
    at = [number for number, line in enumerate(lines) if "R.nn.relu(" in line][20]
    lines[at] = lines[at].replace("R.nn.relu(", "R.nn.leaky_relu(").replace(")", ", alpha=0.1)")
    edited = resnet["FoldConstant#2"].edit("\n".join(lines))
    image = {"gpu_0/data_0": np.zeros((1, 3, 224, 224), np.float32)}
    (change,) = wb.compare(resnet, edited, image, repeat=1).diff("FuseOps").changes
    way = WINOGRAD if WINOGRAD in change.kind else "conv2d"
    assert change.kind == f"fused_{way}_add_relu -> fused_{way}_add_leaky_relu: alpha=0.1" and change.size <= 16


def test_sessions_that_share_no_step_are_compared_by_likeness() -> None:
    def opened(factor: float) -> Any:
        x = relay.var("x", shape=(4,), dtype="float32")
        return wb.open(relay.Function([x], relay.nn.relu(relay.multiply(relay.exp(x), relay.const(factor)))))

    (change,) = wb.compare(opened(2.0), opened(3.0), {"x": np.ones(4, np.float32)}).diff("InferType").changes
    assert change.kind == "multiply changed: 2.0 -> 3.0" and change.size == 2


def test_a_step_that_changed_nothing_says_nothing(resnet: Any) -> None:
    difference = resnet["InferType"].diff()
    assert not difference and str(difference) == "" and difference.summary == "InferType: nothing changed"


def test_functions_that_appear_are_one_kind(resnet: Any) -> None:
    kinds = {kind.title: kind for kind in resnet["Lower"].diff().kinds}
    assert len(kinds["functions new"].changes) == len(resnet.kernels)
    first = wb.open(relay.Function([], relay.const(1.0)))["Import"].diff()
    assert [kind.title for kind in first.kinds] == ["functions new"]


def test_parameters_and_results_are_the_functions_own_lines() -> None:
    x, y = (relay.var(name, shape=(4,), dtype="float32") for name in "xy")
    session = wb.open(relay.Function([x, y], relay.exp(x)))
    text = session["InferType"].script().replace("return v0", "return y")
    (change, gone) = session["InferType"].edit(text)["Edit"].diff().changes
    assert change.kind == "the function's own lines"
    assert [line.strip() for _, line in change.rows] == ["return v0", "return y"]
    assert gone.kind == "exp gone"


def test_a_step_that_failed_differs_in_nothing() -> None:
    @wb.transform.module_pass(opt_level=0, name="Fails")
    def fails(module: Any, context: Any) -> Any:
        raise WorkbenchError("E-TEST", "not today")

    x = relay.var("x", shape=(4,), dtype="float32")
    session = wb.open(relay.Function([x], relay.exp(x))).rerun(insert={"InferType": fails})
    assert session["Fails"].error is not None and not session["Fails"].diff()


# --- texts ---


def test_stretches_of_text_that_differ_alike_are_of_one_kind() -> None:
    before = "for i in range(8):\n    a = 1\nx\ny\nz\nfor j in range(16):\n    b = 1"
    after = before.replace("range(8)", "range(4)").replace("range(16)", "range(2)")
    kinds = text_difference("t", before, after).kinds
    assert [(kind.title, len(kind.changes)) for kind in kinds] == [
        ("for i in range(8): -> for i in range(4):", 1),
        ("for j in range(16): -> for j in range(2):", 1),
    ]
    before = "a1 = load(1)\nx\nx\ny\ny\nz\na2 = load(2)"
    changes = text_changes("t", before, before.replace("load", "fetch"), exact=False)
    (kind,) = Difference("a pass", changes).kinds
    assert (kind.title, len(kind.changes)) == ("a# = load(#) -> a# = fetch(#)", 2)
    edited = before.replace("load(1)", "load(7)").replace("load(2)", "load(7)")
    assert len(text_difference("an edit", before, edited).kinds) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("R.const(2.0", "R.const(3.0"), ("R.const(-2.0", "R.const(-3.0")),
        (("((0, 1), (1, 0))", "((2, 3), (3, 2))"), ("((1, 0), (0, 1))", "((3, 2), (2, 3))")),
    ],
    ids=["signs", "order"],
)
def test_every_edit_that_reads_otherwise_is_written_out(old: tuple[str, str], new: tuple[str, str]) -> None:
    x = relay.var("x", shape=(4, 4))
    parts = [relay.multiply(relay.exp(x), relay.const(2.0)), relay.multiply(relay.tanh(x), relay.const(3.0))]
    parts += [relay.nn.pad(one, pads) for one, pads in zip(parts, [((0, 1), (1, 0)), ((2, 3), (3, 2))], strict=True)]
    session = wb.open(relay.Function([x], relay.Tuple(parts)))
    text = session["InferType"].script()
    for one, other in zip(old, new, strict=True):
        assert text.count(one) == 1, text
        text = text.replace(one, other)
    difference = session["InferType"].edit(text)["Edit"].diff()
    assert len(difference.kinds) == 2 and all(part in str(difference) for part in new)


def test_edits_that_read_alike_but_for_names_are_one_kind() -> None:
    x = relay.var("x", shape=(4,))
    values = [build(x) for build in (relay.exp, relay.tanh, relay.sin, relay.cos)]
    body = relay.Tuple([relay.subtract(*values[:2]), relay.subtract(*values[2:])])
    session = wb.open(relay.Function([x], body))
    text = session["InferType"].script()
    for one, other in (("(v0, v1)", "(v1, v0)"), ("(v3, v4)", "(v4, v3)")):
        assert f"R.subtract{one}" in text, text
        text = text.replace(f"R.subtract{one}", f"R.subtract{other}")
    (kind,) = session["InferType"].edit(text)["Edit"].diff().kinds
    assert len(kind.changes) == 2


def test_lines_around_a_change_are_unchanged_ones() -> None:
    """They were taken from the next change as well, and shown as what stays."""
    before, after = "a\nb\nc\nd\ne\nf", "a\nB\nc\nD\ne\nf"
    rows = [change.rows for change in text_changes("", before, after)]
    assert rows == [
        ((" ", "a"), ("-", "b"), ("+", "B"), (" ", "c")),
        ((" ", "c"), ("-", "d"), ("+", "D"), (" ", "e"), (" ", "f")),
    ]
    x, weight = relay.var("x", shape=(4, 8)), relay.const(np.ones((16, 8), np.float32))
    session = wb.open(relay.Function([x], relay.tanh(relay.nn.relu(relay.nn.dense(x, weight)))))
    for step in session.steps[session.labels.index("Lower") : -1]:
        changes = step.diff().changes
        for name in {change.function for change in changes if change.function in step.before}:
            old = Counter(function_text(name, step.before[name]).text.split("\n"))
            gone, stay = (
                Counter(line for change in changes if change.function == name for s, line in change.rows if s == sign)
                for sign in "- "
            )
            assert all(old[line] > gone[line] for line in stay), (step.label, name)


def test_edits_that_have_only_the_operator_in_common_are_told_apart() -> None:
    """Only the first of "clip changed" was written out: the second edit stood nowhere."""
    x = relay.var("x", shape=(2, 2))
    parts = [relay.clip(relay.exp(x), 0.0, 6.0), relay.clip(relay.tanh(x), 0.0, 1.0)]
    parts += [relay.add(relay.sqrt(x), relay.const(1.0)), relay.add(relay.sin(x), relay.const(2.0))]
    session = wb.open(relay.Function([x], relay.Tuple(parts)))
    text = session["InferType"].script()
    for old, new in (
        ("a_max=6.0", "a_max=7.0"), ("a_min=0.0, a_max=1.0", "a_min=-5.0, a_max=1.0"),
        ("R.add(v4, R.const(1.0", "R.add(v4, R.const(10.0"), ('R.add(v6, R.const(2.0, "float32"))', "R.add(v6, v6)"),
    ):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    difference = session["InferType"].edit(text)["Edit"].diff()
    assert [(kind.title, len(kind.changes)) for kind in difference.kinds] == [
        ("clip changed: a_max=6.0 -> a_max=7.0", 1),
        ("clip changed: a_min=0.0 -> a_min=-5.0", 1),
        ("add changed: 1.0 -> 10.0", 1),
        ('add changed: 2.0, "float32"', 1),
    ]
    assert all(word in str(difference) for word in ("a_max=7.0", "a_min=-5.0", "R.const(10.0", "R.add(v6, v6)"))


def test_edits_of_loops_that_begin_alike_are_told_apart() -> None:
    x, y = relay.var("x", shape=(8, 8)), relay.var("y", shape=(4, 8))
    products = [relay.multiply(one, relay.const(np.float32(by))) for one, by in ((x, 2), (y, 3))]
    session = wb.open(relay.Function([x, y], relay.Tuple(products)))
    first, second = session.kernels
    texts = {name: session.tir[name].script() for name in (first, second)}
    texts = {name: text.replace('"tag": "broadcast"', '"tag": "elemwise"') for name, text in texts.items()}
    texts[second] = texts[second].replace("T.float32(3.0)", "T.float32(100.0)")
    difference = session.edit(tir=texts)["Edit"].diff()
    assert "T.float32(100.0)" in str(difference) and len(difference.kinds) > 1


def test_a_long_kind_is_cut_in_its_heading_only() -> None:
    x = relay.var("x", shape=(4,))

    def chain(value: Any, last: Any) -> Any:
        for name in ("exp", "tanh", "sigmoid", "cos", "sin", "atan", "floor", "ceil", "round", "trunc", "sign", "erf"):
            value = getattr(relay, name)(value)
        return last(value)

    body = relay.Tuple([chain(x, relay.sqrt), chain(relay.negative(x), relay.rsqrt)])
    kinds = wb.open(relay.Function([x], body))["FuseOps"].diff().kinds
    fused = [kind for kind in kinds if "tanh" in kind.title]
    assert len(fused) == 2 and all(len(kind.heading) < 140 and len(kind.title) > 100 for kind in fused)


@pytest.mark.parametrize(("before", "after"), [("", "a"), ("a", ""), ("", ""), ("a\nb", "b\na"), ("\n\n", "\n")])
def test_every_line_that_differs_is_in_a_change(before: str, after: str) -> None:
    changes = text_changes("f", before, after)
    assert (before.rstrip("\n") != after.rstrip("\n")) == bool(changes)
    removed, added = rows_by_sign(Difference("t", changes))
    assert Counter(before.rstrip("\n").split("\n") if before else []) - removed + added >= Counter()


# --- the invariants, on random programs and passes ---


@pytest.mark.parametrize("begin", range(0, 200, 50))
def test_lines_taken_out_and_put_in_lead_from_one_text_to_the_other(begin: int) -> None:
    """On random programs and single passes: no line is lost, invented or shown twice."""
    changed = 0
    for seed in range(begin, begin + 50):
        module = relay.transform.InferType()(random_program(seed).mod)
        passes = sorted(relay_passes())
        session = wb.open(module)
        try:
            inserted = session.rerun(insert={"Import": passes[seed % len(passes)]})
            step = inserted[1].step
        except WorkbenchError:
            continue
        if step.error is not None or not step.changed:
            continue
        changed += require_whole(step)
    assert changed >= 3, "hardly any pass changed a program"


def require_whole(step: Any) -> int:
    from workbench.driver.difference import step_difference

    before, after = step.previous.stage.module, step.stage.module
    by_function: dict[str, list[Any]] = {}
    for change in step_difference(step).changes:
        by_function.setdefault(change.function, []).append(change)
    for name, changes in by_function.items():
        one, other = before.functions.get(name), after.functions.get(name)
        if not isinstance(one, e.Function) or not isinstance(other, e.Function):
            continue
        removed, added = rows_by_sign(Difference("", tuple(changes)))
        old, new = listing(one, name), listing(other, name)
        assert sum(removed.values()) <= len(old.lines) and sum(added.values()) <= len(new.lines)
        assert len(old.lines) - sum(removed.values()) + sum(added.values()) == len(new.lines)
    return 1


def test_what_a_pass_makes_again_without_saying_from_what_is_taken_for_what_it_is_like() -> None:
    def program(last: Any) -> Any:
        x = relay.var("x", shape=(4, 4))
        y = relay.add(relay.exp(x), relay.const(np.float32(1)))
        return wb.IRModule.from_expr(relay.Function([x], relay.Tuple([relay.multiply(last(y), y), y])))

    def again(last: Any) -> Any:
        @relay.transform.module_pass(opt_level=0, name="Again")
        def made(module: Any, context: Any) -> Any:
            return program(last)

        return wb.open(program(relay.tanh)).rerun(insert={"InferType": made})["Again"]

    assert not again(relay.tanh).diff()
    (change,) = again(relay.sigmoid).diff().changes
    assert change.kind == "tanh -> sigmoid" and change.size == 2


def test_constants_of_the_functions_own_lines_are_short() -> None:
    x, held = relay.var("x", shape=(4, 4)), relay.const(np.ones((4, 4), "float32"))
    session = wb.open(relay.Function([x], relay.Tuple([relay.exp(x), relay.negative(relay.negative(held))])))
    rows = [line for step in session.steps[:10] for change in step.diff().changes for _, line in change.rows]
    assert rows and not [line for line in rows if len(line) > 140]


def test_programs_without_known_origins_are_all_gone_and_all_new() -> None:
    x = relay.var("x", shape=(4,), dtype="float32")
    before, after = relay.Function([x], relay.exp(x)), relay.Function([x], relay.log(x))
    changes = graph_changes("f", listing(before, "f"), after, lambda node: (), {})
    assert [change.kind for change in changes] == ["the function's own lines", "exp gone", "log new"]
