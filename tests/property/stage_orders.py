"""Random te schedules as lists of calls with what each needs, and random orders of them that respect the needs.

A handle is a name ("C#2", the third loop that stage C ever had), so that one list of calls can be done on any number of
fresh schedules.  Call b stays after call a if it uses what a made, consumes what a uses, or if both reorder one loop or
give one loop a kind, of which the last counts.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench import te
from workbench.arith import build
from workbench.tir.nodes import IterKind

KINDS = ("vectorize", "parallel", "unroll")


@dataclass(frozen=True)
class Command:
    """`stage`.`name`(`arguments`), where a text "C#0" is a loop, "@C" a stage; `makes` names the results."""

    name: str
    stage: str
    arguments: tuple[Any, ...] = ()
    makes: tuple[str, ...] = ()
    consumes: tuple[str, ...] = ()

    @property
    def uses(self) -> frozenset[str]:
        loops = {item for item in self.arguments if isinstance(item, str) and "#" in item}
        stages = {item for item in self.arguments if isinstance(item, str) and item.startswith("@")}
        return frozenset(loops | stages) | {f"@{item.partition('#')[0]}" for item in loops} | {f"@{self.stage}"}

    @property
    def replaces(self) -> frozenset[str]:
        """Stages that are not what they were afterwards."""
        return frozenset({f"@{self.stage}"} if self.name in ("cache_write", "rfactor") else ())


def depends(later: Command, earlier: Command) -> bool:
    """Whether `later` may not come before `earlier`."""
    if set(earlier.makes) & later.uses or set(later.consumes) & earlier.uses:
        return True
    if later.replaces & earlier.uses or earlier.replaces & later.uses:
        return True
    if later.name == earlier.name == "cache_read":
        return later.stage == earlier.stage
    if later.name in KINDS and earlier.name in KINDS:
        return bool(_loops(later) & _loops(earlier))  # the last one counts
    same = later.stage == earlier.stage and later.name == earlier.name
    return same and (later.name in ("compute_at", "set_scope") or bool(_loops(later) & _loops(earlier)))


def _loops(command: Command) -> frozenset[str]:
    return frozenset(item for item in command.arguments if isinstance(item, str) and "#" in item)


def shuffled(commands: Sequence[Command], generator: random.Random) -> list[Command]:
    """A random order that respects what each command needs."""
    waiting = list(commands)
    done: list[Command] = []
    while waiting:
        ready = [item for at, item in enumerate(waiting) if not any(depends(item, other) for other in waiting[:at])]
        done.append(generator.choice(ready))
        waiting.remove(done[-1])
    return done


class Performer:
    """A fresh te schedule, and the handles by name."""

    def __init__(self, tensors: Sequence[te.Tensor]) -> None:
        self.args = list(tensors)
        self.schedule = te.create_schedule(tensors[-1].op)
        self.tensors = {stage.op.name: stage.op.output(0) for stage in self.schedule.stages}
        self.loops: dict[str, Any] = {}

    def roots(self, stage: str) -> list[Any]:
        op = self.schedule[self.tensors[stage]].op
        return [*op.axis, *op.reduce_axis]

    def loop(self, name: str) -> Any:
        if name not in self.loops:
            stage, _, number = name.partition("#")
            if number == "k":  # a reduction axis as it is before rfactor
                return self.schedule[self.tensors[stage]].op.reduce_axis[0]
            self.loops[name] = self.roots(stage)[int(number)]
        return self.loops[name]

    def do(self, command: Command) -> None:
        """Raises what the call raises."""
        schedule, tensor = self.schedule, self.tensors[command.stage]
        if command.name == "cache_write":
            self.tensors[command.makes[0][1:]] = schedule.cache_write(tensor, *command.arguments)
            return
        if command.name == "cache_read":
            readers = [self.tensors[item[1:]] for item in command.arguments[1:]]
            self.tensors[command.makes[0][1:]] = schedule.cache_read(tensor, command.arguments[0], readers)
            return
        if command.name == "rfactor":
            made = schedule.rfactor(tensor, self.loop(command.arguments[0]), command.arguments[1])
            self.tensors[command.makes[0][1:]] = made[0] if isinstance(made, list) else made
            return
        stage = schedule[tensor]
        given = [self.loop(item) if isinstance(item, str) and "#" in item else item for item in command.arguments]
        if command.name == "compute_at":
            parent = command.arguments[0].partition("#")[0]
            given.insert(0, schedule[self.tensors[parent]])
        elif command.name == "split_nparts":
            made = stage.split(given[0], nparts=given[1])
            self.loops.update(zip(command.makes, made, strict=True))
            return
        made = getattr(stage, command.name)(*given)
        if command.makes:
            results = made if isinstance(made, tuple) else (made,)
            self.loops.update(zip(command.makes, results, strict=True))


@dataclass
class Draw:
    """Draws the calls, doing them as it goes to know the loops; a call that is refused at once is not taken."""

    performer: Performer
    random: random.Random
    commands: list[Command] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    def take(self, command: Command) -> bool:
        try:
            self.performer.do(command)
        except te_error():
            return False
        self.commands.append(command)
        for name in command.makes:
            if "#" in name:
                self.names[id(self.performer.loops[name])] = name
        return True

    def leaves(self, stage: str) -> list[str]:
        for number, axis in enumerate(self.performer.roots(stage)):
            self.names.setdefault(id(axis), f"{stage}#{number}")
        return [self.names[id(axis)] for axis in self.record(stage).leaves]

    def record(self, stage: str) -> Any:
        return self.performer.schedule[self.performer.tensors[stage]].record

    def fresh(self, stage: str, count: int) -> tuple[str, ...]:
        first = self.counts.get(stage, 10)
        self.counts[stage] = first + count
        return tuple(f"{stage}#{number}" for number in range(first, first + count))

    def stages(self) -> list[str]:
        return [stage.op.name for stage in self.performer.schedule.stages if not stage.record.is_placeholder]

    # --- kinds of calls ---

    def factor(self) -> None:
        """Split a reduction and reduce the parts for themselves."""
        reducing = [stage for stage in self.stages() if len(self.record(stage).op.reduce_axis) > 0]
        if reducing and self.random.random() < 0.3:
            stage = self.random.choice(reducing)
            parts = self.fresh(stage, 2)
            position = self.random.randint(0, len(self.record(stage).op.axis))
            self.take(Command("split", stage, (f"{stage}#k", self.random.choice((2, 3, 4))), parts, (f"{stage}#k",)))
            self.take(Command("rfactor", stage, (self.random.choice(parts), position), (f"@{stage}.rf",)))

    def graph(self) -> None:
        schedule = self.performer.schedule
        if self.random.random() < 0.45:
            stage = self.random.choice(self.stages())
            self.take(Command("cache_write", stage, ("local",), (f"@{stage}.local",)))
        if self.random.random() < 0.45:
            source = self.random.choice([stage.op.name for stage in schedule.stages])
            key = schedule.key_of(self.performer.tensors[source])
            readers = [
                item.op.name for item in schedule.stages if any(read == key for read, _ in item.record.reads)
            ]  # fmt: skip
            if readers and all(f"{self.performer.tensors[source].name}.shared" != name for name in self.stages()):
                readers = readers if self.random.random() < 0.6 else [self.random.choice(readers)]
                named = tuple(f"@{reader}" for reader in readers)
                self.take(
                    Command(
                        "cache_read", source, ("shared", *named), (f"@{self.performer.tensors[source].name}.shared",)
                    )
                )

    def loop_call(self, stage: str) -> None:
        leaves = self.leaves(stage)
        if not leaves:
            return
        kind = self.random.choice(("split", "split", "split_nparts", "fuse", "reorder", "reorder", "tile"))
        if kind in ("split", "split_nparts"):
            loop = self.random.choice(leaves)
            size = self.random.choice((1, 2, 3, 4))
            self.take(Command(kind, stage, (loop, size), self.fresh(stage, 2), (loop,)))
        elif kind == "fuse" and len(leaves) > 1:
            at = self.random.randrange(len(leaves) - 1)
            parts = tuple(leaves[at : at + 2])
            if len({self.performer.loop(part).kind for part in parts}) == 1 or self.random.random() < 0.1:
                self.take(Command("fuse", stage, parts, self.fresh(stage, 1), parts))
        elif kind == "reorder":
            chosen = self.random.sample(leaves, self.random.randint(1, len(leaves)))
            self.take(Command("reorder", stage, tuple(chosen)))
        elif kind == "tile" and len(leaves) > 1:
            x, y = sorted(self.random.sample(leaves, 2), key=leaves.index)
            self.take(Command("tile", stage, (x, y, 2, 3), self.fresh(stage, 4), (x, y)))

    def place(self, stage: str) -> None:
        readers = self.readers(stage)
        if not readers or self.random.random() < 0.25:
            return
        if not self.record(stage).op.reduce_axis and self.random.random() < 0.35:
            self.take(Command("compute_inline", stage))
            return
        if len(readers) > 1 and self.random.random() < 0.8:
            return  # one loop can seldom hold several readers
        parent = self.random.choice(readers)
        leaves = self.leaves(parent)
        if leaves:
            self.take(Command("compute_at", stage, (self.random.choice(leaves),)))

    def readers(self, stage: str) -> list[str]:
        """The stages that read a stage, those that read them in place of inlined ones."""
        schedule = self.performer.schedule
        key = schedule.key_of(self.performer.tensors[stage])
        found: list[str] = []
        for item in schedule.stages:
            if any(read == key for read, _ in item.record.reads):
                found.extend(self.readers(item.op.name) if item.attach_type == "inline" else [item.op.name])
        return list(dict.fromkeys(found))

    def marks(self, stage: str) -> None:
        leaves = self.leaves(stage)
        data = [name for name in leaves if self.performer.loop(name).kind is IterKind.SPATIAL]
        if data and leaves[-1] == data[-1] and self.random.random() < 0.6:
            self.take(Command("vectorize", stage, (data[-1],)))
        inside = self.record(stage).attach is not None
        if data and self.random.random() < (0.1 if inside else 0.4):
            self.take(Command("parallel", stage, (data[0],)))
        if leaves and self.random.random() < 0.4:
            self.take(Command("unroll", stage, (self.random.choice(leaves),)))
        if leaves and self.random.random() < 0.3:
            self.take(Command("pragma", stage, (self.random.choice(leaves), "auto_unroll_max_step", 16)))
        if self.random.random() < (0.02 if self.record(stage).is_output else 0.15):
            self.take(Command("set_scope", stage, ("local",)))
        if self.random.random() < 0.1:
            self.take(Command("double_buffer", stage))


def te_error() -> type[Exception]:
    from workbench.schedule.stages import StageError

    return StageError


def drawn(tensors: Sequence[te.Tensor], generator: random.Random) -> list[Command]:
    """The calls of a random schedule of the tensors."""
    draw = Draw(Performer(tensors), generator)
    draw.graph()
    draw.factor()
    late = generator.random() < 0.15
    for stage in reversed(draw.stages()) if late else ():
        draw.place(stage)
    for _ in range(generator.randint(2, 8)):
        draw.loop_call(generator.choice(draw.stages()))
    for stage in reversed(draw.stages()) if not late else ():
        draw.place(stage)
    for stage in draw.stages():
        draw.marks(stage)
    return draw.commands


# --- graphs -------------------------------------------------------------------------------------------------------


def matmul() -> list[te.Tensor]:
    a, b = te.placeholder((6, 7), name="A"), te.placeholder((7, 8), name="B")
    k = te.reduce_axis((0, 7), name="k")
    c = te.compute((6, 8), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return [a, b, te.compute((6, 8), lambda i, j: c[i, j] + build.const(1.0), name="D")]


def convolution() -> list[te.Tensor]:
    """Padding, convolution, bias, relu."""
    data, weight, bias = (
        te.placeholder(shape, name=name) for name, shape in (("X", (2, 4, 5)), ("W", (3, 2, 3, 3)), ("bias", (3,)))
    )
    pad = te.compute(
        (2, 6, 7),
        lambda c, y, x: te.if_then_else(te.all(y >= 1, y < 5, x >= 1, x < 6), data[c, y - 1, x - 1], 0.0),
        name="pad",
    )
    rc, ry, rx = (te.reduce_axis((0, extent), name=name) for name, extent in (("rc", 2), ("ry", 3), ("rx", 3)))
    conv = te.compute(
        (3, 4, 5),
        lambda o, y, x: te.sum(pad[rc, y + ry, x + rx] * weight[o, rc, ry, rx], axis=[rc, ry, rx]),
        name="conv",
    )
    added = te.compute((3, 4, 5), lambda o, y, x: conv[o, y, x] + bias[o], name="added")
    return [data, weight, bias, te.compute((3, 4, 5), lambda o, y, x: build.maximum(added[o, y, x], 0.0), name="relu")]


def pooling() -> list[te.Tensor]:
    data = te.placeholder((2, 7, 6), name="X")
    ry, rx = te.reduce_axis((0, 3), name="ry"), te.reduce_axis((0, 3), name="rx")
    pool = te.compute((2, 3, 2), lambda c, y, x: te.max(data[c, y * 2 + ry, x * 2 + rx], axis=[ry, rx]), name="pool")
    return [data, te.compute((2, 3, 2), lambda c, y, x: pool[c, y, x] * 0.5, name="half")]


def softmax() -> list[te.Tensor]:
    """Row maxima, shifted squares (exact in integers), their sums, and the differences."""
    x = te.placeholder((4, 7), name="X")
    k1, k2 = te.reduce_axis((0, 7), name="k1"), te.reduce_axis((0, 7), name="k2")
    top = te.compute((4,), lambda i: te.max(x[i, k1], axis=k1), name="top")
    shifted = te.compute((4, 7), lambda i, j: (x[i, j] - top[i]) * (x[i, j] - top[i]), name="shifted")
    total = te.compute((4,), lambda i: te.sum(shifted[i, k2], axis=k2), name="total")
    return [x, te.compute((4, 7), lambda i, j: shifted[i, j] - total[i], name="out")]


def chain() -> list[te.Tensor]:
    """Elementwise stages, one of them read with a shift and transposed."""
    x = te.placeholder((5, 7), name="X")
    one = te.compute((5, 7), lambda i, j: x[i, j] + 1.0, name="one")
    two = te.compute((5, 7), lambda i, j: one[i, j] * one[i, j], name="two")
    three = te.compute(
        (5, 7), lambda i, j: two[i, j] + te.if_then_else(j >= 1, two[i, j - 1], 0.0), name="three"
    )  # fmt: skip
    return [x, te.compute((7, 5), lambda i, j: three[j, i] - x[j, i], name="four")]


def argmax() -> list[te.Tensor]:
    """The place and value of the greatest element of each row, and their sums."""
    x = te.placeholder((5, 9), name="X")
    k = te.reduce_axis((0, 9), name="k")
    most = te.comm_reducer(
        lambda a, b: (te.select(a[1] >= b[1], a[0], b[0]), te.select(a[1] >= b[1], a[1], b[1])),
        lambda t0, t1: (te.const(-1, t0), te.min_value(t1)),
        name="argmax",
    )
    place, value = te.compute((5,), lambda i: most((te.cast("float32", k.var), x[i, k]), axis=k), name="most")
    return [x, te.compute((5,), lambda i: place[i] + value[i], name="added")]


GRAPHS = {
    "matmul": matmul, "convolution": convolution, "pooling": pooling, "softmax": softmax, "chain": chain,
    "argmax": argmax,
}  # fmt: skip
