"""Instruments: what watches passes run.  Give them to a context: ``PassContext(instruments=[PassTimingInstrument()])``.

The classic names of `workbench.ir.instrument`: timing, printing before and after, dumping to numbered files, and
`@pass_instrument` for one's own.

>>> from workbench.core.transform import PassContext
>>> timing = PassTimingInstrument()
>>> with PassContext(instruments=[timing]):
...     pass
>>> timing.render()
'no pass has run'
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from .errors import WorkbenchError
from .module import IRModule
from .transform import PassInfo, PassInstrument
from .whole_file import write_whole

__all__ = [
    "DumpIR",
    "PassInstrument",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "pass_instrument",
]

_HOOKS = ("enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass")


@dataclass
class _Timed:
    """One run of a pass, with the passes run inside it."""

    name: str
    started: int
    spent: int = 0
    inside: list[_Timed] = field(default_factory=list["_Timed"])


class PassTimingInstrument(PassInstrument):
    """Measures each pass; `render()` gives a table, nested passes indented below those that ran them."""

    def __init__(self) -> None:
        self._top: list[_Timed] = []
        self._running: list[_Timed] = []

    def enter_pass_ctx(self) -> None:
        self._top, self._running = [], []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        entry = _Timed(info.name, time.perf_counter_ns())
        (self._running[-1].inside if self._running else self._top).append(entry)
        self._running.append(entry)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        while self._running:
            entry = self._running.pop()
            entry.spent = time.perf_counter_ns() - entry.started
            if entry.name == info.name:
                return

    def render(self) -> str:
        """Passes with microseconds: all, own (without passes inside), share of the parent and of the whole."""
        if not self._top:
            return "no pass has run"
        total = sum(entry.spent for entry in self._top) or 1
        lines: list[str] = []
        stack = [(entry, 0, total) for entry in reversed(self._top)]
        while stack:
            entry, depth, parent = stack.pop()
            own = entry.spent - sum(one.spent for one in entry.inside)
            shares = f"{100 * entry.spent / (parent or 1):.2f}%; {100 * entry.spent / total:.2f}%"
            lines.append(f"{'  ' * depth}{entry.name}: {entry.spent / 1000:.0f}us [{own / 1000:.0f}us] ({shares})")
            stack.extend((one, depth + 1, entry.spent) for one in reversed(entry.inside))
        return "\n".join(lines)


class PassPrintingInstrument(PassInstrument):
    """Prints the module before and after chosen passes; an empty list chooses none."""

    def __init__(
        self,
        print_before_pass_names: Sequence[str] = (),
        print_after_pass_names: Sequence[str] = (),
        file: TextIO | None = None,
    ) -> None:
        self._before = frozenset(print_before_pass_names)
        self._after = frozenset(print_after_pass_names)
        self._file = file

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if self.wants(info, self._before):
            self._print("Before", mod, info)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if self.wants(info, self._after):
            self._print("After", mod, info)

    def wants(self, info: PassInfo, chosen: frozenset[str]) -> bool:
        """Whether this pass is among the chosen."""
        return info.name in chosen

    def _print(self, when: str, mod: IRModule, info: PassInfo) -> None:
        print(f"# {when} {info.name}\n{mod.script()}", file=self._file or sys.stdout)


class PrintBeforeAll(PassPrintingInstrument):
    """Prints the module before every pass."""

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._print("Before", mod, info)


class PrintAfterAll(PassPrintingInstrument):
    """Prints the module after every pass."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._print("After", mod, info)


class DumpIR(PassInstrument):
    """Writes the module after every pass into a folder: ``000_InferType.py``, ``001_FoldConstant.py``, ..."""

    def __init__(self, dump_dir: str | Path, refresh: bool = False) -> None:
        self.folder = Path(dump_dir)
        self.refresh = refresh
        self._count = 0

    def enter_pass_ctx(self) -> None:
        """Make the folder; with `refresh`, remove the dumps of an earlier run (and nothing else) from it."""
        self._count = 0
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if self.refresh:
                for path in self.folder.glob("[0-9][0-9][0-9]_*.py"):
                    path.unlink()
        except OSError as error:
            raise self._refusal(error) from None

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        name = re.sub(r"[^\w.-]", "_", info.name)
        write_whole(self.folder / f"{self._count:03d}_{name}.py", mod.script(), code="E-DUMP-FOLDER")
        self._count += 1

    def _refusal(self, error: OSError) -> WorkbenchError:
        return WorkbenchError(
            "E-DUMP-FOLDER",
            f"dumps cannot be written: {error.strerror}",
            where=str(self.folder),
            fix="choose a folder that can be written",
        )


def pass_instrument(pi_cls: type | None = None) -> Any:
    """Make a class an instrument: any of its methods enter_pass_ctx, exit_pass_ctx, should_run, run_before_pass and
    run_after_pass are called.  Raises `WorkbenchError` for a class that has none of them."""

    def decorate(cls: type[Any]) -> Callable[..., PassInstrument]:
        if not any(callable(getattr(cls, hook, None)) for hook in _HOOKS):
            raise WorkbenchError(
                "E-INSTRUMENT-EMPTY",
                f"{cls.__name__} has none of an instrument's methods",
                expected=", ".join(_HOOKS),
            )
        if issubclass(cls, PassInstrument):
            return cls
        made = type(cls.__name__, (cls, PassInstrument), {"__doc__": cls.__doc__, "__module__": cls.__module__})
        return made  # type: ignore[return-value]

    return decorate(pi_cls) if pi_cls is not None else decorate
