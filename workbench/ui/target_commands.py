"""Commands on what code is made for: the target of the session shown, others to choose from, and going to one.

    screen.ask("target.open")                             # {"text": "llvm", "own": [[text, word], ...], "named": ...}
    screen.ask("target.set", text="llvm -mcpu=x86-64")    # s = s.rerun(target='llvm -mcpu=x86-64')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from workbench.codegen.backend import BACKENDS, backend_of, building_for
from workbench.target.host import architecture, features
from workbench.target.tables import PROCESSORS, TAGS
from workbench.target.target import Target
from workbench.ui.protocol import Answer, argument
from workbench.views.strings.tables import say

if TYPE_CHECKING:
    from workbench.driver.session import Session

_HOST: Final = "llvm"
_EXTENSIONS: Final = {"avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX"}
"""By LLVM's name; one switched off, those before it are off too."""
_LANE_BITS: Final = 32


class TargetCommands:
    """The commands; `go(session, call)` shows another session."""

    def __init__(self, shown: Callable[[], Session], go: Callable[[Session, str], object]) -> None:
        self._shown, self._go = shown, go

    def table(self) -> dict[str, Callable[[dict[str, Any]], Answer]]:
        """The commands by name."""
        return {"target.open": self._open, "target.set": self._set}

    def _open(self, args: dict[str, Any]) -> Answer:
        """The target, and others: of this machine first, then those that have names."""
        return Answer("", {"text": str(self._shown().target), "own": list(_own()), "named": list(_named())})

    def _set(self, args: dict[str, Any]) -> Answer:
        """The same session for another target.  Raises `WorkbenchError` for a text that is none, and where no code
        can be made for it."""
        session, target = self._shown(), building_for(argument(args, "text", str))
        backend_of(target).require_known(target)
        if target != session.target:  # going to where one is, is no change
            self._go(session.rerun(target=target), f"s = s.rerun(target={str(target)!r})")
        return Answer("")


def _own() -> Iterator[list[str]]:
    """Targets of this machine, each with a word on it: as it is, with less of its instructions, with less wide vectors.

    What is switched off are instructions; the width of vectors is what default schedules go by.
    """
    yield [_HOST, say.session.this_machine(_bits(_HOST))]
    for name, title in _EXTENSIONS.items():
        if name in features():
            yield [f"{_HOST} -mattr=-{name}", say.session.this_machine_without(title)]
    widths = (bits for bits in (256, 128) if bits < _bits(_HOST))
    yield from ([f"{_HOST} -vector-width={bits}", say.session.schedules_for_vectors(bits)] for bits in widths)


def _named() -> Iterator[list[str]]:
    """The targets that have names here and a backend, and the processors of this machine's architecture."""
    for tag, text in TAGS.items():
        target = Target(text)
        if str(target.kind) in BACKENDS and not target.is_host:
            yield [str(target), say.session.vectors_of(tag, _bits(text))]
    for name, processor in PROCESSORS.items():
        text = f"{_HOST} -mcpu={name}"
        if processor.architecture == architecture() and text not in TAGS.values():
            yield [text, say.session.vectors_of(name, _bits(text))]


def _bits(text: str) -> int:
    """How wide the vectors are that default schedules use for a target."""
    return Target(text).lanes * _LANE_BITS
