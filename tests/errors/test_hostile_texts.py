"""IR texts as a stranger would send them: a located refusal or an exact round trip, within a second for each 64 KiB."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from workbench import relay
from workbench.core.equal import same
from workbench.core.errors import InternalError, WorkbenchError
from workbench.core.module import IRModule
from workbench.relay.ir import script as relay_script
from workbench.tir import script as tir_script

RELAY = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        v0 = R.nn.relu(x)
        return v0
"""
CLASSIC = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  nn.relu(%x)
}
"""
TIR = """@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(0, 16):
        B[i] = A[i] * T.float32(2)
"""
LANGUAGES: dict[str, tuple[str, Callable[[str], Any], Callable[[Any], str]]] = {
    "relay": (RELAY, lambda text: relay_script.parse(text), lambda made: relay_script.script(made)),
    "classic": (CLASSIC, lambda text: relay.fromtext(text), lambda made: made.astext()),
    "tir": (TIR, lambda text: tir_script.parse(text), lambda made: tir_script.script(made)),
}
HOLE = {"relay": "R.nn.relu(x)", "classic": "nn.relu(%x)", "tir": "A[i] * T.float32(2)"}
ATOM = {"relay": "x", "classic": "%x", "tir": "A[i]"}
COMMENT = {"relay": "#", "classic": "//", "tir": "#"}


def at_hole(language: str, text: str) -> str:
    return LANGUAGES[language][0].replace(HOLE[language], text, 1)


CHANGES: dict[str, Callable[[str], str]] = {
    "megabyte_line": lambda language: at_hole(language, HOLE[language] + "  " + COMMENT[language] + "x" * (1 << 20)),
    "megabyte_name": lambda language: at_hole(language, "y" * (1 << 20)),
    "megabyte_number": lambda language: at_hole(language, "9" * (1 << 20)),
    "megabyte_text": lambda language: at_hole(language, '"' + "z" * (1 << 20) + '"'),
    "parentheses": lambda language: at_hole(language, "(" * 100_000 + ATOM[language] + ")" * 100_000),
    "open_parentheses": lambda language: at_hole(language, "(" * 100_000),
    "brackets": lambda language: at_hole(language, "[" * 100_000),
    "signs": lambda language: at_hole(language, "-" * 100_000 + ATOM[language]),
    "sum": lambda language: at_hole(language, " + ".join([ATOM[language]] * 20_000)),
    "attributes": lambda language: at_hole(language, "R" + ".nn" * 50_000),
    "nul": lambda language: at_hole(language, HOLE[language] + "\0"),
    "surrogate": lambda language: at_hole(language, HOLE[language] + " \ud800"),
    "surrogate_in_a_comment": lambda language: at_hole(language, HOLE[language] + f"  {COMMENT[language]} \udcff"),
    "crlf": lambda language: LANGUAGES[language][0].replace("\n", "\r\n"),
    "cr": lambda language: LANGUAGES[language][0].replace("\n", "\r"),
    "bom": lambda language: "\ufeff" + LANGUAGES[language][0],
    "tabs": lambda language: LANGUAGES[language][0].replace("    ", "\t"),
    "form_feeds": lambda language: "\f" + LANGUAGES[language][0] + "\f",
    "empty": lambda language: "",
    "spaces": lambda language: " " * 100_000,
    "lines": lambda language: "\n" * 100_000,
    "indents": lambda language: "".join(" " * depth + "if x:\n" for depth in range(500)),
    "call_of_code": lambda language: at_hole(language, "__import__('os').abort()"),
    "lambda": lambda language: at_hole(language, "(lambda: 1)()"),
    "f_string": lambda language: at_hole(language, "f'{x}'"),
    "walrus": lambda language: at_hole(language, "(y := x)"),
    "big_power": lambda language: at_hole(language, "9 ** 9 ** 9 ** 9"),
    "unicode_names": lambda language: at_hole(language, "ﬁ𝒳"),
    "line_separators": lambda language: at_hole(language, HOLE[language] + "\u2028\u2029\x85"),
    "half": lambda language: LANGUAGES[language][0][: len(LANGUAGES[language][0]) // 2],
    "backslashes": lambda language: at_hole(language, "\\" * 10_000),
}


def functions(program: Any) -> list[Any]:
    return list(program.functions.values()) if isinstance(program, IRModule) else [program]


def outcome(language: str, text: str) -> Any:
    """The program, or the error; anything else escapes."""
    try:
        return LANGUAGES[language][1](text)
    except WorkbenchError as error:
        return error


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_strange_text_is_refused_or_comes_back(language: str, change: str) -> None:
    text = CHANGES[change](language)
    started = time.process_time()
    found = outcome(language, text)
    assert time.process_time() - started < max(1.0, len(text) / 65536)
    if isinstance(found, WorkbenchError):
        assert not isinstance(found, InternalError), found
        assert found.code and found.message and len(str(found).encode("utf-8", "strict")) < 4000
        assert "line" in found.where or not text.strip(), str(found)
        return
    printed = LANGUAGES[language][2](found)
    again = LANGUAGES[language][1](printed)
    assert LANGUAGES[language][2](again) == printed
    for one, other in zip(functions(found), functions(again), strict=True):
        assert same(one, other)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_cut_of_a_text_is_refused_or_read(language: str) -> None:
    text = LANGUAGES[language][0]
    for end in range(0, len(text), 3):
        found = outcome(language, text[:end])
        assert not isinstance(found, InternalError), (end, found)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_changed_character_is_refused_or_read(language: str) -> None:
    text = LANGUAGES[language][0]
    for place in range(0, len(text), 2):
        for character in "(:\0\ud800 9":
            found = outcome(language, text[:place] + character + text[place + 1 :])
            assert not isinstance(found, InternalError), (place, character, found)
