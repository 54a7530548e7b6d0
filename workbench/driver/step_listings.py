"""The text of each graph step with names that last: a value is called as what it comes from, from the import on.

    listings_of(step)["main"].lines          # an expression put in or taken out renames nothing
    lasting_script(step)                     # of the whole program; it parses back as any script does
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ..relay.ir import expr as r
from ..relay.ir.listing import Listing, listing
from .graph_difference import named_after
from .step_sources import sources_in
from .text import module_script

if TYPE_CHECKING:
    from .history import Step

_KEY: Final = "listings"
"""In a step's memo."""


def listings_of(step: Step) -> Mapping[str, Listing]:
    """The relay functions of the program after a step, by name."""
    found: Mapping[str, Listing] = {}
    for one in step.path:
        known = one.memo.get(_KEY)
        found = one.memo[_KEY] = known if known is not None else _following(one, found)
    return found


def _following(step: Step, before: Mapping[str, Listing]) -> Mapping[str, Listing]:
    if not step.changed:
        return before
    earlier = step.previous.stage.module.functions if step.previous is not None else {}
    made: dict[str, Listing] = {}
    for name, function in step.stage.module.functions.items():
        old, one = before.get(name), earlier.get(name)
        if not isinstance(function, r.Expr):
            continue
        if old is None or not isinstance(one, r.Expr):
            made[name] = listing(function, name)
        else:
            made[name] = old if one is function else named_after(name, old, function, sources_in(step)(one, function))
    return made


def lasting_script(step: Step) -> str:
    """The text of the program after a step; what is no relay function is written as always."""
    return module_script(step.stage.module, {name: found.text.text for name, found in listings_of(step).items()})
