"""What is left of HTML where a page cleans it as GitHub does: elements and attributes on a list, addresses of the web.

An element that is not on the list goes, its text stays.  The list is that of github.com/gjtorikian/html-pipeline.
"""

from __future__ import annotations

from html import escape
from html.parser import HTMLParser

ELEMENTS = set(
    "h1 h2 h3 h4 h5 h6 br b i strong em a pre code img tt div ins del sup sub p picture ol ul table thead tbody tfoot "
    "blockquote dl dt dd kbd q samp var hr ruby rt rp li tr td th s strike summary details caption figure figcaption "
    "abbr bdo cite dfn mark small source span time wbr".split()
)
ATTRIBUTES = {"align", "alt", "border", "colspan", "headers", "height", "href", "open", "rowspan", "scope", "src",
              "start", "title", "type", "width"}  # fmt: skip
_INLINE = {"span", "b", "i", "em", "strong", "code"}
_ALONE = {"br", "hr", "img", "wbr", "source"}


class _Cleaner(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.kept: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ELEMENTS:
            return
        left = {name: value or "" for name, value in attrs if name in ATTRIBUTES}
        for name in ("src", "href"):
            if not left.get(name, "https:").startswith(("https:", "http:", "/", "./")):
                del left[name]
        written = "".join(f' {name}="{escape(value)}"' for name, value in left.items())
        self.kept.append(f"<{tag}{written}>")
        if tag not in _INLINE:
            self.words.append("\n" + left.get("alt", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in ELEMENTS and tag not in _ALONE:
            self.kept.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.kept.append(escape(data, quote=False))
        self.words.append(data)


def cleaned(html: str) -> str:
    """The HTML that is left."""
    return _fed(html)[0]


def words(html: str) -> str:
    """What is left to be read, also in place of pictures."""
    return _fed(html)[1]


def _fed(html: str) -> tuple[str, str]:
    cleaner = _Cleaner()
    cleaner.feed(html)
    cleaner.close()
    return "".join(cleaner.kept), "".join(cleaner.words)
