"""Rows 12 to 21 of the feature matrix on the screen of EfficientNet-lite0: programs as text."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.shown import Shown


@pytest.mark.parametrize(
    ("layer", "line", "kind", "word"),
    [
        ("Relay", 1, "key", "def"),
        ("Schedule", 5, "key", "for"),
        ("TIR", 4, "key", "for"),
        ("LLVM", 70, "key", "load"),
        ("Assembly", 60, "com", "# "),
    ],
)
def test_ux_12_programs_are_coloured_by_their_syntax(
    shown: Shown, layer: str, line: int, kind: str, word: str
) -> None:
    rows = shown.text(layer)
    shown.pane("A").locator(".wb-window-body").evaluate("(box, line) => { box.scrollTop = 19 * (line - 4); }", line)
    expect(rows.locator(".wb-t-num").first).to_be_visible()
    found = rows.locator(f".wb-t-{kind}", has_text=word).first
    expect(found).to_be_visible()
    plain = rows.locator(".wb-line").first.evaluate("node => getComputedStyle(node).color")
    assert found.evaluate("node => getComputedStyle(node).color") != plain


def word(row: Locator, text: str, occurrence: int = 0) -> dict[str, float]:
    """The middle of a word of a line, in pixels of the page."""
    row.scroll_into_view_if_needed()
    return row.locator(".wb-line").evaluate(
        """(line, [word, occurrence]) => {
          const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
          const nodes = [];
          for (let node = walker.nextNode(); node; node = walker.nextNode()) nodes.push(node);
          const whole = nodes.map((node) => node.data).join("");
          let at = -1;
          for (let i = 0; i <= occurrence; i++) at = whole.indexOf(word, at + 1);
          at += Math.floor(word.length / 2);
          for (const node of nodes) {
            if (at < node.data.length) {
              const range = document.createRange();
              range.setStart(node, at);
              range.setEnd(node, at + 1);
              const box = range.getBoundingClientRect();
              return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
            }
            at -= node.data.length;
          }
        }""",
        [text, occurrence],
    )


def point_at(shown: Shown, row: Locator, text: str, occurrence: int = 0) -> None:
    shown.page.mouse.move(**word(row, text, occurrence))


def scroll(shown: Shown, line: int, which: str = "A") -> None:
    """Bring a line (from 1) to the top of a pane, or near it."""
    body = shown.pane(which).locator(".wb-window-body")
    body.evaluate("(box, line) => { box.scrollTop = 19 * (line - 3); }", line)


def test_ux_13_regions_and_loops_fold(shown: Shown) -> None:
    rows = shown.text("TIR")
    scroll(shown, 1)
    loop = rows.filter(has_text=re.compile(r"for i[\w, ]* in T\.(serial|grid)\(")).first  # of outputs; panels before it
    body = rows.filter(has_text="conv2d = T.allocate")
    expect(body).to_be_visible()
    loop.locator(".wb-chevron").click()
    expect(body).to_have_count(0)
    expect(loop).to_contain_text(re.compile(r"⋯ \d+ lines"))
    loop.click()
    shown.page.keyboard.press("z")
    expect(body).to_be_visible()
    every = rows.count()
    shown.pane("A").get_by_role("button", name="Fold all").click()
    expect(body).to_have_count(0)
    assert rows.count() < every
    shown.pane("A").get_by_role("button", name="Fold all").click()
    expect(rows).to_have_count(every)


def reach(shown: Shown, rows: Locator, pattern: str) -> tuple[Locator, re.Match[str]]:
    """Scroll down to the first line that a pattern is found in: where that is depends on the processor."""
    body = shown.pane("A").locator(".wb-window-body")
    for top in range(0, 40_000, 300):
        body.evaluate("(box, top) => { box.scrollTop = top; }", top)
        shown.page.wait_for_timeout(50)
        row = rows.filter(has_text=re.compile(pattern)).first
        if row.count():
            found = re.search(pattern, row.locator(".wb-line").inner_text())
            assert found is not None
            return row, found
    pytest.fail(f"no line with {pattern}")


@pytest.mark.parametrize(
    ("layer", "line", "told"),
    [
        ("Relay", r"(v3) = R\.nn\.conv2d", "1 × 32 × 112 × 112 float32, 1.61 MB"),
        ("TIR", r"for (\w+) in T\.parallel\((\d+)\)", "parallel loop of {} iterations"),
        ("LLVM", r"(%\S+) = phi (<\d+ x float>)", "{}"),
    ],
)
def test_ux_14_hovering_tells_the_type_and_shape_of_a_value(
    shown: Shown, layer: str, line: str, told: str
) -> None:
    row, found = reach(shown, shown.text(layer), line)
    asked = shown.harness.asked_so_far()
    tip = shown.page.get_by_role("tooltip")
    for _ in range(5):  # a line that is drawn anew under the pointer is not pointed at any more
        point_at(shown, row, found[1])
        shown.page.wait_for_timeout(300)
        if tip.count():
            break
        shown.chip("ONNX").hover()
    expect(tip).to_contain_text(told.format(*found.groups()[1:]))
    expect(tip).to_contain_text("defined in line")
    assert len(shown.harness.asked) == asked, "hovering asks nobody"
    shown.chip("ONNX").hover()
    expect(tip).to_have_count(0)


@pytest.mark.parametrize(
    ("layer", "text", "told"),
    [
        ("Relay", r"R\.nn\.conv2d", "Two-dimensional convolution"),
        ("TIR", r"T\.parallel", "shared out among threads"),
        ("LLVM", "getelementptr", "no access to memory"),
        ("Assembly", r"\bv?mov[au]ps\b", "copies an aligned vector|copies a vector from or to any address"),
    ],
)
def test_ux_15_hovering_explains_an_operator_or_instruction(
    shown: Shown, layer: str, text: str, told: str
) -> None:
    row, found = reach(shown, shown.text(layer), text)
    point_at(shown, row, found[0])
    expect(shown.page.get_by_role("tooltip")).to_contain_text(re.compile(told))


@pytest.mark.parametrize(
    ("layer", "line", "text", "told"),
    [
        ("Relay", "v3 = R.nn.conv2d", "R.nn.conv2d", "Two-dimensional convolution"),
        ("TIR", "in T.parallel(", "T.parallel", "shared out among threads"),
        ("LLVM", "getelementptr", "getelementptr", "no access to memory"),
        ("Assembly", "vfmadd", "vfmadd", "multiplies and adds, rounding once"),
    ],
)
def test_ux_98_the_words_of_a_line_are_explained_beside_it(
    shown: Shown, layer: str, line: str, text: str, told: str
) -> None:
    """What hovering tells stands in the selection too, for the line that keys have led to."""
    shown.text(layer)
    shown.page.keyboard.press("Control+f")
    field = shown.page.get_by_role("textbox", name="Find in the text")
    field.fill(line)
    active = shown.pane("A").locator(".wb-text-row.wb-active")
    expect(active).to_contain_text(line)
    words = shown.page.get_by_role("region", name="Words explained")
    expect(words.locator(".wb-heading")).to_have_text(f"Words of line {active.locator('.wb-no').inner_text()}")
    expect(words.get_by_role("listitem").filter(has_text=text).first).to_contain_text(told)
    field.press("Escape")


def test_ux_16_one_value_is_followed_from_its_definition_to_its_uses(shown: Shown) -> None:
    rows = shown.text("Relay")
    scroll(shown, 1)
    shown.page.mouse.click(**word(rows.filter(has_text="v3 = R.nn.conv2d"), "v3"))
    pane = shown.pane("A")
    expect(pane.locator(".wb-def")).to_have_text(["v3"])
    expect(pane.locator(".wb-use")).to_have_text(["v3"])
    expect(rows.filter(has=shown.page.locator(".wb-use"))).to_contain_text("v4 = R.nn.bias_add(v3")
    rows = shown.text("Fused")
    scroll(shown, 1)
    second = rows.filter(has_text="v0 = R.nn.conv2d").nth(1)
    shown.page.mouse.click(**word(second, "v0"))
    expect(pane.locator(".wb-def")).to_have_count(1)
    expect(pane.locator(".wb-use")).to_have_count(1)
    expect(second.locator(".wb-def")).to_have_text("v0")


def test_ux_17_a_text_is_found_in_a_program(shown: Shown) -> None:
    rows = shown.text("Relay")
    shown.page.keyboard.press("Control+f")
    field = shown.page.get_by_role("textbox", name="Find in the text")
    expect(field).to_be_focused()
    field.fill("nn.dense")
    expect(shown.pane("A").get_by_role("search").get_by_role("status")).to_have_text("1 of 1 lines")
    expect(rows.locator(".wb-hit")).to_have_text(re.compile("nn.dense"))
    field.fill(r"/groups=\d+/")
    expect(shown.pane("A").get_by_role("search").get_by_role("status")).to_contain_text("1 of 16")
    first = shown.pane("A").locator(".wb-active .wb-no").text_content()
    shown.page.keyboard.press("Enter")
    expect(shown.pane("A").get_by_role("search").get_by_role("status")).to_contain_text("2 of 16")
    expect(shown.pane("A").locator(".wb-active .wb-no")).not_to_have_text(first or "")
    shown.page.keyboard.press("Shift+Enter")
    expect(shown.pane("A").locator(".wb-active .wb-no")).to_have_text(first or "")
    field.fill("/(/")
    expect(shown.pane("A").get_by_role("search").get_by_role("status")).to_contain_text("no regular expression")
    shown.page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    expect(rows.locator(".wb-hit")).to_have_count(0)


def test_ux_18_of_a_long_text_only_what_is_in_sight_is_drawn(shown: Shown) -> None:
    rows = shown.text("LLVM")
    every = shown.pane("A").get_by_role("button", name="Every line")
    every.click()
    body = shown.pane("A").locator(".wb-window-body")
    total = body.evaluate("box => Math.round(box.firstElementChild.getBoundingClientRect().height / 19)")
    assert total > 400, "the text is longer than one page of lines"
    for share in (0.0, 0.5, 1.0):
        body.evaluate("(box, share) => { box.scrollTop = share * box.scrollHeight; }", share)
        shown.page.wait_for_timeout(50)
        assert 0 < rows.count() <= 200
        expect(rows.locator(".wb-line", has_text=re.compile("^$")).nth(100)).to_have_count(0)
    expect(rows.last.locator(".wb-no")).to_have_text(str(total))
    expect(rows.last.locator(".wb-line")).not_to_have_text("")
    every.click()


def test_ux_19_an_edited_text_is_read_and_run_again(shown: Shown) -> None:
    shown.changes("EliminateCommonSubexpr")
    shown.button("Edit", exact=True).click()
    content = shown.page.locator(".cm-content")
    expect(content).to_contain_text("def main")
    source = shown.session["EliminateCommonSubexpr"].program["main"].script()
    listed = next(line for line in source.split("\n") if "R.clip" in line)
    content.click()
    shown.page.keyboard.press("Control+Home")
    content.locator(".cm-line", has_text="a_max=6.0").first.click()
    shown.page.keyboard.press("End")
    for _ in range(len("6.0)")):
        shown.page.keyboard.press("Backspace")
    shown.page.keyboard.type("5.0)")
    assert "a_max=6.0" in listed
    shown.button("Apply").click()
    expect(shown.page.locator(".wb-outline [role=option][aria-selected=true]")).to_contain_text("Edit")
    shown.harness.push()
    expect(shown.pane("A").locator("ins.wb-line")).to_contain_text("a_max=5.0")
    expect(shown.pane("A").locator("del.wb-line")).to_contain_text("a_max=6.0")
    assert "a_max=5.0" in shown.screen.session["FuseOps"].program["main"].script()
    shown.back()


def test_ux_20_noise_is_hidden_until_it_is_asked_for(shown: Shown) -> None:
    shown.text("Assembly")
    body = shown.pane("A").locator(".wb-window-body")
    directives = shown.pane("A").locator(".wb-line", has_text=re.compile(r"^\s*\.(file|section|p2align)\b"))
    expect(directives).to_have_count(0)
    height = body.evaluate("box => box.scrollHeight")
    shown.pane("A").get_by_role("button", name="Every line").click()
    body.evaluate("box => { box.scrollTop = 0; }")
    expect(directives.first).to_be_visible()
    assert body.evaluate("box => box.scrollHeight") > height
    body.focus()
    shown.page.keyboard.press(".")
    expect(directives).to_have_count(0)


def test_ux_21_a_copied_text_is_read_back_as_the_same_program(shown: Shown) -> None:
    """What was copied from a pane is pasted over the program's text in the editor: nothing has changed."""
    shown.text("Relay")
    shown.pane("A").get_by_role("button", name="Copy").click()
    expect(shown.pane("A").get_by_role("status")).to_have_text("copied")
    shown.changes("Import")
    shown.button("Edit", exact=True).click()
    content = shown.page.locator(".cm-content")
    expect(content).to_contain_text("def main")
    content.click()
    shown.page.keyboard.press("Control+a")
    shown.page.keyboard.insert_text("# to be replaced")
    expect(shown.button("Apply")).to_be_enabled()
    shown.page.keyboard.press("Control+a")
    shown.page.keyboard.press("Control+v")
    shown.page.keyboard.press("Control+Home")
    expect(content).to_contain_text("def main")
    expect(shown.button("Apply")).to_be_disabled()
    shown.button("Close", exact=True).first.click()
