"""Texts of a person or of a stranger's page: whatever stands in them, one refusal, never a failure inside."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.asking import refused
from tests.ui.commands import KERNEL, graph_screen, of_the_graph, schedule_screen
from workbench.views.editor_forms import offered

DEEP = {
    "calls in calls": "()" * 500, "many signs": "-" * 5000 + "1", "a long sum": "+".join(["1"] * 20_000),
    "many brackets": "[" * 5000, "lists in lists": "[" * 150 + "]" * 150, "attributes": "a" + ".a" * 5000,
    "a list as a key": "{[]: 1}", "a NUL": "a\0b", "a long number": "9" * 5000, "half an escape": "'\\x1'",
    "subscripts": "a" + "[0]" * 3000, "lambdas": "lambda i:" * 3000 + "i",
    "powers": "2**" * 3000 + "2", "nots": "not " * 3000 + "1",
}  # fmt: skip
"""Texts that Python's own parser, or what walks its trees, gives up at."""
FAILED = ("E-INTERNAL", "E-UI-MEMORY")
ODD: list[Any] = [
    "l:C:x", "l:C:²", "l:C:" + "9" * 5000, "l::", "l:", "b:", "b:nothing", "l:nothing:0", "l:C:-1", "l:C:99", ["l:C:x"],
    [["b:"]], True, False, -1, 0, 5, 1.5, [], [True], {}, {"a": 1}, [{}], "", " ", "x", "𝔘", *DEEP.values(),
]  # fmt: skip


@pytest.fixture(scope="module")
def schedule() -> Any:
    return schedule_screen()


@pytest.fixture(scope="module")
def graph() -> Any:
    return graph_screen()


@pytest.mark.parametrize("entry", offered(), ids=lambda entry: entry.name)
def test_no_text_in_a_primitives_form_fails_inside(schedule: Any, entry: Any) -> None:
    wrong: list[str] = []
    for item in entry.parameters:
        for junk in ODD:
            for selection in ("l:C:0", "b:C"):
                asked = {"primitive": entry.name, "selection": selection, "arguments": {item.name: junk}}
                content = schedule.ask("schedule.preview", kernel="main", **asked).content
                if not content["ok"] and content["err"]["code"] in FAILED:
                    wrong.append(f"{item.name}={junk!r:.40} at {selection}: {content['err']}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("box", ["l:C:x", "l:C:²", "l:C:" + "9" * 5000])
def test_a_box_of_no_number_is_told_as_such(schedule: Any, box: str) -> None:
    error = refused(
        schedule, "schedule.apply", kernel="main", primitive="fuse", selection="l:C:0", arguments={"loops": [box]}
    )
    assert error["code"] == "E-SCHEDULE-SELECTION" and error["found"].startswith("'l:C:")
    assert error["where"] and error["expected"] and error["fix"]


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("around", ["{}", "sch.fuse({})", "sch.annotate('C', 'a', {})", "x = sch.get_block({})"])
def test_code_that_python_gives_up_at_is_refused(schedule: Any, name: str, around: str) -> None:
    error = refused(schedule, "schedule.replay", kernel="main", code=around.format(DEEP[name]))
    assert error["code"].startswith("E-SCHEDULE-"), error
    assert error["where"].startswith("line 1") and error["found"], error


@pytest.mark.parametrize("name", DEEP)
def test_texts_of_a_graphs_screen_that_python_gives_up_at_are_refused(graph: Any, name: str) -> None:
    table = of_the_graph(graph)
    failing: list[str] = []
    for op, place in (
        ("set_attribute", "text"), ("pipeline.edit", "text"), ("find", "text"), ("target.set", "text"),
        ("views.keep", "name"), ("share.python", "place"), ("pipeline.insert", "name"), ("graph", "step"),
    ):  # fmt: skip
        args = {key: value for key, value in table[op].items() if key != "seen"}
        content = graph.ask(op, **args | {place: DEEP[name]}).content
        if not content["ok"] and content["err"]["code"] in FAILED:
            failing.append(f"{op} {place}: {content['err']}")
    for op in ("pipeline.options", "pipeline.insert"):
        args = {key: value for key, value in table[op].items() if key != "seen"}
        content = graph.ask(op, **args | {"values": {"fold_qnn": DEEP[name]}}).content
        if not content["ok"] and content["err"]["code"] in FAILED:
            failing.append(f"{op}: {content['err']}")
    assert not failing, "\n".join(failing)
    assert KERNEL in graph.session.kernels
