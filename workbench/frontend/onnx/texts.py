"""Texts of a model's protobuf: all are text, also where the file has bytes that are none.

protobuf hands out such a name as `bytes`, which is equal to no text and breaks whatever works with names.
"""

from __future__ import annotations

from typing import Any


def with_texts(proto: Any, own: bool) -> Any:
    """The message with every byte that is no UTF-8 written as ``\\xff``; the very same if there is none.

    `own`: it may be changed in place; a caller's is copied.
    """
    bad = list(_damaged(proto))
    if bad and not own:
        copy = type(proto)()
        copy.CopyFrom(proto)
        return with_texts(copy, True)
    for message, name, value in bad:
        if isinstance(value, bytes):
            setattr(message, name, _text(value))
        else:
            getattr(message, name)[:] = [_text(item) for item in value]
    return proto


def _text(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def _damaged(proto: Any) -> Any:
    """The fields of texts, in a message and all inside of it, that hold bytes: message, field and value."""
    waiting = [proto]
    while waiting:
        message = waiting.pop()
        for field, value in message.ListFields():
            if field.type == field.TYPE_MESSAGE:
                waiting.extend(value if _is_many(value) else (value,))
            elif field.type == field.TYPE_STRING:
                if isinstance(value, bytes) or (_is_many(value) and any(isinstance(item, bytes) for item in value)):
                    yield message, field.name, value


def _is_many(value: Any) -> bool:
    return not isinstance(value, (str, bytes)) and not hasattr(value, "ListFields")
