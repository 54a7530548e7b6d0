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
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from . import progress, reliance
from .arguments import items
from .code_key import code_key, reads_environment, without_key
from .code_names import Keyed, is_own
from .errors import InternalError, WorkbenchError, nearest
from .module import IRModule
from .node import Node
from .pass_context import PassContext, PassInfo, PassInstrument
from .pass_options import is_plain, kept, named_options, shown
from .pass_table import PASSES, note_users_pass, users_passes
from .time_limit import check_time

__all__ = [
    "PASSES", "Pass", "PassContext", "PassInfo", "PassInstrument", "Sequential", "defined_in", "each_function",
    "function_pass", "module_pass", "pass_named", "place_of", "require_pass",
]  # fmt: skip


class Pass(Keyed):
    """A pass with its options chosen; call it on a module."""

    def __init__(
        self,
        info: PassInfo,
        run: Callable[[IRModule, PassContext], IRModule],
        options: dict[str, Any],
        each: Callable[[Any, IRModule, PassContext], Any] | None = None,
        given: tuple[tuple[Any, ...], Mapping[str, Any]] | None = None,
        whole: bool = True,
    ) -> None:
        """`each` is what a function pass does to one function of a module; None for a pass on whole modules.

        `given` are the positional and named arguments of its class; `options` are `whole` where they say all of these,
        by name and in plain values, as a file can hold them.
        """
        self.info = info
        self.each = each
        self.pass_info = info
        self._options = options
        self.has_whole_options = whole
        self.given = given
        self.function = run
        self.__doc__ = run.__doc__

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def options(self) -> dict[str, Any]:
        """The options by name, as copies."""
        return shown(self._options)

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
            mod = cast("IRModule", PASSES[needed]()(mod))
        check_time(f"pass {self.name}")
        for instrument in context.instruments:
            instrument.run_before_pass(mod, self.info)
        made = self._checked_run(self.function, mod, context)
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

        before = mod[name]

        def run() -> Any:
            made = _a_function(each(before, looked_at, PassContext.current()), name)
            if made is not before and isinstance(made, Node) and type(made).completed is not Node.completed:
                self._completed(mod.with_functions({name: made}), mod)
            return made

        return self._checked(run, mod)

    def _should_run(self, mod: IRModule, context: PassContext) -> bool:
        if self.name in context.required_pass:
            return True
        # Each is asked, whatever the others say: instruments count what they see.
        return all([instrument.should_run(mod, self.info) for instrument in context.instruments])

    def _checked_run(
        self, run: Callable[[IRModule, PassContext], object], mod: IRModule, context: PassContext
    ) -> IRModule:
        def completed() -> object:
            made = run(mod.copy(), context)
            self._completed(made, mod)
            return made

        made = self._checked(completed, mod)
        if not isinstance(made, IRModule):
            message = f"pass {self.name} must return an IRModule"
            raise WorkbenchError("E-PASS-RESULT", message, found=type(made).__name__, kept="the module")
        return mod if made.state is mod.state else made

    def _checked(self, run: Callable[[], Any], mod: IRModule) -> Any:
        """What `run` answers; its errors are the pass's."""
        try:
            return run()
        except WorkbenchError as error:
            raise error.located(f"pass {self.name}") from None
        except Exception as error:  # of a user's pass, whatever it raises
            raise InternalError(
                "E-PASS-FAILED",
                f"pass {self.name} failed: {type(error).__name__}: {error}",
                where=_raised_at(error),
                fix="if the pass is yours, mend it there; else report it with the module's script()",
                kept="the module before the pass",
                partial=mod,
            ) from error
        finally:  # afterwards, so that a variable that it sets itself does not make it run again
            if not is_own(defined_in(self)) and reads_environment(self.function):
                reliance.note_environment()

    def _completed(self, made: Any, before: IRModule) -> None:
        """Let each function that the pass changed find what it must know of itself (a relay function: its types)."""
        if not isinstance(made, IRModule):
            return
        for name, function in made.items():
            old = before.functions.get(name)
            if function is not old and isinstance(function, Node):
                function.completed(made, old)

    def made_by(self, factory: Any) -> Pass:
        """The pass that a factory makes of the arguments of this one; a pass without arguments is its own factory."""
        positional, named = self.given if self.given is not None else ((), self._options)
        return _made(factory, self.name, positional, named)

    @property
    def code_key(self) -> str:
        """Differs when the pass's code differs, or what it reads, so that a pass edited in its cell is another step."""
        return code_key(self.function)

    @property
    def own_code_key(self) -> str:
        """The code's key of a user's pass; none of the workbench's, which versions change and a name means."""
        return "" if is_own(defined_in(self)) else self.code_key

    @property
    def may_change(self) -> bool:
        """Whether the code's key may be another one later and tells so: a user's pass that reads nothing without a key.

        A pass that is made of passes may be of both, and an option may be a user's function.
        """
        own = is_own(defined_in(self)) and not isinstance(self, Sequential) and is_plain(self._options)
        return not own and not without_key(self.function)

    def differs(self, code: str) -> WorkbenchError:
        """The refusal to take this pass for another one of its name, whose code's key is given."""
        nameless = without_key(self.function)
        return WorkbenchError(
            "E-PASS-DIFFERS",
            f"the pass named {self.name!r} here is not the one that was meant",
            found="the workbench's own" if not self.own_code_key else
            f"one that reads {nameless[0]}, which cannot be compared" if nameless else
            f"one of {defined_in(self)} with the code {self.own_code_key}",
            expected=f"one with the code {code}",
            fix="define it as it was then, with all that it reads; or run the pass at hand by itself",
        )  # fmt: skip

    def key_parts(self) -> tuple[Any, ...]:
        """What another function that runs this pass depends on."""
        return self.info, self._options, self.function

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        return f"{self.name}({shown})"


def pass_named(name: str, options: Mapping[str, Any] | None = None, code: str = "") -> Pass:
    """The pass of a name with options; `code` is what it must do (`Pass.own_code_key`), where that is known.

    Raises `WorkbenchError`: E-PASS-UNKNOWN, E-PASS-OPTION, E-PASS-DIFFERS.
    """
    entries = [PASSES[name]] if name in PASSES else []
    if not code and entries:
        return with_options(entries[0], name, options or {})
    entries += reversed(users_passes(name)) if code else ()
    if not entries:
        raise WorkbenchError(
            "E-PASS-UNKNOWN", f"there is no pass named {name!r}",
            expected="the pass of a user, which is defined anew in each process" if code else "",
            fix="run the cell or import the module that defines it first" if code else nearest(name, PASSES),
        )  # fmt: skip
    for entry in entries:
        try:
            made = with_options(entry, name, options or {})
        except WorkbenchError:
            continue  # another one of this name takes other options
        if made.own_code_key == code:
            return made
    raise with_options(entries[0], name, options or {}).differs(code)


def with_options(entry: Any, name: str, options: Mapping[str, Any]) -> Pass:
    """The pass that an entry of the table is, or makes of options."""
    return _made(entry, name, (), options)


def _made(entry: Any, name: str, positional: tuple[Any, ...], named: Mapping[str, Any]) -> Pass:
    given = ", ".join([*map(repr, positional), *(f"{key}={value!r}" for key, value in named.items())])
    if isinstance(entry, Pass):
        if given:
            raise WorkbenchError("E-PASS-OPTION", f"pass {name} has no options", found=given)
        return entry
    try:
        return entry(*positional, **named)
    except WorkbenchError:
        raise
    except Exception as error:  # of a user's class, whatever it raises
        raise WorkbenchError(
            "E-PASS-OPTION", f"pass {name} cannot be made of these options", where=given,
            found=f"{type(error).__name__}: {error}",
        ) from error  # fmt: skip


def place_of(entry: Any) -> str:
    """The module and the function or class that a pass (or a factory of passes) is written as; none of passes."""
    if isinstance(entry, Sequential):
        return ""
    written = str(getattr(entry.function if isinstance(entry, Pass) else entry, "__qualname__", ""))
    return f"{defined_in(entry)} {written.removesuffix('.transform_module').removesuffix('.transform_function')}"


def defined_in(entry: Any) -> str:
    """The module in which a pass (or a factory of passes) is written."""
    return str(getattr(entry.function if isinstance(entry, Pass) else entry, "__module__", ""))


def _raised_at(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]} line {trace.tb_lineno}" if trace else ""


ModulePass = FunctionPass = Pass
"""Classic names: what `module_pass` and `function_pass` make."""


def require_pass(chosen: Any) -> Pass:
    """A pass, as such.  Raises `WorkbenchError` for anything else."""
    if not isinstance(chosen, Pass):
        raise WorkbenchError(
            "E-PASS-KIND", "this is no pass", found=repr(chosen)[:80],
            expected="the name of a pass, or what @function_pass and @module_pass make",
            fix="a pass with options is called first: MyPass(option=1)",
        )  # fmt: skip
    return chosen


class Sequential(Pass):
    """Passes in order; those that the context disables, or whose level is too high, are skipped."""

    def __init__(
        self,
        passes: Sequence[Pass],
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
    ) -> None:
        self.passes = items(passes, "Sequential(passes)", "E-PASS-KIND", "[InferType(), FuseOps()]")
        for chosen in self.passes:
            require_pass(chosen)
        super().__init__(PassInfo(name, opt_level, tuple(required or ())), self._run_all, {})
        note_users_pass(name, self)  # a context may name it

    @property
    def own_code_key(self) -> str:
        """That of its passes: no name stands for those that somebody has put together."""
        return self.code_key

    def key_parts(self) -> tuple[Any, ...]:
        """What it depends on: its passes, in order."""
        return *super().key_parts(), self.passes

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

    What it gives is remembered by its program, its options and its code: all that the code names (`core/code_key.py`),
    `wb.limits` and variables of the environment among it.  What comes from elsewhere (files, the clock, names that are
    computed) is not seen: make it an option, so that another value is another step.
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
        if is_own(function.__module__):  # a user's pass may fill a list that it is given
            chosen = kept(chosen)

        @functools.wraps(function)
        def run(mod: IRModule, ctx: PassContext) -> IRModule:
            return function(mod, ctx, **chosen)

        return Pass(info, run, chosen, functools.partial(each, **chosen) if each is not None else None)

    factory.__signature__ = signature  # type: ignore[attr-defined]
    return factory


def _register(factory: Any, info: PassInfo, module: str) -> Any:
    factory.info = info
    _enter(info.name, factory, module)
    return factory


def _enter(name: str, entry: Any, module: str) -> None:
    """A pass of the user's that is called like one of the workbench's stands beside it: the name means the latter."""
    if not is_own(module):
        note_users_pass(name, entry)
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
        options = named_options(bound)
        run = function if method == "transform_module" else each_function(function)
        given = bound.args, bound.kwargs
        return Pass(info, run, {} if options is None else options, given=given, whole=options is not None)

    factory.__name__, factory.__qualname__, factory.__module__ = cls.__name__, cls.__qualname__, cls.__module__
    factory.__doc__ = cls.__doc__
    return _register(factory, info, cls.__module__)


def _a_function(made: Any, name: str) -> Any:
    """What a pass made of the function `name`.  Raises E-PASS-RESULT where that is no function."""
    if not isinstance(made, Node) or not hasattr(made, "params"):
        raise WorkbenchError(
            "E-PASS-RESULT", f"the pass gave no function for {name!r}", found=type(made).__name__,
            expected="a function", kept="the module",
            fix="return the function, itself where nothing changes" if made is None else "",
        )  # fmt: skip
    return made


def each_function(function: Callable[..., Any]) -> Callable[..., IRModule]:
    """`f(func, mod, ctx) -> func` as a function on modules."""

    @functools.wraps(function)
    def run(mod: IRModule, ctx: PassContext, *args: Any, **kwargs: Any) -> IRModule:
        each = progress.track(list(mod.items()), "functions", lambda pair: pair[0])
        made = {name: _a_function(function(func, mod, ctx, *args, **kwargs), name) for name, func in each}
        return mod.with_functions(made)

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
    """Turn `f(func, mod, ctx, *, options) -> func` into a pass factory, run on each function of class `applies_to`.

    What it gives is remembered as `module_pass` says.
    """

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
