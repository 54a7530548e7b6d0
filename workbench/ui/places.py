"""Commands on where one is: views kept by name, the Python and the file that lead back, two branches as a whole.

A *place* is one line of text that a page makes and understands ("A=fused.graph&kernel=..."): what both panes show,
the kernel, the opened groups, the step, what is selected.  Here it is only kept and handed on.

    screen.views["before fusion"]          # a place
    session.show(at=screen.views["before fusion"])
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench.core.errors import WorkbenchError
from workbench.core.whole_file import free_path, write_whole
from workbench.driver.compare import compare
from workbench.driver.traffic import traffic
from workbench.ui.given import RunInputs
from workbench.ui.protocol import Answer, argument
from workbench.views.strings.tables import say
from workbench.views.told import times_of

if TYPE_CHECKING:
    from workbench.driver.session import Session
    from workbench.views.left_out import LeftOut

_PLACE: Final = 4_000
"""Characters of a place."""
_NAME: Final = 80
_MOST: Final = 100
"""Views that are kept."""
_FILE: Final = re.compile(r"[\w][\w .+-]{0,99}")


class PlaceCommands:
    """The commands; `views` are the places that were given names."""

    def __init__(
        self,
        session: Callable[[], Session],
        inputs: Callable[[], RunInputs],
        journal: Callable[[], str],
        left_out: Callable[[], tuple[LeftOut, ...]],
    ) -> None:
        self._session, self._inputs, self._journal, self._left_out = session, inputs, journal, left_out
        self.views: dict[str, str] = {}

    def table(self) -> dict[str, Callable[[dict[str, Any]], Answer]]:
        """The commands by name."""
        return {
            "views.list": lambda args: self._listed(),
            "views.keep": self._keep,
            "views.remove": self._remove,
            "share.python": self._python,
            "share.page": self._page,
            "share.journal": self._save_journal,
            "branches.whole": self._whole,
        }

    # --- views ---

    def _listed(self) -> Answer:
        return Answer("", {"views": [[name, place] for name, place in self.views.items()]})

    def _keep(self, args: dict[str, Any]) -> Answer:
        name, place = argument(args, "name", str).strip()[:_NAME], _place(args)
        if not name or (name not in self.views and len(self.views) >= _MOST):
            raise WorkbenchError(
                "E-UI-ARGUMENT", "a view needs a name" if not name else f"{_MOST} views are kept already",
                fix="remove one" if name else "give it one",
            )  # fmt: skip
        self.views[name] = place
        return self._listed()

    def _remove(self, args: dict[str, Any]) -> Answer:
        self.views.pop(argument(args, "name", str), None)
        return self._listed()

    # --- what leads back ---

    def _python(self, args: dict[str, Any]) -> Answer:
        """The Python that opens this program again at this place."""
        return Answer("", {"text": f"{self._session().to_python()}s.show(at={_place(args)!r})\n"})

    def _page(self, args: dict[str, Any]) -> Answer:
        """The screen as one file, which opens at this place."""
        from workbench.ui.page import save_page

        path = _file(args, ".html")
        return _written(save_page(self._session(), path, at=_place(args), left_out=self._left_out()))

    def _save_journal(self, args: dict[str, Any]) -> Answer:
        """What was asked of this screen so far, to be done again by `workbench replay`."""
        path = _file(args, ".json")
        write_whole(path, self._journal())
        return _written(path)

    # --- branches ---

    def _whole(self, args: dict[str, Any]) -> Answer:
        """Two branches of the pipeline as wholes: kernels, bytes, time, outputs."""
        session, number = self._session(), argument(args, "number", int)
        if number < 0:
            raise WorkbenchError("E-UI-ARGUMENT", "there is no such branch", found=str(number), expected="0 or more")
        other = session.branches[number]
        found = compare(other, session, self._inputs().values, names=(say.session.branch(number), say.session.shown))
        moved = [traffic(one) for one in (other, session)]
        rows = [
            [say.session.steps, str(len(other)), str(len(session))],
            [say.session.kernels, *(str(count) for count in found.kernels)],
            [say.session.traffic, *(say.session.not_known if size is None else f"{size:,}" for size in moved)],
            [say.session.time_of(found.runs), *times_of(found)],
        ]
        apart = [
            [say.session.greatest_difference, f"{found.greatest_difference:.3g}"],
            [say.session.same_up_to, found.last_common or say.session.nothing],
            *([say.session.other_setting(name), " | ".join(pair)] for name, pair in found.differing_settings.items()),
            [say.session.steps_in_one, ", ".join(found.differing_steps) or say.session.none],
            [say.session.kernels_of_other_code, _some(found.differing_kernels)],
        ]
        return Answer("", {"names": list(found.names), "rows": rows, "apart": apart, "number": number})


def _some(names: tuple[str, ...]) -> str:
    if not names:
        return say.session.none
    return say.session.some(len(names), ", ".join(names[:6]), max(0, len(names) - 6))


def _place(args: dict[str, Any]) -> str:
    place = argument(args, "place", str, "")
    if len(place) > _PLACE or not place.isprintable():
        raise WorkbenchError("E-UI-ARGUMENT", "this is no place of a screen", found=repr(place[:80]))
    return place


def _file(args: dict[str, Any], suffix: str) -> Path:
    """A file beside the notebook, by its plain name, numbered where that is taken: nothing is overwritten."""
    name = argument(args, "name", str).strip()
    name = name if name.endswith(suffix) else f"{name}{suffix}"
    if not _FILE.fullmatch(name):
        raise WorkbenchError(
            "E-UI-ARGUMENT", "this is no plain name of a file", found=repr(name[:80]),
            expected=f"a name such as network{suffix}",
        )  # fmt: skip
    return free_path(name)


def _written(path: Path) -> Answer:
    return Answer("", {"path": str(path), "bytes": path.stat().st_size})
