"""What code is made for: `Target`, its parsing, its capabilities."""

from typing import Any

from .target import Target, tag_names

__all__ = ["Target", "as_target", "cuda", "llvm", "tag_names"]


def as_target(target: Any) -> Target:
    """A target given as text or value; without one the ambient target, else the host."""
    return Target(target) if target is not None else Target.current() or Target("llvm")


def llvm(options: str = "") -> Target:
    """The CPU target with these options: ``llvm("-mcpu=znver5")``."""
    return Target(f"llvm {options}".strip())


def cuda(model: str = "", arch: str = "") -> Target:
    """The CUDA target; `arch` as in "sm_90"."""
    return Target({"kind": "cuda", **({"model": model} if model else {}), **({"arch": arch} if arch else {})})
