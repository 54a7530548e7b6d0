"""What a session hands out to look at: steps and programs, each with text, difference and display."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._lazy import views
from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.text import Text
from .debugging import after_rewrites, first_wrong_rewrite
from .difference import Difference, step_difference
from .history import Step
from .text import function_text, script
from .values import Value
from .verified import Verified, verified

if TYPE_CHECKING:
    from .session import Session


@dataclass(frozen=True)
class FunctionView(Value):
    """One function of a program at one step."""

    name: str
    function: Any
    native: Callable[[str, str], str] | None = None
    """Gives native text by form and name, after code generation."""
    error: WorkbenchError | None = None
    """Why its step failed, if it did."""

    def script(self) -> str:
        return function_text(self.name, self.function).text

    def text(self) -> Text:
        """The text with the spans of its nodes."""
        return function_text(self.name, self.function)

    def source(self, form: str = "asm") -> str:
        """Native text: "ll" (LLVM IR) or "asm".  Raises what stopped code generation where that failed."""
        if self.error is not None:
            raise self.error
        if self.native is None:
            raise WorkbenchError("E-VIEW-NATIVE", "this step has no native code", fix='look at s.codegen["kernel"]')
        if not isinstance(form, str):
            raise WorkbenchError("E-SOURCE-FORM", f"there is no form {form!r:.80}", expected="ll, ll-opt, asm")
        return self.native(form, self.name)

    def show(self, form: str = "script") -> Any:
        """Display the function: "script", or native text "ll", "asm" after code generation."""
        scripted = isinstance(form, str) and form == "script"
        return views().show_text(self.script() if scripted else self.source(form), form)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return views().text_bundle(self.script(), "script")


@dataclass(frozen=True)
class ProgramView(Value):
    """The program at one step: its functions by name."""

    step: Step

    @property
    def module(self) -> IRModule:
        return self.step.stage.module

    def __getitem__(self, name: str) -> FunctionView:
        compiled = self.step.stage.compiled
        return FunctionView(name, self.module[name], compiled and compiled.get_source, self.step.error)

    def __iter__(self) -> Iterator[str]:
        return iter(self.module.names())

    def __len__(self) -> int:
        return len(self.module)

    def script(self) -> str:
        return script(self.module)

    def show(self, form: str = "script", opened: Iterable[str] = ()) -> Any:
        """Display the program: its "script", or the "graph" of its relay function main.

        A graph that is too large to be read at once is drawn as groups; `opened` are the ids of those to look into.
        """
        if not isinstance(form, str) or form not in ("script", "graph"):
            raise WorkbenchError("E-VIEW-FORM", f"there is no form {form!r:.80}", expected="script, graph")
        main = self.module.functions.get("main")
        if form == "graph" and main is not None:
            return views().show_graph(main, opened=opened)
        return views().show_program(self.module)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return views().program_bundle(self.module)

    def __str__(self) -> str:
        return self.script()


@dataclass(frozen=True)
class StepHandle(Value):
    """A step of a session, computed when looked at."""

    session: Session
    index: int

    @property
    def step(self) -> Step:
        return self.session.step(self.index)

    @property
    def name(self) -> str:
        return self.session.labels[self.index]

    @property
    def program(self) -> ProgramView:
        return ProgramView(self.step)

    @property
    def before(self) -> IRModule | None:
        previous = self.step.previous
        return previous.stage.module if previous is not None else None

    @property
    def after(self) -> IRModule:
        return self.step.stage.module

    @property
    def changed(self) -> bool:
        return self.step.changed

    @property
    def milliseconds(self) -> float:
        return self.step.milliseconds

    @property
    def error(self) -> WorkbenchError | None:
        return self.step.error

    @property
    def rewrites(self) -> tuple[Any, ...]:
        """The rules that fired, in order."""
        return self.step.firings

    def script(self) -> str:
        """The program after the step; where it has an error, the one before what stopped."""
        return script(self.after)

    def verify(self) -> Verified:
        """What the verifier of graphs or of loop programs says of the program after the step."""
        return verified(self.step)

    def diff(self) -> Difference:
        """What the step changed, by what it did: changes alike are one kind, of which the first is written out."""
        return step_difference(self.step)

    def edit(self, change: Any) -> Session:
        """A session in which the program after this step is changed by hand; see `Session.edit`."""
        level = self.session.actions[self.index].level
        if level == "relay":
            return self.session.edit(relay=change, at=self.name)
        return self.session.edit(tir=change, at=self.name)

    def after_rewrites(self, count: int) -> ProgramView:
        """The program when only the first `count` rewrites of this step's rules have happened."""
        return ProgramView(replace(self.step, stage=replace(self.step.stage, module=after_rewrites(self.step, count))))

    def first_wrong_rewrite(self, inputs: Mapping[str, Any], tolerance: float = 1e-3) -> Any:
        """The first rewrite of this graph step after which the program computes something else; None if none does."""
        return first_wrong_rewrite(self.step, inputs, tolerance)

    def show(self) -> Any:
        """Display what the step changed, or why it was not carried out."""
        if self.error is not None:
            return views().show_text(str(self.error), "plain")
        return views().show_difference(self.diff())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        if self.error is not None:
            return views().text_bundle(str(self.error), "plain")
        return views().difference_bundle(self.diff())

    def __repr__(self) -> str:
        if self.error is not None:
            return f"Step({self.name!r}, not carried out: {self.error.code})"
        return f"Step({self.name!r}, {'changed' if self.changed else 'unchanged'}, {self.milliseconds:.1f} ms)"
