"""Displaying programs, steps and sessions: live where a notebook is, static everywhere.

Each `..._bundle` gives a mime bundle (plain text, HTML without script, SVG for graphs); each `show_...` displays it in
IPython and prints text elsewhere.  A live screen comes with its static snapshot, so that a notebook stays readable
without a kernel.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..core.module import IRModule
from ..driver.text import function_text, script
from ..relay.ir.expr import Function
from .graph import graph_svg
from .html import difference_html, difference_lines, program_html, text_html

if TYPE_CHECKING:
    from ..driver.session import Session
    from ..driver.view import TextDifference

Bundle = dict[str, str]


def program_bundle(module: IRModule) -> Bundle:
    """A module: its functions in folds; the graph of main as SVG when it is a relay function."""
    texts = {name: function_text(name, function).text for name, function in module.items()}
    bundle = {"text/plain": script(module), "text/html": program_html(texts)}
    main = module.functions.get("main")
    drawn = graph_svg(main) if isinstance(main, Function) else None
    if drawn is not None and len(drawn) < 60_000:
        bundle["text/html"] += f'<details><summary style="font:600 12px system-ui">graph</summary>{drawn}</details>'
        bundle["image/svg+xml"] = drawn
    return bundle


def text_bundle(text: str, form: str) -> Bundle:
    return {"text/plain": text, "text/html": text_html(text)}


def difference_bundle(difference: TextDifference) -> Bundle:
    rows = difference_lines(difference.before, difference.after)
    plain = "\n".join(f"{sign} {line}" for sign, line in rows) or f"{difference.title}: nothing changed"
    return {
        "text/plain": plain,
        "text/html": difference_html(difference.before, difference.after, difference.title),
    }


def session_bundle(session: Session) -> Bundle:
    """A summary of the steps; those not computed yet say so (looking must not cost a compilation)."""
    rows: list[tuple[str, str, str]] = []
    for index, label in enumerate(session.labels):
        step = session.history.peek(session.plan, index)
        if step is None:
            rows.append((label, "", "not run yet"))
        elif step.error is not None:
            rows.append((label, "", f"failed: {step.error.code}"))
        else:
            rows.append((label, f"{step.milliseconds:.1f} ms", "changed" if step.changed else "no change"))
    plain = "\n".join([repr(session), *(f"  {label:<28} {spent:>12}  {note}" for label, spent, note in rows)])
    cells = "".join(
        f'<tr><td style="text-align:left">{label}</td><td>{spent}</td><td style="text-align:left">{note}</td></tr>'
        for label, spent, note in rows
    )
    return {"text/plain": plain, "text/html": f"<table><tbody>{cells}</tbody></table>"}


def show_session(session: Session) -> Any:
    """The pipeline stepper where widgets work, else the summary."""
    if not in_notebook():
        print(session_bundle(session)["text/plain"])
        return None
    from .._lazy import pipeline_screen

    screen = pipeline_screen(session, session_bundle(session)["text/html"])
    return screen if screen is not None else _display(session_bundle(session))


def show_schedule(schedule: Any) -> Any:
    """The schedule editor where widgets work, else the program."""
    if not in_notebook():
        print(function_text("main", schedule.func).text)
        return None
    from .._lazy import schedule_screen

    bundle = text_bundle(function_text("main", schedule.func).text, "script")
    screen = schedule_screen(schedule, bundle["text/html"])
    return screen if screen is not None else _display(bundle)


def show_program(module: IRModule) -> Any:
    return _display(program_bundle(module))


def show_difference(difference: TextDifference) -> Any:
    return _display(difference_bundle(difference))


def show_text(text: str, form: str) -> Any:
    return _display(text_bundle(text, form))


def show_any(program: Any) -> Any:
    """Display a module or one function."""
    if isinstance(program, IRModule):
        return show_program(program)
    return show_text(script(program), "script")


def in_notebook() -> bool:
    """Whether an IPython kernel (not a terminal) runs this."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def _display(bundle: Bundle) -> None:
    if in_notebook():
        from IPython.display import display

        display({"text/plain": bundle["text/plain"][:20_000], "text/html": bundle["text/html"]}, raw=True)
    else:
        print(bundle["text/plain"])
