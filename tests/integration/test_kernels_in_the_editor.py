"""Every kernel of three networks as the editor has it: its steps printed, replayed, one taken back and made again."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.integration.test_models import LITE0
from tests.models import find_model, light_model
from tests.nightly import daily
from workbench.core.equal import structural_equal
from workbench.schedule import Schedule
from workbench.views.editor_extras import replay

NETWORKS: dict[str, Any] = {
    "resnet50": lambda: wb.open(light_model("resnet50")),
    "efficientnet_lite0": lambda: wb.open(str(LITE0)),
    "minilm": lambda: wb.open(str(find_model("minilm_l6_fp32")), shape={"batch": 1, "seq": 128}),
}


def check(name: str, schedule: Schedule) -> None:
    start = Schedule(schedule.first_state.func)
    again = replay(start, schedule.code())
    assert structural_equal(again.func, schedule.func), f"{name}: its Python leads elsewhere"
    assert again.code() == schedule.code()
    if not schedule.trace.steps:
        return
    back = schedule.copy()
    assert back.undo() and len(back.trace.steps) == len(schedule.trace.steps) - 1, name
    last = schedule.code().splitlines()[-1]
    assert structural_equal(replay(back, f"{back.code()}{last}\n").func, schedule.func), f"{name}: {last}"
    assert back.redo() and back.func is schedule.func, name


@pytest.mark.parametrize("network", daily(NETWORKS, "minilm"))
def test_every_kernel_is_replayed_and_made_again(network: str) -> None:
    if network == "minilm" and find_model("minilm_l6_fp32") is None:
        pytest.skip("the model is not here; set WORKBENCH_MODELS to a folder that has it")
    session = NETWORKS[network]()
    schedules = {name: session.schedule(name) for name in session.kernels}
    for name, schedule in schedules.items():
        check(name, schedule)
    steps = [len(schedule.trace.steps) for schedule in schedules.values()]
    print(f"{network}: {len(steps)} kernels, {sum(steps)} steps, {max(steps)} at most")
    assert len(steps) > 15 and sum(steps) > 100
