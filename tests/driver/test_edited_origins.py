"""Origins after text edits: what a person left alone keeps its origin, what was changed keeps its place's, counted."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from tests.driver import planted_origins as planted
from tests.driver.planted_origins import Score
from tests.driver.programs import small_session
from tests.nightly import some
from workbench.core.node import pre_order
from workbench.core.origin import ImportedFrom
from workbench.driver.origin_index import index_of
from workbench.driver.reattach import reattach
from workbench.driver.text import constants_in, parse_function
from workbench.relay.ir import expr as r
from workbench.tir import nodes as t

SEEDS = range(4)


@cache
def opened(seed: int) -> tuple[Any, dict[float, set[str]]]:
    import workbench as wb

    model, nodes = planted.planted_model(seed)
    return wb.open(model), nodes


def scores(session: Any, nodes: dict[float, set[str]], steps: tuple[str, ...]) -> tuple[Score, list[str]]:
    assert session.provenance.kernels
    total, wrong = Score(), []
    for step in steps:
        score, problems = planted.score_step(session, session.labels.index(step), nodes)
        total, wrong = total + score, [*wrong, *(f"{step}: {problem}" for problem in problems)]
    return total, wrong


# --- relay --------------------------------------------------------------------------------------------------------


def renamed(text: str) -> str:
    """Every bound name another one."""
    return re.sub(r"\bv(\d+)\b", r"renamed_\1", text)


def inserted(text: str) -> str:
    """A call in front of the first one of main's that is an operator by itself."""
    lines = text.split("\n")
    place = next(
        index for index, line in enumerate(lines) if re.search(r"= R\.(multiply|add|nn\.relu|maximum)\(", line)
    )
    found = re.match(r"(\s*)\w+ = R\.[\w.]+\((\w+)", lines[place])
    assert found is not None
    lines.insert(place, f"{found[1]}put_in = R.abs({found[2]})")
    lines[place + 1] = lines[place + 1].replace(f"({found[2]}", "(put_in", 1)
    return "\n".join(lines)


def exchanged(text: str) -> str:
    """Other operators in the place of some."""
    return text.replace("R.maximum(", "R.minimum(").replace("R.nn.relu(", "R.abs(")


RELAY_EDITS = {"renamed": renamed, "inserted": inserted, "exchanged": exchanged}


@pytest.mark.parametrize("edit", some(RELAY_EDITS, 2))
def test_relay_edits_keep_origins(edit: str) -> None:
    total, wrong, changed = Score(), [], 0
    for seed in SEEDS:
        session, nodes = opened(seed)
        at = "EliminateCommonSubexpr"
        text = session[at].program["main"].script()
        made = RELAY_EDITS[edit](text)
        changed += made != text
        edited = session.edit(relay={"main": made}, at=at)
        score, problems = scores(edited, nodes, ("Edit", "FuseOps", "Lower", "InsertPolls"))
        total, wrong = total + score, [*wrong, *problems]
    assert changed >= 3, "the edit changes nothing"
    assert total.planted > 100 and total.precision >= 0.95 and total.recall >= 0.95, f"{total}\n" + "\n".join(
        wrong[:10]
    )


def test_a_call_written_by_hand_comes_from_the_edit() -> None:
    session, _ = opened(0)
    at = "EliminateCommonSubexpr"
    edited = session.edit(relay={"main": inserted(session[at].program["main"].script())}, at=at)
    calls = [node for node in edited["Edit"].after.nodes() if isinstance(node, r.Call)]
    (made,) = [node for node in calls if any(label.kind == "edit" for label in edited.origins(node))]
    assert getattr(made.op, "name", "") == "abs"
    assert [label.kind for label in edited.origins(made)] == ["edit"]
    assert all({label.kind for label in edited.origins(node)} == {"onnx"} for node in calls if node is not made)


# --- tir ----------------------------------------------------------------------------------------------------------


def unrolled(text: str) -> str:
    return text.replace("T.serial(", "T.unroll(")


def loops_renamed(text: str) -> str:
    return re.sub(r"\b(i\d|ax\d|rc|rh|rw|k)\b(?!_)", r"\1_mine", text)


def noted(text: str) -> str:
    """A comment and an empty line after every block's head."""
    return re.sub(r"(with T\.block\(.*\):)", r"\1  # looked at", text)


def shifted(text: str) -> str:
    """Every constant that is a floating number, twice: the statements that hold them are other ones."""
    return re.sub(r"T\.float32\((-?\d+\.\d+)\)", r"T.float32(\1) + T.float32(0.0)", text)


TIR_EDITS = {"unrolled": unrolled, "loops renamed": loops_renamed, "noted": noted, "shifted": shifted}


@pytest.mark.parametrize("edit", some(TIR_EDITS, 2))
def test_tir_edits_keep_origins(edit: str) -> None:
    total, wrong = Score(), []
    for seed in SEEDS:
        session, nodes = opened(seed)
        program = session["Schedule"].program
        texts = {name: program[name].script() for name in program if name != "main"}
        edited = session.edit(tir={name: TIR_EDITS[edit](text) for name, text in texts.items()})
        score, problems = scores(
            edited, nodes, tuple(label for label in ("Edit", "InsertPolls") if label in edited.labels)
        )
        total, wrong = total + score, [*wrong, *problems]
    assert total.planted > 50 and total.precision >= 0.95 and total.recall >= 0.95, f"{total}\n" + "\n".join(wrong[:10])


def counts(session: Any, step: str, change: Any) -> tuple[int, int]:
    """(matched, added) over all kernels of a step, after a change of text."""
    matched = added = 0
    module = session[step].after
    for name in module.names():
        text = session[step].program[name].script()
        found = reattach(parse_function(change(text), constants_in(module)), module[name], name)
        matched, added = matched + len(found.pairs), added + len(found.added)
    return matched, added


@pytest.mark.parametrize("step", ["Import", "FuseOps", "Schedule", "InsertPolls"])
def test_the_same_text_matches_whole(step: str) -> None:
    matched, added = counts(small_session(), step, lambda text: text)
    assert added == 0 and matched > 20


def test_counts_of_what_is_matched() -> None:
    """One statement more is one statement added; a moved one and a changed one are found."""
    text = (
        '@T.prim_func\ndef f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"),'
        ' C: T.Buffer((8,), "float32")):\n'
        "    for i in T.serial(8):\n        B[i] = A[i] + T.float32(1.5)\n"
        "    for j in T.serial(8):\n        C[j] = A[j] * T.float32(2.5)\n"
    )
    loops = text.split("    for ")
    variants = {
        "added": text.replace("        C[j]", "        B[j] = T.float32(0.0)\n        C[j]"),
        "moved": loops[0] + "    for " + loops[2] + "    for " + loops[1],
        "changed": text.replace("2.5", "3.5").replace("range(8)", "range(4)"),
        "wrapped": text.replace(
            "    for j in T.serial(8):\n        C", "    for j in T.serial(8):\n        if j < 4:\n            C"
        ),
    }
    old = parse_function(text)
    pairs = {}
    for name, changed in variants.items():
        found = reattach(parse_function(changed), old, "f")
        pairs[name] = (len(found.pairs), [type(node).__name__ for node in found.added])
        for new, before in found.pairs:
            if isinstance(new, t.BufferStore):
                assert isinstance(before, t.BufferStore) and new.buffer.name == before.buffer.name
    assert pairs == {
        "added": (4, ["BufferStore"]),
        "moved": (4, []),
        "changed": (4, []),
        "wrapped": (4, ["IfThenElse"]),
    }


# --- schedules ----------------------------------------------------------------------------------------------------


def test_a_schedule_made_by_hand_keeps_origins() -> None:
    """Its primitives ran outside the session: the trace is replayed for the origins."""
    session = small_session()
    kernel = next(name for name in session.kernels if "relu" in name)
    schedule = session.schedule(kernel)
    last = schedule.get_block("relu")
    schedule.unroll(schedule.get_loops(last)[0])
    edited = session.edit(schedule={kernel: schedule})
    assert edited.provenance.kernels
    for step in ("Schedule", "InsertPolls"):
        ours, theirs = edited[step].after[kernel], session[step].after[kernel]
        assert [origin_names(edited, node) for node in stores(ours)] == [
            origin_names(session, node) for node in stores(theirs)
        ]


def stores(function: Any) -> list[Any]:
    return [node for node in pre_order(function) if isinstance(node, t.BufferStore)]


def origin_names(session: Any, node: Any) -> list[str]:
    return [label.name for label in session.origins(node) if isinstance(label, ImportedFrom)]


def test_every_statement_has_an_origin_after_an_edit() -> None:
    session = small_session()
    kernel = next(name for name in session.kernels if "softmax" in name)
    text = session["Schedule"].program[kernel].script()
    edited = session.edit(tir={kernel: text.replace("T.serial(", "T.unroll(")})
    assert edited.provenance.kernels
    known = index_of(edited)[edited.labels.index("InsertPolls")]
    for node in pre_order(edited["InsertPolls"].after[kernel]):
        if isinstance(node, t.Stmt):
            assert {label.name for label in known.sources_of(node)} == {"Softmax#9 ('soft')"}, node


def test_a_text_edit_that_is_merged_keeps_the_origins_of_its_lines() -> None:
    """All of them came from the function as a whole: what a merge says on its way was taken for the edit's."""
    session = small_session()
    kernel = next(name for name in session.kernels if "T.serial(" in session.tir[name].script() and "conv" in name)
    text = session.tir[kernel].script()

    def by_hand(made: Any) -> Any:
        return made.edit(tir={kernel: made.tir[kernel].script().replace("T.serial(", "T.unroll(", 1)})

    def upstream(made: Any) -> Any:
        """Another attribute in the kernel's graph."""
        step = made["FuseOps"]
        changed = re.sub(r"padding=\(1, 1, 1, 1\)", "padding=(1, 0, 1, 2)", step.program["main"].script(), count=1)
        assert changed != step.program["main"].script()
        return step.edit(changed)

    assert "T.serial(" in text
    first, second = upstream(by_hand(session)), by_hand(upstream(session))
    told = [origin_kinds(made, kernel) for made in (first, second)]
    assert told[0] == told[1] and any(kind == "For" for _, kinds in told[0] for kind in kinds)


def origin_kinds(session: Any, kernel: str) -> list[tuple[str, tuple[str, ...]]]:
    """Of the statements of a kernel that was edited last: what they come from in the step before."""
    label = [one for one in session.labels if one.startswith("Edit")][-1]
    step, function = session[label].step, session[label].after[kernel]
    own = [node for node in pre_order(function) if isinstance(node, t.Stmt)]
    return [(type(one).__name__, tuple(sorted(type(o).__name__ for o in step.origins.of(one)))) for one in own]
