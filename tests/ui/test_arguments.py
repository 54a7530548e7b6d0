"""Junk in place of each argument of each command: one E-UI-ARGUMENT, never a failure inside."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.nightly import examples
from tests.ui.commands import WITHOUT, graph_screen, of_the_graph, of_the_schedule, schedule_screen
from workbench.ui.workbench import Workbench


def _deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


NEVER: dict[str, Any] = {
    "a lone surrogate": "\ud800", "one in a list": ["\udfff"], "one in a name": {"\ud800": 1}, "NaN": math.nan,
    "infinity": [math.inf], "a huge number": 10**30, "a huge negative one": [-(2**70)], "lists in lists": _deep(200),
    "names in names": {"a": _deep(100)},
}  # fmt: skip
"""What is no argument of any command, whatever its type."""
WRONG: dict[type, list[Any]] = {
    str: [5, None, [], {}, True, 1.5], int: ["1", None, [1], {}, True, 1.5], list: ["x", 5, {}, [[1]], [{}], [True]],
    dict: ["x", 5, []], bool: ["x", 5, None, []],
}  # fmt: skip
"""By the type of an argument what is of another type."""


OPTIONAL = ("seen", "rewrite", "number", "index", "opened", "axes")
"""Arguments that some commands do without: null is as good as none."""


class Screens:
    """Both screens with the arguments of all their commands."""

    def __init__(self) -> None:
        graph, schedule = graph_screen(), schedule_screen()
        self.table: dict[str, tuple[Workbench, dict[str, Any]]] = {
            **{op: (graph, args) for op, args in of_the_graph(graph).items()},
            **{op: (schedule, args) for op, args in of_the_schedule(schedule).items()},
            **{op: (graph, {}) for op in WITHOUT},
        }

    def code(self, op: str, args: dict[str, Any]) -> str:
        """The code of the refusal; empty where it is answered."""
        content = self.table[op][0].ask(op, **args).content
        return "" if content["ok"] else str(content["err"]["code"])


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("written"))
        yield Screens()


def test_the_table_has_every_command_of_the_screen(screens: Screens) -> None:
    assert set(screens.table) == set(screens.table["open"][0]._dispatcher._commands)


def test_every_argument_of_a_wrong_kind_is_refused_by_its_name(screens: Screens) -> None:
    wrong: list[str] = []
    for op, (screen, args) in screens.table.items():
        for name, good in args.items():
            for junk in WRONG[type(good)]:
                if junk is None and name in OPTIONAL:
                    continue
                others = {key: value for key, value in args.items() if key != "seen" or op == "lens.release"}
                content = screen.ask(op, **{**others, name: junk}).content
                code = content["err"]["code"] if not content["ok"] else "answered"
                if code != "E-UI-ARGUMENT":
                    wrong.append(f"{op} {name}={junk!r}: {code}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", NEVER)
def test_what_is_no_argument_at_all_is_refused_everywhere(screens: Screens, name: str) -> None:
    answered = set[str]()
    for op, (_, args) in screens.table.items():
        for place in args or ["other"]:
            if screens.code(op, args | {place: NEVER[name]}) != "E-UI-ARGUMENT":
                answered.add(f"{op} {place}")
    assert answered == set()




NUMBERED = (
    ("branches.whole", {"number": -1}), ("branch", {"number": -1}), ("compare", {"number": -1}),
    ("measure", {"number": -1}), ("beside", {"start": -1}), ("lines", {"count": 10**9}), ("place", {"line": 0}),
    ("pipeline.select", {"rewrite": -1}), ("tensors.look", {"number": -1}), ("take_back", {"number": 0}),
    ("lens.reuse", {"line": 0}), ("lens.reuse", {"line": -1}), ("lens.simulate", {"size": 2**53}),
    ("lens.iterations", {"axes": ["vi"]}), ("pipeline.text", {"side": "middle"}), ("find", {"text": "/(/"}),
    ("share.journal", {"name": "../up"}), ("share.page", {"name": "a/b"}), ("share.python", {"place": "a\nb"}),
    ("views.keep", {"name": "  "}),
)  # fmt: skip


@pytest.mark.parametrize(("op", "junk"), NUMBERED, ids=lambda one: str(one))
def test_values_that_are_out_of_reach_are_refused(screens: Screens, op: str, junk: dict[str, Any]) -> None:
    assert screens.code(op, screens.table[op][1] | junk) == "E-UI-ARGUMENT"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(sorted(NEVER)).map(NEVER.get),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=6,
)  # fmt: skip
NUMBERS = st.integers(-3, 3) | st.sampled_from([-(2**53), 2**53, 2**31, -(2**63)])
SLOW = ("share.page", "checks.start", "branches.whole", "schedule.time_here", "changes.restore", "bundle")


@given(data=st.data())
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_no_arguments_make_a_command_fail_inside(screens: Screens, data: st.DataObject) -> None:
    op = data.draw(st.sampled_from(sorted(set(screens.table) - set(SLOW))))
    args = {name: value for name, value in screens.table[op][1].items() if name != "seen" or op == "lens.release"}
    good = [value for _, given in screens.table.values() for value in given.values() if not isinstance(value, dict)]
    chosen = data.draw(st.lists(st.sampled_from([*args, "other"]), min_size=1, max_size=3))
    code = screens.code(op, args | {name: data.draw(st.sampled_from(good) | NUMBERS | JSON) for name in chosen})
    assert code != "E-INTERNAL", (op, chosen)
