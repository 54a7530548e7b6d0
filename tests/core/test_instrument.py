"""Instruments: timing, printing, dumping, and those of users."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.relay.programs import network
from workbench.core.errors import WorkbenchError
from workbench.core.instrument import (
    DumpIR,
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    pass_instrument,
)
from workbench.core.transform import PassContext
from workbench.relay import transform

STEPS = transform.Sequential([transform.InferType(), transform.SimplifyInference()])


def test_timing_nests_passes() -> None:
    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        STEPS(network())
        lines = timing.render().split("\n")
    assert lines[0].startswith("sequential: ") and lines[1].startswith("  InferType: ")
    assert any(line.startswith("  SimplifyInference: ") for line in lines)


def test_timing_without_passes() -> None:
    assert PassTimingInstrument().render() == "no pass has run"


def test_printing_chosen_passes() -> None:
    out = io.StringIO()
    with PassContext(instruments=[PassPrintingInstrument(["SimplifyInference"], ["InferType"], file=out)]):
        STEPS(network())
    text = out.getvalue()
    assert text.count("# Before SimplifyInference") == 1 and "# After InferType" in text
    assert "# After SimplifyInference" not in text


@pytest.mark.parametrize(("kind", "word"), [(PrintBeforeAll, "Before"), (PrintAfterAll, "After")])
def test_printing_all(kind, word) -> None:
    out = io.StringIO()
    with PassContext(instruments=[kind(file=out)]):
        STEPS(network())
    assert f"# {word} InferType" in out.getvalue() and f"# {word} SimplifyInference" in out.getvalue()


def test_dumps_are_numbered_files(tmp_path: Path) -> None:
    (tmp_path / "000_Old.py").write_text("old")
    (tmp_path / "keep.txt").write_text("mine")
    with PassContext(instruments=[DumpIR(tmp_path, refresh=True)]):
        STEPS(network())
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names[0].startswith("000_InferType") and names[-1] == "keep.txt"
    assert "000_Old.py" not in names and "R.nn.conv2d" in (tmp_path / names[0]).read_text()


def test_dump_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(WorkbenchError, match="cannot be written"):
        PassContext(instruments=[DumpIR(tmp_path / "taken")]).__enter__()


def test_own_instrument_skips_passes() -> None:
    @pass_instrument
    class Skip:
        def __init__(self, name: str) -> None:
            self.name = name
            self.seen: list[str] = []

        def should_run(self, mod, info) -> bool:
            return info.name != self.name

        def run_before_pass(self, mod, info) -> None:
            self.seen.append(info.name)

    skip = Skip("SimplifyInference")
    with PassContext(instruments=[skip]):
        made = STEPS(network())
    assert "SimplifyInference" not in skip.seen and "InferType" in skip.seen
    assert "R.nn.batch_norm" in made.script()


def test_class_without_hooks_is_refused() -> None:
    with pytest.raises(WorkbenchError, match="none of an instrument"):

        @pass_instrument
        class Nothing:
            pass
