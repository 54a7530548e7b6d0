"""Restoring where a change is refused: undo and redo in an editor are the screen's too, and so skip what was refused
in both histories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ui.asking import ask, restarted
from tests.ui.test_changes import facts, of_matmul, split
from workbench.ui.changes_store import packed, unpacked

pytestmark = pytest.mark.usefixtures("kept_here")
IN_EDITOR, REDO, UNDO = "schedule.undo", "pipeline.redo", "pipeline.undo"


@pytest.mark.parametrize(
    "turned", [(IN_EDITOR, UNDO), (IN_EDITOR, IN_EDITOR, REDO, REDO, UNDO)], ids=["one history", "both, and back"]
)
def test_what_is_undone_in_an_editor_is_skipped_by_the_screens_undo_too(
    turned: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = of_matmul()
    split(first, "l:C:1", 2)
    split(first, "l:C:0", 2)
    ask(first, "schedule.apply", kernel="main", primitive="unroll", selection="l:C:4")
    for op in turned:
        ask(first, op, **({"kernel": "main"} if op == IN_EDITOR else {}))
    (path,) = (tmp_path / "cache" / "changes-1").iterdir()
    document: dict[str, Any] = unpacked(path.read_bytes()) or {}
    document["entries"][2]["args"]["selection"] = "l:C:9"  # the unrolling is refused from now on
    path.write_bytes(packed(document))
    restarted(monkeypatch)

    second = of_matmul()
    assert facts(second)["offer"] is not None
    told = ask(second, "changes.restore")
    assert (told["left"], told["exact"]) == (1, True), told
    assert told["refused"][0].startswith("unroll of l:C:9 in main: ") and second.code == first.code
