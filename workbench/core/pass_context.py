"""The settings under which passes run, and the instruments that watch them.

    with PassContext(opt_level=3, disabled_pass=["FuseOps"], config={"relay.FuseOps.max_depth": 8}):
        ...
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, cast

from .arguments import by_name, items
from .errors import WorkbenchError
from .module import IRModule
from .pass_table import CLASSIC, pass_names
from .table import Table


class PassInstrument:
    """What is told about every pass.  Subclass and override what is of interest (all do nothing here)."""

    def enter_pass_ctx(self) -> None:
        """The context it was given to is entered."""

    def exit_pass_ctx(self) -> None:
        """That context is left."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """False skips the pass (required passes run anyway)."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """The pass is about to run on `mod`."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """The pass has made `mod`."""


@dataclass(frozen=True)
class PassInfo:
    """What is known of a pass before it runs."""

    name: str
    opt_level: int = 0
    required: tuple[str, ...] = ()
    traceable: bool = False


_ASKED: Final = ("enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass")
MOST_LEVEL: Final = 100
INDEX_CODE: Final = "E-RUN-INDEX"
"""The error of an index that is data and out of range; see `PassContext.checks_bounds`."""


class PassContext:
    """The settings under which passes run; use it with `with`.

    `opt_level`: passes of a higher level are skipped; not named, it is that of the context around (2 outside of any).
    `required_pass` run whatever their level, `disabled_pass` never; names of passes that there are, of the user's too
    (of those disabled also classic ones that this compiler has not).
    `config` holds options by dotted name ("relay.FuseOps.max_depth"), checked against `CONFIG_OPTIONS`.
    """

    def __init__(
        self,
        opt_level: int | None = None,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[PassInstrument] | None = None,
        config: dict[str, Any] | None = None,
        trace: Any = None,
    ) -> None:
        self._own_opt_level = opt_level
        self.required_pass = pass_names(required_pass, "PassContext(required_pass=...)")
        self.disabled_pass = pass_names(disabled_pass, "PassContext(disabled_pass=...)", CLASSIC)
        self.instruments = _instruments(instruments)
        _require_level(opt_level)
        self.config = by_name(config, "PassContext(config=...)", "E-PASS-CONFIG", '{"relay.FuseOps.max_depth": 8}')
        self.trace = trace
        _require_config(self.config)

    @property
    def named_opt_level(self) -> int | None:
        """The level that was named, here or by a context around this one.

        None where nobody named one: then a build, which wants the best code, takes 3, and passes called by themselves
        the classic 2.
        """
        named = self._own_opt_level
        inside = False
        for context in reversed(_entered.get()):
            if named is not None:
                break
            inside = inside or context is self
            named = context._own_opt_level if inside else None
        return named

    @property
    def opt_level(self) -> int:
        """Passes of a higher level are skipped."""
        return 2 if self.named_opt_level is None else self.named_opt_level

    @property
    def checks_bounds(self) -> bool:
        """Checked mode: what goes out of range while code runs is reported, not passed over.

        Every load and store of loops is checked against its buffer (E-RUN-BOUNDS).  An index that a model computes from
        data is checked against its axis (`INDEX_CODE`, with the index as it was given) in `take` (but where it wraps),
        `gather`, `gather_nd`, `scatter_elements` and `scatter_nd`, and in what becomes one of these.  Without checked
        mode the first three take the nearest element that there is, and scatters leave such an update out.  `one_hot`
        and lengths of sequences give every number a meaning, and are not reported.

        It is chosen when a program is opened or built; BoundCheck put in later, by `insert=`, checks loads and stores
        only, because indices have been brought into range by then.
        """
        return bool(self.config.get("tir.instrument_bound_checkers", False)) or "BoundCheck" in self.required_pass

    @staticmethod
    def current() -> PassContext:
        """The innermost context, or the default one."""
        entered = _entered.get()
        return entered[-1] if entered else _DEFAULT

    @staticmethod
    def list_configs() -> dict[str, str]:
        """The names of options with their meaning."""
        return {name: option.meaning for name, option in CONFIG_OPTIONS.items()}

    def override_instruments(self, instruments: Sequence[PassInstrument] | None) -> None:
        """Replace the instruments: the old ones are left, the new ones entered."""
        self._exit_instruments()
        self.instruments = tuple(instruments or ())
        self._enter_instruments()

    def _enter_instruments(self) -> None:
        """Enter all; where one fails, those entered before are left, and the context has no instruments any more."""
        entered: list[PassInstrument] = []
        try:
            for instrument in self.instruments:
                instrument.enter_pass_ctx()
                entered.append(instrument)
        except BaseException:
            self.instruments = ()
            for instrument in entered:
                instrument.exit_pass_ctx()
            raise

    def _exit_instruments(self) -> None:
        """Leave all; where one fails, the context has no instruments any more."""
        try:
            for instrument in self.instruments:
                instrument.exit_pass_ctx()
        except BaseException:
            self.instruments = ()
            raise

    def enabled(self, info: PassInfo) -> bool:
        """Whether a pass runs here, by name and level."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or info.opt_level <= self.opt_level

    @contextmanager
    def applied(self) -> Generator[None]:
        """These settings as the current ones; the instruments are told of passes only, not of entering and leaving."""
        _entered.set((*_entered.get(), self))
        try:
            yield
        finally:
            _entered.set(_entered.get()[:-1])

    def __enter__(self) -> PassContext:
        self._enter_instruments()
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *exception: object) -> None:
        _entered.set(_entered.get()[:-1])
        self._exit_instruments()


def _require_level(level: Any) -> None:
    if level is not None and (type(level) is not int or not 0 <= level <= MOST_LEVEL):
        raise WorkbenchError(
            "E-PASS-CONFIG", "an optimisation level is a whole number", where="PassContext(opt_level=...)",
            found=repr(level)[:80], expected=f"0, 1, 2, 3, at most {MOST_LEVEL}",
        )  # fmt: skip


def _instruments(given: Any) -> tuple[PassInstrument, ...]:
    where = "PassContext(instruments=...)"
    made = items(given, where, "E-PASS-CONFIG", "[PassTimingInstrument()]")
    for one in made:
        if isinstance(one, type) or not all(hasattr(one, name) for name in _ASKED):
            raise WorkbenchError(
                "E-PASS-CONFIG", "this is no instrument", where=where, found=repr(one)[:80],
                expected="an object of a PassInstrument's class", fix="call the class: [PassTimingInstrument()]",
            )  # fmt: skip
    return made


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool) or (type(value) is int and value in (0, 1))


_UNROLL: Final[dict[str, Callable[[Any], bool]]] = {
    "auto_max_step": _is_count, "auto_max_depth": _is_count, "auto_max_extent": _is_count,
    "explicit_unroll": _is_flag, "unroll_local_access": _is_flag,
}  # fmt: skip


def _is_unrolling(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    given = cast("dict[Any, Any]", value)
    return all(key in _UNROLL and _UNROLL[key](item) for key, item in given.items())


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (list, tuple))


@dataclass(frozen=True)
class ConfigOption:
    """An option by dotted name: what it does, and which values it takes."""

    meaning: str
    expected: str
    fits: Callable[[Any], bool]


_COUNT: Final = ("a whole number from 0 on", _is_count)
_FLAG: Final = ("True or False", _is_flag)
CONFIG_OPTIONS: Table[ConfigOption] = Table("pass option", filled_by=())
for _name, _meaning, (_expected, _fits) in (
    ("relay.FuseOps.max_depth", "most operators in one fused function (default 64)", _COUNT),
    ("relay.ToMixedPrecision.keep_orig_output_dtype", "cast results back to the float that they had (default false)",
     _FLAG),
    ("relay.fallback_device_type", "device of unannotated expressions; accepted for the classic API", _COUNT),
    ("tir.UnrollLoop", "dict: auto_max_step, explicit_unroll",
     ("a dict: auto_max_step (a count), explicit_unroll (True or False)", _is_unrolling)),
    ("tir.disable_vectorize", "run vectorized loops as serial ones", _FLAG),
    ("tir.instrument_bound_checkers", "check every load and store, and indices that are data", _FLAG),
    ("tir.add_lower_pass", "known, and refused: a session takes passes by rerun(insert=...)",
     ("nothing", _is_sequence)),
    ("tir.noalias", "assume that buffer parameters do not overlap (default true)", _FLAG),
):  # fmt: skip
    CONFIG_OPTIONS.register(_name, ConfigOption(_meaning, _expected, _fits), module=__name__)


def _require_config(config: Mapping[str, Any]) -> None:
    """Refuse unknown options and values that they do not take."""
    for key, value in config.items():
        option = CONFIG_OPTIONS[key]
        if not option.fits(value):
            raise WorkbenchError(
                "E-PASS-CONFIG", f"option {key} does not take this value", where="PassContext(config=...)",
                found=repr(value)[:80], expected=option.expected,
            )  # fmt: skip


_entered: ContextVar[tuple[PassContext, ...]] = ContextVar("workbench_pass_context", default=())
"""The contexts entered, the innermost last.  It holds no token: threads may enter one context at once."""
_DEFAULT = PassContext()
