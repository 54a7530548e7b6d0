"""One function of loops, called once in a process of its own: what it does to the process that runs it.

    harm_of("main", module, target)      # "", or "store to C outside axis 0, index 8, not 0 to extent 8 (exclusive)"

It is run twice there: with every access checked that is not proven to stay inside (where there is one), which finds
also what happens to hit other memory of the process; and as the code that would run here, between guards.  Integers
are zeros, so that honest indices stay inside; floats are random numbers between -1 and 1, always the same.  Where
zeros do harm, ones are tried: a kernel may divide by them.

Only these numbers are tried: what a function does with others, it may do here.  Not tried at all is what cannot be
called so, and runs as it is: functions with symbolic shapes or handles among their parameters, with parameters of
more than `MOST_BYTES` together, for other machines, and those that call functions outside of the workbench (they may
be Python's, or do what must not happen twice).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from ..arith import nodes as n
from ..codegen.llvm.cache import compile_cached
from ..codegen.llvm.contained import Contained, Unit, unit_of
from ..codegen.llvm.fitting import why_foreign
from ..codegen.llvm.machine import level_of
from ..codegen.llvm.signature import Parameter, packed_parameters
from ..core.child import ChildFailure
from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.node import pre_order
from ..core.walks import parts_first
from ..target.target import Target
from ..tir import nodes as t
from ..tir.outside import outside_calls
from ..tir.transforms.pipeline import lower_module
from .numerics.forms import flat_form, for_one_run, iterations

MOST_BYTES: Final = 1 << 30
"""Of all arguments together."""
SECONDS: Final = 30.0
"""Wall time after which a run counts as one without end; loops that count their iterations get more."""
_ITERATIONS_A_SECOND: Final = 2_000_000
"""Fewer than any loop does here."""
_HARMS: Final = ("E-RUN-BOUNDS", "E-NUMERICS-OVERRUN", "E-NUMERICS-INPUT")
"""Of what the code itself reports; other errors, say of an assertion, end a call as they should."""
_ENDED: Final = ("crashed", "hangs", "limit", "garbled")
"""Ways in which a child ends over what it was given."""


def harm_of(name: str, module: IRModule, target: Target, unknown: Iterable[str] = ()) -> str:
    """What a call of a function does to its process; empty where it does no harm, and where it cannot be tried.

    `unknown`: functions that are compiled in the child as well; others of the module are compiled here.  Raises
    `WorkbenchError` for what cannot be compiled, and where no process can be started.
    """
    called = lower_module(closure(name, module))
    functions = [func for _, func in called.items() if isinstance(func, t.PrimFunc)]
    if why_foreign(target) or any(outside_calls(func) for func in functions):
        return ""
    parameters = packed_parameters(called[name])
    if not _can_be_made(parameters):
        return ""
    seconds = SECONDS + sum(iterations(func) for func in functions) / _ITERATIONS_A_SECOND
    with Contained(seconds) as child:
        trial = _Trial(child, name, parameters)
        forms = _forms(name, called, target, {name, *unknown})
        harm = trial.run(forms, 0)
        if harm and any(not parameter.dtype.is_float for parameter in parameters):
            harm = f"{harm} (with all integers 0, and with 1)" if trial.run(forms, 1) else ""
    return harm


def closure(name: str, module: IRModule) -> IRModule:
    """A function with those of its module that it calls, and that they call."""


    def there(names: Iterable[str]) -> list[str]:
        return [one for one in names if one in module]

    names = parts_first(there([name]), lambda one: there(called for called, _ in calls_in(module[one])), str)
    return IRModule({one: module[one] for one in names})


def calls_in(function: t.PrimFunc) -> list[tuple[str, tuple[Any, ...]]]:
    """The functions of its module that a function calls, with what it gives them."""
    return [
        (node.args[0].value, node.args[1:])
        for node in pre_order(function.body)
        if isinstance(node, n.Call) and node.op == "call_tir" and isinstance(node.args[0], n.StringImm)
    ]


def _can_be_made(parameters: Iterable[Parameter]) -> bool:
    """Whether there are arguments for all parameters."""
    spent = 0
    for parameter in parameters:
        shape = parameter.shape or ()
        if parameter.dtype.is_handle or not all(isinstance(extent, int) for extent in shape):
            return False
        size = parameter.dtype.to_numpy().itemsize
        for extent in shape:
            size *= int(extent)
        spent += size
    return spent <= MOST_BYTES


def _forms(name: str, called: IRModule, target: Target, unknown: set[str]) -> list[tuple[str, Unit]]:
    """The function as it is checked and as it would run here, with those that it calls."""
    others = {each: func for each, func in called.items() if each not in unknown}
    native = unit_of(called.with_functions({}), target, level_of(target))
    if others:
        jobs = dict(zip(called.names(), native.jobs, strict=True))
        objects = compile_cached([jobs[each] for each in others])
        native = Unit(native.functions, tuple(jobs[each] for each in unknown if each in jobs), tuple(objects))
    try:
        own = flat_form(IRModule({each: func for each, func in called.items() if each in unknown}), checked=True)
        if not any(map(_is_checked, own.functions.values())):
            return [("native", native)]
        checked = called.with_functions(dict(own.functions))
        checked, level = for_one_run(checked)
        return [("checked", unit_of(checked, target, level)), ("native", native)]
    except WorkbenchError:  # not every program has a checked form
        return [("native", native)]


def _is_checked(function: t.PrimFunc) -> bool:
    """Whether some access of a checked form is not proven to be inside, so that it is checked as it runs."""
    calls = (node for node in pre_order(function.body) if isinstance(node, n.Call) and node.op == "call_extern")
    return any(isinstance(call.args[0], n.StringImm) and call.args[0].value == "wb_report" for call in calls)


class _Trial:
    """Runs of one function in a child."""

    def __init__(self, child: Contained, name: str, parameters: tuple[Parameter, ...]) -> None:
        self._child, self._name, self._parameters = child, name, parameters

    def run(self, forms: list[tuple[str, Unit]], whole: int) -> str:
        """What it does with integers of this value; empty where it does no harm."""
        try:
            for key, array in self._arrays(whole):
                self._child.put(key, array)
            return next((harm for form, unit in forms if (harm := self._call(form, unit, whole))), "")
        except ChildFailure as failure:
            return _ended(failure, "when it is compiled")

    def _arrays(self, whole: int) -> Iterable[tuple[str, np.ndarray]]:
        """What the parameters that are arrays begin with, by their numbers."""
        random = np.random.default_rng(0)
        for key, parameter in enumerate(self._parameters):
            if parameter.shape is None:
                continue
            kind, shape = parameter.dtype.to_numpy(), tuple(map(int, parameter.shape))
            if parameter.written or not parameter.dtype.is_float:
                yield str(key), np.full(shape, 0 if parameter.written else whole, kind)
            else:
                yield str(key), random.uniform(-1, 1, shape).astype(kind)

    def _call(self, form: str, unit: Unit, whole: int) -> str:
        problem = self._child.load(form, unit)
        if problem is not None and form == "checked":
            return ""
        if problem is not None:
            raise problem
        given: list[str | float] = []
        outputs: list[Any] = []
        for key, parameter in enumerate(self._parameters):
            if parameter.shape is None:
                given.append(0.5 if parameter.dtype.is_float else whole)
            elif parameter.written:
                outputs.append((key, parameter.dtype, parameter.shape))
            else:
                given.append(str(key))
        answer = self._child.call(form, self._name, given, outputs, {place: str(place) for place, _, _ in outputs})
        if answer.error is None:
            return ""
        if answer.of_the_machine:
            raise _untried(answer.error.message)
        if answer.failure != "error":
            return f"it {'does not end' if answer.failure == 'hangs' else 'crashes'}: {answer.error.message}"
        if answer.error.code not in _HARMS:
            return ""
        said = (answer.error.message, answer.error.found, answer.error.expected and f"not {answer.error.expected}")
        return ", ".join(part for part in said if part)


def _ended(failure: ChildFailure, when: str) -> str:
    """What a child that is gone tells of the function.  Raises `WorkbenchError` where it tells nothing."""
    if failure.kind in _ENDED and not failure.of_the_machine:
        return f"the process that it is tried in {failure.phrase} {when}: {failure.detail}"
    raise _untried(failure.detail)


def _untried(found: str) -> WorkbenchError:
    """The machine's fault, not the function's: there was no process, or no time for it."""
    return WorkbenchError(
        "E-EDIT-TRIAL", "a kernel that was changed by hand is tried in a process of its own first, which could not be",
        found=found, fix="try again; s.without(...) takes the edit out", kept="the session as it is",
    )  # fmt: skip
