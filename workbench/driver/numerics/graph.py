"""Graph steps: interpreted by the operators' NumPy definitions; what a step leaves alone is computed once.

`Memory` remembers the result of every operator on given values (by content, within a budget of bytes), so a step that
rewrites three operators computes three operators.  `first_wrong` looks for the tensor with which a wrong result begins.

    memory = Memory()
    evaluate(module, arrays, memory)             # float32, remembered
    evaluate(module, arrays, float64=True)       # the yardstick: streamed, nothing kept
"""

from __future__ import annotations

import hashlib
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...core.host import give_back_memory
from ...core.module import IRModule
from ...core.origin import OriginTable
from ...relay.interpret import Interpreter, as_value, interpret
from ...relay.ir import expr as r
from ...relay.ir.brief import brief
from ..given_inputs import arranged
from .compare import Gap, WrongTensor, compare

REMEMBERED_BYTES: Final = 40 << 20
"""How many bytes of results are kept for the next step; the oldest go first."""
_ALL_BYTES: Final = 1 << 62


class Memory:
    """Results by operator and content of the operands, and the contents of the arrays met lately."""

    def __init__(self, limit: int = REMEMBERED_BYTES) -> None:
        self.limit = limit
        self.used = 0
        self.hits = self.misses = 0
        self._results: OrderedDict[Any, Any] = OrderedDict()
        self._tokens: dict[int, tuple[weakref.ref[np.ndarray], bytes]] = {}

    def token(self, value: Any) -> Any:
        """What stands for a value: equal for equal contents."""
        if isinstance(value, tuple):
            return tuple(self.token(item) for item in value)
        if not isinstance(value, np.ndarray):
            return repr(value)
        known = self._tokens.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        made = content(value)
        if not value.flags.writeable or value.base is None:
            self._tokens[id(value)] = (weakref.ref(value), made)
        return made

    def clear(self) -> None:
        """Forget all results."""
        self._results.clear()
        self._tokens.clear()
        self.used = 0

    def get(self, key: Any) -> Any:
        found = self._results.get(key)
        if found is not None:
            self._results.move_to_end(key)
            self.hits += 1
        return found

    def put(self, key: Any, value: Any) -> None:
        """Remember a result; it must not be changed from now on."""
        self.misses += 1
        size = _bytes(value)
        if size > self.limit // 4:
            return
        for array in _arrays(value):
            array.flags.writeable = False
        self._results[key] = value
        self.used += size
        while self.used > self.limit:
            _, gone = self._results.popitem(last=False)
            self.used -= _bytes(gone)


def content(array: np.ndarray) -> bytes:
    """A digest of dtype, shape and bits."""
    digest = hashlib.blake2b(f"{array.dtype}{array.shape}".encode(), digest_size=16)
    compact = np.ascontiguousarray(array)
    digest.update(compact.reshape(-1).view(np.uint8).data)
    return digest.digest()


def _arrays(value: Any) -> list[np.ndarray]:
    return [array for item in value for array in _arrays(item)] if isinstance(value, tuple) else [value]


def _bytes(value: Any) -> int:
    return sum(array.nbytes for array in _arrays(value))


@dataclass(frozen=True)
class Seen:
    """One operator call as it was evaluated."""

    call: r.Call
    operands: tuple[Any, ...]
    result: Any


class _Remembering(Interpreter):
    """The interpreter with a memory; `seen` (if given) gets every operator call."""

    def __init__(self, mod: IRModule, memory: Memory, seen: list[Seen] | None) -> None:
        super().__init__(mod)
        self.memory = memory
        self.seen = seen

    def _operate(self, call: r.Call, arguments: list[Any]) -> Any:
        result = self._remembered(call, arguments)
        if self.seen is not None:
            self.seen.append(Seen(call, tuple(arguments), result))
        return result

    def _remembered(self, call: r.Call, arguments: list[Any]) -> Any:
        op: Any = call.op
        if op.effects:
            return super()._operate(call, arguments)
        attributes = repr(sorted((name, repr(value)) for name, value in op.attributes.items()))
        tokens = tuple(self.memory.token(argument) for argument in arguments)
        key = (op.name, attributes, repr(call.type_or_none), tokens)
        found = self.memory.get(key)
        if found is None:
            found = super()._operate(call, arguments)
            self.memory.put(key, found)
        return found


def evaluate(
    module: IRModule,
    arrays: Sequence[np.ndarray],
    memory: Memory | None = None,
    float64: bool = False,
    seen: list[Seen] | None = None,
) -> list[np.ndarray]:
    """The outputs of a relay module, tuples flattened."""
    if float64 or memory is None:
        return flat(interpret(module, *arrays, float64=float64))
    machine = _Remembering(module, memory, seen)
    return flat(machine.call(module["main"], [as_value(array) for array in arrays]))


def evaluate_function(function: r.Function, values: Sequence[Any], float64: bool) -> list[np.ndarray]:
    """The results of one function on values of its parameters."""
    return flat(Interpreter(IRModule({}), float64=float64).call(function, list(values)))


def relay_values(
    module: IRModule, calls: Sequence[r.Expr], arrays: Sequence[np.ndarray]
) -> dict[int, list[np.ndarray]]:
    """What some calls of a module give, by identity of the call."""
    wanted = {id(call) for call in calls}
    found: dict[int, list[np.ndarray]] = {}

    def observe(expr: r.Expr, value: Any) -> None:
        if id(expr) in wanted:
            found[id(expr)] = flat(value)

    interpret(module, *arrays, observe=observe)
    return found


def flat(value: Any) -> list[np.ndarray]:
    """The tensors of a value, tuples flattened."""
    if isinstance(value, (tuple, list)):
        return [array for item in value for array in flat(item)]
    return [np.asarray(value)]


# --- the first wrong tensor ---------------------------------------------------------------------------------------


def first_wrong(
    before: IRModule,
    after: IRModule,
    given: Mapping[str, np.ndarray],
    memory: Memory,
    tolerance: float,
    origins: OriginTable | None = None,
) -> tuple[WrongTensor | None, Seen | None]:
    """The first tensor of `after` that is wrong, and its call.

    A tensor is wrong when no tensor of `before` equals it, and neither any that is made from it on the way to some
    output: a pass may well compute something new in between (scaled weights, another layout), as long as the values
    of the old program come back after it.  Of the calls that stand for one old call (by `origins`), the last one
    must give what that gave.
    """
    old: list[Seen] = []
    new: list[Seen] = []
    memory.clear()
    give_back_memory()
    kept = Memory(_ALL_BYTES)  # all are held at once here: what both programs compute, once
    evaluate(before, arranged(before, given), kept, seen=old)
    results = evaluate(after, arranged(after, given), kept, seen=new)
    known = _Known(old, tolerance)
    ends = {id(result) for result in results}
    readers: dict[int, list[int]] = {}
    for position, item in enumerate(new):
        for operand in item.operands:
            for array in flat(operand):
                readers.setdefault(id(array), []).append(position)
    wrong: set[int] = set()
    for position in reversed(range(len(new))):
        parts = flat(new[position].result)
        if all(known.match(part) for part in parts):
            continue
        leads = any(id(part) in ends or any(by in wrong for by in readers.get(id(part), ())) for part in parts)
        if leads:
            wrong.add(position)
    if not wrong:
        return None, None
    first, old_values = _standing_for(min(wrong), wrong, new, old, readers, origins)
    found = new[first]
    part = next(part for part in flat(found.result) if not known.match(part))
    same_shape = [value for value in old_values if (value.shape, value.dtype) == (part.shape, part.dtype)]
    expected = same_shape[0] if same_shape else known.nearest(part)
    place = f"relay call {brief(found.call)}"
    if expected is None:
        note = "the program before the step has no tensor of this shape"
        size = int(part.size)
        return WrongTensor(place, "result", (), part.shape, "another shape", float("nan"), size, size, note), found
    gap: Gap = compare(part, expected, tolerance, None, place, "result")
    return gap.tensor, found


def _standing_for(
    first: int,
    wrong: set[int],
    new: list[Seen],
    old: list[Seen],
    readers: dict[int, list[int]],
    origins: OriginTable | None,
) -> tuple[int, list[np.ndarray]]:
    """From the first wrong call on to the last that stands for the same old calls, and what these gave."""
    if origins is None:
        return first, []
    while not origins.of(new[first].call) and (after := _readers_in(new[first], readers, wrong)):
        first = min(after)  # something new on the way to what stands for an old call
    sources = {id(node) for node in origins.of(new[first].call)}
    values = [part for item in old if id(item.call) in sources for part in flat(item.result)]
    if not values:
        return first, []
    current = first
    while True:
        following = [
            by
            for by in _readers_in(new[current], readers, wrong)
            if sources & {id(node) for node in origins.of(new[by].call)}
        ]
        if not following:
            return current, values
        current = min(following)


def old_call(wrong: Seen, old: list[Seen], origins: OriginTable) -> r.Call | None:
    """The old call that a wrong new one stands for: by origin, else the one whose result is nearest."""
    sources = {id(node) for node in origins.of(wrong.call)}
    found = next((item.call for item in reversed(old) if id(item.call) in sources), None)
    if found is not None:
        return found
    part = flat(wrong.result)[0]
    group = [item for item in old if any(p.shape == part.shape for p in flat(item.result))]
    with np.errstate(all="ignore"):
        best = min(group, key=lambda item: _distance(part, flat(item.result)[0].reshape(part.shape)), default=None)
    return best.call if best is not None else None


def _readers_in(seen: Seen, readers: dict[int, list[int]], wrong: set[int]) -> list[int]:
    """The wrong calls that read what a call gives."""
    return [by for part in flat(seen.result) for by in readers.get(id(part), ()) if by in wrong]


class _Known:
    """The tensors of the program before, by shape."""

    def __init__(self, seen: list[Seen], tolerance: float) -> None:
        self.tolerance = tolerance
        self.by_shape: dict[Any, list[np.ndarray]] = {}
        self.answers: dict[int, tuple[weakref.ref[np.ndarray], bool]] = {}
        self.ids = {id(part) for item in seen for part in flat(item.result)}
        for item in seen:
            for part in flat(item.result):
                self.by_shape.setdefault((part.shape, part.dtype), []).append(part)

    def match(self, value: np.ndarray) -> bool:
        if id(value) in self.ids:
            return True
        known = self.answers.get(id(value))
        if known is None or known[0]() is not value:
            group = self.by_shape.get((value.shape, value.dtype), [])
            known = self.answers[id(value)] = weakref.ref(value), any(self._close(value, other) for other in group)
        return known[1]

    def _close(self, one: np.ndarray, other: np.ndarray) -> bool:
        step = max(1, one.size // 64)
        quick = compare(one.reshape(-1)[::step], other.reshape(-1)[::step], 10 * self.tolerance)
        return quick.right and compare(one, other, self.tolerance).right

    def nearest(self, value: np.ndarray) -> np.ndarray | None:
        """The tensor of the same shape that differs least on the whole."""
        group = self.by_shape.get((value.shape, value.dtype), [])
        with np.errstate(all="ignore"):
            return min(group, key=lambda other: _distance(value, other), default=None)


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    gap = np.abs(one.astype(np.float64) - other.astype(np.float64))
    return float(np.nan_to_num(gap, nan=1e30, posinf=1e30).mean()) if gap.size else 0.0
