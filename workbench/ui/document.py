"""A model file as a document of JupyterLab: the screen that the document's console shows.

    screen = open_document("model.onnx")
"""

from __future__ import annotations

import sys
from typing import Any

import workbench
from workbench.core.errors import WorkbenchError


def open_document(path: str) -> Any:
    """The screen of a model file or a saved session.

    Where the model leaves dimensions of its inputs open, the error is shown and the call that gives them stands at the
    prompt, with ones in their places; the result is then None.
    """
    try:
        return workbench.open(path).show()
    except WorkbenchError as error:
        ipython: Any = sys.modules.get("IPython")
        if error.code != "E-ONNX-DYNAMIC" or ipython is None or ipython.get_ipython() is None:
            raise  # without a prompt nothing can be offered
        shell = ipython.get_ipython()
        shell.set_next_input(f"screen = wb.open({path!r}, shape={error.partial!r}).show()\nscreen")
        ipython.display.display(error)
        return None
