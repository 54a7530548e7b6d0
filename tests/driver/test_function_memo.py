"""After an edit of one kernel the others are neither lowered nor compiled again, and nothing else is different."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_inputs, small_model
from workbench import relay
from workbench.codegen.llvm import cache
from workbench.driver.function_memo import FunctionMemo
from workbench.driver.open import open_session


def facts(session: object) -> tuple[object, ...]:
    """What the steps of a session say besides their programs: origins and rewrites, as text."""
    found: list[object] = []
    for handle in session.steps:  # type: ignore[attr-defined]
        origins = sorted(
            (type(node).__name__, sorted(type(source).__name__ for source in sources))
            for node, sources in handle.step.origins.items()
        )
        firings = [firing.rule.name for firing in handle.rewrites]
        found.append((handle.name, origins, firings, handle.changed))
    return tuple(found)


def edited(session: object, kernel: str) -> object:
    """The session with the first loop of a kernel unrolled by hand."""
    text = session.tir[kernel].script()  # type: ignore[attr-defined]
    changed = text.replace("T.serial(", "T.unroll(", 1)
    assert changed != text
    return session.edit(tir={kernel: changed})  # type: ignore[attr-defined]


def loop_kernel(session: object) -> str:
    return next(name for name in session.kernels if "T.serial(" in session.tir[name].script())  # type: ignore[attr-defined]


def test_an_edit_leaves_the_other_kernels_as_they_are() -> None:
    session = open_session(small_model())
    session.build()
    kernel = loop_kernel(session)
    other = edited(session, kernel)
    before = cache.counts.compiled
    other.build()  # type: ignore[attr-defined]
    assert cache.counts.compiled - before <= 1
    one, two = session.steps[-2].after, other.steps[-2].after  # type: ignore[attr-defined]
    assert [name for name in one.names() if one[name] is not two[name]] == [kernel]
    expected = session.run(small_inputs())["y"]
    assert (abs(other.run(small_inputs())["y"] - expected) < 1e-6).all()  # type: ignore[attr-defined]


def test_origins_and_rewrites_are_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session(small_model())
    session.build()
    kernel = loop_kernel(session)
    remembered = facts(edited(session, kernel))
    monkeypatch.setattr(FunctionMemo, "run", lambda self, chosen, module: chosen(module))
    anew = open_session(small_model())
    assert facts(edited(anew, kernel)) == remembered


def sum_and_difference() -> object:
    """Two inputs, two outputs, two kernels that share an input."""
    x, y = relay.var("x", shape=(4, 8)), relay.var("y", shape=(4, 8))
    first, second = relay.nn.softmax(relay.add(x, y)), relay.nn.softmax(relay.subtract(x, y))
    return relay.Function([x, y], relay.Tuple([first, second]))


def test_an_entry_writes_its_outputs_only_as_in_relay_build() -> None:
    session = open_session(sum_and_difference())
    built = relay.build(wb.IRModule.from_expr(sum_and_difference()), "llvm")
    array = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
    entry = session["InsertPolls"].after["main"]
    outputs = [parameter.name for parameter in entry.params][-2:]
    assert list(entry.attrs["written"]) == outputs
    found, expected = session.run({"x": array, "y": array}), built.run({"x": array, "y": array})
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)


def test_a_kernel_edited_to_write_its_operand_tells_its_callers() -> None:
    session = open_session(sum_and_difference())
    session.build()
    kernel = "fused_add"
    written = session["FlattenBuffer"].after["main"].attrs["written"]
    script = session.tir[kernel].script()
    store = "add[vi0, vi1] = p0[vi0, vi1] + p1[vi0, vi1]"
    indent = " " * (script.index(store) - script.rindex("\n", 0, script.index(store)) - 1)
    text = script.replace(store, f"{store}\n{indent}p0[vi0, vi1] = T.float32(0.0)")
    text = text.replace("T.writes(add[vi0, vi1])", "T.writes(add[vi0, vi1], p0[vi0, vi1])")
    other = session.edit(tir={kernel: text})
    assert other["Edit"].error is None, other["Edit"].error
    assert set(other["FlattenBuffer"].after["main"].attrs["written"]) > set(written)
