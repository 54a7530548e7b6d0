"""Kernels that were made of equal fused functions before: after an edit of one operator the others are not made again.

    known = KnownKernels()
    known.kernel("fused_add", function, fingerprint, target)    # made
    known.kernel("fused_add", equal, fingerprint, target)       # the very same, with the origins of `equal`

A kernel depends on its function, its name and the names of its parameters, and on what the operators' expressions read
of tables that users add to.  Functions that hold operators of users are not kept: their code may read anything.
A kernel is forgotten with the last session that holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakValueDictionary

from ..core import origin, reliance
from ..core.node import Node, pre_order
from ..core.told import Told, hearing
from ..relay.ir import expr as r
from ..target.target import Target
from .kernel import Kernel, make_kernel

_MADE: Final = "made"
"""Where it stands in a kernel's memo how the kernel was made."""


@dataclass(frozen=True, eq=False)
class _Made:
    """How a kernel was made, of a function whose nodes are known by their places in it."""

    told: Told
    """Without origins."""
    classes: tuple[type[Node], ...]
    """Of the function's nodes, parents first."""
    origins: tuple[tuple[Any, tuple[int, ...], tuple[Any, ...]], ...] | None
    """Nodes, the places of the function's nodes that they come from, and what else they come from."""

    def serves(self, nodes: Sequence[Node]) -> bool:
        """Whether it is known for a function of these nodes what is listened for now."""
        listened = self.origins is not None or origin.active() is None
        return listened and tuple(map(type, nodes)) == self.classes

    def again(self, nodes: Sequence[Node]) -> None:
        """Tell it again, of a function of these nodes."""
        table = origin.active()
        if table is not None:
            for made, places, others in self.origins or ():
                table.add(made, (*(nodes[place] for place in places), *others))
        self.told.again()


class KnownKernels:
    """See the module's header.  Lookups from several threads may make a kernel twice, and keep one."""

    def __init__(self) -> None:
        self._kernels: WeakValueDictionary[tuple[Any, ...], Kernel] = WeakValueDictionary()

    def kernel(self, name: str, function: r.Function, fingerprint: str, target: Target) -> Kernel:
        """The kernel of a fused function.  Raises `WorkbenchError` for what cannot be lowered."""
        nodes = tuple(pre_order(function))
        if any(node.class_code is not None for node in nodes):
            return make_kernel(name, function, fingerprint, target)
        key = (fingerprint, name, str(target), *(parameter.name_hint for parameter in function.params))
        known = self._kernels.get(key)
        made: _Made | None = known.memo[_MADE] if known is not None else None
        if known is None or made is None or not made.serves(nodes) or not made.told.holds(reliance.Now()):
            with hearing() as heard:
                known = make_kernel(name, function, fingerprint, target)
            made = known.memo[_MADE] = _made(heard.told(), nodes)
            self._kernels[key] = known
        made.again(nodes)
        return known


def _made(told: Told, nodes: Sequence[Node]) -> _Made:
    classes = tuple(map(type, nodes))
    rest = Told(None, told.firings, told.relied)
    if told.origins is None:
        return _Made(rest, classes, None)
    places = {id(node): place for place, node in enumerate(nodes)}
    entries = tuple(
        (
            made,
            tuple(places[id(source)] for source in sources if id(source) in places),
            tuple(source for source in sources if id(source) not in places),
        )
        for made, sources in told.origins.items()
    )
    return _Made(rest, classes, entries)
