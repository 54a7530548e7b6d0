"""The operator inventory: one class an operator, grouped by family; and the operators as functions of te tensors.

    topi.nn.relu(x), topi.add(x, y), topi.sum(x, axis=1)

Functions are made from the classes: `topi.NAME(tensors..., attributes...)` checks types as relay does and answers
the operator's tensor expression.  `all_operators` imports them all.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    if (Path(__file__).parent / f"{name}.py").is_file():  # `from . import name` asks here first, while operators load
        return importlib.import_module(f"workbench.topi.{name}")
    if name in ("generic", "x86", "arm_cpu", "cuda"):
        from .schedules import TABLES

        return SimpleNamespace(**TABLES[name])
    from .classic import NAMES, op
    from .classic_order import ROOT

    if name in ROOT:
        return ROOT[name]
    return getattr(importlib.import_module("workbench.topi.classic"), name) if name in NAMES else op(name)
