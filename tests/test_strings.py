"""Every text that a person reads on a screen stands in a table by key, in no component.

The tables lie in extensions/widgets/src/strings/.  The sources are read as text: what stands between the tags of html``
templates, attributes that are read out or shown, and literals of several words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "extensions" / "widgets" / "src"

# Literals of several words that nobody reads: by file, each with the reason.
ALLOWED = {
    ("fetching.ts", "in part"),  # words of the protocol
    ("fetching.ts", "not run"),
    ("graph_tools.ts", "why not"),  # a channel of requests
    ("schedule.ts", "Σ"),  # a sign, whose word stands beside it
    ("share.ts", "screen.views"),  # Python
    ("share.ts", "workbench replay"),  # a command
    ("why_not.ts", "not reached"),  # words of the protocol
    ("workbench.ts", "not run"),
    ("workbench_screen.ts", "in part"),
}
# The style's classes, by their prefix, and what stands for an address of elements, a query or a channel of requests.
KEYWORDS = re.compile(r"^(def return|True False let) ")  # of the languages that are coloured
CODE = re.compile(r"^(wb(-[\w-]*)?( \S+)*|[a-z]+:not\(.*|import .*|(M|C|L)?[\d ]*)$")

HOLE = "\x00"
LETTERS = re.compile(r"[^\W\d_]")
# Two words, or a value and a word.
SEVERAL_WORDS = re.compile(r"^[^\W\d_][^\s\x00]*[ \n]+[^\W\d_]|\x00[^\s\x00]* (?!wb-)[^\W\d_]{2}")
NAMES = "aria-label|aria-valuetext|aria-roledescription|title|placeholder|label|alt"
SHOWN = re.compile(rf"(?<![\w-])({NAMES})=(\"[^\"]*\"|'[^']*')")
TAG = re.compile(r"<[^<>]*>")

Literal = tuple[int, str, str]  # the line, "text" or "html", what it says with a HOLE for each ${...}


class Reader:
    """The string and template literals of a TypeScript text, also those inside of templates."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.found = text, 0, list[Literal]()

    def line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def code(self, inside: bool) -> None:
        """Read code up to its end, or up to the brace that closes a template's hole."""
        depth = 0
        while self.at < len(self.text):
            rest = self.text[self.at]
            if inside and rest == "}" and depth == 0:
                return
            depth += {"{": 1, "}": -1}.get(rest, 0)
            if rest in "\"'":
                self.string(rest)
            elif rest == "`":
                self.template()
            elif rest == "/":
                self.slash()
            else:
                self.at += 1

    def string(self, quote: str) -> None:
        begun = re.compile(rf"{quote}((?:[^{quote}\\\n]|\\.)*){quote}").match(self.text, self.at)
        assert begun, f"line {self.line(self.at)}: a string that does not end"
        self.found.append((self.line(self.at), "text", begun[1]))
        self.at = begun.end()

    def template(self) -> None:
        start, said = self.at, ""
        kind = "html" if self.text.endswith("html", 0, start) else "text"
        self.at += 1
        while self.text[self.at] != "`":
            if self.text.startswith("${", self.at):
                self.at += 2
                hole = self.at
                self.code(inside=True)
                said += HOLE + "\n" * self.text.count("\n", hole, self.at)
            else:
                said += self.text[self.at]
                self.at += self.text[self.at] == "\\"
            self.at += 1
        self.at += 1
        self.found.append((self.line(start), kind, said))

    def slash(self) -> None:
        """A comment, a regular expression (after an operator or an opening bracket) or a division."""
        before = self.text[: self.at].rstrip()
        shapes = [r"//[^\n]*", r"/\*.*?\*/"]
        if not before or before[-1] in "(,=:[!&|?{};>" or before.endswith("return"):
            shapes.append(r"/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
        found = re.compile("|".join(shapes), re.DOTALL).match(self.text, self.at)
        self.at = found.end() if found else self.at + 1


def literals(text: str) -> list[Literal]:
    reader = Reader(text)
    reader.code(inside=False)
    return sorted(reader.found)


def texts_of_markup(line: int, markup: str) -> Iterator[tuple[int, str]]:
    """The attributes and text nodes of a template that hold letters, each with its line."""
    # What stands in a tag's attributes may hold ">" only in quotes; those are emptied once they were looked at.
    for found in SHOWN.finditer(markup):
        if LETTERS.search(found[2]):
            yield line + markup.count("\n", 0, found.start()), found[0]
    plain = re.sub(r"=(\"[^\"]*\"|'[^']*')", lambda found: "=" + re.sub(r"[^\n]", "_", found[1]), markup)
    plain = TAG.sub(lambda tag: re.sub(r"[^\n]", HOLE, tag[0]), plain)
    for node in re.finditer(r"[^\x00\n]+", plain):
        if LETTERS.search(node[0]):
            yield line + plain.count("\n", 0, node.start()), node[0].strip()


def texts(text: str) -> Iterator[tuple[int, str]]:
    """What a person would read of a source, each with its line."""
    for line, kind, said in literals(text):
        if kind == "html":
            yield from texts_of_markup(line, said)
        elif SEVERAL_WORDS.search(said) and not CODE.match(said) and not KEYWORDS.match(said):
            yield line, said


def test_every_text_stands_in_a_table() -> None:
    sources = sorted(SOURCES.glob("*.ts"))
    assert len(sources) > 20
    found = [(path.name, line, said) for path in sources for line, said in texts(path.read_text(encoding="utf-8"))]
    wrong = [f"{name}:{line}: {said.replace(HOLE, '…')}" for name, line, said in found if (name, said) not in ALLOWED]
    assert not wrong, "texts outside of extensions/widgets/src/strings/:\n" + "\n".join(wrong)


def test_nothing_is_allowed_for_nothing() -> None:
    found = {(path.name, said) for path in SOURCES.glob("*.ts") for _, said in texts(path.read_text(encoding="utf-8"))}
    assert found >= ALLOWED


def test_the_guard_finds_each_kind_of_text() -> None:
    source = """
// "not this one"
const pattern = /not "this one/;
const one = html`<b class="not this one" title="a title">${store.on ? "two words" : html`in a node`} = ${value}</b>`;
const three = `three more ${words}`, four = say.part.key, five = `not-one ${word}`;
const six = "one", seven = `${six} of ${six}`;
html`<i aria-label=${say.part.key}
  placeholder='a place'>${`wb-one wb-two ${six}`}</i>`;
"""
    assert list(texts(source)) == [
        (4, 'title="a title"'),
        (4, "in a node"),
        (4, "two words"),
        (5, "three more \x00"),
        (6, "\x00 of \x00"),
        (8, "placeholder='a place'"),
    ]
