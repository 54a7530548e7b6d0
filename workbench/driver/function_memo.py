"""What a pass made of a function, kept: after an edit of one kernel the others are not lowered again.

Only for passes that look at one function at a time.  What a pass told about origins and rewrites is kept as well, and
told again.  A function is known by identity, so nothing is compared; results live as long as the action that holds
the memo, which is as long as the sessions that share it.

    memo = FunctionMemo()
    memo.run(PASSES["Simplify"](), module)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from ..core import origin, progress, rewrite
from ..core.module import IRModule
from ..core.transform import Pass


@dataclass(frozen=True)
class _Outcome:
    changed: Any
    """The new function; None when the pass left it as it was."""
    origins: origin.OriginTable | None
    firings: tuple[Any, ...]


class FunctionMemo:
    """Outcomes of one pass with one set of options, by function."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Any, _Outcome] = WeakKeyDictionary()

    def run(self, chosen: Pass, module: IRModule) -> IRModule:
        """The module after the pass; errors of one function are the pass's."""
        changed: dict[str, Any] = {}
        for name, function in progress.track(list(module.items()), "functions", lambda pair: pair[0]):
            outcome = self._known.get(function)
            if outcome is None or (outcome.origins is None and origin.active() is not None):
                outcome = _transformed(chosen, name, function)
                self._known[function] = outcome
            _tell(outcome)
            if outcome.changed is not None:
                changed[name] = outcome.changed
        return module.with_functions(changed) if changed else module


def _transformed(chosen: Pass, name: str, function: Any) -> _Outcome:
    with _aside() as origins, rewrite.logging() as log:
        made = chosen(IRModule({name: function}))[name]
    return _Outcome(made if made is not function else None, origins, tuple(log))


@contextmanager
def _aside() -> Iterator[origin.OriginTable | None]:
    """Record origins into a table of their own that knows the same old nodes; None where nothing is recorded."""
    outer = origin.active()
    if outer is None:
        yield None
        return
    with origin.recording() as inner:
        inner.share_old(outer)
        yield inner


def _tell(outcome: _Outcome) -> None:
    table = origin.active()
    if table is not None and outcome.origins is not None:
        table.join(outcome.origins)
    rewrite.log_again(outcome.firings)
