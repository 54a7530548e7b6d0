"""Commands to run the model shown: what each kernel call took, which parts of the model it is, how a peer does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.ui.given import RunInputs
from workbench.ui.protocol import Answer
from workbench.views.against import against_html

if TYPE_CHECKING:
    from workbench.driver.session import Session


def run_commands(
    session: Callable[[], Session], inputs: Callable[[], RunInputs]
) -> dict[str, Callable[[dict[str, Any]], Answer]]:
    """The commands by name; `inputs` gives what is run on."""

    def profile(args: dict[str, Any]) -> Answer:
        given = inputs()
        found = session().profile(given.values)
        rows = [
            {"number": call.number, "kernel": call.kernel, "label": call.label, "gives": call.gives,
             "seconds": call.seconds, "classes": call.classes, "operations": call.operations, "moved": call.moved}
            for call in found.calls
        ]  # fmt: skip
        return Answer("", {
            "rows": rows, "seconds": found.seconds, "runs": found.runs, "inputs": given.told,
            "whole": found.whole, "empty": found.empty,
        })  # fmt: skip

    def against(args: dict[str, Any]) -> Answer:
        return Answer("", {"markup": against_html(session().against(inputs().values))})

    return {"run.profile": profile, "run.against": against}
