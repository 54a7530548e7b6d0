"""Programs that a screen is seldom shown: each must be answered, or refused with its reason, at every command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import workbench as wb
from tests.schedule.programs import plain_matmul
from workbench import IRModule, relay

ONES = np.ones((2, 3), np.float32)


def _graph(make: Callable[..., Any], *shapes: tuple[int, ...]) -> IRModule:
    parameters = [relay.var(f"x{number}", shape=shape) for number, shape in enumerate(shapes)]
    return IRModule.from_expr(relay.Function(parameters, make(*parameters)))


def _named(**functions: IRModule) -> IRModule:
    return IRModule({name: module["main"] for name, module in functions.items()})


def _relu() -> IRModule:
    return _graph(relay.nn.relu, (2, 3))


PROGRAMS: dict[str, Callable[[], IRModule]] = {
    "nothing": lambda: IRModule({}),
    "loops without main": lambda: IRModule({"f": plain_matmul(4, 4, 4)}),
    "two functions of loops": lambda: IRModule({"f": plain_matmul(4, 4, 4), "g": plain_matmul(4, 4, 8)}),
    "a graph without main": lambda: _named(other=_relu()),
    "two functions of graphs": lambda: _named(main=_relu(), other=_graph(relay.tanh, (2, 3))),
    "no parameters": lambda: _graph(lambda: relay.add(relay.const(ONES), relay.const(ONES))),
    "a constant alone": lambda: _graph(lambda: relay.const(ONES)),
    "an argument returned": lambda: _graph(lambda x: x, (2, 3)),
    "no elements": lambda: _graph(relay.nn.relu, (0, 3)),
    "no elements of four axes": lambda: _graph(relay.nn.relu, (0, 2, 3, 3)),
    "scalars": lambda: _graph(relay.tanh, ()),
    "a sum": lambda: _graph(relay.sum, (2, 3)),
    "a tuple": lambda: _graph(lambda x: relay.Tuple([relay.nn.relu(x), relay.tanh(x)]), (2, 3)),
}


def opened(name: str) -> Any:
    """A session on the program of that name."""
    return wb.open(PROGRAMS[name]())
