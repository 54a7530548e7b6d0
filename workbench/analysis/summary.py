"""All facts of a schedule or function at a glance.

wb.analysis.facts(sch)            # prints; a notebook shows tables and pictures
sch.facts().footprints["ji"].fits
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.errors import WorkbenchError
from .cache import CacheReport, simulate_cache
from .fact import Fact
from .footprint import Footprints, footprints
from .loop_trees import LoopTree, loop_tree
from .patterns import Patterns, VectorUses, access_patterns, vector_widths
from .programs import flat, function_of, target_of
from .registers import RegisterUses, register_use
from .rooflines import Roofline, roofline
from .trace import estimated_accesses

_SIMULATED = 1_000_000


@dataclass(frozen=True)
class Facts(Fact):
    """The facts of one program for one target; `cache` is None for shapes too large to simulate at a glance."""

    target: str
    tree: LoopTree
    roofline: Roofline
    footprints: Footprints
    patterns: Patterns
    vectors: VectorUses
    registers: RegisterUses
    cache: CacheReport | None
    func: Any = field(repr=False, metadata={"json": False})

    def __str__(self) -> str:
        parts = [
            ("loops", self.tree),
            ("work", self.roofline),
            ("footprints: what is touched while a loop runs once", self.footprints),
            ("steps of accesses", self.patterns),
            ("vectors", self.vectors),
            ("registers (estimate)", self.registers),
            ("caches (simulated, one thread)", self.cache or "too many accesses; shrink the shape"),
        ]
        return f"facts for {self.target}\n\n" + "\n\n".join(f"--- {title} ---\n{part}" for title, part in parts)


def facts(program: Any, target: Any = None, sizes: Mapping[str, int] | None = None) -> Facts:
    """All facts of a schedule or function; the cache is simulated up to a million accesses.

    Raises `WorkbenchError` for symbolic extents that `sizes` does not give.
    """
    func, chosen = function_of(program, sizes), target_of(program, target)
    small = estimated_accesses(flat(func)) <= _SIMULATED
    return Facts(
        str(chosen),
        loop_tree(func),
        roofline(func, chosen),
        footprints(func, chosen),
        access_patterns(func),
        vector_widths(func, chosen),
        register_use(func, chosen),
        _simulated(func, chosen) if small else None,
        func,
    )


def _simulated(func: Any, target: Any) -> CacheReport | None:
    try:
        return simulate_cache(func, target)
    except WorkbenchError as error:
        if error.code != "E-ANALYSIS-DATA":
            raise
        return None
