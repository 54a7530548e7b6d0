"""Reference models, as plain as can be: the interpreter's order of accesses, and a cache of lists."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.analysis.sites import ordered
from workbench.arith.evaluate import evaluate
from workbench.target.memory import CacheLevel
from workbench.tir import nodes as t


def naive_misses(addresses: Sequence[int], levels: Sequence[CacheLevel]) -> list[list[bool]]:
    """For each level, which accesses missed it and all before."""
    caches = [[[] for _ in range(level.sets)] for level in levels]
    missed = [[False] * len(addresses) for _ in levels]
    for position, address in enumerate(addresses):
        for number, level in enumerate(levels):
            line = address // level.line
            held = caches[number][line % level.sets]
            if line in held:
                held.remove(line)
                held.append(line)
                break
            missed[number][position] = True
            if len(held) == level.ways:
                held.pop(0)
            held.append(line)
    return missed


def own(stmt: t.Stmt, values: dict) -> list[tuple[str, tuple[int, ...], bool]]:
    """What one statement touches itself."""
    return [
        (access.buffer.name, tuple(evaluate(index, values) for index in access.indices), access.is_store)
        for access in ordered(stmt)
        if all(bool(evaluate(condition, values)) == wanted for condition, wanted in access.guards)
    ]


def naive_accesses(func: t.PrimFunc) -> list[tuple[str, tuple[int, ...], bool]]:
    """(buffer, indices, is it a store) one by one, by walking a lowered scalar function step by step."""
    found: list[tuple[str, tuple[int, ...], bool]] = []

    def run(stmt: t.Stmt, values: dict) -> None:
        found.extend(own(stmt, values))
        if isinstance(stmt, t.For):
            low, extent = evaluate(stmt.min, values), evaluate(stmt.extent, values)
            for value in range(low, low + extent):
                run(stmt.body, {**values, stmt.var: value})
        elif isinstance(stmt, t.SeqStmt):
            for inner in stmt.stmts:
                run(inner, values)
        elif isinstance(stmt, t.IfThenElse):
            arm = stmt.then_case if evaluate(stmt.condition, values) else stmt.else_case
            if arm is not None:
                run(arm, values)
        elif isinstance(stmt, (t.LetStmt, t.AllocBuffer)):
            run(stmt.body, values)

    run(func.body, {})
    return found
