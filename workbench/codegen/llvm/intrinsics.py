"""Which of LLVM's intrinsics a program may call on which target.

LLVM ends the process when it is asked for an instruction that the target has not, so a call is refused unless it is
known to be there: LLVM's target-independent intrinsics always, those of an architecture by the feature they need.
"""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(r"llvm\.[a-z][a-z0-9]*(\.[A-Za-z0-9]+)*")

FEATURES: Final = (
    ("llvm.x86.avx512.vpdpbusd.512", ("avx512vnni",)),
    ("llvm.x86.avx512.vpdpwssd.512", ("avx512vnni",)),
    ("llvm.x86.avx512.vpdpbusd", ("avx512vnni", "avxvnni")),
    ("llvm.x86.avx512.vpdpwssd", ("avx512vnni", "avxvnni")),
    ("llvm.x86.avx512.pmaddubs.w.512", ("avx512bw",)),
    ("llvm.x86.avx512.pmaddw.d.512", ("avx512bw",)),
    ("llvm.x86.avx2.pmadd", ("avx2",)),
    ("llvm.aarch64.neon.sdot", ("dotprod",)),
    ("llvm.aarch64.neon.udot", ("dotprod",)),
)
"""By the beginning of a name, the longer first: features of the target of which it needs one."""

GENERAL: Final = frozenset(
    "abs bitreverse bswap canonicalize ceil copysign cos ctlz ctpop cttz exp exp10 exp2 fabs floor fma fmuladd fptosi "
    "fptoui fshl fshr ldexp llrint llround log log10 log2 lrint lround maximum maxnum minimum minnum nearbyint pow "
    "powi rint round roundeven sadd sin smax smin smul sqrt ssub tan trunc uadd umax umin umul usub vector".split()
)
"""Second words of the names of intrinsics that every target has."""


def refusal(name: str, features: frozenset[str]) -> str:
    """Empty when a program for a target with these features may call the intrinsic, else the reason why not."""
    if not _NAME.fullmatch(name):
        return f"{name!r} is not the name of an intrinsic"
    if name.split(".")[1] in GENERAL:
        return ""
    for prefix, needed in FEATURES:
        if name.startswith(prefix):
            return "" if features & {*needed} else f"it needs {' or '.join(needed)}, which the target does not have"
    return "it is not known here which feature it needs"
