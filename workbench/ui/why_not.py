"""The command that asks why a pass left an operator of a graph as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.rule_trial import Trial
from workbench.ui.protocol import Answer, argument
from workbench.views.layers import LayersModel


def why_not_commands(shown: Callable[[], LayersModel]) -> dict[str, Callable[[dict[str, Any]], Answer]]:
    """The command by name, on the session that is shown."""

    def run(args: dict[str, Any]) -> Answer:
        model, number = shown(), argument(args, "number", int)
        layer, step, place, of = (argument(args, name, str) for name in ("layer", "step", "place", "pass"))
        found = model.session.why_not(of, model.call(layer, step, place, number))
        rules = [_told(trial) for trial in (*found.answers, *found.others)]
        return Answer("", {"pass": found.step, "node": found.node, "note": found.note, "rules": rules})

    return {"why_not": run}


def _told(trial: Trial) -> dict[str, Any]:
    lines = [[line.state, line.text, line.found] for line in trial.lines]
    return {"name": trial.rule.name, "where": trial.rule.where, "near": trial.nodes > 0, "lines": lines}
