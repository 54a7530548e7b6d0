"""Seconds from a pass's cell run again to its new difference, on EfficientNet-lite0 in a session that was shown before.

    python -m benchmarks.edited_pass

The pass stands after the import, in the middle and last among the graph's passes; each time its code changes, the
session is told (`rerun(replace=...)`), and the step's difference is drawn as the screen draws it.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import workbench as wb
from workbench import relay
from workbench.core.rewrite import RuleTable
from workbench.core.transform import PASSES
from workbench.relay.patterns import any_, op
from workbench.relay.transforms.rules import apply_rules
from workbench.ui.workbench import Workbench

NETWORK = Path(__file__).resolve().parents[1] / "notebooks" / "data" / "efficientnet_lite0.onnx"
WANTED = 1.0
"""Seconds."""


def written(most: float) -> Any:
    """The cell's pass: clip to `most` instead."""
    rules = RuleTable("edited")

    @rules.rule("clip-elsewhere", op("clip", any_("x")))
    def clip_elsewhere(m: Any) -> Any:
        return relay.clip(m["x"], 0.0, most) if m.root.attrs.a_max == 6.0 else None

    if "Edited" in PASSES:
        PASSES.remove("Edited")

    @relay.transform.function_pass(opt_level=0, name="Edited")
    def Edited(function: Any, mod: Any, ctx: Any) -> Any:
        return apply_rules(function, rules)

    return Edited


def shown(screen: Workbench, change: dict[str, Any]) -> float:
    """Seconds until the page would have the new difference."""
    begun = time.perf_counter()
    screen.session = screen.session.rerun(**change)
    steps = screen.ask("pipeline.open").content["view"]["steps"]
    step = next(one["id"] for one in steps if one["name"] == "Edited")
    reply = screen.ask("pipeline.step", step=step).content
    assert reply["ok"] and ("packed" in reply or reply["view"]["hunks"])
    return time.perf_counter() - begun


def main() -> None:
    for place in ("InferType", "FoldScaleAxis", "PackWeights"):
        screen = Workbench(wb.open(str(NETWORK)))
        screen.ask("kernels")
        shown(screen, {"insert": {place: written(5.0)}})
        spent = [shown(screen, {"replace": {"Edited": written(most)}}) for most in (5.5, 4.5, 3.5, 2.5, 1.5)]
        print(f"after {place:<14} {statistics.median(spent):.2f} s, at most {max(spent):.2f} s (wanted {WANTED:.0f} s)")


if __name__ == "__main__":
    main()
