"""A session with what users have defined by now: its program's operators, and what it was saved with elsewhere.

    session = of_now(session)      # the very same where neither can differ; else one with a history of its own

Steps that failed are not taken for known: they are computed again when they are asked for.
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
    session.history.forget_failures()
    imported, program = session.step(0), session.plan.program
    before = imported.stage.module
    changed = with_operators_of_now(before)
    if changed is before and not session.history.as_saved.steps:
        return session
    root = session.history.root
    if changed is not before:
        module = _typed(changed)
        program = replace(program, digest=module.fingerprint())
        root = import_action(module, program, imported.origins)
    history = History(root, session.history.contents.anew())
    return type(session)(history, replace(session.plan, program=program), session.deciders)


def _typed(module: IRModule) -> IRModule:
    """A call to another operator may be of another type."""
    with PassContext().applied():
        return PASSES["InferType"]()(module)
