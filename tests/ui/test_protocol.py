"""The message protocol: replies, refusals, junk, sizes."""

from __future__ import annotations

import gzip
import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import WorkbenchError
from workbench.ui.protocol import BUFFER_LIMIT, JSON_LIMIT, Answer, Dispatcher, argument


def refuse(args: dict[str, Any]) -> Answer:
    raise WorkbenchError("E-TEST", "no", found="x", fix="y", nodes=("l:i", object()))


def crash(args: dict[str, Any]) -> Answer:
    raise KeyError("a bug")


def too_large(args: dict[str, Any]) -> Answer:
    raise MemoryError(*args.get("said", ["32.0 GiB"]))


def half_character(args: dict[str, Any]) -> Answer:
    if args.get("refused"):
        raise WorkbenchError("E-TEST", "no", found="B\ud800", nodes=("l:B\ud800:0",))
    return Answer("s", {"B\ud800": ["\udfff", "whole"]})


def noise(args: dict[str, Any]) -> Answer:
    """Text of a given size that does not compress."""
    value, words = 12345, []
    while len(words) * 11 < args["size"]:
        value = (value * 6364136223846793005 + 1442695040888963407) % 2**64
        words.append(f"{value >> 24:010x}")
    return Answer("s", {"text": "\n".join(words)})


DISPATCHER = Dispatcher(
    {
        "echo": lambda args: Answer("s0", {"said": argument(args, "text", str)}),
        "refuse": refuse,
        "crash": crash,
        "noise": noise,
        "too_large": too_large,
        "half_character": half_character,
    }
)


def ask(op: str, **args: Any) -> dict[str, Any]:
    reply = DISPATCHER.handle({"v": 1, "id": 7, "op": op, "state": "s0", "args": args})
    assert reply is not None
    return reply.content


def test_a_request_gets_a_reply_with_its_id_state_and_time() -> None:
    content = ask("echo", text="hi")
    assert (content["v"], content["id"], content["ok"], content["state"]) == (1, 7, True, "s0")
    assert content["view"] == {"said": "hi"}
    assert content["timings"]["kernel_ms"] >= 0


def test_a_refusal_carries_the_whole_error_and_only_ids_as_nodes() -> None:
    content = ask("refuse")
    assert content["ok"] is False
    assert content["err"]["code"] == "E-TEST"
    assert content["err"]["fix"] == "y"
    assert content["err"]["nodes"] == ["l:i"]


def test_a_bug_is_one_located_error_and_a_log_entry(caplog: pytest.LogCaptureFixture) -> None:
    content = ask("crash")
    assert content["err"]["code"] == "E-INTERNAL"
    assert "KeyError" in content["err"]["found"]
    assert "a bug" in caplog.text


def test_half_a_character_is_replaced_since_no_message_can_hold_it() -> None:
    content = ask("half_character")
    assert content["view"] == {"B\ufffd": ["\ufffd", "whole"]}
    told = ask("half_character", refused=True)["err"]
    assert (told["found"], told["nodes"]) == ("B\ufffd", ["l:B\ufffd:0"])
    json.dumps(content, ensure_ascii=False).encode()


def test_a_text_that_was_replaced_is_understood_as_what_it_was() -> None:
    """A click on a block with half a character in its name asked for a block that is not there."""
    given: list[Any] = []
    known = [{"B\ud800": "B\udc80"}, {"C\udc80": "C\ufffd"}]
    dispatcher = Dispatcher({
        "show": lambda args: Answer("", {"view": known, "one": "l:\udc80:0", "other": "l:\udfff:1"}),
        "take": lambda args: Answer(given.append(args) or ""),
    })  # fmt: skip
    asked = {"name": "l:\ufffd:0", "in": ["l:\ufffd:1", {"l:\ufffd:0": "l:\ufffd:0"}], "of two": ["B\ufffd", "C\ufffd"]}
    for op, args in (("take", asked), ("show", {}), ("take", asked)):
        reply = dispatcher.handle({"v": 1, "id": 1, "op": op, "args": args})
        assert reply is not None and reply.content["ok"], reply
    meant = {"name": "l:\udc80:0", "in": ["l:\udfff:1", {"l:\udc80:0": "l:\udc80:0"}], "of two": ["B\ufffd", "C\ufffd"]}
    assert given == [asked, meant], "where two are shown alike, nothing is guessed"


@pytest.mark.parametrize(
    ("op", "args", "code"),
    [
        ("nothing", {}, "E-UI-OP"),
        ("echo", {}, "E-UI-ARGUMENT"),
        ("echo", {"text": 5}, "E-UI-ARGUMENT"),
        ("noise", {"size": 5_000_000}, "E-UI-SIZE"),
        ("too_large", {}, "E-UI-MEMORY"),
    ],
)
def test_refusals(op: str, args: dict[str, Any], code: str) -> None:
    assert ask(op, **args)["err"]["code"] == code


def test_what_takes_too_much_memory_says_of_which_command_and_what_would_do() -> None:
    error = ask("too_large")["err"]
    assert error["where"] == "command too_large" and error["found"] == "32.0 GiB"
    assert all(error[part] for part in ("expected", "fix", "kept"))
    assert ask("too_large", said=[])["err"]["found"], "an error without words"


JUNK = [
    None,
    5,
    "text",
    [],
    {},
    {"v": 2, "id": 1, "op": "echo"},
    {"v": True, "id": 1, "op": "echo"},
    {"v": 1, "op": "echo"},
    {"v": 1, "id": "1", "op": "echo"},
    {"v": 1, "id": True, "op": "echo"},
    {"v": 1, "id": -1, "op": "echo"},
    {"v": 1, "id": 2**70, "op": "echo"},
    {"v": 1, "id": 1, "op": None},
    {"v": 1, "id": 1, "op": "echo", "args": []},
    {"v": 1, "id": 1, "op": "echo", "state": {}},
]


@pytest.mark.parametrize("message", JUNK, ids=repr)
def test_junk_is_dropped_with_a_log(message: object, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "workbench.ui"):
        assert DISPATCHER.handle(message) is None
    assert "dropped" in caplog.text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda s: st.lists(s) | st.dictionaries(st.text(), s),
)


@given(JSON)
def test_no_message_raises(message: object) -> None:
    DISPATCHER.handle(message)
    DISPATCHER.handle({"v": 1, "id": 1, "op": "echo", "args": {"text": message}})


def test_junk_that_is_deep_is_dropped_too(caplog: pytest.LogCaptureFixture) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert DISPATCHER.handle(deep) is None and "dropped" in caplog.text
    reply = DISPATCHER.handle({"v": 1, "id": 1, "op": "echo", "args": {"text": "a", "more": deep}})
    assert reply is not None and reply.content["err"]["code"] == "E-UI-ARGUMENT"
    while deep:  # else freeing it would be as deep
        deep = deep[0]


def test_a_reply_over_the_limit_travels_packed_in_a_buffer() -> None:
    reply = DISPATCHER.handle({"v": 1, "id": 1, "op": "noise", "args": {"size": 300_000}})
    assert reply is not None
    assert reply.content["packed"] is True and reply.content["view"] is None
    assert len(json.dumps(reply.content)) < JSON_LIMIT
    assert len(reply.buffers) == 1 and len(reply.buffers[0]) <= BUFFER_LIMIT
    assert len(json.loads(gzip.decompress(reply.buffers[0]))["text"]) >= 270_000
