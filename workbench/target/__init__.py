"""What code is made for: `Target`, its parsing, its capabilities."""

from .target import Target, tag_names

__all__ = ["Target", "cuda", "llvm", "tag_names"]


def llvm(options: str = "") -> Target:
    """The CPU target with these options: ``llvm("-mcpu=znver5")``."""
    return Target(f"llvm {options}".strip())


def cuda(model: str = "", arch: str = "") -> Target:
    """The CUDA target; `arch` as in "sm_90"."""
    return Target({"kind": "cuda", **({"model": model} if model else {}), **({"arch": arch} if arch else {})})
