"""Memory of whole models: the arena of intermediates against the most bytes that live at once."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.models import LIGHT, light_model
from workbench.core.module import IRModule
from workbench.core.transform import PASSES
from workbench.tir.transforms.storage_plan import lifetimes, live_bytes

QUICK = ("squeezenet", "shufflenet")
LOST = 1.1
"""The arena is at most so many times what lives at once."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.nightly) for name in LIGHT]
)
def test_an_arena_loses_little(name: str) -> None:
    lowered = wb.open(light_model(name)).step("Lower").stage.module
    (entry,) = (function for function in lowered.functions.values() if function.attrs.get("role") == "entry")
    loops = PASSES["LowerBlocks"]()(IRModule({"main": entry}))
    live = live_bytes(list(lifetimes(loops["main"].body).values()))
    planned = PASSES["StoragePlan"]()(loops)["main"].attrs["arena_bytes"]
    print(f"{name}: {planned:,} bytes, {planned / live:.3f} times what lives at once")
    assert live <= planned <= LOST * live
