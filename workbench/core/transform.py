"""Passes: decorated functions from module to module, run under one driver.

A pass is a function `(IRModule, PassContext, options...) -> IRModule` (or function by function), whose keyword
options are its form.  Calling the decorated name with options gives a `Pass`; calling a `Pass` on a module runs it
under the current `PassContext`: instruments are asked and told, the result is timed, origins are recorded.

    @module_pass(opt_level=1, name="DropUnused")
    def DropUnused(mod, ctx, *, keep: str = "main"):
        return mod.with_only({keep: mod[keep]})

    smaller = DropUnused(keep="main")(mod)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from . import progress
from .code_key import code_key, without_key
from .code_names import Keyed, is_own
from .errors import InternalError, WorkbenchError, nearest
from .module import IRModule
from .node import Node
from .table import Table
from .time_limit import check_time

PASSES: Table[Any] = Table(
    "pass", filled_by=("workbench.relay.transforms.all_passes", "workbench.tir.transforms.all_passes")
)
"""Every pass by name: a factory that takes the pass's options."""


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


class PassContext:
    """The settings under which passes run; use it with `with`.

    `opt_level`: passes of a higher level are skipped; not named, it is that of the context around (2 outside of any).
    `required_pass` run whatever their level, `disabled_pass` never.
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
        self.named_opt_level = opt_level
        """The level that was named, here or by the context around; None where nobody named one: then a build, which
        wants the best code, takes 3, and passes called by themselves the classic 2."""
        self._own_opt_level = opt_level
        self.required_pass = tuple(required_pass or ())
        self.disabled_pass = tuple(disabled_pass or ())
        self.instruments = tuple(instruments or ())
        self.config = dict(config or {})
        self.trace = trace
        self._tokens: list[Any] = []
        for key in self.config:
            CONFIG_OPTIONS[key]

    @property
    def opt_level(self) -> int:
        """Passes of a higher level are skipped."""
        return 2 if self.named_opt_level is None else self.named_opt_level

    @staticmethod
    def current() -> PassContext:
        """The innermost context, or the default one."""
        return _current.get() or _DEFAULT

    @staticmethod
    def list_configs() -> dict[str, str]:
        """The names of options with their meaning."""
        return dict(CONFIG_OPTIONS)

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
    def applied(self) -> Iterator[None]:
        """These settings as the current ones; the instruments are told of passes only, not of entering and leaving."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def __enter__(self) -> PassContext:
        self._enter_instruments()
        if self._own_opt_level is None:
            self.named_opt_level = PassContext.current().named_opt_level
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *exception: object) -> None:
        _current.reset(self._tokens.pop())
        self._exit_instruments()


CONFIG_OPTIONS: Table[str] = Table("pass option", filled_by=())
for _name, _meaning in {
    "relay.FuseOps.max_depth": "most operators in one fused function (default 64)",
    "relay.ToMixedPrecision.keep_orig_output_dtype": "cast results back to the float that they had (default false)",
    "relay.fallback_device_type": "device of unannotated expressions; accepted for the classic API",
    "tir.UnrollLoop": "dict: auto_max_step, explicit_unroll",
    "tir.disable_vectorize": "run vectorized loops as serial ones",
    "tir.instrument_bound_checkers": "check every load and store against its buffer",
    "tir.add_lower_pass": "list of (phase, pass) to run among the tir passes",
    "tir.noalias": "assume that buffer parameters do not overlap (default true)",
}.items():
    CONFIG_OPTIONS.register(_name, _meaning, module=__name__)

_current: ContextVar[PassContext | None] = ContextVar("workbench_pass_context", default=None)
_DEFAULT = PassContext()


class Pass(Keyed):
    """A pass with its options chosen; call it on a module."""

    def __init__(
        self,
        info: PassInfo,
        run: Callable[[IRModule, PassContext], IRModule],
        options: dict[str, Any],
        each: Callable[[Any, IRModule, PassContext], Any] | None = None,
    ) -> None:
        """`each` is what a function pass does to one function of a module; None for a pass on whole modules."""
        self.info = info
        self.each = each
        self.pass_info = info
        self.options = options
        self._run = run
        self.__doc__ = run.__doc__

    @property
    def name(self) -> str:
        return self.info.name

    def __call__(self, mod: IRModule | None = None) -> Any:
        """Run on `mod` under the current context, after the passes that it requires, and return the new module.

        Called with nothing it returns itself, so that a pass without options reads like one with: `InferType()(mod)`.
        """
        if mod is None:
            return self
        context = PassContext.current()
        if not self._should_run(mod, context):
            return mod
        for needed in self.info.required:
            mod = PASSES[needed]()(mod)
        check_time(f"pass {self.name}")
        for instrument in context.instruments:
            instrument.run_before_pass(mod, self.info)
        made = self._checked_run(self._run, mod, context)
        for instrument in context.instruments:
            instrument.run_after_pass(made, self.info)
        return made

    def on_function(self, mod: IRModule, name: str, around: Any = None) -> Any:
        """One function of `mod` after this function pass; the others are only looked at, by way of `around`.

        No instrument is asked or told.
        """
        each = self.each
        assert each is not None, f"{self.name} runs on whole modules"
        looked_at = mod if around is None else around
        check_time(f"pass {self.name}")

        def run(given: IRModule, context: PassContext) -> IRModule:
            return given.with_functions({name: each(given[name], looked_at, context)})

        return self._checked_run(run, mod, PassContext.current())[name]

    def _should_run(self, mod: IRModule, context: PassContext) -> bool:
        if self.name in context.required_pass:
            return True
        # Each is asked, whatever the others say: instruments count what they see.
        return all([instrument.should_run(mod, self.info) for instrument in context.instruments])

    def _checked_run(
        self, run: Callable[[IRModule, PassContext], IRModule], mod: IRModule, context: PassContext
    ) -> IRModule:
        try:
            made = run(mod.copy(), context)
            self._completed(made, mod)
        except WorkbenchError as error:
            raise error.located(f"pass {self.name}") from None
        except (RecursionError, AssertionError, LookupError, AttributeError, TypeError, ValueError) as error:
            raise InternalError(
                "E-PASS-FAILED",
                f"pass {self.name} failed: {type(error).__name__}: {error}",
                where=_raised_at(error),
                fix="if the pass is yours, mend it there; else report it with the module's script()",
                kept="the module before the pass",
                partial=mod,
            ) from error
        if not isinstance(made, IRModule):
            raise WorkbenchError(
                "E-PASS-RESULT",
                f"pass {self.name} must return an IRModule",
                found=type(made).__name__,
                kept="the module",
            )
        return mod if made.state is mod.state else made

    def _completed(self, made: Any, before: IRModule) -> None:
        """Let each function that the pass changed find what it must know of itself (a relay function: its types)."""
        if not isinstance(made, IRModule):
            return
        for name, function in made.items():
            old = before.functions.get(name)
            if function is not old and isinstance(function, Node):
                function.completed(made, old)

    @property
    def code_key(self) -> str:
        """Differs when the pass's code differs, or what it reads, so that a pass edited in its cell is another step."""
        return code_key(self._run)

    @property
    def own_code_key(self) -> str:
        """The code's key of a user's pass; none of the workbench's, which versions change and a name means."""
        return "" if is_own(defined_in(self)) else self.code_key

    def differs(self, code: str) -> WorkbenchError:
        """The refusal to take this pass for another one of its name, whose code's key is given."""
        nameless = without_key(self._run)
        return WorkbenchError(
            "E-PASS-DIFFERS",
            f"the pass named {self.name!r} here is not the one that was meant",
            found="the workbench's own" if not self.own_code_key else
            f"one that reads {nameless[0]}, which cannot be compared" if nameless else
            f"one of {defined_in(self)} with the code {self.own_code_key}",
            expected=f"one with the code {code}",
            fix="define it as it was then, with all that it reads, before opening; or run the pass at hand by itself",
        )  # fmt: skip

    def key_parts(self) -> tuple[Any, ...]:
        """What another function that runs this pass depends on."""
        return self.info, self.options, self._run

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        return f"{self.name}({shown})"


def pass_named(name: str, options: Mapping[str, Any] | None = None, code: str = "") -> Pass:
    """The pass of a name with options; `code` is what it must do (`Pass.own_code_key`), where that is known.

    Raises `WorkbenchError`: E-PASS-UNKNOWN, E-PASS-OPTION, E-PASS-DIFFERS.
    """
    if name not in PASSES:
        raise WorkbenchError(
            "E-PASS-UNKNOWN", f"there is no pass named {name!r}",
            expected="the pass of a user, which is defined anew in each process" if code else "",
            fix="run the cell or import the module that defines it first" if code else nearest(name, PASSES),
        )  # fmt: skip
    found = PASSES[name]
    if options and isinstance(found, Pass):
        raise WorkbenchError("E-PASS-OPTION", f"pass {name} has no options", found=", ".join(map(str, options)))
    made: Pass = found(**(options or {}))
    if code and made.own_code_key != code:
        raise made.differs(code)
    return made


def defined_in(entry: Any) -> str:
    """The module in which a pass (or a factory of passes) is written."""
    return str(getattr(entry._run if isinstance(entry, Pass) else entry, "__module__", ""))


def _raised_at(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]} line {trace.tb_lineno}" if trace else ""


ModulePass = FunctionPass = Pass
"""Classic names: what `module_pass` and `function_pass` make."""


class Sequential(Pass):
    """Passes in order; those that the context disables, or whose level is too high, are skipped."""

    def __init__(
        self,
        passes: Sequence[Pass],
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
    ) -> None:
        self.passes = tuple(passes)
        super().__init__(PassInfo(name, opt_level, tuple(required or ())), self._run_all, {})

    def _run_all(self, mod: IRModule, context: PassContext) -> IRModule:
        for step in progress.track(self.passes, "passes", lambda chosen: chosen.name):
            if not context.enabled(step.info):
                continue
            mod = step(mod)
        return mod


def module_pass(
    pass_func: Callable[..., IRModule] | None = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Turn `f(mod, ctx, *, options) -> IRModule` into a pass factory; a class with `transform_module` works as well.

    The factory is registered in `PASSES` under its name (again, when a cell is run again).  A name of the workbench's
    own passes stays theirs: the object that is made here runs where it is given itself, and
    `PASSES.register(name, made, override=True)` says that the name shall mean it from now on.
    """

    def decorate(target: Any) -> Any:
        info = PassInfo(name or target.__name__, opt_level, tuple(required or ()), traceable)
        if inspect.isclass(target):
            return _class_factory(target, info, "transform_module")
        return _function_factory(target, info)

    return decorate(pass_func) if pass_func is not None else decorate


def _function_factory(
    function: Callable[..., IRModule], info: PassInfo, each: Callable[..., Any] | None = None
) -> Callable[..., Pass]:
    parameters = list(inspect.signature(function).parameters.values())
    if any(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters):
        return _register(_option_factory(function, info, parameters, each), info, function.__module__)
    made = Pass(info, function, {}, each)
    _enter(info.name, made, function.__module__)
    return made


def _option_factory(
    function: Callable[..., IRModule],
    info: PassInfo,
    parameters: list[inspect.Parameter],
    each: Callable[..., Any] | None,
) -> Any:
    options = [parameter for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
    positional = [parameter.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for parameter in options]
    signature = inspect.Signature(positional)

    @functools.wraps(function)
    def factory(*args: Any, **kwargs: Any) -> Pass:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise WorkbenchError("E-PASS-OPTION", f"pass {info.name}: {error}", expected=str(signature)) from None
        chosen = dict(bound.arguments)
        run = functools.wraps(function)(lambda mod, ctx: function(mod, ctx, **chosen))
        return Pass(info, run, chosen, functools.partial(each, **chosen) if each is not None else None)

    factory.__signature__ = signature  # type: ignore[attr-defined]
    return factory


def _register(factory: Any, info: PassInfo, module: str) -> Any:
    factory.info = info
    _enter(info.name, factory, module)
    return factory


def _enter(name: str, entry: Any, module: str) -> None:
    """A pass of the user's that is called like one of the workbench's stands beside it: the name means the latter."""
    if is_own(module) or not PASSES.is_own(name):
        PASSES.register(name, entry, module=module, override=True)


def _class_factory(cls: Any, info: PassInfo, method: str) -> Any:
    signature = inspect.signature(cls)

    def factory(*args: Any, **kwargs: Any) -> Pass:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise WorkbenchError("E-PASS-OPTION", f"pass {info.name}: {error}", expected=str(signature)) from None
        instance = cls(*bound.args, **bound.kwargs)
        function = getattr(instance, method)
        return Pass(info, function if method == "transform_module" else each_function(function), {})

    factory.__name__ = cls.__name__
    factory.__doc__ = cls.__doc__
    return _register(factory, info, cls.__module__)


def each_function(function: Callable[..., Any]) -> Callable[..., IRModule]:
    """`f(func, mod, ctx) -> func` as a function on modules."""

    @functools.wraps(function)
    def run(mod: IRModule, ctx: PassContext, *args: Any, **kwargs: Any) -> IRModule:
        each = progress.track(list(mod.items()), "functions", lambda pair: pair[0])
        return mod.with_functions({name: function(func, mod, ctx, *args, **kwargs) for name, func in each})

    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    run.__signature__ = signature.replace(parameters=parameters[1:])  # type: ignore[attr-defined]
    return run


def function_pass(
    pass_func: Callable[..., Any] | None = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
    applies_to: type | tuple[type, ...] = object,
) -> Any:
    """Turn `f(func, mod, ctx, *, options) -> func` into a pass factory, run on each function of class `applies_to`."""

    def decorate(target: Any) -> Any:
        info = PassInfo(name or target.__name__, opt_level, tuple(required or ()))
        if inspect.isclass(target):
            return _class_factory(target, info, "transform_function")
        each = _only(target, applies_to)
        return _function_factory(each_function(each), info, each)

    return decorate(pass_func) if pass_func is not None else decorate


def _only(function: Callable[..., Any], classes: type | tuple[type, ...]) -> Callable[..., Any]:
    if classes is object:
        return function

    @functools.wraps(function)
    def guarded(func: Any, mod: IRModule, ctx: PassContext, *args: Any, **kwargs: Any) -> Any:
        return function(func, mod, ctx, *args, **kwargs) if isinstance(func, classes) else func

    return guarded
