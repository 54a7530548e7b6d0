"""Files that a screen writes beside a notebook."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driver.programs import small_session
from workbench.ui.workbench import Workbench


def test_a_shared_file_overwrites_nothing_and_the_page_is_told_which_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    screen = Workbench(small_session())
    (tmp_path / "work.json").write_text("a person's own")
    for expected in ("work_2.json", "work_3.json"):
        assert screen.ask("share.journal", name="work").content["view"]["path"] == expected
    assert (tmp_path / "work.json").read_text() == "a person's own"


def test_branches_of_two_targets_are_told_as_such() -> None:
    """All their steps have other keys, and none is a step of one only."""
    screen = Workbench(small_session())
    screen.ask("target.set", text="llvm -mcpu=x86-64-v3")
    apart = dict(map(tuple, screen.ask("branches.whole", number=0).content["view"]["apart"]))
    assert apart["other target"] == "llvm | llvm -mcpu=x86-64-v3"
    assert apart["steps in one only"] == "none"


def test_what_a_cell_does_with_the_views_that_it_reads_is_its_own_affair() -> None:
    """The dictionary was the screen's own: a cell's change to it was in the list, without a page that was told."""
    screen = Workbench(small_session())
    assert screen.ask("views.keep", name="here", place="A=tir").content["ok"]
    read = screen.views
    assert read == {"here": "A=tir"} and read["here"] == "A=tir"
    with pytest.raises(TypeError):
        read["there"] = "A=te"  # type: ignore[index]
    assert screen.ask("views.keep", name="there", place="A=te").content["ok"]
    assert list(read) == ["here"], "what was read is of then"
    assert screen.ask("views.list").content["view"] == {"views": [["here", "A=tir"], ["there", "A=te"]]}
