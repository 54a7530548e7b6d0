"""Values in nodes: nobody changes them later, they are text that can be written, and fingerprints tell them apart."""

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import relay, te, tir
from workbench.core.equal import fingerprint
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.node import FrozenMap

X = relay.var("x", shape=(4,))
ADD = relay.Function([X], relay.add(X, relay.const(np.float32(1))))
LONE = "k\ud800"


def _changes(value: Any) -> None:
    """Change a container and what stands in it."""
    if isinstance(value, list):
        for item in value:
            _changes(item)
        value.append("more")
    elif isinstance(value, dict):
        for item in value.values():
            _changes(item)
        value["more"] = 1
    elif isinstance(value, (np.ndarray, bytearray)):
        value[0] = 7


@pytest.mark.parametrize(
    "value", [["a"], {"a": 1}, ("a", ["b"]), [{"a": [1]}], {"a": ["b"]}, bytearray(b"ab"), np.zeros(3, "float32")],
    ids=str,
)  # fmt: skip
def test_an_attribute_is_a_value(value: Any) -> None:
    function = ADD.with_attr("k", value)
    module = IRModule.from_expr(function).with_attr("k", value)
    before = [fingerprint(function), module.fingerprint(), repr(function.attrs["k"])]
    _changes(list(value) if isinstance(value, tuple) else value)
    assert [fingerprint(function), module.fingerprint(), repr(function.attrs["k"])] == before


def test_a_long_array_has_a_fingerprint_of_all_its_elements() -> None:
    one, other = np.zeros(5000), np.zeros(5000)
    other[2500] = 1
    assert fingerprint(ADD.with_attr("k", one)) != fingerprint(ADD.with_attr("k", other))


def test_lists_given_to_other_nodes_are_copied_too() -> None:
    given = [1, 2]
    a = te.placeholder((4,), name="A")
    function = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1.0, name="C", attrs={"k": given})])
    params = list(function.params)
    again = tir.PrimFunc(params, function.body)  # type: ignore[arg-type]
    before = fingerprint(function), fingerprint(again)
    given.append(3)
    params.pop()
    assert (fingerprint(function), fingerprint(again)) == before


PAIRS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"a,b": 1, "c": 2}, {"a": 1, "b,c": 2}),
    ({"a:": 1}, {"a": 1}),
    ({"": 1}, {"''": 1}),
    ({"'a'": 1, "b": 1}, {"a": 1, "b": 1}),
    ({"a','b": 1, "c": 1}, {"a": 1, "b','c": 1}),
    ({LONE: 1}, {"k\\ud800": 1}),
]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_keys_are_told_apart_by_fingerprints(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    one, other = (_unchecked(items) for items in pair)
    assert fingerprint(one) != fingerprint(other), f"{pair} have one fingerprint"


def _unchecked(items: dict[str, Any]) -> FrozenMap:
    """Whatever the keys are: what a map refuses today has a fingerprint all the same."""
    made = FrozenMap()
    made._items = items
    return made


@pytest.mark.parametrize(
    "make",
    [
        lambda: FrozenMap({LONE: 1}),
        lambda: FrozenMap({"k": LONE}),
        lambda: ADD.with_attr(LONE, "v"),
        lambda: ADD.with_attr("k", ("a", [LONE])),
        lambda: IRModule({LONE: ADD}),
        lambda: IRModule.from_expr(ADD).with_attr(LONE, 1),
        lambda: relay.var(LONE, shape=(4,)),
        lambda: relay.GlobalVar(LONE),
        lambda: te.placeholder((4,), name=LONE),
        lambda: te.var(LONE),
        lambda: tir.decl_buffer((4,), name=LONE),
    ],
)
def test_text_that_cannot_be_written_is_refused_where_it_enters(make: Any) -> None:
    with pytest.raises(WorkbenchError) as raised:
        make()
    assert raised.value.code == "E-TEXT-SURROGATE"
    str(raised.value).encode()


def test_other_text_stays_welcome() -> None:
    assert FrozenMap({"größe": "値 😀"})["größe"] == "値 😀"


def _loops() -> tir.Schedule:
    a = te.placeholder((4,), name="A")
    return tir.Schedule(te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1.0, name="C")]))


@pytest.mark.parametrize(
    "step",
    [
        lambda sch, loop: sch.annotate(loop, LONE, 1),
        lambda sch, loop: sch.annotate(loop, "k", LONE),
        lambda sch, loop: sch.annotate(loop, "k", [1, [LONE]]),
        lambda sch, loop: sch.cache_write("C", 0, LONE),
        lambda sch, loop: sch.annotate_buffer_access("C", LONE, "write", "lambda i: i"),
    ],
)
def test_a_schedule_refuses_it_and_stays_as_it_was(step: Any) -> None:
    schedule = _loops()
    before = schedule.func
    with pytest.raises(WorkbenchError) as raised:
        step(schedule, schedule.get_loops("C")[0])
    assert raised.value.code in ("E-SCHEDULE-ARGUMENT", "E-TEXT-SURROGATE") and schedule.func is before
    str(raised.value).encode()


def test_a_screen_of_such_a_schedule_still_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.ui.workbench import Workbench

    monkeypatch.setenv("WORKBENCH_CHANGES", "off")
    schedule = _loops()
    session = wb.open(schedule.func)
    screen = Workbench(session.edit(schedule={session.kernels[0]: schedule}), schedule)
    with pytest.raises(WorkbenchError):
        schedule.annotate(schedule.get_loops("C")[0], LONE, 1)
    for op in ("open", "pipeline.open", "schedule.open"):
        answer = screen.ask(op, kernel=session.kernels[0]).content
        assert answer["ok"], (op, answer)


@pytest.mark.parametrize("text", ['"noalias": True, "k\\ud800": 1', '"noalias": True, "k": "\\U0000dcff"'])
def test_an_escape_in_a_program_is_refused_at_its_line(text: str) -> None:
    session = wb.open(_loops().func)
    name = session.kernels[0]
    script = session.tir[name].script()
    assert '"noalias": True' in script and text.isascii()
    with pytest.raises(WorkbenchError, match="lone surrogate") as raised:
        session.edit(tir={name: script.replace('"noalias": True', text)})
    assert "line" in raised.value.where and "T.func_attr" in str(raised.value)


def test_an_escape_in_a_graph_is_refused_too() -> None:
    script = IRModule.from_expr(ADD.with_attr("k", "v")).script()
    with pytest.raises(WorkbenchError, match="lone surrogate"):
        wb.open(IRModule.from_expr(ADD)).edit(relay=script.replace('"v"', '"\\ud800"'))
