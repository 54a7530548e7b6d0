"""Builders of the operators named ``image.*``."""

from __future__ import annotations

from typing import Any

from .build import builder


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return builder("image", name)
