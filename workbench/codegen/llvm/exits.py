"""Ways out of a function before its end: those that give the same memory back share one block.

The entry of a model leaves after any of its calls; with a block for each way out, LLVM would take twice as long.

    on7:   br i1 %failed, label %leave1, label %on8
    ...
    leave1:
      %status = phi i32 [ %first, %entry ], [ %second, %on7 ]
      call void %free(ptr %context, ptr %arena)
      ret i32 %status
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .types import INT32
from .writer import FunctionWriter


class Exits:
    """The early ways out of one function under construction."""

    def __init__(self, writer: FunctionWriter) -> None:
        self._writer = writer
        self._labels: dict[tuple[str, ...], str] = {}
        self._edges: dict[str, list[tuple[str, str]]] = {}

    def leave_from_here(self, memory: Sequence[str], status: str) -> str:
        """The label to which the current block must branch now, to leave with a status and give `memory` back."""
        label = self._labels.setdefault(tuple(memory), self._writer.fresh("leave"))
        edges = self._edges.setdefault(label, [])
        if not self._writer.terminated:
            edges.append((status, self._writer.block))
        return label

    def blocks(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Begin each block, behind all others: the memory to give back in it, and the status to return."""
        writer = self._writer
        for memory, label in self._labels.items():
            if self._edges[label]:
                writer.label(label)
                edges = ", ".join(f"[ {status}, %{block} ]" for status, block in self._edges[label])
                yield memory, writer.assign(INT32, f"phi i32 {edges}").text if writer.returns_status else "0"
