"""The one table of names that point upward: classic conveniences whose implementation lives in a higher layer.

Exempt from the layering test; every function imports when called.
"""

from __future__ import annotations

from typing import Any


def function_of(expr: Any) -> Any:
    """A relay expression as a function of its free variables; functions stay as they are."""
    from .relay.ir.expr import Expr, as_function

    return as_function(expr) if isinstance(expr, Expr) else expr


def global_var(name: str) -> Any:
    from .relay.ir.expr import GlobalVar

    return GlobalVar(name)


def script_of(program: Any) -> str:
    from .driver.text import script

    return script(program)


def classic_text_of(program: Any) -> str:
    from .relay.ir.classic import astext

    return astext(program)


def relay_cast(expr: Any, dtype: str) -> Any:
    from .relay.op import cast

    return cast(expr, dtype)


def relay_binary(name: str, a: Any, b: Any) -> Any:
    from .relay.op.build import binary

    return binary(name, a, b)


def relay_unary(name: str, a: Any) -> Any:
    from .relay.op.build import unary

    return unary(name, a)


def tensor_binary(name: str, a: Any, b: Any) -> Any:
    from . import topi

    return getattr(topi, name)(a, b)


def display(program: Any) -> None:
    from .views.show import show_any as show

    show(program)


def bundle_of(program: Any) -> dict[str, str]:
    """A module or function as a mime bundle."""
    from .views.show import bundle_of as made

    return made(program)


def views() -> Any:
    """`views.show`: how programs, steps and sessions are displayed."""
    from .views import show

    return show


def told() -> Any:
    """`views.told`: how errors, traces, breakpoints, trails and comparisons are displayed."""
    from .views import told as module

    return module


def workbench_screen(session: Any, schedule: Any = None, at: str = "") -> Any:
    """The one screen, live; None where anywidget is not installed."""
    from .ui import available

    if not available():
        return None
    from .ui.workbench import Workbench

    return Workbench(session, schedule, at)


def checks_screen(check: Any) -> Any:
    """The live badges of a check; None where anywidget is not installed."""
    from .ui import available

    if not available():
        return None
    from .ui.checks import ChecksScreen

    return ChecksScreen(check)


def save_page(session: Any, path: Any) -> Any:
    """A session's screen as one file.  Raises `WorkbenchError` where anywidget is not installed."""
    from .core.errors import WorkbenchError
    from .ui import installed

    if not installed():
        raise WorkbenchError("E-UI-MISSING", "screens need the package anywidget", fix="pip install anywidget")
    from .ui.page import save_page as saved

    return saved(session, path)


def replay_journal(text: str) -> Any:
    """What was asked of a screen, asked again.  Raises `WorkbenchError` where anywidget is not installed."""
    from .core.errors import WorkbenchError
    from .ui import installed

    if not installed():
        raise WorkbenchError("E-UI-MISSING", "screens need the package anywidget", fix="pip install anywidget")
    from .ui.journal import replay

    return replay(text)


def llvm_screen(passes: Any) -> Any:
    """LLVM's passes in the live pipeline stepper; None where anywidget is not installed."""
    from .ui import available

    if not available():
        return None
    from .ui.pipeline import PipelineStepper
    from .views.llvm_passes import LlvmPassesModel

    return PipelineStepper(LlvmPassesModel(passes))


def screen_of(session: Any, schedule: Any, task: Any) -> Any:
    """The screen on a schedule that is an answer to an exercise."""
    from .ui.workbench import Workbench

    return Workbench(session, schedule, task=task)


def session_of(program: Any, target: Any = None) -> Any:
    """A schedule as a session, with its moves; a file, or what else `open` takes."""
    from .driver.open import open_session

    return open_session(program, target=target)


def lower_program(*args: Any, **options: Any) -> Any:
    """Classic `lower`; the signature is `driver.build.lower`'s."""
    from .driver.build import lower

    return lower(*args, **options)


def fact_html(fact: Any) -> str:
    """A fact of `analysis` as static HTML."""
    from .views.facts import fact_html as drawn

    return drawn(fact)


def against_bundle(found: Any) -> dict[str, str]:
    """A comparison with a peer as a mime bundle."""
    from .views.against import against_bundle as made

    return made(found)


def profile_bundle(found: Any) -> dict[str, str]:
    """The calls of a run as a mime bundle."""
    from .views.run_profile import profile_bundle as made

    return made(found)


def teach_commands() -> Any:
    """`workbench teach ...` for the command line."""
    from .teach.commands import app

    return app


def sweep(schedule: Any, parameters: Any, measure: Any, target: Any, names: Any) -> Any:
    """Variants of a schedule, measured."""
    from .driver.sweep import sweep as swept

    return swept(schedule, parameters, measure, target=target, names=names)


def measure(schedule: Any, target: Any) -> Any:
    """A schedule's time, rate and share of the machine's peak."""
    from .driver.measure import measure as measured

    return measured(schedule, target)
