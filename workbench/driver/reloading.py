"""A session whose program holds operators that were defined anew: the same plan on the program with those of now.

    session = of_now(session)      # the very same where the program's operators are as they are defined now
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..core.module import IRModule
from ..core.transform import PASSES, PassContext
from ..relay.ir.users_operators import with_operators_of_now
from .actions import import_action
from .history import History

if TYPE_CHECKING:
    from .session import Session


def of_now(session: Session) -> Session:
    """See the module's header.  Raises `WorkbenchError` where an operator of now does not fit the program."""
    imported = session.step(0)
    before = imported.stage.module
    changed = with_operators_of_now(before)
    if changed is before:
        return session
    module = _typed(changed)
    program = replace(session.plan.program, digest=module.fingerprint())
    history = History(import_action(module, program, imported.origins), session.history.contents.anew())
    return type(session)(history, replace(session.plan, program=program), session.deciders)


def _typed(module: IRModule) -> IRModule:
    """A call to another operator may be of another type."""
    with PassContext().applied():
        return PASSES["InferType"]()(module)
