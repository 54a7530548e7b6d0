"""Every command of the one screen with arguments that it answers, on one small program."""

from __future__ import annotations

from typing import Any

import workbench as wb
from tests.schedule.programs import plain_matmul
from workbench import relay
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench

KERNEL = "fused_nn_relu"


def graph_screen() -> Workbench:
    """A screen on a graph of one kernel, with a second branch."""
    x = relay.var("x", shape=(4, 8))
    screen = Workbench(wb.open(wb.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))))
    screen.session = screen.session.without("SimplifyExpr")
    return screen


def schedule_screen() -> Workbench:
    """A screen on a schedule with one move done."""
    schedule = Schedule(plain_matmul(8, 8, 8))
    schedule.split(schedule.get_loops("C")[0], [2, 4])
    return Workbench(wb.open(schedule), schedule=schedule)


def of_the_graph(screen: Workbench) -> dict[str, dict[str, Any]]:
    """Arguments for the commands that look at a graph and its steps."""
    steps = {step.name: step.id for step in screen._steps.view.steps}
    fold, text = steps["FoldConstant"], {"layer": "tir", "kernel": KERNEL}
    window = {"start": 0, "count": 5}
    call = screen.ask("calls", layer="relay").content["view"]["calls"][0]["place"]
    llvm = screen.ask("llvm.open", kernel=KERNEL).content["view"]["steps"][0]["id"]
    return {
        "beside": {"number": 0, **text, **window}, "compare": {"number": 0, **text}, "lines": {**text, **window},
        "counterpart": {"number": 0, "kernel": KERNEL}, "kernels": {"before": KERNEL, "did": [0, 32]},
        "pane": text, "words": text, "whole": text, "places": text, "place": {**text, "line": 1},
        "find": {**text, "text": "a"}, "calls": {"layer": "relay", "step": fold},
        "graph": {"layer": "relay", "opened": ["g"], "step": "FoldConstant"},
        "tree": {"layer": "relay", "step": "FoldConstant"}, "spoken": {"step": "FoldConstant"},
        "why_not": {"layer": "relay", "step": "", "place": call, "number": 0, "pass": "FoldConstant"},
        "ablation.begin": {"measured": False}, "ablation.without": {"pass": "FoldConstant", "measured": False},
        "formulas": {"kernel": KERNEL}, "links": {"kernel": KERNEL}, "remarks": {"kernel": KERNEL},
        "llvm.open": {"kernel": KERNEL}, "llvm.step": {"kernel": KERNEL, "step": llvm},
        "llvm.kinds": {"kernel": KERNEL, "step": llvm},
        "llvm.steps": {"kernel": KERNEL, "steps": [llvm]},
        "llvm.select": {"kernel": KERNEL, "step": llvm, "rewrite": 0},
        "llvm.text": {"kernel": KERNEL, "step": llvm, "side": "after", **window},
        "pipeline.kinds": {"step": fold},
        "pipeline.rewrite": {"step": fold, "index": 0}, "pipeline.select": {"step": fold, "rewrite": 0},
        "pipeline.source": {"step": fold, "function": "main"}, "pipeline.step": {"step": fold},
        "pipeline.steps": {"steps": [fold]}, "pipeline.text": {"step": fold, "side": "before", **window},
        "pipeline.edit": {"step": fold, "function": "main", "text": "x", "seen": "s"},
        "pipeline.without": {"step": fold, "seen": "s"}, "pipeline.switch_on": {"step": fold, "seen": "s"},
        "pipeline.losses": {}, "pipeline.rebase": {"seen": "s"},
        "pipeline.undo": {"seen": "s"}, "pipeline.redo": {"seen": "s"},
        "pipeline.insert": {"step": fold, "name": "FoldConstant", "values": {}, "seen": "s"},
        "pipeline.verify": {"step": fold}, "pipeline.pass_form": {"step": fold, "name": "FuseOps"},
        "pipeline.options": {"step": fold, "values": {"fold_qnn": True}, "seen": "s"},
        "tensors.list": {"step": "FoldConstant"}, "tensors.look": {"step": "FoldConstant", "number": 0, "index": [0]},
        "tensors.outputs": {"before": "Import", "after": "FuseOps"}, "select": {"classes": [1]},
        "set_attribute": {"layer": "relay", "step": "", "place": call, "number": 0, "name": "alpha", "text": "1"},
        "checks.narrow": {"step": "FuseOps"}, "checks.save_test": {"step": "FuseOps"},
        "target.set": {"text": "llvm", "seen": "s"},
        "candidates": {"kernel": KERNEL},
        "candidates.choose": {"kernel": KERNEL, "name": "n", "config": {"columns": 4}, "seen": "s"},
        "branch": {"number": 0}, "branches.whole": {"number": 0}, "measure": {"kernel": KERNEL, "number": 0},
        "views.keep": {"name": "v", "place": "A=tir"}, "views.remove": {"name": "v"},
        "share.python": {"place": "A=tir"},
        "share.page": {"name": "p", "place": "A=tir"}, "share.journal": {"name": "p"},
    }  # fmt: skip


def of_the_schedule(screen: Workbench) -> dict[str, dict[str, Any]]:
    """Arguments for the commands of the schedule editor and of the lens."""
    view = screen.ask("schedule.open", kernel="main").content["view"]
    box, kernel, seen = view["tree"][0]["id"], {"kernel": "main"}, {"seen": screen.schedule.fingerprint()}
    at = {**kernel, "selection": box}
    move = {**at, "primitive": "parallel"}
    return {
        "schedule.open": kernel, "schedule.tree": kernel, "schedule.time_here": kernel, "schedule.roofline": kernel,
        "schedule.undo": {**kernel, **seen}, "schedule.redo": {**kernel, **seen}, "schedule.reasons": at,
        "schedule.ranks": at, "schedule.targets": at, "schedule.time": move, "schedule.ways": move,
        "schedule.preview": {**move, "arguments": {}}, "schedule.apply": {**move, "arguments": {}, **seen},
        "schedule.accept": {**move, "number": 0, **seen}, "schedule.force": {**move, **seen},
        "schedule.switch": {**kernel, "branch": 0, **seen}, "schedule.drop": {**at, "onto": box, **seen},
        "schedule.go": {**kernel, "number": 0, **seen}, "schedule.replay": {**kernel, "code": "x", **seen},
        "lens.open": {**kernel, "block": "C"}, "lens.exact": kernel, "lens.lifetimes": kernel,
        "lens.reuse": {**kernel, "line": 64}, "lens.simulate": {**kernel, "size": 4096, "line": 64, "ways": 4},
        "lens.iterations": {**kernel, "block": "C", "axes": ["vi", "vj"]},
        "lens.release": {**kernel, "step": 3, "factors": [2, 4], **seen},
        "take_back": {**kernel, "number": 1, "code": "sch.split()"},
    }  # fmt: skip


WITHOUT = frozenset({
    "branches.list", "bundle", "open", "python", "pipeline.open", "changes.another", "changes.discard",
    "changes.read", "changes.restore", "checks.start", "checks.state", "checks.cancel", "tensors.steps", "views.list",
    "run.profile", "run.against", "exercise.open", "exercise.hint", "exercise.submit", "target.open",
})  # fmt: skip
"""Commands that take no arguments."""
