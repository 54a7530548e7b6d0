"""Commands to look at a session's layers: what there is, texts in windows, graphs, and the links between lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from workbench.core.errors import WorkbenchError
from workbench.ui.protocol import Answer, argument, items
from workbench.views.compared import likest
from workbench.views.graph_tree import spoken
from workbench.views.layers import LayersModel

_LINES_LIMIT: Final = 2_000
_OPENED_LIMIT: Final = 64


class LayerCommands:
    """The commands on the model that is shown now."""

    def __init__(self, shown: Callable[[], LayersModel]) -> None:
        self._shown = shown

    def table(self) -> dict[str, Callable[[dict[str, Any]], Answer]]:
        """The commands by name."""
        return {
            "kernels": self._kernels,
            "pane": self._pane,
            "lines": self._lines,
            "links": self._links,
            "graph": self._graph,
            "formulas": self._formulas,
            "calls": self._calls,
            "tree": self._tree,
            "spoken": self._spoken,
            "place": self._place,
            "places": self._places,
        }

    def _kernels(self, args: dict[str, Any]) -> Answer:
        """The kernels, and what they stem from.

        `order`: those that do what a kernel of the program before did, the likest first; a page sends its name and
        what was told of it under `does` then: call, work, call, work ...
        """
        shown, did = self._shown(), items(args, "did", int, [])
        kernels = [kernel.to_json() for kernel in shown.kernels()]
        order = likest(shown.does, dict(zip(did[::2], did[1::2], strict=False)), argument(args, "before", str, ""))
        does = {name: [number for pair in own.items() for number in pair] for name, own in shown.does.items()}
        told = {"kernels": kernels, "numbering": shown.numbering(), "origins": shown.origins}
        return Answer("", {**told, "does": does, "order": order})

    def _pane(self, args: dict[str, Any]) -> Answer:
        return Answer("", self._shown().pane(argument(args, "layer", str), argument(args, "kernel", str, "")))

    def _lines(self, args: dict[str, Any]) -> Answer:
        start, count = argument(args, "start", int), argument(args, "count", int)
        if start < 0 or not 0 < count <= _LINES_LIMIT:
            raise WorkbenchError(
                "E-UI-ARGUMENT", "lines out of reach", found=f"start={start}, count={count}",
                expected=f"start from 0, at most {_LINES_LIMIT} lines",
            )  # fmt: skip
        layer, kernel = argument(args, "layer", str), argument(args, "kernel", str, "")
        return Answer("", self._shown().lines(layer, kernel, start, count))

    def _links(self, args: dict[str, Any]) -> Answer:
        return Answer("", self._shown().links(argument(args, "kernel", str), argument(args, "native", bool, True)))

    def _graph(self, args: dict[str, Any]) -> Answer:
        opened = tuple(items(args, "opened", str, [])[:_OPENED_LIMIT])
        return Answer("", self._shown().graph(argument(args, "layer", str), opened, argument(args, "step", str, "")))

    def _calls(self, args: dict[str, Any]) -> Answer:
        return Answer("", self._shown().calls(argument(args, "layer", str), argument(args, "step", str, "")))

    def _tree(self, args: dict[str, Any]) -> Answer:
        return Answer("", self._shown().tree(argument(args, "layer", str), argument(args, "step", str, "")))

    def _spoken(self, args: dict[str, Any]) -> Answer:
        """What a step changed, as lists of statements."""
        return Answer("", spoken(self._shown().session.step(argument(args, "step", str))))

    def _formulas(self, args: dict[str, Any]) -> Answer:
        return Answer("", self._shown().formulas(argument(args, "kernel", str)))

    def _place(self, args: dict[str, Any]) -> Answer:
        layer, kernel, line = argument(args, "layer", str), argument(args, "kernel", str), argument(args, "line", int)
        if line < 1:
            raise WorkbenchError("E-UI-ARGUMENT", "there is no such line", found=str(line), expected="1 or more")
        return Answer("", self._shown().place(layer, kernel, line))

    def _places(self, args: dict[str, Any]) -> Answer:
        return Answer("", self._shown().places(argument(args, "layer", str), argument(args, "kernel", str)))
