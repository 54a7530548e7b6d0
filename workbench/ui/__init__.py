"""Screens: thin Python halves of the widgets.  They draw views and send commands; they hold no truth.

Importing this package loads nothing of Jupyter; `ui.workbench.Workbench` does.
"""

from __future__ import annotations

import importlib.util
import os


def available() -> bool:
    """Whether live screens can be made: anywidget is here, and WORKBENCH_HEADLESS=1 does not forbid them."""
    return os.environ.get("WORKBENCH_HEADLESS", "") in ("", "0") and installed()


def installed() -> bool:
    """Whether anywidget is here."""
    return importlib.util.find_spec("anywidget") is not None
