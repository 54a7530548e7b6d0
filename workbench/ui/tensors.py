"""Commands to run the program shown: tensors of a graph step with their errors, one looked into, two steps compared.

commands = TensorCommands(lambda: session, lambda: RunInputs({"x": photo}, "screen.inputs", "1f3a"))
commands.table()          # "tensors.steps", "tensors.list", "tensors.look", "tensors.outputs"
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.driver.history import identities
from workbench.driver.intermediates import TOLERANCE, Intermediates, graph_steps, intermediates, outputs, runnable_steps
from workbench.ui.given import RunInputs
from workbench.ui.protocol import Answer, argument, items
from workbench.ui.worked_out import Steady, worked_out
from workbench.views.tensors import outputs_view, tensor_picture, tensors_view

if TYPE_CHECKING:
    from workbench.driver.session import Session


class TensorCommands:
    """The commands; the tensors of the step that was looked at last are kept until the program is another one."""

    def __init__(self, session: Callable[[], Session], inputs: Callable[[], RunInputs]) -> None:
        self._session, self._inputs = session, inputs
        self._known: tuple[Any, Intermediates, Steady] | None = None

    def table(self) -> dict[str, Callable[[dict[str, Any]], Answer]]:
        """The commands by name."""
        return {
            "tensors.steps": self._steps,
            "tensors.list": self._list,
            "tensors.look": self._look,
            "tensors.outputs": self._outputs,
        }

    def _steps(self, args: dict[str, Any]) -> Answer:
        """The steps that can be looked into, and those after which the model can be run."""
        session = self._session()
        return Answer("", {"graph": graph_steps(session), "runnable": runnable_steps(session)})

    def _list(self, args: dict[str, Any]) -> Answer:
        session, step = self._session(), argument(args, "step", str)
        found, told = self._tensors(session, step)
        function = session.step(step).stage.module["main"]
        classes = session.provenance.links.of_graph(step)
        return Answer("", tensors_view(found, function, classes, told, TOLERANCE))

    def _look(self, args: dict[str, Any]) -> Answer:
        step, number = argument(args, "step", str), argument(args, "number", int)
        index = items(args, "index", int, [])
        found, _ = self._tensors(self._session(), step)
        return Answer("", tensor_picture(found, number, index))

    def _outputs(self, args: dict[str, Any]) -> Answer:
        session, given = self._session(), self._inputs()
        before, after = argument(args, "before", str), argument(args, "after", str)
        one, other = outputs(session, given.values, before), outputs(session, given.values, after)
        return Answer("", outputs_view((before, one), (after, other), given.told, TOLERANCE))

    def _tensors(self, session: Session, step: str) -> tuple[Intermediates, str]:
        given = self._inputs()
        key = (identities(session.actions)[-1], step, given.key)
        if self._known is None or self._known[0] != key or not self._known[2].holds():
            self._known = None  # not both at once
            self._known = key, *worked_out(session, lambda: intermediates(session, given.values, step))
        return self._known[1], given.told
