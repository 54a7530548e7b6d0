"""The one widget behind every screen: an anywidget that moves messages and holds a pointer to a model.

Invariant: nothing that a page needs is in synced traits except the screen's kind and the bundle's hash.
The page loads a stub of under 4 kB with each widget; the stub asks the kernel for the real bundle once for
the page (over the comm, gzip) and imports it from a Blob URL, so that a saved notebook never holds it.

    screen = PipelineStepper(model)      # the last expression of a cell shows it
    screen.selected_step                 # what the person is looking at
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from workbench.ui.protocol import Answer, Dispatcher, event


@cache
def _asset(name: str) -> str:
    return files("workbench.ui").joinpath("static", name).read_text(encoding="utf-8")


@cache
def bundle() -> tuple[str, bytes]:
    """The hash of the front end's bundle, and the bundle as gzip."""
    data = _asset("widgets.js").encode()
    return hashlib.sha256(data).hexdigest()[:16], gzip.compress(data, compresslevel=9, mtime=0)


class Screen(anywidget.AnyWidget):
    """A screen of the workbench; subclasses give its kind and its table of commands.

    `fallback_html` is static HTML for where there is no kernel (nbconvert, a repository's page); trusted, escaped
    by who makes it.
    """

    _esm = _asset("stub.js")

    kind = traitlets.Unicode().tag(sync=True)
    bundle_hash = traitlets.Unicode().tag(sync=True)

    def __init__(
        self, kind: str, commands: Mapping[str, Callable[[dict[str, Any]], Answer]], fallback_html: str = ""
    ) -> None:
        super().__init__(kind=kind, bundle_hash=bundle()[0])
        self._fallback_html = fallback_html
        self._dispatcher = Dispatcher({"bundle": self._send_bundle, **commands})
        self.on_msg(self._receive)

    def announce(self, name: str, **args: Any) -> None:
        """Tell every view of this screen that something changed."""
        self.send(event(name, **args))

    def _receive(self, widget: object, content: object, buffers: object) -> None:
        reply = self._dispatcher.handle(content)
        if reply is not None:
            self.send(reply.content, reply.buffers or None)

    def _send_bundle(self, args: dict[str, Any]) -> Answer:
        digest, packed = bundle()
        return Answer("", {"hash": digest}, (packed,))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _ipython_display_(self, **options: Any) -> None:
        """Two outputs: the live view, and under it the static one in a fold.

        One output with both would show "model not found" wherever a notebook is opened again without its kernel.
        """
        from IPython.display import display

        bundle = self._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, None)
        if data is not None:
            display(data, metadata=metadata, raw=True)
        if self._fallback_html:
            fold = f"<details><summary>Static view</summary>{self._fallback_html}</details>"
            display({"text/html": fold, "text/plain": f"{self!r}: see the static view"}, raw=True)
