"""The trace: the steps of a schedule by name, to print, save, and replay on other shapes.

Steps name the results of earlier steps, never positions in a program, so a trace is a schedule for every function of
the same structure.  It prints as Python that runs and saves as JSON (`trace_json`).

    trace = sch.trace
    print(trace)                         # sch.get_block("C") ...
    Trace.from_json(trace.as_json()).apply_to(Schedule(other))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._lazy import told
from ..core.walks import flattened
from .arguments import ResultName
from .errors import refuse
from .registry import DECISION, PRIMITIVES

if TYPE_CHECKING:
    from .schedule import Schedule


@dataclass(frozen=True)
class Kind:
    """A kind of instruction, by its classic name."""

    name: str


@dataclass(frozen=True)
class Step:
    """One primitive carried out: arguments (only those given), names of the results, the sampled decision if any."""

    primitive: str
    arguments: tuple[tuple[str, Any], ...]
    results: tuple[str, ...]
    decision: Any = None
    version: int = 1

    @property
    def kind(self) -> Kind:
        """The classic name of the primitive: ``inst.kind.name`` is "SamplePerfectTile"."""
        return Kind("".join(part.capitalize() for part in self.primitive.split("_")))

    @property
    def is_sampler(self) -> bool:
        """Whether the step draws something."""
        entry = PRIMITIVES.get(self.primitive)
        return entry is not None and DECISION in entry.annotations

    @property
    def inputs(self) -> list[Any]:
        """The arguments that are results of earlier steps, by their classic name."""
        return [item for item in flattened(self.arguments) if isinstance(item, ResultName)]

    @property
    def attrs(self) -> list[Any]:
        """The other arguments."""
        return [value for _, value in self.arguments if not any(isinstance(x, ResultName) for x in flattened(value))]

    @property
    def outputs(self) -> list[str]:
        """The names of the results."""
        return list(self.results)

    def needed(self) -> list[str]:
        """The names of the earlier results that the step uses."""
        return [item.name for item in self.inputs]

    def line(self, handle: str = "sch") -> str:
        """The line of Python that does this step."""
        shown: list[str] = []
        spread = _spread_arguments(self.primitive)
        by_name = False
        for position, (name, value) in enumerate(self.arguments):
            if name in spread:
                shown.extend(_python(item) for item in value)
            elif position == 0 or (isinstance(value, ResultName) and not by_name):
                shown.append(_python(value))
            else:
                by_name = True
                shown.append(f"{name}={_python(value)}")
        if self.decision is not None:
            shown.append(f"decision={_python(self.decision)}")
        call = f"{handle}.{self.primitive}({', '.join(shown)})"
        if not self.results:
            return call
        if not _answers_list(self.primitive):
            return f"{self.results[0]} = {call}"
        return f"{', '.join(self.results)}{',' if len(self.results) == 1 else ''} = {call}"


def _spread_arguments(name: str) -> list[str]:
    """The parameters of a primitive that are given one by one: ``*loops``."""
    entry = PRIMITIVES.get(name)
    return [] if entry is None else [item.name for item in entry.parameters if item.kind is item.VAR_POSITIONAL]


def _answers_list(name: str) -> bool:
    import typing

    entry = PRIMITIVES.get(name)
    return entry is None or typing.get_origin(entry.results) is list


def _python(value: Any) -> str:
    if isinstance(value, ResultName):
        return value.name
    if isinstance(value, tuple):
        return f"[{', '.join(_python(item) for item in value)}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_python(item)}' for key, item in value.items())}}}"
    return repr(value)


@dataclass(init=False)
class Trace:
    """The steps of a schedule, oldest first; see the module's header.

    The classic instructions and decisions are `insts` and `decisions`.  A schedule's trace is a copy of what has been
    done: `append` and `pop` change this object alone.
    """

    steps: tuple[Step, ...] = ()
    function: str = "main"

    def __init__(
        self, insts: Sequence[Step] = (), decisions: Mapping[Step, Any] | str | None = None, function: str = "main"
    ) -> None:
        """`decisions` replaces those of some steps; a text in its place is the name of the function."""
        if isinstance(decisions, str):
            decisions, function = None, decisions
        given = decisions or {}
        self.steps = tuple(replace(step, decision=given[step]) if step in given else step for step in insts)
        self.function = function

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return self.as_python()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return told().trace_bundle(self)

    # --- what stands in it ---

    @property
    def insts(self) -> list[Step]:
        """The steps, by their classic name."""
        return list(self.steps)

    @property
    def decisions(self) -> dict[Step, Any]:
        """What samplers drew, by step."""
        return {step: step.decision for step in self.steps if step.decision is not None}

    def get_decision(self, inst: Step) -> Any:
        """What a step drew; None if it draws nothing."""
        return self.steps[self._index(inst)].decision

    def append(self, inst: Step, decision: Any = None) -> None:
        """Add a step at the end of this trace (not to a schedule), with another decision if one is given."""
        self.steps = (*self.steps, inst if decision is None else replace(inst, decision=_frozen(decision)))

    def pop(self) -> Step | None:
        """Take the last step away and answer it; None if there is none."""
        if not self.steps:
            return None
        *kept, last = self.steps
        self.steps = tuple(kept)
        return last

    def with_decision(self, inst: Step, decision: Any, remove_postproc: bool = False) -> Trace:
        """A trace in which a step has drawn something else."""
        at = self._index(inst)
        steps = (*self.steps[:at], replace(inst, decision=_frozen(decision)), *self.steps[at + 1 :])
        return Trace(_before_postproc(steps) if remove_postproc else steps, function=self.function)

    def simplified(self, remove_postproc: bool = False) -> Trace:
        """Without getters and samplers whose results no later step uses."""
        used: set[str] = set()
        kept: list[Step] = []
        for step in reversed(_before_postproc(self.steps) if remove_postproc else self.steps):
            entry = PRIMITIVES.get(step.primitive)
            idle = entry is not None and entry.category in ("get", "sample")
            if not idle or not used.isdisjoint(step.results):
                kept.append(step)
                used.update(step.needed())
        return Trace(kept[::-1], function=self.function)

    def _index(self, inst: Step) -> int:
        for number, step in enumerate(self.steps):
            if step is inst or step == inst:
                return number
        raise refuse(
            "E-TRACE-STEP",
            "the trace has no such step",
            found=inst.line() if isinstance(inst, Step) else repr(inst)[:60],
            expected="one of trace.insts",
            fix="take it from this trace's insts",
        )

    # --- texts ---

    def as_python(self, handle: str = "sch", remove_postproc: bool = False) -> str:
        """Lines of Python in one text; `handle` is what the schedule is called in them.

        The classic method answers a list of lines: ``trace.as_python().splitlines()``.
        """
        steps = _before_postproc(self.steps) if remove_postproc else self.steps
        return "".join(step.line(handle) + "\n" for step in steps)

    def show(self, style: str | None = None, black_format: bool = False) -> None:
        """Print the lines of Python; `style` and `black_format` are accepted and change nothing."""
        print(self.as_python(), end="")

    def as_json(self, remove_postproc: bool = False) -> str:
        """The saved form, one step a line."""
        from .trace_json import write

        return write(Trace(_before_postproc(self.steps), function=self.function) if remove_postproc else self)

    @staticmethod
    def from_json(text: str, allow_code: bool = False) -> Trace:
        """A saved trace.  All or nothing: raises `ScheduleError` E-TRACE-... with line and column.

        Native code in it (an annotation that imports LLVM) is refused (E-TRACE-CODE) unless `allow_code`.
        """
        from .trace_json import read

        return read(text, allow_code)

    # --- doing it again ---

    def apply_to(self, schedule: Schedule, *, resample: bool = False) -> None:
        """Do these steps on `schedule`, all or none.

        Samplers take the decisions of the trace; one that does not fit this program is refused, or drawn again with
        `resample`.  Raises the `ScheduleError` of the first step that is refused, located by its number.
        """
        schedule.replay(self, resample=resample)

    def apply_to_schedule(
        self,
        sch: Schedule,
        remove_postproc: bool = False,
        decision_provider: Callable[[Step, list[Any], list[Any], Any], Any] | None = None,
    ) -> None:
        """The classic `apply_to`.

        `decision_provider(inst, inputs, attributes, decision)` may answer another decision for each sampler: None
        draws again.
        """
        steps = _before_postproc(self.steps) if remove_postproc else self.steps
        if decision_provider is not None:
            steps = tuple(
                replace(step, decision=_frozen(decision_provider(step, step.inputs, step.attrs, step.decision)))
                if step.is_sampler
                else step
                for step in steps
            )
        sch.replay(Trace(steps, function=self.function))

    @staticmethod
    def apply_json_to_schedule(json_obj: str, sch: Schedule) -> None:
        """Read a saved trace and do its steps, all or none."""
        Trace.from_json(json_obj).apply_to(sch)


def _before_postproc(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps before `enter_postproc`."""
    at = next((number for number, step in enumerate(steps) if step.primitive == "enter_postproc"), len(steps))
    return tuple(steps[:at])


def _frozen(value: Any) -> Any:
    """A decision as steps keep it: numbers, tuples of them."""
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(item) for item in value)
    return int(value) if hasattr(value, "__index__") else value
