"""The compiled model of a session or a plan: from an earlier process, straight from its kernels, or step by step.

    built(session)                  # of whatever session
    built_alone(plan, module)       # without a history

A large model that nobody has looked at yet is compiled from its kernels by several processes (`kernels`), and
kept for other processes (`kept_models`); the steps after lowering are made when somebody looks at them.  Everything
else is compiled step by step: programs of loops, small ones, what was edited, what users' rules and operators make.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ..codegen.backend import backend_of
from ..core import progress, reliance
from ..core.host import give_back_memory
from ..core.module import IRModule
from ..lower.entry import Lowered
from ..runtime.model import CompiledModel
from .actions import deciding
from .history import Step, identities
from .kept_models import find, keep, key_of
from .kernels import compile_entry, compile_kernels, helper_count, helpers, joined
from .native import model_of
from .pipeline import CODEGEN, LOWER
from .plan import CompilePlan, default_rows

if TYPE_CHECKING:
    from .history import Stage
    from .session import Session

Again = Callable[[], CompiledModel]
"""Compiles a model step by step, for its texts."""


def built(session: Session) -> Any:
    """The native code of a session.  Raises what stopped it on the way."""
    history = session.history
    if CODEGEN not in session.labels or history.guard is not None:
        return compiled(session).stage.compiled
    with history.building:
        if history.peek(session.actions, session.labels.index(CODEGEN)) is not None:
            return compiled(session).stage.compiled
        return _unlooked(session)


def _unlooked(session: Session) -> Any:
    """The native code of a session whose last step has not been computed."""
    history, actions = session.history, session.actions
    key = key_of(session.plan, session.step(0).stage.module, session.deciders)
    if key is None:
        return compiled(session).stage.compiled
    identity = identities(actions)[session.labels.index(CODEGEN)]

    def again() -> CompiledModel:
        return compiled(session).stage.compiled

    found = history.models.get(identity) or find(key, session.target, again)
    if found is None and _is_plain(session.plan) and history.peek(actions, session.labels.index(LOWER)) is None:
        helpers.warm(helper_count())
        lowered = session.step(LOWER)
        if lowered.error is None and lowered.stage.lowered is not None:
            found = _apart(lowered.stage.lowered, session.plan, again)
            keep(key, found)
    if found is not None:
        return history.models.setdefault(identity, found)
    step = compiled(session)
    if not any(before.relied.keys for before in step.path):
        keep(key, step.stage.compiled)
    return step.stage.compiled


def compiled(session: Session) -> Step:
    """The step of a session's native code, computed.  Raises what stopped it."""
    step = session.step(CODEGEN)
    if step.error is not None:
        raise step.error
    return step


def built_alone(plan: CompilePlan, module: IRModule, carried_out: Callable[[CompilePlan], Stage]) -> CompiledModel:
    """What a plan makes of a module, without a history; `carried_out` runs a plan on it step by step."""
    key = key_of(plan, module, deciding())

    @cache
    def again() -> CompiledModel:
        return carried_out(plan).compiled

    found = find(key, plan.target, again)
    if found is not None:
        return found
    with reliance.recording() as recorded:
        if key is not None and _is_plain(plan):
            helpers.warm(helper_count())
            lowered = carried_out(_up_to_lowering(plan)).lowered
            assert lowered is not None
            found = _apart(lowered, plan, again)
        else:
            found = again()
    if not recorded.settled().keys:
        keep(key, found)
    return found


def _up_to_lowering(plan: CompilePlan) -> CompilePlan:
    return replace(plan, rows=plan.rows[: plan.lower_row()[0]])


def _is_plain(plan: CompilePlan) -> bool:
    """Whether all that comes after lowering is the pipeline's own, and there are helpers to share it with."""
    count = len(plan.rows) - plan.lower_row()[0]
    return helper_count() > 0 and plan.rows[-count:] == default_rows("relay", plan.settings)[-count:]


def _apart(lowered: Lowered, plan: CompilePlan, again: Again) -> CompiledModel:
    """A lowered graph compiled from its kernels, by several processes."""
    target = plan.target
    with target, plan.settings.context().applied(), progress.task("build", 2) as task:
        entry = compile_entry(lowered.module, "main", target)
        task.advance()
        code = joined([entry, *compile_kernels(lowered.kernels)])
    module = backend_of(target).module_of(code, target, lambda *asked: again().get_source(*asked))
    give_back_memory()
    return model_of(lowered, module, fills_outputs=True)
