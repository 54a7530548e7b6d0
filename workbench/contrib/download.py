"""Classic `contrib.download`, offline: a file that a script asks for by URL is looked up among the bundled ones.

    path = download_testdata("https://.../cat.png", "cat.png", module="data")

Nothing is fetched from the network.  Files are looked for by name in the folders of `workbench.data` and in the folders
that WORKBENCH_DATA and WORKBENCH_MODELS name.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from urllib.parse import urlparse

from ..core.errors import WorkbenchError, nearest
from ..driver.data import places


def _folders() -> list[Path]:
    given = os.environ.get("WORKBENCH_MODELS")
    return [*places(), *([Path(given)] if given else [])]


def _found(names: list[str], url: str) -> Path:
    folders = _folders()
    for name in names:
        for folder in folders:
            if (folder / name).is_file():
                return folder / name
    known = sorted({path.name for folder in folders if folder.is_dir() for path in folder.iterdir() if path.is_file()})
    hint = nearest(names[0], known)
    raise WorkbenchError(
        "E-DATA-MISSING",
        f"there is no file {names[0]!r}, and nothing is downloaded",
        where=url,
        found=f"looked in {', '.join(str(folder) for folder in folders)}",
        fix="; ".join(filter(None, (hint, "put the file into a folder that WORKBENCH_DATA names"))),
    )


def download(url: str, path: str | Path, overwrite: bool = False, size_compare: bool = False, retries: int = 3) -> None:
    """Put the bundled file of that name at `path` (which stays if it is there, unless `overwrite`)."""
    target = Path(path)
    if target.is_file() and not overwrite:
        return
    source = _found([target.name, Path(urlparse(url).path).name], url)
    if source.resolve() != target.resolve():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def download_testdata(url: str, relpath: str, module: str | list[str] | None = None, overwrite: bool = False) -> str:
    """The path of the bundled file named like `relpath`, or like the file of the URL."""
    return str(_found([Path(relpath).name, Path(urlparse(url).path).name], url).resolve())
