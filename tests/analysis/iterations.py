"""What iterations read and write, by running through all of them: the plain meaning of `analysis.dataflow`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from workbench.analysis.tree import loads_beside, statements_in
from workbench.arith.evaluate import evaluate
from workbench.arith.nodes import Var
from workbench.core.equal import structural_equal
from workbench.core.errors import WorkbenchError
from workbench.core.node import pre_order
from workbench.tir import nodes as t

MOST = 200_000
"""Statements after which no answer is waited for."""


class TooLong(Exception):
    pass


class OutOfDomain(Exception):
    """An iterator leaves its domain: no program does that, so that nothing is true of it."""


class Iterations:
    """Runs through a program of known extents, without loads in indices and conditions."""

    def __init__(self, loop: t.For, buffer: t.Buffer) -> None:
        self.loop, self.buffer = loop, buffer
        self.written: set[tuple[int, ...]] | None = None
        """What this iteration of the loop has written so far; None outside of it."""
        self.missed = False
        """Whether an iteration has read what it had not written."""
        self.writers: dict[tuple[int, ...], int] = {}
        """Which iteration wrote an element, in this iteration of the loops around."""
        self.meet = False
        """Whether two iterations, in one of the loops around, wrote one element."""
        self._number = self._steps = 0

    def run(self, stmt: t.Stmt, at: Mapping[Var, int]) -> Iterations:
        self._steps += 1
        if self._steps > MOST:
            raise TooLong
        for region in loads_beside(stmt):
            self._read(region, at)
        if isinstance(stmt, t.For):
            self._run_loop(stmt, at)
        elif isinstance(stmt, t.BlockRealize):
            self._run_block(stmt, at)
        elif isinstance(stmt, t.IfThenElse):
            chosen = stmt.then_case if evaluate(stmt.condition, at) else stmt.else_case
            if chosen is not None:
                self.run(chosen, at)
        elif not isinstance(stmt, t.BufferStore):
            for part in statements_in(stmt):
                self.run(part, at)
        return self

    def _run_loop(self, loop: t.For, at: Mapping[Var, int]) -> None:
        begin = int(evaluate(loop.min, at))
        if loop is self.loop:
            self.writers = {}
        for value in range(begin, begin + int(evaluate(loop.extent, at))):
            if loop is self.loop:
                self.written, self._number = set(), value
            self.run(loop.body, {**at, loop.var: value})
        if loop is self.loop:
            self.written = None

    def _run_block(self, realize: t.BlockRealize, at: Mapping[Var, int]) -> None:
        block = realize.block
        if not evaluate(realize.predicate, at):
            return
        pairs = zip(block.iter_vars, realize.iter_values, strict=True)
        at = {**at, **{item.var: int(evaluate(value, at)) for item, value in pairs}}
        for region in block.reads:
            if not any(own.buffer is region.buffer and structural_equal(own, region) for own in block.writes):
                self._read(region, at)
        for item in block.iter_vars:
            if not 0 <= at[item.var] - evaluate(item.dom.min, at) < evaluate(item.dom.extent, at):
                raise OutOfDomain
        reduced = (item for item in block.iter_vars if item.kind is t.IterKind.REDUCE)
        begins = all(at[item.var] == evaluate(item.dom.min, at) for item in reduced)
        if any(isinstance(node, t.BlockRealize) for node in pre_order(block)):
            if block.init is not None and begins:
                self.run(block.init, at)
            self.run(block.body, at)
            return
        for region in block.writes:
            if block.init is not None and not begins:
                self._read(region, at)  # what its init has left, or its last update
            self._write(region, at)

    def _read(self, region: t.BufferRegion, at: Mapping[Var, int]) -> None:
        if region.buffer is self.buffer and self.written is not None:
            inside = product(*(range(int(evaluate(extent, at))) for extent in region.buffer.shape))
            self.missed = self.missed or not set(inside) & set(elements_of(region, at)) <= self.written

    def _write(self, region: t.BufferRegion, at: Mapping[Var, int]) -> None:
        if region.buffer is self.buffer and self.written is not None:
            for element in elements_of(region, at):
                self.written.add(element)
                self.meet = self.meet or self.writers.setdefault(element, self._number) != self._number


def elements_of(region: t.BufferRegion, at: Mapping[Var, int]) -> Iterator[tuple[int, ...]]:
    ends = [(int(evaluate(axis.min, at)), int(evaluate(axis.extent, at))) for axis in region.region]
    return product(*(range(low, low + extent) for low, extent in ends))


def run_through(body: t.Stmt, loop: t.For, buffer: t.Buffer) -> Any:
    """The iterations of a loop of a program; None where they cannot be run through."""
    try:
        return Iterations(loop, buffer).run(body, {})
    except (TooLong, OutOfDomain, WorkbenchError, KeyError):
        return None
