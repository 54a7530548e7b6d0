"""Commands that say what the program would be without each pass of its graph: one pass a request, so none is long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.driver.ablation import figures, graph_passes, without
from workbench.ui.given import RunInputs
from workbench.ui.protocol import Answer, argument

if TYPE_CHECKING:
    from workbench.driver.session import Session


def ablation_commands(
    session: Callable[[], Session], inputs: Callable[[], RunInputs]
) -> dict[str, Callable[[dict[str, Any]], Answer]]:
    """The commands by name; `inputs` gives what is run on where times are measured."""

    def given(args: dict[str, Any]) -> Mapping[str, Any] | None:
        return inputs().values if argument(args, "measured", bool, False) else None

    def begin(args: dict[str, Any]) -> Answer:
        shown = session()
        return Answer("", {"passes": graph_passes(shown), "base": figures(shown, given(args)).to_json()})

    def one(args: dict[str, Any]) -> Answer:
        return Answer("", without(session(), argument(args, "pass", str), given(args)).to_json())

    return {"ablation.begin": begin, "ablation.without": one}
