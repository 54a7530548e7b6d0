"""The messages between a screen's two halves, without Jupyter: dicts in, dicts and buffers out.

A request is `{"v": 1, "id": 7, "op": "step", "state": "9f3a", "args": {...}}`; its reply is
`{"v": 1, "id": 7, "ok": true, "state": ..., "view": ..., "timings": {"kernel_ms": ...}}` or, with `"ok":
false`, `"err"` holding an `ErrorView`.  What the kernel says on its own accord is `{"v": 1, "event": ...,
"args": ...}`.

Invariants: a reply is at most `JSON_LIMIT` bytes; a larger view travels as gzip in a buffer, up to
`BUFFER_LIMIT`, and above that is refused with an error.  Junk is dropped with a line in the log
("workbench.ui"), and nothing a page sends can raise here.

    >>> dispatcher = Dispatcher({"echo": lambda args: Answer("s0", {"said": args["text"]})})
    >>> dispatcher.handle({"v": 1, "id": 1, "op": "echo", "args": {"text": "hi"}}).content["view"]
    {'said': 'hi'}
"""

from __future__ import annotations

import gzip
import json
import logging
import math
import reprlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any, Final

from workbench.core.errors import WorkbenchError
from workbench.core.interrupts import Interruptible
from workbench.views.schema import ErrorView, View
from workbench.views.strings.tables import say

VERSION: Final = 1
JSON_LIMIT: Final = 100_000
BUFFER_LIMIT: Final = 1_000_000
_ID_LIMIT: Final = 2**53
_NUMBER_LIMIT: Final = 2**53
"""From here on a page's numbers are not exact."""
_DEPTH: Final = 32
"""Lists and objects inside each other that an argument may have."""
_REPLACED: Final = 10_000
"""Texts that are remembered since no message can hold them."""

log = logging.getLogger("workbench.ui")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command gives: the state that it speaks of, a view of it, and raw buffers if there are any."""

    state: str
    view: View | Mapping[str, Any] | None = None
    buffers: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes over the wire: JSON content and binary buffers."""

    content: dict[str, Any]
    buffers: list[bytes] = field(default_factory=list[bytes])
    interrupt: KeyboardInterrupt | None = None
    """What ended the command; who sends the reply raises it afterwards, for the kernel's runner."""

    def view(self) -> Any:
        """The view of a command that was not refused, unpacked where it travels packed; None where there is none."""
        return json.loads(gzip.decompress(self.buffers[0])) if self.content.get("packed") else self.content["view"]


@dataclass(frozen=True, slots=True)
class Request:
    """A well-formed message of a page."""

    id: int
    op: str
    state: str
    args: dict[str, Any]


def parse_request(message: object) -> Request | None:
    """The request in a message, or None if it is junk."""
    if not isinstance(message, dict) or message.get("v") != VERSION or isinstance(message.get("v"), bool):
        return None
    number, op, state, args = (message.get(key) for key in ("id", "op", "state", "args"))
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < _ID_LIMIT:
        return None
    if not isinstance(op, str) or not isinstance(state, str | None) or not isinstance(args, dict | None):
        return None
    return Request(number, op, state or "", dict(args or {}))


class Dispatcher:
    """Answers requests from a table of commands: op -> function of the request's arguments."""

    def __init__(self, commands: Mapping[str, Callable[[dict[str, Any]], Answer]]) -> None:
        self._commands = dict(commands)
        self._meant: dict[str, str | None] = {}
        """By what pages know them as, the texts that no message can hold; None where several are known as one."""
        self.one_at_a_time: Final = RLock()
        """Held by a command, and by what cells do with the screen: they may have threads of their own."""

    def handle(self, message: object) -> Reply | None:
        """The reply to a message, or None for junk.  An interrupt is refused to the page and kept in the reply."""
        request = parse_request(message)
        if request is None:
            log.warning("a message that is no request was dropped: %.200s", reprlib.repr(message))
            return None
        start = time.perf_counter()
        with Interruptible() as block:
            try:
                reply = _packed(request.id, self._answer(request), self._remember)
            except WorkbenchError as error:
                reply = _refusal(request.id, ErrorView.of(error))
            except MemoryError as error:
                reply = _refusal(request.id, _too_large(error, request.op))
            except Exception as error:
                log.exception("the command %r failed", request.op)
                reply = _refusal(request.id, _internal(error))
            except KeyboardInterrupt as interrupt:
                reply = replace(_refusal(request.id, _interrupted()), interrupt=interrupt)
        if block.heard:  # what was done stands by then, so that the page is told of it
            reply = replace(reply, interrupt=KeyboardInterrupt())
        reply.content["timings"] = {"kernel_ms": round((time.perf_counter() - start) * 1000, 2)}
        return reply

    def _answer(self, request: Request) -> Answer:
        unfit = _unfit(request.args)
        if unfit:
            raise WorkbenchError(
                "E-UI-ARGUMENT", "this is no argument of a command", found=unfit,
                expected=f"texts, numbers up to 2^53, lists and objects, at most {_DEPTH} deep",
            )  # fmt: skip
        command = self._commands.get(request.op)
        if command is None:
            raise WorkbenchError(
                "E-UI-OP",
                "this screen knows no such command",
                found=repr(request.op)[:80],
                expected=", ".join(sorted(self._commands)),
                fix="reload the page: it may hold an older version of the screen",
            )
        with self.one_at_a_time:
            return command(_with_texts(request.args, self._meant) if self._meant else request.args)

    def _remember(self, view: Any) -> None:
        """A view holds texts that are replaced in the message: a page that names one means what it was."""
        texts = sorted(set(_texts(view)), key=_encodes)  # those to be replaced first
        for text in texts[:_REPLACED]:
            known = text if _encodes(text) else _whole_characters(text)
            if known in self._meant or (known != text and len(self._meant) < _REPLACED):
                self._meant[known] = text if self._meant.get(known, text) == text else None


def event(name: str, **args: Any) -> dict[str, Any]:
    """A message that the kernel sends on its own accord."""
    return {"v": VERSION, "event": name, "args": args}


def argument(args: Mapping[str, Any], name: str, kind: type, default: Any = ...) -> Any:
    """The argument `name` of a request, checked; a missing or wrong one is a `WorkbenchError`."""
    value = args.get(name, default)
    if value is default and default is not ...:
        return value
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise WorkbenchError(
            "E-UI-ARGUMENT",
            f"the command needs {name!r}",
            found="nothing" if value is ... else repr(value)[:80],
            expected=kind.__name__,
        )
    return value


def items(args: Mapping[str, Any], name: str, kind: type, default: Any = ...) -> list[Any]:
    """The list `name` of a request, whose items are all of one kind; else a `WorkbenchError`."""
    found = argument(args, name, list, default) or []
    wrong = [one for one in found if not isinstance(one, kind) or (kind is int and isinstance(one, bool))]
    if wrong:
        raise WorkbenchError(
            "E-UI-ARGUMENT", f"the command needs {name!r}", found=f"{wrong[0]!r}"[:80],
            expected=f"a list of {kind.__name__}",
        )  # fmt: skip
    return found


def outdated_schedule(kernel: str, found: str, expected: str) -> WorkbenchError:
    """What a page is told that speaks of a schedule as it was."""
    return WorkbenchError(
        "E-UI-STALE", "the schedule has changed since this was drawn",
        where=f"schedule of {kernel[:60]}", found=found[:200], expected=expected[:300],
        fix="look at the new state, which is drawn now, and choose again", kept="the schedule is unchanged",
    )  # fmt: skip


def _unfit(args: Mapping[str, Any]) -> str:
    """What of a request's arguments no command can take, in words; nothing where all is well."""
    waiting: list[tuple[Any, int]] = [(args, 0)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, dict):
            waiting += [(inner, depth + 1) for pair in value.items() for inner in pair]
        elif isinstance(value, list):
            waiting += [(inner, depth + 1) for inner in value]
        if depth > _DEPTH:
            return say.protocol.too_deep
        if isinstance(value, str) and not _encodes(value):
            return say.protocol.half_character(value[:40])
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        if isinstance(value, int) and abs(value) > _NUMBER_LIMIT:
            return say.protocol.inexact
    return ""


def _encodes(text: str) -> bool:
    """Whether a text is one: halves of pairs of UTF-16 alone are no characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _texts(view: Any) -> Iterator[str]:
    """The texts in a view, names of fields among them."""
    waiting = [view]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting += [inner for pair in value.items() for inner in pair]
        elif isinstance(value, (list, tuple)):
            waiting += value


def _with_texts(value: Any, meant: Mapping[str, str | None]) -> Any:
    """Arguments, with what their texts stand for; they are of few levels (`_DEPTH`)."""
    if isinstance(value, str):
        return meant.get(value) or value
    if isinstance(value, list):
        return [_with_texts(inner, meant) for inner in value]
    if isinstance(value, dict):
        return {_with_texts(name, meant): _with_texts(inner, meant) for name, inner in value.items()}
    return value


def _packed(number: int, answer: Answer, replaced: Callable[[Any], None]) -> Reply:
    view = answer.view.to_json() if isinstance(answer.view, View) else answer.view
    content: dict[str, Any] = {"v": VERSION, "id": number, "ok": True, "state": answer.state, "view": view}
    written = json.dumps(view, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if not _encodes(written):  # a name that a program was given in Python
        replaced(view)
        written = _whole_characters(written)
        content["view"] = json.loads(written)
    text = written.encode()
    if len(text) <= JSON_LIMIT:
        return Reply(content, list(answer.buffers))
    packed = gzip.compress(text, compresslevel=3, mtime=0)
    if len(packed) > BUFFER_LIMIT or answer.buffers:
        raise WorkbenchError(
            "E-UI-SIZE",
            "this view is too large for a page",
            found=f"{len(text):,} bytes",
            expected=f"at most {BUFFER_LIMIT:,} bytes packed",
            fix="look at a part of the program, or write it to a file",
        )
    content["view"], content["packed"] = None, True
    return Reply(content, [packed])


def _whole_characters(text: str) -> str:
    """`text` with U+FFFD for each half of a pair of UTF-16 that stands alone: no message can hold one."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _refusal(number: int, error: ErrorView) -> Reply:
    told = json.loads(_whole_characters(json.dumps(error.to_json(), ensure_ascii=False)))
    return Reply({"v": VERSION, "id": number, "ok": False, "err": told})


def _interrupted() -> ErrorView:
    return ErrorView(
        code="E-UI-INTERRUPTED", message=say.protocol.interrupted, fix=say.protocol.ask_again,
        kept=say.protocol.as_they_were,
    )  # fmt: skip


def _too_large(error: MemoryError, op: str) -> ErrorView:
    return ErrorView(
        code="E-UI-MEMORY", message=say.protocol.no_memory, where=say.protocol.command(op[:80]),
        found=str(error)[:200] or say.protocol.not_said, expected=say.protocol.fits, fix=say.protocol.smaller,
        kept=say.protocol.as_they_were,
    )  # fmt: skip


def _internal(error: Exception) -> ErrorView:
    return ErrorView(
        code="E-INTERNAL",
        message=say.protocol.command_failed,
        found=f"{type(error).__name__}: {str(error)[:200]}",
        fix=say.protocol.report_it,
        kept=say.protocol.unchanged,
    )
