"""Random loop programs: one to four steps over random buffers, each program with what it means in plain Python.

    python -m tests.property.program_generator 17            # the program of a seed, as tir and as Python

    program = generated(17)                 # a `Case` for `schedule_checks`; steps 0 to n - 1
    generated(17, keep=(0, 2))              # the same without its step 1 (and what hangs on it)

A step (`program_steps`) is a pipeline of blocks: maps with strided, divided, reversed, transposed and looked-up reads,
several writers of a buffer, guards, sums that start apart, late or again, updates in place, scans, scatters, windows,
nested blocks, reductions to two values.  Data are integers in float32, int32 and int64, so that results are equal to
the last bit; every buffer's greatest possible value is known, and kept below 2**23.

Invariant: programs are well formed: they pass the verifier, stay inside of bounds and read nothing unwritten.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from tests.property.offset_programs import parsed
from tests.property.program_text import Block, Loop, Node, python_text, run_python, tir_text, walk
from tests.property.schedule_programs import Arrays, Case
from workbench.arith.nodes import Var

MOST_STEPS = 4
INPUT = 40
"""Inputs are integers from -INPUT to INPUT; schedule_checks draws smaller ones."""
MOST = 2**23
DTYPES = ("float32", "float32", "float32", "float32", "int32", "int64")


@dataclass
class Held:
    """A buffer of the program under way."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    role: str
    """input, table (of indices), permutation, or made."""
    most: int = INPUT
    """No element is greater, nor less than minus this."""
    readable: tuple[int, ...] = ()
    """The extents of what is written, from 0 on; nothing else is read."""
    is_read: bool = False
    is_updated: bool = False
    below: int = 0
    """For tables: indices are less than this."""

    @property
    def text(self) -> str:
        """The buffer's type."""
        shape = ", ".join(map(str, self.shape)) + ("," if len(self.shape) == 1 else "")
        return f'({shape}), "{self.dtype}"'


@dataclass
class Program:
    """What the steps have made so far, and what they draw with."""

    rng: random.Random
    buffers: list[Held] = field(default_factory=list[Held])
    hidden: list[Held] = field(default_factory=list[Held])
    """Buffers that only the step that made them reads."""
    body: list[Node] = field(default_factory=list[Node])
    step: int = 0
    names: int = 0

    def fresh(self, prefix: str) -> str:
        """A name that no other step gives, whichever steps are left out."""
        self.names += 1
        return f"{prefix}{self.step}_{self.names}"

    def extent(self, low: int = 1, high: int = 6) -> int:
        return self.rng.randint(low, high)

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        """Random extents, not too many elements."""
        rank = rank or self.rng.choice((1, 1, 2, 2, 2, 3))
        return tuple(self.extent(high=(8, 6, 4)[rank - 1]) for _ in range(rank))

    def hold(self, prefix: str, shape: tuple[int, ...], role: str = "made", dtype: str = "float32") -> Held:
        """A new buffer."""
        made = Held(self.fresh(prefix), dtype, shape, role, readable=shape)
        self.buffers.append(made)
        return made

    def source(self, rank: int | None = None) -> Held:
        """Something to read: mostly what was made last, or a new input."""
        known = [item for item in self.buffers if item.role in ("input", "made")]
        known = [item for item in known if rank is None or len(item.shape) == rank]
        chosen = None
        if known and self.rng.random() < 0.8:
            chosen = known[-1] if self.rng.random() < 0.6 else self.rng.choice(known)
        if chosen is None:
            chosen = self.hold("X", self.shape(rank), "input", self.rng.choice(DTYPES))
        chosen.is_read = True
        return chosen

    def table(self, length: int, below: int) -> Held:
        """Indices less than `below`."""
        made = self.hold("T", (length,), "table", self.rng.choice(("int32", "int64")))
        made.below = below
        made.is_read = True
        return made

    def permutation(self, length: int) -> Held:
        """A table that has each index once."""
        made = self.table(length, length)
        made.role = "permutation"
        return made


@dataclass(frozen=True)
class Generated(Case):
    """A generated program; `meaning` is not used, `python` is what it means."""

    seed: int = 0
    steps: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    python: str = ""
    tir: str = ""
    updated: frozenset[int] = frozenset()
    permutations: frozenset[int] = frozenset()

    @property
    def outputs(self) -> list[int]:  # type: ignore[override]
        """The positions of parameters that are only written."""
        return [number for number in self.changed if number not in self.updated]

    def arrays(self, seed: int = 0) -> Arrays:
        made = super().arrays(seed)
        generator = np.random.default_rng(seed + 7)
        for number in self.permutations:
            made[number][...] = generator.permutation(made[number].size)
        return made

    def expected(self, arrays: Arrays) -> Arrays:
        names = [buffer.name for buffer in self.func.params]
        wide = {
            name: array.astype("float64" if array.dtype.kind == "f" else "int64")
            for name, array in zip(names, arrays, strict=True)
        }
        run_python(self.python, wide)
        return [wide[name].astype(array.dtype) for name, array in zip(names, arrays, strict=True)]


@lru_cache(maxsize=64)
def generated(seed: int, keep: tuple[int, ...] | None = None) -> Generated:
    """The program of a seed, of all of its steps or of those in `keep`."""
    from tests.property.program_steps import STEPS

    rng = random.Random(f"program {seed}")
    names = list(STEPS)
    kinds = rng.choices(names, [STEPS[name][1] for name in names], k=rng.choice((1, 1, 2, 2, 2, 3, 3, MOST_STEPS)))
    chosen = tuple(range(len(kinds))) if keep is None else keep
    program = Program(rng)
    for number in chosen:
        program.rng = random.Random(f"program {seed}, step {number}")
        program.step, program.names = number, 0
        STEPS[kinds[number]][0](program)
    program.rng = random.Random(f"program {seed}, end")
    return _finished(program, seed, chosen, tuple(kinds[number] for number in chosen))


def _finished(program: Program, seed: int, steps: tuple[int, ...], kinds: tuple[str, ...]) -> Generated:
    """The function: what nobody reads is an output, and now and then something that is read."""
    buffers = program.buffers
    hidden = {id(item) for item in program.hidden}
    made = [item for item in buffers if item.role == "made" or id(item) in hidden]
    inputs = [item for item in buffers if item.role != "made" and id(item) not in hidden]
    draws = {item.name: random.Random(f"{seed} {item.name}") for item in made}
    outputs = [item for item in made if not item.is_read or draws[item.name].random() < 0.2]
    own = [item for item in made if all(item is not output for output in outputs)]
    params = [*inputs, *outputs]
    places = ['"local"' if draws[item.name].random() < 0.2 else "" for item in own]
    head = ", ".join(f"{item.name}: T.Buffer({item.text})" for item in params)
    tir = "\n".join((
        "@T.prim_func", f"def main({head}):",
        *(
            f"    {item.name} = T.alloc_buffer({item.text}{f', scope={place}' if place else ''})"
            for item, place in zip(own, places, strict=True)
        ),
        *tir_text(program.body),
    ))  # fmt: skip
    allocations = [
        f"{item.name} = numpy.zeros({item.shape}, {'float' if item.dtype.startswith('float') else 'int'})"
        for item in own
    ]
    python = "\n".join(["import numpy", *allocations, *python_text(program.body)])
    below = {number: item.below for number, item in enumerate(params) if item.below}
    sizes: dict[Var, int] = {}
    return Generated(
        f"generated {seed}", parsed(tir), lambda: None, sizes, below=below, seed=seed, steps=steps, kinds=kinds,
        python=python, tir=tir, updated=frozenset(n for n, item in enumerate(params) if item.is_updated),
        permutations=frozenset(n for n, item in enumerate(params) if item.role == "permutation"),
    )  # fmt: skip


def points(nodes: Sequence[Node]) -> int:
    """How often blocks run."""
    return sum(
        1 if isinstance(node, Block) and not any(isinstance(inner, Block) for inner in walk(node.body))
        else node.extent * points(node.body) if isinstance(node, Loop)
        else points(node.body) if isinstance(node, Block)
        else 0
        for node in nodes
    )  # fmt: skip


def smaller(case: Generated) -> list[Generated]:
    """The program without one of its steps, where that is a program."""
    found: list[Generated] = []
    for number in case.steps:
        rest = tuple(step for step in case.steps if step != number)
        if rest:
            found.append(generated(case.seed, rest))
    return found


def main(arguments: list[str]) -> int:
    """See the module's header."""
    case = generated(int(arguments[0]), tuple(map(int, arguments[1:])) or None)
    print(f"# {', '.join(case.kinds)}", case.tir, "", case.python, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
