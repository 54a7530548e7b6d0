"""Budgets: what an input may cost before it is refused.  Change a limit by assignment: ``wb.limits.tensor_bytes = n``.

Bytes are counted beyond those of the input file, since real models create large constants from small nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from .errors import WorkbenchError


@dataclass
class Limits:
    """One number each; the first words of the comment are its unit."""

    tensor_bytes: int = 4 << 30
    """bytes of one tensor"""
    fold_bytes: int = 64 << 20
    """bytes that folding one constant expression may create"""
    fold_work: int = 4_000_000_000
    """bytes moved and operations done by all folding of one import or pass: about two seconds"""
    import_bytes: int = 256 << 20
    """bytes that an import may create beyond three times those that it read"""
    nodes: int = 1_000_000
    """nodes of an imported graph, functions inlined"""
    operands: int = 4096
    """operands of one operator, and parameters of one function, that are compiled"""
    function_nodes: int = 1_000_000
    """nodes of one function of loops, written out"""
    inlined_nodes: int = 50_000
    """nodes of one block into which others are inlined, written out"""
    unrolled_nodes: int = 5_000
    """nodes that unrolling one loop or recurrent layer may make, loops inside it included"""
    nesting: int = 64
    """levels of subgraphs or functions"""
    rank: int = 32
    """axes of a tensor"""
    rewrites: int = 1_000_000
    """rule firings in one pass"""
    interpreter_steps: int = 50_000_000
    """statements and loop iterations in one interpretation"""
    interpreter_bytes: int = 2 << 30
    """bytes of the elements of one interpretation: 8 for each that it allocates, 40 for each that it is given"""
    name_length: int = 4096
    """characters of a name from a file that are kept; longer ones are cut and numbered"""
    import_seconds: int = 600
    """seconds that an import may take"""
    run_seconds: int = 3600
    """seconds that one run of a compiled model may take"""
    llvm_seconds: int = 60
    """seconds that recording LLVM's own passes on one kernel may take"""
    llvm_bytes: int = 256 << 20
    """bytes of that record"""

    def check(self, name: str, found: int, what: str, where: str = "") -> None:
        """Refuse `found` beyond the limit `name`."""
        limit = getattr(self, name)
        if found <= limit:
            return
        shown, most = (_bytes(found), _bytes(limit)) if name.endswith("bytes") else (f"{found:,}", f"{limit:,}")
        raise WorkbenchError(
            "E-LIMIT",
            f"{what} would need {shown}",
            where=where,
            found=shown,
            expected=f"at most {most} (wb.limits.{name})",
            fix=self.fix(name),
        )

    @staticmethod
    def fix(name: str) -> str:
        """What to do about the limit `name`, for errors."""
        return f"if it is meant, raise wb.limits.{name}"

    def __setattr__(self, name: str, value: object) -> None:
        if name not in {field.name for field in fields(self)}:
            raise WorkbenchError("E-LIMIT-NAME", f"there is no limit {name!r}")
        if not isinstance(value, int) or value <= 0:
            raise WorkbenchError("E-LIMIT-VALUE", "a limit is a positive integer", found=repr(value))
        object.__setattr__(self, name, value)


class FoldBudget:
    """What one import, or one pass over one function, may still spend on computing constants.

    Two purses: time (`limits.fold_work`, and a share for what was read), and bytes created beyond three times those
    that were read (`limits.import_bytes`).  What does not fit is left to run time; `spent` tells that this happened.
    """

    def __init__(self, bytes_read: int = 0) -> None:
        self.work = limits.fold_work + 8 * bytes_read  # large weights may be scaled and laid out anew
        self.bytes = 3 * bytes_read + limits.import_bytes
        self.spent = ""
        """The name of the limit that was hit first."""

    def take(self, work: int, created: int) -> bool:
        """Whether there is enough left; if so it is taken."""
        if work > self.work or created > self.bytes:
            self.spent = self.spent or ("fold_work" if work > self.work else "import_bytes")
            return False
        self.work -= work
        self.bytes -= created
        return True


def _bytes(count: int) -> str:
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} EiB" if value < 1024 else "more than 1,024 EiB"


limits = Limits()
