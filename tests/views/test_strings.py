"""Texts that a person reads on a screen stand in the tables of `views.strings`, and nowhere else in views and screens.

What a text is: two or more words, also of an f-string, that are neither documentation nor markup nor code.  Single
words cannot be told from keys; they are in the tables all the same.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from workbench.views import charts, checks
from workbench.views.strings.tables import Strings, say, speak

ROOT = Path(__file__).resolve().parents[2] / "workbench"
FOLDERS = ("views", "ui")
TABLES = {"views/word_docs.py"}
"""Files that are tables of texts by key themselves; those of `views/strings` are, too."""

ALLOWED = {
    ("*", "not run"): "a state of layers and kernels: a key",
    ("*", "in part"): "a state of layers: a key",
    ("*", "not checked"): "a verdict: a key",
    ("*", " open"): "an attribute of HTML",
    ("views/editor_extras.py", "line §"): "where an error of code is: a field of a WorkbenchError",
    ("ui/page.py", "default-src 'none'; script-src 'sha256-§' blob:; style-src 'unsafe-inline'; img-src data:; "
                   "base-uri 'none'; form-action 'none'"): "a policy in HTTP's words",
}  # fmt: skip

ERRORS = {"WorkbenchError", "refused", "by_name", "unmasked"}
"""Calls whose texts are messages of errors, which have codes."""
OF_PROGRAMS = {"startswith", "endswith", "partition", "removeprefix", "removesuffix", "split", "replace", "count"}
"""Methods with which texts of programs are read."""


def files() -> Iterator[tuple[str, ast.Module]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).glob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


# --- texts outside of the tables --------------------------------------------------------------------------------------


def outside(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text, values in it as §, of what reads like one and is not in a place of its own."""
    if _is_apart(node):
        return
    if isinstance(node, ast.JoinedStr):
        text = "".join(part.value if isinstance(part, ast.Constant) else "§" for part in node.values)  # type: ignore[misc]
        if is_text(text):
            yield node.lineno, text
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and is_text(node.value):
        yield node.lineno, node.value
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)):
            yield from outside(child)


def _is_apart(node: ast.AST) -> bool:
    """Documentation, errors, patterns, lines of the log, and what is looked for in texts of programs."""
    if isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return True
    if isinstance(node, ast.Compare):
        return isinstance(node.ops[0], ast.In | ast.NotIn) and isinstance(node.left, ast.Constant)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        return node.func.id in ERRORS
    if not isinstance(node.func, ast.Attribute):
        return False
    of = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
    return of in ("re", "log") or node.func.attr in OF_PROGRAMS


def is_text(text: str) -> bool:
    """Whether somebody reads it: words, or a word beside a value.

    >>> is_text("two words"), is_text("§ steps"), is_text("<b>§</b>"), is_text("s = s[§].edit(§)")
    (True, True, False, False)
    """
    if all(re.fullmatch(r"\s*[\w-]+:\S.*|\s*§?", part) for part in text.split(";")) or _is_code(text):
        return False
    bare = re.sub(r"<[^<>]*>", "\n", text)
    bare = re.sub(r'[\w:-]+="[^"]*"', " ", bare)
    return any(_has_words(line) for line in bare.split("\n"))


def _has_words(line: str) -> bool:
    """Two words, of which values may be one, or a word that waits for another one."""
    words = [one.strip(".,:;!?()'\"") for one in line.split()]
    some = any(re.fullmatch(r"[A-Za-z][A-Za-z'-]+", word) for word in words)
    return some and (len(words) > 1 or line != line.strip())


def _is_code(text: str) -> bool:
    try:
        tree = ast.parse(text.strip().replace("§", "value"))
    except SyntaxError:
        return False
    return any(isinstance(node, ast.Call | ast.Assign | ast.Subscript) for node in ast.walk(tree))


def test_texts_stand_in_the_tables() -> None:
    found = {(name, line, text) for name, tree in files() if name not in TABLES for line, text in outside(tree)}
    wrong = [
        f"workbench/{name}:{line}: {text!r}"
        for name, line, text in sorted(found)
        if (name, text) not in ALLOWED and ("*", text) not in ALLOWED
    ]
    assert wrong == [], "put it into a table of workbench/views/strings, and say.<part>.<key> in its place"
    seen = {(name, text) for name, _, text in found} | {("*", text) for _, _, text in found}
    assert set(ALLOWED) <= seen, "take what is gone off the list"


@pytest.mark.parametrize(
    "code",
    [
        'label(8, 12, "two words")', 'f"{count} steps"', 'x = " more"', 'f"<p>{name} has none</p>"', '("a text", 1)',
        'f"{a}{\' at most\' if b else \'\'}"', 'f"note: {note}"', 'f(title="first touch")', '{"key": "some words"}',
    ],
)  # fmt: skip
def test_texts_are_found(code: str) -> None:
    assert list(outside(ast.parse(f"y = {code}")))


@pytest.mark.parametrize(
    "code",
    [
        '"""Some words."""', 'raise WorkbenchError("E-X", "there is none", found=f"{n} of them")', 'x = "word"',
        'x = refused("no such loop", f"from {y}")', 'log.warning("it was dropped")', 'x = re.compile("some words")',
        'x = "margin:0;padding:4px 8px"', "x = f'<p style=\"a b\">{y}</p>'", 'x = f"s = s.without({y!r})"',
        'x = line.startswith(("declare ", "target "))', 'x = " to " in line', 'x = f"{a} {b}"',
    ],
)  # fmt: skip
def test_what_is_no_text(code: str) -> None:
    assert list(outside(ast.parse(code))) == []


# --- the tables -------------------------------------------------------------------------------------------------------

PARTS = {part.name: type(getattr(say, part.name)) for part in fields(Strings)}


def keys_of(part: type) -> list[str]:
    return [name for name in vars(part) if not name.startswith("_")]


def used_in(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """(part, key) of `say.part.key`, also through a name that stands for `say.part`."""
    short = {
        node.targets[0].id: node.value.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Attribute) and ast.unparse(node.value.value) == "say"
    }  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            of = ast.unparse(node.value)
            yield of.removeprefix("say.") if of.startswith("say.") else short.get(of, ""), node.attr


def test_every_key_is_used() -> None:
    used = {pair for _, tree in files() for pair in used_in(tree)}
    for name, part in PARTS.items():
        own = ast.walk(ast.parse(inspect.getsource(inspect.getmodule(part) or part)))
        used |= {(name, one.attr) for one in own if isinstance(one, ast.Attribute) and ast.unparse(one.value) == "self"}
    unused = [f"{name}.{key}" for name, part in PARTS.items() for key in keys_of(part) if (name, key) not in used]
    assert unused == [], "take it out of its table"


def test_texts_are_asked_for_when_they_are_shown() -> None:
    """A text that a module holds from its loading on would stay in the language of that moment."""
    wrong = []
    for name, tree in files():
        waiting: list[ast.AST] = [tree]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Name) and node.id == "say":
                wrong.append(f"workbench/{name}:{node.lineno}")
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            waiting += ast.iter_child_nodes(node.args if is_function else node)
    assert wrong == []


def test_verdicts_have_words() -> None:
    assert set(checks.GLYPHS) <= set(say.checks.verdicts)


# --- another language -------------------------------------------------------------------------------------------------


def _marked(text: Any) -> Any:
    if isinstance(text, dict):
        return {key: _marked(inner) for key, inner in text.items()}
    return f"«{text}»" if isinstance(text, str) else lambda self, *args: f"«{text(self, *args)}»"


def test_another_table_is_another_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table as a whole; no place of use knows."""
    other = {
        name: type(f"Other{part.__name__}", (part,), {key: _marked(vars(part)[key]) for key in keys_of(part)})
        for name, part in PARTS.items()
    }
    before = speak(Strings(**{name: part() for name, part in other.items()}))
    try:
        drawn = charts.heat_map(["8"], ["4"], [[None]])
        shown = checks.checks_html(checks.nothing_checked(("Import",), "a program"))
    finally:
        speak(before)
    assert "«heat map»" in drawn and "«refused»" in drawn
    assert "«waiting»" in shown and "«a program: «none», 0 of 1 steps are known»" in shown
    assert "«" not in charts.heat_map(["8"], ["4"], [[None]])
