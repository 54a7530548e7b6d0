"""Primitives made of others: the state between two of them, with names for what the first one made."""

from __future__ import annotations

from dataclasses import replace

from ..analysis.tree import Tree
from ..core.node import FrozenMap
from ..tir import nodes as t
from .references import BlockRV
from .state import Change, ScheduleState
from .surgery import replaced

_NAME = "_made"


def after(state: ScheduleState, change: Change[BlockRV]) -> tuple[ScheduleState, BlockRV]:
    """The state after a primitive that made one block, and a reference to it.  The trace does not grow."""
    name = str(change.made[0])
    functions = FrozenMap({**state.functions, state.working: change.func})
    made = replace(state, functions=functions, named=FrozenMap({**state.named, _NAME: name}))
    return made, BlockRV(_NAME, name)


def annotated_block(func: t.PrimFunc, name: str, key: str, value: object) -> t.PrimFunc:
    """`func` with an annotation on the block `name`."""
    block = Tree.of(func).blocks[name].block
    return replaced(func, {id(block): block.replace(annotations=block.annotations.set(key, value))})
