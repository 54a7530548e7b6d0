"""Kernels that were made of equal fused functions before: after a change of one operator the others are not made again.

    known = KnownKernels()
    known.kernel("fused_add", function, key, target)    # made
    known.kernel("fused_add", equal, key, target)       # the very same, with the origins of `equal`

What a kernel depends on is its key: what `kernel_key` says of the function, its name, the names of its parameters,
which of its constants are one, the target, and what a person chose to compute it; and beside it what the operators'
expressions read of tables that users add to (a method of an operator that is put in the place of another is not heard).
Names are numbered through the graph, so that an operator put in or taken out makes the kernels anew that get another
number.  Functions that hold operators of users are not kept: their code may read anything.  A kernel goes with the last
step that holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from weakref import WeakValueDictionary

from ..core import origin, reliance
from ..core.node import Node, children, pre_order
from ..core.told import Told, hearing
from ..relay.ir import expr as r
from ..relay.ir.operator import Operator
from ..target.target import Target
from .implementation import Choice
from .kernel import Kernel, make_kernel

_MADE: Final = "made"
"""Where it stands in a kernel's memo how the kernel was made."""


@dataclass(frozen=True, eq=False)
class _Derived:
    """A node of a kernel, and what it comes from."""

    node: Any
    places: tuple[int, ...]
    """Of the relay expressions among those of the function."""
    others: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class _Made:
    """How a kernel was made, of a function whose expressions are known by their places in it."""

    told: Told
    """Its origins are `derived` instead: of whichever function it is asked for."""
    derived: tuple[_Derived, ...]

    def again(self, expressions: Sequence[Node]) -> None:
        """Tell it again, of a function of these expressions."""
        table = origin.active()
        if table is not None:
            for one in self.derived:
                table.add(one.node, (*(expressions[place] for place in one.places), *one.others))
        self.told.again()


class KnownKernels:
    """See the module's header.  Two threads that ask for a kernel at once may both make it: one of it is kept."""

    def __init__(self) -> None:
        self._kernels: WeakValueDictionary[tuple[Any, ...], Kernel] = WeakValueDictionary()

    def kernel(
        self, name: str, function: r.Function, key: str, target: Target, now: reliance.Now | None = None,
        by_hand: Choice | None = None,
    ) -> Kernel:  # fmt: skip
        """The kernel of a fused function, whose `kernel_key` is `key`; `now` is asked for what was read of tables.

        `by_hand`: what a person chose to compute it.  Raises `WorkbenchError` for what cannot be lowered.
        """
        expressions = _expressions(function)
        if any(_of_users(one) for one in expressions):
            return make_kernel(name, function, key, target, by_hand)
        names = (parameter.name_hint for parameter in function.params)
        place = (key, name, str(target), str(by_hand or ""), *names, *_shared(expressions))
        known = self._kernels.get(place)
        if known is None or not known.memo[_MADE].told.holds(now or reliance.Now()):
            with hearing(origin.OriginTable()) as heard:
                known = make_kernel(name, function, key, target, by_hand)
            known.memo[_MADE] = _made(heard.told(), expressions)
            self._kernels[place] = known
        known.memo[_MADE].again(expressions)
        return known


def _expressions(function: r.Function) -> tuple[Node, ...]:
    """The expressions of a function, parents first: those of an equal function stand at the same places."""
    return tuple(node for node in pre_order(function) if node.is_graph)


def _shared(expressions: Sequence[Node]) -> tuple[int, ...]:
    """Which constants are one object: they are one input of the kernel, and equal ones are two."""
    numbers: dict[int, int] = {}
    constants = [one for expression in expressions for one in children(expression) if isinstance(one, r.Constant)]
    return tuple(numbers.setdefault(id(one), len(numbers)) for one in constants)


def _of_users(expression: Node) -> bool:
    operator = expression.op if isinstance(expression, r.Call) else None
    return isinstance(operator, Operator) and operator.class_code is not None


def _made(told: Told, expressions: Sequence[Node]) -> _Made:
    places = {id(node): place for place, node in enumerate(expressions)}
    assert told.origins is not None
    derived = (
        _Derived(
            node,
            tuple(places[id(source)] for source in sources if id(source) in places),
            tuple(source for source in sources if id(source) not in places),
        )
        for node, sources in told.origins.items()
    )
    return _Made(replace(told, origins=None), tuple(derived))
