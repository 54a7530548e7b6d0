"""The settings of passes under which a session is compiled: a PassContext as data.

    PassSettings.current()      # those of the contexts around, read once, by `CompilePlan.of`
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from ..core.errors import WorkbenchError, warn_user
from ..core.transform import PassContext, PassInstrument


class PassWarning(UserWarning):
    """A setting for passes is not heard by the pipeline."""


BEST_LEVEL: Final = 3
"""The level of a build where no context names one."""


@dataclass(frozen=True)
class PassSettings:
    """A PassContext as data."""

    level: int = BEST_LEVEL
    required: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    config: str = "{}"
    """Options by name, as JSON."""

    @staticmethod
    def current() -> PassSettings:
        """Those of the innermost context; a level that nobody names is the best."""
        context = PassContext.current()
        level = BEST_LEVEL if context.named_opt_level is None else context.named_opt_level
        return PassSettings(level, context.required_pass, context.disabled_pass, _json(context.config, "PassContext"))

    def context(self, instruments: Sequence[PassInstrument] = ()) -> PassContext:
        """The context with these settings, watched by `instruments`."""
        return PassContext(self.level, self.required, self.disabled, instruments, json.loads(self.config))

    def warn_unheard(self, command: str) -> None:
        """Warn where the context around a command says something else than these settings, which a session keeps."""
        if PassSettings.current() not in (self, PassSettings()):
            message = f"{command} keeps the settings of the session: the PassContext around it is not heard"
            warn_user(message, PassWarning)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "config": json.loads(self.config)}

    @staticmethod
    def from_json(saved: Mapping[str, Any]) -> PassSettings:
        """The settings of a file.  Raises `ValueError` for what is none."""
        level, config = saved["level"], saved["config"]
        if type(level) is not int or not isinstance(config, dict):
            raise ValueError(f"level {level!r:.40}, config of kind {type(config).__name__}")
        return PassSettings(level, _names(saved["required"]), _names(saved["disabled"]), _json(config, "settings"))


def _json(value: Any, where: str) -> str:
    """Canonical JSON; the classic API's tuples are lists."""
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError):
        raise WorkbenchError(
            "E-PLAN-CONFIG", "an option is no plain value", where=where, found=repr(value)[:120],
            expected="numbers, texts, truth values, lists and dicts of them",
        ) from None  # fmt: skip


def _names(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise ValueError(f"names of passes are {given!r:.40}")
    return tuple(given)
