"""Tables: entries from outside, clashes, and filling by import that fails, is interrupted or asks for itself."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workbench.core import code_names
from workbench.core.errors import WorkbenchError
from workbench.core.table import Table

Fill = Callable[[str], Table[int]]
BEGIN = "from workbench.core import table\nTABLE = table.Table.of_this_test\n"


@pytest.fixture
def fill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fill]:
    """A table that is filled by a module of the given text."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(code_names, "_OWN", "filling")  # the module counts as the workbench's own

    def make(text: str) -> Table[int]:
        made: Table[int] = Table("number", filled_by=("filling",))
        monkeypatch.setattr(Table, "of_this_test", made, raising=False)
        (tmp_path / "filling.py").write_text(BEGIN + text)
        importlib.invalidate_caches()
        return made

    yield make
    sys.modules.pop("filling", None)


def test_a_filling_that_fails_is_taken_up_again(fill: Fill, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("broken")
    table = fill(
        "import pathlib\nTABLE.register('one', 1, module=__name__)\n"
        f"if pathlib.Path({str(tmp_path / 'state')!r}).read_text() == 'broken': raise KeyboardInterrupt\n"
        "TABLE.register('two', 2, module=__name__)\n"
    )
    for _ in range(2):  # and does not complain that there is a "one" already
        with pytest.raises(KeyboardInterrupt):
            _ = table["one"]
    (tmp_path / "state").write_text("mended")
    assert dict(table) == {"one": 1, "two": 2}


def test_names_taken_twice_in_one_module_clash(fill: Fill) -> None:
    table = fill("TABLE.register('one', 1, module=__name__)\nTABLE.register('one', 1, module=__name__)\n")
    with pytest.raises(WorkbenchError, match="E-TABLE-CLASH"):
        len(table)


def test_within_its_filling_a_table_answers_what_is_there(fill: Fill) -> None:
    table = fill(
        "TABLE.register('one', 1, module=__name__)\n"
        "TABLE.register('two', TABLE['one'] + len(TABLE), module=__name__)\nassert 'three' not in TABLE\n"
    )
    assert dict(table) == {"one": 1, "two": 2}


def test_an_outsider_who_comes_first_clashes_himself(fill: Fill) -> None:
    """Not the workbench's own declaration, whose import would fail at some later look-up."""
    table = fill("TABLE.register('one', 1, module=__name__)\n")
    with pytest.raises(WorkbenchError, match="E-TABLE-CLASH"):
        table.register("one", 7)
    assert table["one"] == 1 and table.register("one", 7, override=True) == 7 and dict(table) == {"one": 7}


def test_other_threads_wait_until_a_table_is_full(fill: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that fills it stands in the middle until the others are about to look."""
    begun, looking = threading.Event(), threading.Barrier(4)
    monkeypatch.setattr(Table, "meeting", lambda: (begun.set(), looking.wait()), raising=False)
    table = fill(
        "TABLE.register('one', 1, module=__name__)\ntable.Table.meeting()\nTABLE.register('two', 2, module=__name__)\n"
    )
    found: list[tuple[bool, int, dict[str, int]]] = []

    def look() -> None:
        begun.wait()
        looking.wait()
        found.append(("two" in table, table["two"], dict(table)))

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert table["two"] == 2
    for thread in threads:
        thread.join()
    assert found == [(True, 2, {"one": 1, "two": 2})] * 3


def test_what_the_workbench_declares_is_there_again(fill: Fill) -> None:
    table = fill("TABLE.register('one', 1, module=__name__)\n")
    for _ in range(2):  # a cell that is run again
        table.register("one", 7, override=True)
    assert table.is_own("one") and table["one"] == 7 and len(table) == 1
    table.remove("one")
    assert dict(table) == {"one": 1}
    table.register("two", 2)
    assert not table.is_own("two")


def test_a_family_gives_entries_when_they_are_asked_for() -> None:
    table: Table[int] = Table("number", filled_by=())
    asked: list[str] = []

    def number(name: str) -> int | None:
        asked.append(name)
        return int(name[2:]) if name[2:].isdigit() else None

    table.family("n_", number)
    assert table["n_7"] == table["n_7"] == 7 and asked == ["n_7"]
    assert "n_x" not in table and table.get("m_7") is None
    assert list(table) == [] and table.is_own("n_7")
    with pytest.raises(WorkbenchError, match="E-TABLE-CLASH"):
        table.register("n_7", 8)
