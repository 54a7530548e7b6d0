"""The compiled model of a session or a plan: from an earlier process, straight from its kernels, or step by step.

    built(session)                  # of whatever session
    built_alone(plan, module)       # without a history

A large model that nobody has looked at yet is compiled from its kernels by several processes (`kernels`), and kept for
other processes (`kept_models`); the steps after lowering are made when somebody looks at them.  Everything else is
compiled step by step: programs of loops, small ones, what was edited, what users' rules and operators make.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..codegen.backend import backend_of
from ..core import reliance
from ..core.errors import WorkbenchError
from ..core.host import give_back_memory
from ..core.module import IRModule
from ..core.transform import PassContext
from ..lower.entry import Lowered, listening_for_kernels
from ..runtime.model import CompiledModel
from .actions import deciding
from .history import identities
from .kept_models import Key, find, keep, key_of
from .kernels import Compiled, KernelWork, compile_entry, helper_count, helpers
from .native import model_of
from .pipeline import CODEGEN, LOWER
from .plan import CompilePlan, default_rows
from .progress import with_progress

if TYPE_CHECKING:
    from .history import Stage
    from .session import Session


def built(session: Session) -> Any:
    """The native code of a session.  Raises what stopped it on the way."""
    history, actions = session.history, session.actions
    if CODEGEN not in session.labels or history.guard is not None or PassContext.current().instruments:
        return _by_steps(session)
    identity = identities(actions)[session.labels.index(CODEGEN)]
    known = history.model(identity)
    if known is not None:
        return known
    with history.building(identity):
        return history.model(identity) or _built(session, identity)


@with_progress
def _built(session: Session, identity: str) -> Any:
    """The native code of a session, of which only one thread asks at a time."""
    history, actions = session.history, session.actions
    codegen = session.labels.index(CODEGEN)
    looked_at = history.peek(actions, codegen) is not None
    key = None if looked_at else key_of(session.plan, session.step(0).stage.module, session.deciders)
    if key is None:
        return _by_steps(session)
    lower = session.labels.index(LOWER)

    def lowered() -> Lowered | None:
        return step.stage.lowered if (step := session.step(LOWER)).error is None else None

    # What stood in place of something when earlier steps were computed is not in a key of now: these are not kept.
    known = len(history.computed(actions))
    given = lowered if known <= lower else None
    model = _kept_or_made(key, session.plan, given, partial(_by_steps, session), keeps=known <= 1)
    if history.peek(actions, codegen) is None:
        history.note_model(identity, model)
    return model


def _by_steps(session: Session) -> Any:
    """The native code of a session's last step, computed.  Raises what stopped it."""
    step = session.step(CODEGEN)
    if step.error is not None:
        raise step.error
    return step.stage.compiled


def built_alone(plan: CompilePlan, module: IRModule, carried_out: Callable[[CompilePlan], Stage]) -> CompiledModel:
    """What a plan makes of a module, without a history; `carried_out` runs a plan on it step by step."""
    key = key_of(plan, module, deciding())

    def lowered() -> Lowered | None:
        return carried_out(replace(plan, rows=plan.rows[: plan.lower_row()[0]])).lowered

    def by_steps() -> CompiledModel:
        return carried_out(plan).compiled

    return by_steps() if key is None else _kept_or_made(key, plan, lowered, by_steps)


def _kept_or_made(
    key: Key,
    plan: CompilePlan,
    lowered: Callable[[], Lowered | None] | None,
    by_steps: Callable[[], Any],
    keeps: bool = True,
) -> Any:
    """The model of a key: from an earlier process, else made now and, where it `keeps`, kept.

    `lowered` lowers the graph where nobody has done so.  What goes wrong there or in a kernel is done again by steps,
    which say where.
    """
    model = find(key, plan.target)
    if model is not None:
        return model
    with reliance.recording() as recorded:
        if lowered is not None and _is_default(plan):
            helpers.warm(helper_count())
            model = _apart(lowered, plan)
        if model is None:
            model = by_steps()
    if keeps and not recorded.settled().keys:
        keep(key, model)
    return model


def _is_default(plan: CompilePlan) -> bool:
    """Whether all that comes after lowering is the pipeline's own, and there are helpers to share it with."""
    count = len(plan.rows) - plan.lower_row()[0]
    return helper_count() > 0 and plan.rows[-count:] == default_rows("relay", plan.settings)[-count:]


def _apart(lowered: Callable[[], Lowered | None], plan: CompilePlan) -> CompiledModel | None:
    """A graph compiled from its kernels by several processes, from while it is lowered; None where that failed."""
    target = plan.target
    try:
        with KernelWork(target, plan.settings.context()) as work:
            with listening_for_kernels(work.add):
                graph = lowered()
            if graph is None:
                return None
            entry = partial(compile_entry, graph.module, "main", target)
            code, texts = Compiled.joined(work.finish(graph.kernels, entry))
    except WorkbenchError:
        return None
    module = backend_of(target).module_of(code, target, texts.get_source)
    give_back_memory()
    return model_of(graph, module, fills_outputs=True)
