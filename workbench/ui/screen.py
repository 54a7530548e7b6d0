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

from workbench.ui.kept import Kept
from workbench.ui.protocol import VERSION, Answer, Dispatcher, Reply, event


@cache
def asset(name: str) -> str:
    return files("workbench.ui").joinpath("static", name).read_text(encoding="utf-8")


@cache
def bundle() -> tuple[str, bytes]:
    """The hash of the front end's bundle, and the bundle as gzip."""
    data = asset("widgets.js").encode()
    return hashlib.sha256(data).hexdigest()[:16], gzip.compress(data, compresslevel=9, mtime=0)


class Screen(anywidget.AnyWidget):
    """A screen of the workbench; subclasses give its kind, its table of commands, and what a notebook keeps of it."""

    _esm = asset("stub.js")

    kind = traitlets.Unicode().tag(sync=True)
    bundle_hash = traitlets.Unicode().tag(sync=True)
    kept = traitlets.Bool().tag(sync=True)
    """Whether outputs with the snapshot follow the live view."""

    def __init__(
        self, kind: str, commands: Mapping[str, Callable[[dict[str, Any]], Answer]], kept: Kept | None = None
    ) -> None:
        super().__init__(kind=kind, bundle_hash=bundle()[0], kept=kept is not None)
        self._kept = kept
        self._dispatcher = Dispatcher({"bundle": self._send_bundle, **commands})
        if kept is not None:
            kept.alone = self._dispatcher.one_at_a_time
        self.on_msg(self._receive)

    def announce(self, name: str, **args: Any) -> None:
        """Tell every view of this screen that something changed."""
        self.send(event(name, **args))
        self._follow_later()

    def ask(self, op: str, /, **args: Any) -> Reply:
        """What a page would be answered.  An interrupt is raised: it is meant for the cell that asks."""
        reply = self._dispatcher.handle({"v": VERSION, "id": 0, "op": op, "state": "", "args": args})
        assert reply is not None  # the request is well formed
        if reply.interrupt is not None:
            raise reply.interrupt
        return reply

    def _receive(self, widget: object, content: object, buffers: object) -> None:
        reply = self._dispatcher.handle(content)
        if reply is not None:
            self.send(reply.content, reply.buffers or None)
            self._follow_later()
            if reply.interrupt is not None:  # the kernel's loop expects it of a handler, a cell around it too
                raise reply.interrupt

    def _follow_later(self) -> None:
        if self._kept is not None:
            self._kept.soon()

    def _send_bundle(self, args: dict[str, Any]) -> Answer:
        digest, packed = bundle()
        return Answer("", {"hash": digest}, (packed,))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _ipython_display_(self, **options: Any) -> None:
        """The live view, and below it what the notebook keeps (`ui.kept`)."""
        from IPython.display import display

        # Made before the live view: a bar between them would keep pages from hiding what stands right behind it.
        kept = self._kept.outputs() if self._kept is not None else []
        bundle = self._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, None)
        if data is not None:
            told = {"text/plain": self._kept.told} if self._kept is not None else {}
            display({**data, **told}, metadata=metadata, raw=True)
        if self._kept is not None:
            self._kept.display(kept)
