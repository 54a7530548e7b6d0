"""Every notebook of the course runs from its first cell to its last, headless, and is readable without a kernel."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.browser.lab import notebook
from tests.notebooks.memory import Run, measured
from tests.notebooks.predictions import COVERED, FOUND, WAITS, asks, covers, guessed, guesses, ways_to_write
from workbench.teach.handed_in import CELL

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(path for path in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
WIDGET = "application/vnd.jupyter.widget-view+json"

SAYS = {
    "00_tour": ("espresso", "every step computes the same", "E-SCHEDULE-DEPENDENCE"),
    "01_import": ("newshape=(3, 20)", "E-ONNX-DYNAMIC", "E-ONNX-UNSUPPORTED", "a git-LFS pointer", "E-ONNX-CYCLE"),
    "02_relay": ("read back, the same: True", "back again, the same program: True", "did you mean 'exp'?"),
    "03_write_a_pass": ("rewrite 1 of MergeScales", "E-REWRITE-TYPE", "every step computes the same", "no difference"),
    "04_find_the_bug": ("first wrong step: EvenPadding", "even-padding", "'node_Conv", "E-TIR-BOUNDS", "index 7"),
    "05_te_topi": ("E-TE-BOUNDS", "E-TYPE-SHAPE", "05_3: 1 of 2 checks hold", "from NumPy: 0"),
    "06_primitives": ("replayed: True", "E-SCHEDULE-DEPENDENCE", "E-SCHEDULE-INLINE-FORM", "0 of 10 points"),
    "07_legality": ("i=0 writes B[4], which iteration i=4", "if reassociated", "legal on loop", "E-TIR-RACE", "0 of 8"),
    "08_memory_and_tiles": ("3,072 of 3,072 times", "8   16  6,680 *", "plain: 37888 misses", "0 of 10 points"),
    "09_reductions_rfactor": ("E-SCHEDULE-REDUCTION-OUTSIDE", "k_0 may be parallel", "as NumPy: True", "0 of 9 points"),
    "10_tensorize": ("E-SCHEDULE-TENSORIZE", "E-CODEGEN-INTRINSIC", "20 times vpdpbusd", "last bit: True", "0 of 6"),
    "11_matmul_to_peak": ("E-SCHEDULE-DEPENDENCE", "of one thread's peak", "does not fit", "notes: none", "11_2: 2 of"),
    "12_fusion_and_layout": ("fused_layout_transform_nn_relu_layout_transform", "NHWC: every step is right", "0 of 6"),
    "13_reading_generated_code": ("LoopVectorizePass", "add, 8 lanes", "7 instructions only"),
    "14_how_a_convolution_got_fast": ("pack-weights", "as it is written: every step is", "14_2: 2 of 3", "0 of 6"),
}
"""What each notebook is there to show, as it stands in its outputs."""

SCREENS = {"00_tour": 2, "02_relay": 1, "03_write_a_pass": 1, "06_primitives": 1, "07_legality": 1,
           "08_memory_and_tiles": 1, "09_reductions_rfactor": 1, "11_matmul_to_peak": 1,
           "13_reading_generated_code": 1}  # fmt: skip
"""How many live screens a notebook opens."""

MEGABYTES = {"04_find_the_bug": 600}
"""Memory of the kernel and its children where it may be more than 500 MB: five sessions, checked in child processes."""

LONG = ("04_find_the_bug", "11_matmul_to_peak", "12_fusion_and_layout")
"""Run at night: the checks of 04 are those of tests/driver/test_checking.py, 12 is in every run with its guesses."""

pytestmark = pytest.mark.notebook


def executed(book: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """The notebook after running all its cells; a cell that raises fails the test with its error."""
    client = NotebookClient(book, timeout=240, resources={"metadata": {"path": str(folder)}})
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    client.execute(env={**os.environ, "PYTHONPATH": path})
    return book


def outputs(book: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [output for cell in book.cells for output in cell.get("outputs", [])]


RUN = [
    pytest.param(path, id=path.stem, marks=pytest.mark.nightly if path.stem in LONG else ()) for path in NOTEBOOKS
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", RUN)
def test_notebook_runs_to_its_end(path: Path) -> None:
    """Within its limits of memory and, measured by count, output; seconds are printed, since machines differ."""
    run = measured(path)
    book = run.book
    nbformat.validate(book)
    print(f"{path.stem}: first picture {run.first_picture:.1f} s, whole {run.seconds:.1f} s, {run.peak:.0f} MB")
    assert 0 < run.peak < MEGABYTES.get(path.stem, 500), [(number, round(memory)) for number, _, memory in run.cells]
    assert len(nbformat.writes(book)) < 1_500_000
    live = [output for output in outputs(book) if WIDGET in output.get("data", {})]
    static = [output for output in outputs(book) if "<details" in output.get("data", {}).get("text/html", "")]
    assert len(live) == SCREENS.get(path.stem, 0)
    said = text_of(book)
    assert [phrase for phrase in SAYS[path.stem] if phrase not in said] == []
    assert len(static) >= len(live), "a screen without its static view cannot be read without a kernel"
    tells_no_answer(run)


def tells_no_answer(run: Run) -> None:
    """Each prediction waits for its guess, what would tell its answer is covered, and no output holds the answer."""
    shown = everything_of(run.book)
    codes = [cell.source for cell in run.book.cells if cell.cell_type == "code"]
    asked = sum(asks(code) for code in codes)
    assert len(run.answers) == asked == text_of(run.book).count(WAITS) and FOUND not in shown
    assert text_of(run.book).count(COVERED) == sum(covers(code) for code in codes)
    given_away = [written for answer in run.answers for written in ways_to_write(answer) if written in shown]
    assert given_away == []


def everything_of(book: nbformat.NotebookNode) -> str:
    """All that the outputs hold, pictures included, except for the places in pictures and the data of screens."""
    parts = [text for output in outputs(book) for kind, text in output.get("data", {}).items() if "json" not in kind]
    return "\n".join([re.sub(r'="[^"]*"', "", str(part)) for part in parts] + [text_of(book)])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_makes_no_guess(path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    made = [guess for cell in book.cells if cell.cell_type == "code" for guess in guesses(cell.source)]
    assert made == []


PREDICTING = [path for path in NOTEBOOKS if "teach.predict(" in path.read_text(encoding="utf-8")]
TELLING = ("fmul", "fadd", "vfmadd", "LoopVectorize")
"""What the question about lanes is about: instructions, and who made vectors of them."""


@pytest.mark.timeout(120)
def test_the_lesson_on_generated_code_asks_for_lanes_before_it_shows_an_instruction() -> None:
    book = nbformat.read(ROOT / "notebooks" / "13_reading_generated_code.ipynb", as_version=4)
    asked = next(number for number, cell in enumerate(book.cells) if "teach.predict(" in cell.source)
    book.cells = [cell for cell in book.cells[: asked + 2] if cell.cell_type == "code"]
    said = text_of(executed(book, ROOT / "notebooks"))
    assert WAITS in said and COVERED in said, "the question, and behind it what is covered"
    assert [word for word in TELLING if word in said] == []


SAMPLES = ("07_legality", "12_fusion_and_layout")
"""Lessons that are run with guesses too, in every run of the tests; the others at night."""
GUESSED = [
    pytest.param(path, id=path.stem, marks=[] if path.stem in SAMPLES else pytest.mark.nightly) for path in PREDICTING
]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("path", GUESSED)
def test_with_guesses_everything_is_revealed(path: Path) -> None:
    book = guessed(nbformat.read(path, as_version=4))
    asked = sum(asks(cell.source) for cell in book.cells)
    said = text_of(executed(book, path.parent))
    assert said.count(FOUND) == asked > 0 and WAITS not in said and COVERED not in said


def test_guesses_are_found_wherever_they_are_written() -> None:
    assert guesses("teach.predict('x', f, guess=...).reveal()") == guesses("predict('x', f)") == []
    assert guesses("teach.predict('x', f, 3)") == ["3"]
    assert set(guesses("teach.predict('x', f, guess=[1]).reveal()\np.guess(4)")) == {"p.guess(4)", "[1]"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_exercises_stand_in_the_order_of_their_numbers(path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    named = [cell.metadata.get("nbgrader", {}).get("grade_id", "") for cell in book.cells]
    order = [name for name in named if name.startswith(CELL)]
    assert order == sorted(order)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_committed_without_outputs(path: Path) -> None:
    """Outputs differ from machine to machine; the notebook's own run makes them."""
    book = nbformat.read(path, as_version=4)
    assert outputs(book) == []


def test_the_lesson_on_sharing_draws_the_graph_before_fusion() -> None:
    """One box for each operator, the shared one with two arrows from it."""
    book = nbformat.read(ROOT / "notebooks" / "02_relay.ipynb", as_version=4)
    wanted = next(number for number, cell in enumerate(book.cells) if 'show("graph")' in cell.source)
    book.cells = book.cells[: wanted + 1]
    (drawn,) = [output.data["image/svg+xml"] for output in outputs(executed(book, ROOT)) if "data" in output]
    named = re.findall(r">([\w.]+)</text>", drawn)
    assert sorted(name for name in named if name[0].isalpha()) == ["exp", "multiply", "nn.dense", "nn.relu", "x"]


@pytest.mark.timeout(120)
def test_screens_do_not_hold_up_a_notebook_without_a_browser(tmp_path: Path) -> None:
    cells = (
        "from tests.browser.fakes import FakePipeline\nfrom workbench.ui.pipeline import PipelineStepper",
        "stepper = PipelineStepper(FakePipeline())\nstepper",
        "stepper.select('FuseOps')\nstepper.selected_step",
    )
    book = executed(nbformat.from_dict(notebook(*cells)), tmp_path)
    found = outputs(book)
    assert any(WIDGET in output.get("data", {}) for output in found)
    assert any("12 steps, " in output.get("data", {}).get("text/plain", "") for output in found)
    assert found[-1]["data"]["text/plain"] == "'s7'"


def text_of(book: nbformat.NotebookNode) -> str:
    """Everything that a notebook has printed or shown as text."""
    return "".join(_text(output) for output in outputs(book))


def _text(output: nbformat.NotebookNode) -> str:
    """What was printed as it came: a kernel sends it whenever it likes, also between two words of one `print`."""
    if output["output_type"] == "stream":
        return str(output["text"])
    return f"\n{output.get('data', {}).get('text/plain', '')}\n"


def test_printed_words_that_were_sent_one_by_one_are_one_text() -> None:
    cell = "import sys\nprint('repl', end='')\nsys.stdout.flush()\nprint('ayed: True')\n1"
    said = text_of(executed(nbformat.from_dict(notebook(cell)), ROOT))
    assert "replayed: True" in said and said.rstrip().endswith("\n1")


@pytest.mark.timeout(300)
def test_the_readmes_tour_runs() -> None:
    """Every line of it, in one go, from the folder of a clone."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tour = readme.split("## A tour of five minutes", 1)[1]
    (code,) = re.findall(r"```python\n(import workbench as wb\n.*?)```", tour, re.DOTALL)
    book = executed(nbformat.from_dict(notebook(code, "wb.data.top(scores, 1)[0][0], other.source")), ROOT)
    said = text_of(book)
    assert "'espresso', 'efficientnet_lite0.onnx'" in said and "greatest difference of an output" in said


@pytest.mark.timeout(120)
def test_the_readmes_schedule_runs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(from workbench import te\n.*?)```", readme, re.DOTALL)
    said = text_of(executed(nbformat.from_dict(notebook("import workbench as wb\n" + code)), ROOT))
    assert "cannot vectorize k" in said and "legal on loop j instead" in said and "use rfactor on k" in said
    assert "sch.reorder(l0, l2, l1)" in said


@pytest.mark.parametrize("line", re.findall(r"notebooks/[\w./-]+", (ROOT / "README.md").read_text(encoding="utf-8")))
def test_what_the_readme_names_is_there(line: str) -> None:
    assert (ROOT / line.rstrip(".")).exists()
