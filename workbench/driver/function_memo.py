"""What a pass made of a function, kept: after an edit of one kernel the others are not lowered again.

Only for function passes.  What a pass told about origins and rewrites is kept as well, and told again.  A function is
known by identity, and so are the other functions of the module that the pass looked at on its way (FlattenBuffer asks
which parameters a callee writes); results live as long as the action that holds the memo, which is as long as the
sessions that share it.

    memo = FunctionMemo()
    memo.run(PASSES["Simplify"](), module)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from ..core import progress, reliance
from ..core.equal import same
from ..core.module import IRModule
from ..core.told import Told, hearing
from ..core.transform import Pass


@dataclass(frozen=True)
class _Outcome:
    changed: Any
    """The new function; None when the pass left it as it was."""
    told: Told
    looked_at: dict[str, Any]
    """Other functions that the pass looked at, by name; None for a name that the module had not."""

    def holds(self, module: IRModule, now: reliance.Now) -> bool:
        """Whether the pass would find the same again."""
        alike = (module.functions.get(name) is function for name, function in self.looked_at.items())
        return self.told.holds(now) and all(alike)


class _Around:
    """The module as a function pass sees it, noting what is looked at."""

    def __init__(self, module: IRModule) -> None:
        self._module = module
        self.looked_at: dict[str, Any] = {}

    def __contains__(self, name: str) -> bool:
        self.looked_at[name] = self._module.functions.get(name)
        return name in self._module

    def __getitem__(self, name: str) -> Any:
        self.looked_at[name] = self._module.functions.get(name)
        return self._module[name]


class FunctionMemo:
    """Outcomes of one pass with one set of options, by function."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Any, _Outcome] = WeakKeyDictionary()

    def run(self, chosen: Pass, module: IRModule) -> IRModule:
        """The module after the pass; errors of one function are the pass's."""
        changed: dict[str, Any] = {}
        now = reliance.Now()
        for name, function in progress.track(list(module.items()), "functions", lambda pair: pair[0]):
            outcome = self._known.get(function)
            serves = outcome is not None and outcome.told.serves()
            if outcome is None or not serves or not outcome.holds(module, now):
                outcome = _transformed(chosen, name, module, outcome if serves else None)
                self._known[function] = outcome
            outcome.told.again()
            if outcome.changed is not None:
                changed[name] = outcome.changed
        return module.with_functions(changed) if changed else module


def _transformed(chosen: Pass, name: str, module: IRModule, earlier: _Outcome | None) -> _Outcome:
    """The outcome for one function; where it is what it was `earlier`, with the very function of then."""
    around = _Around(module)
    with hearing() as heard:
        made = chosen.on_function(module, name, around)
    told = heard.told()
    if earlier is not None and earlier.changed is not None and same(earlier.changed, made):
        return _Outcome(earlier.changed, replace(earlier.told, relied=told.relied), around.looked_at)
    return _Outcome(made if made is not module[name] else None, told, around.looked_at)
