"""Views of one screen: one that is drawn nowhere asks for nothing, two leave each other's focus and rows alone."""

from __future__ import annotations

from collections import Counter

import pytest
from playwright.sync_api import Locator, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.schedule.programs import plain_matmul
from workbench.schedule import Schedule
from workbench.ui.checks import ChecksScreen
from workbench.ui.workbench import Workbench

IN_VIEW = "() => document.activeElement.closest('.wb-host')?.id ?? 'none'"
STRAYS = """() => [...document.querySelectorAll('[aria-activedescendant]')]
  .filter((list) => !list.contains(document.getElementById(list.getAttribute('aria-activedescendant'))))
  .map((list) => list.outerHTML.slice(0, 200))"""


def view(harness: Harness, which: str) -> Locator:
    return harness.page.locator(f"#{which}")


def opened(harness: Harness) -> Schedule:
    schedule = Schedule(plain_matmul(16, 16, 16))
    harness.show(Workbench(wb.open(schedule), schedule=schedule, unattended=True))
    expect(harness.page.get_by_role("treeitem").first).to_be_visible(timeout=30_000)
    return schedule


def in_two_views(harness: Harness) -> None:
    screen = Workbench(wb.open(Schedule(plain_matmul(16, 16, 16))), unattended=True)
    harness.show(screen)
    harness.page.evaluate("window.draw('second')")
    for which in ("screen", "second"):
        expect(view(harness, which).locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    harness.asked_so_far()


def moved(harness: Harness, schedule: Schedule) -> Counter[str]:
    """What the page asks for when a cell moves the schedule."""
    before = harness.asked_so_far()
    schedule.split(schedule.get_loops("C")[-1], factors=[None, 2])
    harness.push()
    harness.asked_so_far()
    return Counter(harness.operations()[before:])


# --- drawn nowhere ---


def test_a_screen_that_is_drawn_nowhere_asks_for_nothing_and_then_shows_what_is_new(harness: Harness) -> None:
    schedule = opened(harness)
    assert moved(harness, schedule), "a screen in the page follows"
    harness.page.evaluate("window.cleanup()")
    for _ in range(2):
        assert moved(harness, schedule) == Counter(), "it asks, and nobody sees it"
    harness.page.evaluate("window.draw()")
    expect(harness.page.locator("[id$='-node-l:C:5']")).to_be_visible()
    assert moved(harness, schedule), "drawn again, it follows again"


def test_a_screen_that_lost_one_of_its_views_goes_on_in_the_other(harness: Harness) -> None:
    schedule = opened(harness)
    harness.page.evaluate("window.draw('second')")
    harness.page.evaluate("window.cleanup()")
    moved(harness, schedule)
    expect(view(harness, "second").locator(".wb-schedule .wb-last")).to_contain_text("split")


def test_a_step_that_a_cell_selects_while_no_view_is_there_is_shown_later(harness: Harness) -> None:
    screen = Workbench(wb.open(Schedule(plain_matmul(16, 16, 16))), unattended=True)
    harness.show(screen)
    before = harness.asked_so_far()
    harness.page.evaluate("window.cleanup()")
    screen.select("Simplify")
    harness.push()
    assert harness.asked_so_far() == before
    harness.page.evaluate("window.draw()")
    expect(harness.page.locator(".wb-step-name")).to_have_text("Simplify")


def test_a_check_that_nobody_sees_is_not_asked_after(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a check runs its page asks again and again; a reply that was under way starts nothing."""
    from tests.driver.programs import small_inputs, small_session

    check = small_session().check(small_inputs())
    monkeypatch.setattr(type(check), "state", property(lambda self: "running"))
    harness.show(ChecksScreen(check))
    asked = lambda: harness.operations().count("checks.state")  # noqa: E731
    harness.wait_until(lambda: asked() > 3, "it asks again and again")
    harness.page.evaluate("window.cleanup()")
    harness.push()
    before = harness.asked_so_far(quiet=0.9)
    monkeypatch.undo()
    harness.page.evaluate("window.draw()")
    harness.wait_until(lambda: len(harness.asked) > before, "drawn again, it asks")


def test_a_link_that_is_in_doubt_is_not_tried_for_a_screen_that_is_drawn_nowhere(harness: Harness) -> None:
    """A machine that wakes up tells every screen of the page; each would ask for everything."""
    opened(harness)
    before = harness.asked_so_far()
    harness.page.evaluate("window.cleanup()")
    harness.page.evaluate("window.model.doubt()")
    assert harness.asked_so_far() == before
    harness.page.evaluate("window.draw()")
    harness.wait_until(lambda: "alive" in harness.operations()[before:], "it asks whether the kernel is there")
    expect(harness.page.get_by_role("treeitem").first).to_be_visible()


def test_views_that_are_gone_leave_no_listeners_on_the_window(harness: Harness) -> None:
    harness.page.add_init_script("""
      window.heard = new Map();
      for (const [name, by] of [["addEventListener", 1], ["removeEventListener", -1]]) {
        const real = window[name].bind(window);
        window[name] = (kind, work, options) => {
          window.heard.set(kind, (window.heard.get(kind) ?? 0) + by);
          options?.signal?.addEventListener("abort", () => window.heard.set(kind, window.heard.get(kind) - 1));
          real(kind, work, options);
        };
      }""")
    opened(harness)
    kinds = "['pointerdown', 'keydown', 'click', 'mousemove', 'pagehide']"
    heard = f"() => {kinds}.map((kind) => window.heard.get(kind) ?? 0)"
    drawn = harness.page.evaluate(heard)
    harness.page.evaluate("window.cleanup()")
    gone = harness.page.evaluate(heard)
    assert sum(gone) < sum(drawn), "a view listens to keys that are pressed in it"
    for _ in range(3):
        harness.page.evaluate("window.draw()")
        expect(harness.page.get_by_role("treeitem").first).to_be_visible()
        harness.page.evaluate("window.cleanup()")
    assert harness.page.evaluate(heard) == gone


# --- two views ---


def test_the_focus_stays_in_the_view_where_the_keys_are_pressed(harness: Harness) -> None:
    in_two_views(harness)
    page = harness.page
    for which in ("screen", "second"):
        view(harness, which).locator(".wb-text-row").first.click()
        for key in ("w", "3", "w", "o", "o", "d"):
            page.keyboard.press(key)
            harness.asked_so_far(quiet=0.05)
            assert page.evaluate(IN_VIEW) == which, f"the focus jumped at {key}"


@pytest.mark.parametrize(
    ("button", "field"),
    [
        (".wb-target", ".wb-target-sheet input"),
        ("text=Find", ".wb-pane .wb-find input"),
        ("text=Edit text", ".cm-content"),
    ],
    ids=["target", "find", "editor"],
)
def test_a_field_that_opens_in_both_views_has_the_focus_where_it_was_opened(
    harness: Harness, button: str, field: str
) -> None:
    in_two_views(harness)
    here = view(harness, "screen")
    here.locator(".wb-text-row").first.click()
    here.locator(button).first.click()
    for which in ("screen", "second"):
        expect(view(harness, which).locator(field).first).to_be_visible()
    expect(here.locator(field).first).to_be_focused(timeout=5_000)


def test_an_answer_takes_the_focus_from_nothing_else_in_the_page(harness: Harness) -> None:
    """The person has gone on to something else by the time that the kernel has answered."""
    opened(harness)
    page = harness.page
    page.locator("[id$='-node-l:C:0'] > .wb-box-head").click()
    harness.asked_so_far()
    with harness.held():
        page.get_by_role("button", name="parallel", exact=True).click()
        page.locator("#outside").click()
    harness.asked_so_far()
    expect(page.locator(".wb-schedule .wb-last")).to_contain_text("parallel")
    expect(page.locator("#outside")).to_be_focused(timeout=5_000)


def test_every_row_has_an_id_of_its_own(harness: Harness) -> None:
    """A list names the row that keys speak of by its id: another view's row would be read out."""
    in_two_views(harness)
    page = harness.page
    view(harness, "screen").locator(".wb-text-row").first.click()
    for keys in ("", "e", "ww"):
        for key in keys:
            page.keyboard.press(key)
        harness.asked_so_far(quiet=0.1)
        ids: list[str] = page.evaluate("[...document.querySelectorAll('.wb-host [id]')].map((one) => one.id)")
        twice = [one for one, count in Counter(ids).items() if count > 1]
        assert ids and not twice, twice[:5]
        assert page.evaluate(STRAYS) == [], "a list names a row that is not its own"
