"""Pictures for the notebooks: `wb.data.photo("coffee.png", size=224)` and `wb.data.labels()`.

Files are looked up in the current folder, in `data/` beside it, and in the folder that WORKBENCH_DATA names.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import WorkbenchError


def places() -> list[Path]:
    """The folders in which files are looked for, in order."""
    given = os.environ.get("WORKBENCH_DATA")
    return [Path("."), Path("data"), Path("notebooks/data"), *([Path(given)] if given else [])]


def find(name: str) -> Path:
    """The path of a data file, or a `WorkbenchError` that says where it was looked for."""
    for place in places():
        if (place / name).is_file():
            return place / name
    raise WorkbenchError(
        "E-DATA-MISSING",
        f"there is no file {name!r}",
        found=f"looked in {', '.join(str(place) for place in places())}",
        fix="run from the notebooks folder, or set WORKBENCH_DATA",
    )


IMAGENET_MEAN = (123.675, 116.28, 103.53)
"""Mean of red, green, blue over ImageNet's training pictures (0..255)."""

IMAGENET_DEVIATION = (58.395, 57.12, 57.375)
"""Their standard deviations."""


def photo(name: str, size: int = 224, mean: Any = IMAGENET_MEAN, scale: Any = IMAGENET_DEVIATION) -> np.ndarray:
    """A photograph as a float32 tensor (1, 3, size, size): cropped to its middle square, scaled, (x - mean) / scale.

    x are pixels of 0..255; `mean` and `scale` are numbers, or one for each of red, green, blue.  The defaults are what
    the notebooks' EfficientNet-lite0 and most other networks trained on ImageNet expect.
    """
    picture = image(name, size)
    pixels = (np.asarray(picture, np.float32) - np.float32(mean)) / np.float32(scale)
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])


def image(name: str, size: int | None = None) -> Any:
    """The picture itself (a PIL image), cropped to its middle square of `size` when that is given."""
    try:
        from PIL import Image
    except ImportError:
        raise WorkbenchError("E-DATA-PILLOW", "pictures need Pillow", fix="pip install pillow") from None
    picture = Image.open(find(name)).convert("RGB")
    if size is None:
        return picture
    side = min(picture.size)
    left, top = (picture.width - side) // 2, (picture.height - side) // 2
    return picture.crop((left, top, left + side, top + side)).resize((size, size), Image.Resampling.BICUBIC)


def labels() -> list[str]:
    """The names of the 1000 ImageNet classes, in order."""
    return find("imagenet_labels.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")


def top(scores: np.ndarray, count: int = 5) -> list[tuple[str, float]]:
    """The best classes of a score vector (1000,): names and scores, best first."""
    flat = np.asarray(scores).reshape(-1)
    names = labels()
    return [(names[index], float(flat[index])) for index in np.argsort(flat)[::-1][:count]]
