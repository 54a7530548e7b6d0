"""Displaying programs, steps and sessions: live where a notebook is, static everywhere.

Each `..._bundle` gives a mime bundle (plain text, HTML without script, SVG for graphs); each `show_...` displays it in
IPython and prints text elsewhere.  A live screen comes with its static snapshot, so that a notebook stays readable
without a kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._lazy import checks_screen, llvm_screen, session_of, workbench_screen
from ..core.module import IRModule
from ..driver.text import function_text, script
from ..relay.ir.expr import Function
from .candidates import candidates_html, candidates_text, view_of
from .checks import checks_html, checks_view
from .graph import graph_svg
from .html import changes_html, plain, program_html, text_html
from .numerics import numerics_bundle
from .provenance import listing, listing_text
from .snapshot import Snapshot, schedule_snapshot, snapshot_of
from .strings.tables import say
from .summary import summary_html, summary_text
from .witness import witness_of, witness_svg

if TYPE_CHECKING:
    from ..driver.choices import Candidates
    from ..driver.difference import Difference
    from ..driver.llvm_passes import LlvmPasses
    from ..driver.session import Session
    from ..driver.trails import Provenance
    from ..schedule.errors import ScheduleError
    from ..schedule.schedule import Schedule

Bundle = dict[str, str]
_DRAWN = 45_000
"""Bytes of SVG that a bundle holds twice: as a picture, and scrolling in HTML; up to the double it holds it once."""


def program_bundle(module: IRModule) -> Bundle:
    """A module: its functions in folds; the graph of main as SVG when it is a relay function."""
    texts = {name: function_text(name, function).text for name, function in module.items()}
    return {"text/plain": plain(script(module)), "text/html": program_html(texts)}


def bundle_of(program: Any) -> Bundle:
    """A module or one function."""
    return program_bundle(program) if isinstance(program, IRModule) else text_bundle(script(program), "script")


def graph_bundle(function: Function, title: str = "main", opened: Iterable[str] = ()) -> Bundle:
    """A relay function as a picture; its text, and why, where no Graphviz answers."""
    drawn = graph_svg(function, title, opened)
    text = function_text(title, function).text
    if drawn is None:
        return text_bundle(f"{say.snapshot.no_picture}\n{text}", "script")
    bundle = {"text/plain": plain(text), "text/html": f'<div style="max-height:560px;overflow:auto">{drawn}</div>'}
    if len(drawn.encode()) > _DRAWN:
        return bundle
    return bundle | {"image/svg+xml": drawn.replace("<svg", '<svg style="background:#fff;color:#222"', 1)}


def text_bundle(text: str, form: str) -> Bundle:
    return {"text/plain": plain(text), "text/html": text_html(text)}


def difference_bundle(difference: Difference) -> Bundle:
    """What changed, by kind: the first change of each written out."""
    kinds = [(kind.heading, rows) for kind, rows in difference.opened()]
    return {
        "text/plain": plain(str(difference) or difference.summary),
        "text/html": changes_html(difference.summary, kinds),
    }


def schedule_bundle(schedule: Schedule) -> Bundle:
    """A schedule: the Python that leads to it, and the function as it is now."""
    name, code, text = schedule.func_working_on, schedule.code(), schedule.script()
    folds = program_html({say.snapshot.schedule: code or say.snapshot.nothing_done, name: text}, opened=name)
    return {"text/plain": plain(f"{code}\n\n{text}".lstrip("\n")), "text/html": folds}


def session_bundle(session: Session) -> Bundle:
    """A summary by layer."""
    text, html = summary_text(session), summary_html(session)
    return {"text/plain": plain(text), "text/html": html}


def report_bundle(report: Any) -> Bundle:
    """A numerics report: a line a step."""
    return numerics_bundle(report)


def check_bundle(check: Any) -> Bundle:
    """A check that may still run: what is known now."""
    return {"text/plain": plain(str(check)), "text/html": checks_html(checks_view(check))}


def candidates_bundle(found: Candidates) -> Bundle:
    """What can compute a kernel: a table."""
    view = view_of(found)
    return {"text/plain": plain(candidates_text(view)), "text/html": candidates_html(view)}


def show_check(check: Any) -> Any:
    """The badges as they become known where widgets work, else what is known now."""
    bundle = check_bundle(check)
    if not in_notebook():
        print(bundle["text/plain"])
        return None
    screen = checks_screen(check)
    return screen if screen is not None else _display(bundle)


def show_session(session: Session, at: str = "") -> Any:
    """The one screen (at a place) where widgets work, else its snapshot; the summary outside of notebooks."""
    if not in_notebook():
        print(session_bundle(session)["text/plain"])
        return None
    screen = workbench_screen(session, at=at)
    return screen if screen is not None else _keep(snapshot_of(session))


def show_listing(provenance: Provenance, kernel: str, form: str = "asm") -> Any:
    """A kernel's native text with the origin of each line."""
    return _display(text_bundle(listing_of(provenance, kernel, form), form))


def listing_of(provenance: Provenance, kernel: str, form: str = "asm") -> str:
    return listing_text(listing(provenance, kernel, form))


def show_llvm_passes(passes: LlvmPasses) -> Any:
    """LLVM's passes in the pipeline stepper where widgets work, else as a list."""
    bundle = text_bundle(str(passes), "script")
    if not in_notebook():
        print(bundle["text/plain"])
        return None
    screen = llvm_screen(passes)
    return screen if screen is not None else _display(bundle)


def show_schedule(schedule: Schedule) -> Any:
    """The one screen with this schedule in its editor where widgets work, else its snapshot."""
    if not in_notebook():
        print(schedule_bundle(schedule)["text/plain"])
        return None
    screen = workbench_screen(session_of(schedule), schedule)
    return screen if screen is not None else _keep(schedule_snapshot(schedule))


def show_picture(program: Any, name: str) -> Any:
    """A static picture of a schedule or function; elsewhere than in a notebook, its SVG is printed."""
    from .facts import picture_of

    return show_svg(picture_of(program, name))


def error_bundle(error: ScheduleError) -> Bundle:
    """A refusal: its six lines at most, and the two iterations that collide as a picture."""
    found = witness_of(error)
    drawn = f"<div>{witness_svg(found)}</div>" if found is not None else ""
    return {"text/plain": plain(str(error)), "text/html": text_html(str(error)) + drawn}


def show_error(error: ScheduleError) -> Any:
    return _display(error_bundle(error))


def show_svg(drawn: str) -> Any:
    """Display a picture; elsewhere than in a notebook its text is printed."""
    return _display({"text/plain": drawn, "text/html": f'<div style="overflow:auto">{drawn}</div>'})


def show_program(module: IRModule) -> Any:
    return _display(program_bundle(module))


def show_difference(difference: Difference) -> Any:
    return _display(difference_bundle(difference))


def show_graph(function: Function, title: str = "main", opened: Iterable[str] = ()) -> Any:
    """Display a relay function as a picture; groups of these ids are opened."""
    return _display(graph_bundle(function, title, opened))


def show_text(text: str, form: str) -> Any:
    return _display(text_bundle(text, form))


def show_any(program: Any) -> Any:
    """Display a module or one function."""
    return _display(bundle_of(program))


def in_notebook() -> bool:
    """Whether an IPython kernel (not a terminal) runs this."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def _keep(snapshot: Snapshot) -> None:
    for bundle in snapshot.outputs():
        _display(bundle)


def _display(bundle: Bundle) -> None:
    if in_notebook():
        from IPython.display import display

        display(bundle, raw=True)
    else:
        print(bundle["text/plain"])
