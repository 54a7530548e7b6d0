"""A screen as one file: the front end, the recorded answers and a snapshot, played by a browser from disk, offline.

Everything that comes from a program is packed (base64 of gzip) or escaped, and the page's own policy lets nothing run
but the player, whose hash it names, and the front end that the player unpacks; nothing can be asked from elsewhere.

    save_page(session, "lesson.html")
"""

from __future__ import annotations

import base64
import hashlib
import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.core.whole_file import write_whole
from workbench.ui.recording import BUDGET, record
from workbench.ui.screen import Screen, asset, bundle
from workbench.ui.workbench import Workbench
from workbench.views.html import visible
from workbench.views.snapshot import Snapshot, snapshot_of
from workbench.views.strings.tables import say

if TYPE_CHECKING:
    from workbench.driver.session import Session
    from workbench.views.left_out import LeftOut

_STYLE: Final = (
    "html{color-scheme:light dark;font-family:system-ui,sans-serif}body{margin:12px}"
    "#told{font-size:13px;opacity:.75;margin:0 0 8px}#screen{--wb-page:1}"
    ".playing #saved{display:none}#saved svg{max-width:100%;height:auto}"
)


def save_page(
    session: Session, path: str | os.PathLike[str], budget: int = BUDGET, at: str = "",
    left_out: tuple[LeftOut, ...] = (),
) -> Path:  # fmt: skip
    """Write the session's screen to a file that plays without a kernel; `budget` bounds the recorded answers.

    The page opens at the place `at`, or at the one that stands behind "#" in its address.  `left_out` is what its list
    of steps shows as left out.
    """
    screen = Workbench(session, at=at, left_out=left_out, unattended=True)
    return write_whole(path, page_of(screen, snapshot_of(session), budget), code="E-UI-PAGE-WRITE")


def page_of(screen: Screen, snapshot: Snapshot, budget: int = BUDGET) -> str:
    """The page's HTML."""
    recording = record(screen, budget)
    player = asset("player.js").strip()
    digest = base64.b64encode(hashlib.sha256(player.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}' blob:; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    title = visible(snapshot.title)[:200]
    told, heading = escape(say.snapshot.recorded(title, ", ".join(recording.left_out))), escape(title)
    return (
        f'<!doctype html>\n<html lang="{say.snapshot.language}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><title>{heading}</title><style>{_STYLE}</style></head>\n'
        f'<body><p id="told">{told}</p>\n<div id="screen"></div>\n'
        f'<div id="saved">{snapshot.svg or snapshot.html}</div>\n'
        f'<script type="text/plain" id="bundle">{_packed(bundle()[1])}</script>\n'
        f'<script type="text/plain" id="recording">{_packed(recording.packed())}</script>\n'
        f"<script>{player}</script></body></html>\n"
    )


def _packed(data: bytes) -> str:
    return base64.b64encode(data).decode()
