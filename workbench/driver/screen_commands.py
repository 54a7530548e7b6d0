"""The screen without a screen: ask what its panes ask, as JSON, and do again what was done on one.

workbench ask model.onnx pane layer=asm kernel=fused_nn_dense
workbench ask model.onnx graph layer=fused opened='["2"]'
workbench replay session.json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from .._lazy import replay_journal, session_of, workbench_screen
from ..core.errors import WorkbenchError


def ask(
    model: Annotated[Path, typer.Argument(help="an ONNX file, or a session that was saved", metavar="MODEL")],
    command: Annotated[
        str, typer.Argument(help='what a page asks, such as "open", "kernels", "pane", "pipeline.open"')
    ],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="NAME=VALUE, the value as JSON or as a plain word")
    ] = None,
    target: Annotated[str | None, typer.Option(help="what to compile for; default: this machine")] = None,
) -> None:
    """Print what the screen of MODEL answers to COMMAND, as one JSON object: the screen's views, for scripts and CI.

    A command that is not known is answered with those that are.  A refusal prints as six lines, and ends with 2.
    """
    screen = workbench_screen(session_of(str(model), target))
    if screen is None:
        raise WorkbenchError("E-UI-MISSING", "screens need the package anywidget", fix="pip install anywidget")
    reply = screen.ask(command, **dict(_argument(text) for text in arguments or []))
    if not reply.content["ok"]:
        error = reply.content["err"]
        raise WorkbenchError(
            error["code"], error["message"], where=error["where"], found=error["found"], expected=error["expected"],
            fix=error["fix"],
        )  # fmt: skip
    typer.echo(json.dumps(reply.view(), ensure_ascii=False))


def replay(
    journal: Annotated[Path, typer.Argument(help='a file that the screen\'s tab "Share" wrote', metavar="JOURNAL")],
) -> None:
    """Do again what was done on a screen, without one, and say what is answered otherwise; then it ends with 1."""
    try:
        text = journal.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WorkbenchError("E-UI-JOURNAL", f"{journal} cannot be read", found=str(error)[:200]) from None
    found = replay_journal(text)
    typer.echo(str(found))
    raise typer.Exit(1 if found.different else 0)


def _argument(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise WorkbenchError(
            "E-CLI-ARGUMENT", f"{text!r:.60} is no argument", expected="layer=asm, or opened='[\"2\"]'"
        )
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
