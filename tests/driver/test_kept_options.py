"""Options of passes: what was chosen runs, is shown and saved, whatever becomes of the containers it came in."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_model
from workbench import WorkbenchError, relay
from workbench.core.transform import PASSES, function_pass

WISH = "nn.conv2d"


@pytest.fixture(autouse=True)
def forget_test_passes() -> Iterator[None]:
    before = set(PASSES)
    yield
    for name in set(PASSES) - before:
        PASSES.remove(name)


def _kinds(layouts: dict[str, list[str]]) -> dict[str, Mapping[str, Any]]:
    return {"dict": layouts, "another mapping": MappingProxyType(layouts)}


@pytest.mark.parametrize("kind", ["dict", "another mapping"])
@pytest.mark.parametrize("inner", [False, True])
def test_a_dict_that_is_used_again_changes_no_pass(kind: str, inner: bool, tmp_path: Path) -> None:
    layouts = {WISH: ["NHWC", "default"]}
    session = wb.open(small_model(), target="llvm")
    chosen = session.rerun(insert={"InferType": relay.transform.ConvertLayout(_kinds(layouts)[kind])})
    if inner:
        layouts[WISH][0] = "NCHW"
    else:
        layouts[WISH] = ["NCHW", "default"]
    fresh = session.rerun(insert={"InferType": relay.transform.ConvertLayout({WISH: ["NHWC", "default"]})})
    chosen.save(str(tmp_path / "s.json"))
    for each in (chosen, fresh, wb.open(str(tmp_path / "s.json"))):
        assert "NHWC" in each["ConvertLayout"].script(), "the pass runs with other options than it was made with"
    assert "NHWC" in str(chosen["ConvertLayout"].step.action.arguments) and "'NHWC'" in chosen.to_python()


def test_an_ordered_dict_is_a_dict_and_can_be_saved(tmp_path: Path) -> None:
    chosen = relay.transform.ConvertLayout(OrderedDict({WISH: ["NHWC", "default"]}))
    session = wb.open(small_model(), target="llvm").rerun(insert={"InferType": chosen})
    session.save(str(tmp_path / "s.json"))
    assert "NHWC" in wb.open(str(tmp_path / "s.json"))["ConvertLayout"].script()


def test_the_options_that_a_pass_shows_are_copies() -> None:
    chosen = relay.transform.ConvertLayout({WISH: ["NHWC", "default"]})
    session = wb.open(small_model(), target="llvm").rerun(insert={"InferType": chosen})
    chosen.options["desired_layouts"][WISH][0] = "NCHW"
    session["ConvertLayout"].step.action.arguments["desired_layouts"][WISH][0] = "NCHW"
    assert "NHWC" in repr(chosen) and "NHWC" in session.rerun()["ConvertLayout"].script()
    assert "NHWC" in chosen(session["Import"].after).script()


def test_a_function_that_reads_something_else_is_noticed() -> None:
    """What cannot be copied is compared, as in users' passes."""
    x = relay.var("x", shape=(4,))
    twice = relay.Function([x], relay.add(relay.exp(x), relay.exp(x)))
    skipped: list[str] = []

    def skip(call: Any) -> bool:
        return isinstance(call, relay.Call) and getattr(call.op, "name", "") in skipped

    session = wb.open(twice, target="llvm")
    chosen = session.rerun(insert={"InferType": relay.transform.EliminateCommonSubexpr(skip)})
    skipped.append("exp")
    step = chosen["EliminateCommonSubexpr"].step
    assert step.error is not None and step.error.code == "E-PASS-CHANGED"
    assert chosen.reload()["EliminateCommonSubexpr"].script().count("R.exp(") == 2


def test_a_list_of_a_users_pass_is_still_guarded() -> None:
    @function_pass(opt_level=0, name="ScalesBy")
    def scales(fn: Any, mod: Any, ctx: Any, *, values: Any) -> Any:
        body = fn.body
        for value in values:
            body = relay.multiply(body, relay.const(np.float32(value)))
        return relay.Function(fn.params, body)

    x = relay.var("x", shape=(4,))
    values = [2]
    session = wb.open(relay.Function([x], x + relay.const(np.float32(1))), target="llvm")
    chosen = session.rerun(insert={"Import": scales(values=values)})
    values.append(10)
    with pytest.raises(WorkbenchError, match="E-PASS-CHANGED"):
        chosen.run({"x": np.zeros(4, "float32")})
    assert chosen.reload().run({"x": np.zeros(4, "float32")})["output_0"][0] == 20
