"""What can compute a kernel, as plain data and as tables that are read without a kernel."""

from __future__ import annotations

import re

import pytest

import workbench as wb
from tests.driver.programs import small_model
from tests.driver.test_choices import kernel, opened
from tests.schedule.programs import plain_matmul
from tests.views.github import cleaned
from workbench.core.errors import WorkbenchError
from workbench.views.candidates import CONFIGS, candidates_html, candidates_text, candidates_view
from workbench.views.snapshot import snapshot_of


def test_the_cheapest_comes_first_and_what_does_not_fit_says_why() -> None:
    session = opened()
    view = candidates_view(session, kernel(session))
    fit = [row for row in view.rows if not row.refusal]
    assert [row.name for row in view.rows[: len(fit)]] == ["conv2d.blocks", "conv2d.columns", "conv2d.plain"]
    assert [row.cycles for row in fit] == sorted(row.cycles for row in fit)
    assert [row.taken for row in fit] == ["cost", "", ""]
    assert dict(fit[0].config) == {"blocks": 4, "columns": 2, "width": 14}
    assert fit[0].times == 1.0 and fit[1].times == pytest.approx(fit[1].cycles / fit[0].cycles)
    refused = next(row for row in view.rows if row.name == "conv2d.pixels")
    assert "one tap at every pixel" in refused.refusal and "found (3, 3) taps" in refused.refusal
    assert not refused.configs and not refused.cycles
    assert view.workload.startswith("nn.conv2d(")


def test_configs_are_listed_the_cheapest_first_and_not_beyond_a_number() -> None:
    session = opened()
    for row in candidates_view(session, kernel(session)).rows:
        cycles = [one for one, _ in row.configs]
        assert cycles == sorted(cycles) and len(cycles) == (min(row.count, CONFIGS) if row.count > 1 else 0), row.name


def test_one_chosen_by_hand_is_told_with_its_own_numbers() -> None:
    session = opened()
    name = kernel(session)
    chosen = candidates_view(session.choose(name, "conv2d.blocks", columns=7, blocks=1), name).rows[0]
    assert chosen.taken == "hand" and dict(chosen.config)["columns"] == 7
    assert chosen.times > 1 and (chosen.cycles, chosen.config) in chosen.configs


def test_a_schedule_by_hand_is_told_where_its_kernel_is_computed() -> None:
    session = opened()
    name = kernel(session)
    schedule = session.schedule(name)
    schedule.annotate(schedule.get_loops("conv2d")[0], "by_hand", 1)
    edited = session.edit(schedule={name: schedule})
    view = candidates_view(edited, name)
    assert [row.taken for row in view.rows if not row.refusal] == ["schedule", "", ""]
    assert "✓ scheduled by hand" in candidates_html(view)


def test_a_kernel_and_a_program_without_candidates_say_so() -> None:
    session = wb.open(small_model(), target="llvm -mcpu=x86-64-v3")
    view = candidates_view(session, kernel(session, "global_avg_pool2d"))
    assert not view.rows and view.note.startswith("No operator of this kernel has implementations")
    loops = candidates_view(wb.open(plain_matmul(8, 8, 8)), "main")
    assert not loops.rows and loops.note.startswith("A program of loops")
    with pytest.raises(WorkbenchError, match="there is no kernel 'another'"):
        candidates_view(session, "another")


def test_the_static_table_says_the_same_without_styles() -> None:
    session = opened()
    view = candidates_view(session.choose(kernel(session), "conv2d.columns"), kernel(session))
    html = candidates_html(view)
    assert cleaned(html) == html, "nothing of it goes where pages are cleaned"
    assert html.count('<th scope="row">') == len(view.rows)
    row = re.search(r'<tr><th scope="row">conv2d.columns</th>(.*?)</tr>', html)
    assert row and row[1] == (
        "<td>✓ by hand</td><td>80,640</td><td>1.10 ×</td><td>rows=4 vectors=2 lanes=8, one of 7</td>"
    )
    assert '<td colspan="4">one tap at every pixel' in html
    text = candidates_text(view)
    assert re.search(r"^\* conv2d.columns +80,640 cycles +1.10 ×  rows=4 vectors=2 lanes=8, one of 7$", text, re.M)
    assert re.search(r"^  conv2d.plain +1,886,208 cycles +25.63 ×$", text, re.M)


def test_hostile_names_are_text_in_the_table() -> None:
    view = candidates_view(wb.open(plain_matmul(8, 8, 8)), "<script>alert(1)</script>")
    assert "<script>" not in candidates_html(view) and "&lt;script&gt;" in candidates_html(view)


def test_a_notebook_keeps_the_candidates_of_the_kernel_whose_loops_it_keeps() -> None:
    session = opened()
    name = kernel(session, number=1)
    kept = snapshot_of(session, kernel=name)
    assert f"Candidates for {name}" in kept.text and "* conv2d.blocks" in kept.text
    assert f"<h4>Candidates for {name}</h4>" in kept.html
    assert "Candidates for" not in snapshot_of(wb.open(plain_matmul(8, 8, 8))).text


def test_a_cell_displays_candidates_as_a_table() -> None:
    found = opened().candidates(kernel(opened()))
    bundle = found._repr_mimebundle_()
    assert bundle["text/plain"] == str(found) and "<table>" in bundle["text/html"]


def test_what_is_printed_and_what_a_notebook_keeps_is_one_text(golden) -> None:
    """Three forms had three sets of columns and words."""
    session = opened().choose(kernel(opened()), "conv2d.columns")
    name = kernel(session)
    view = candidates_view(session, name)
    text = str(session.candidates(name))
    assert text == candidates_text(view) and text in snapshot_of(session, kernel=name).text
    told = [re.sub(r"<[^>]+>", "\n", row).split("\n") for row in candidates_html(view).split("<tr>")]
    for line in text.splitlines()[1:]:
        first, *cells = re.split(r"  +", line[2:].replace(" cycles", "").replace("not: ", ""))
        assert any(first in row and set(cells) <= set(row) for row in told), (line, "and the table")
    golden(text)
