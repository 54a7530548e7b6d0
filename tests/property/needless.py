"""Needless refusals: what legality refuses although it is legal, by brute force on small shapes.

    python -m tests.property.needless [SEEDS]                 # the table
    python -m tests.property.needless SEEDS generated          # that of generated programs
    python -m tests.property.needless SEEDS listed examples    # and an example of each kind

Random schedules are asked random questions.  What legality refuses (an `IllegalError`) is done all the same with
``unsafe=True``, and the result is run in several orders on several inputs: races are told by elements, wrong orders
and regions by numbers, and no block may read sums that are still added to and were finished when it read them before
(the last time it runs sets the numbers right).  If nothing is wrong the refusal was needless.  Its share is that of
all legal questions.  Shapes are constant here, so that what holds of one shape is all there is to hold.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.property.counting import unfinished_reads
from tests.property.drawing import References, random_call, scheduled
from tests.property.program_generator import generated
from tests.property.schedule_checks import Source, listed, lowered, shuffled
from tests.property.schedule_programs import Case
from workbench.core.errors import WorkbenchError
from workbench.schedule import PRIMITIVES, Schedule, ScheduleError
from workbench.schedule.errors import IllegalError
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret

ALWAYS_LEGAL = (
    "annotate", "unannotate", "split", "fuse", "merge", "unroll", "set_scope", "storage_align", "set_axis_separator",
    "add_unit_loop", "enter_postproc", "loop_partition", "reorder_block_iter_var", "sample_categorical",
    "sample_compute_location", "sample_partitioned_tile", "sample_perfect_tile", "unsafe_set_dtype",
)  # fmt: skip
"""Primitives that ask nothing of dependences."""
MOST_BEFORE = 4
QUESTIONS = 10
INPUTS = 3


@dataclass
class Asked:
    """Counts of questions, by primitive; refusals by what was refused."""

    accepted: Counter[str] = field(default_factory=Counter[str])
    structural: Counter[str] = field(default_factory=Counter[str])
    rightly: Counter[str] = field(default_factory=Counter[str])
    needless: Counter[str] = field(default_factory=Counter[str])
    not_affine: Counter[str] = field(default_factory=Counter[str])
    kinds: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    """Of needless refusals: (primitive, code, what was found)."""
    examples: dict[tuple[str, str, str], str] = field(default_factory=dict[tuple[str, str, str], str])
    crashes: list[str] = field(default_factory=list[str])

    @property
    def share(self) -> float:
        """Needless refusals among the legal questions, "not affine" left out.

        Primitives that legality never refused anything ask nothing of it, and do not count.
        """
        return self.needless.total() / max(1, self.questions)

    @property
    def questions(self) -> int:
        """The legal questions that `share` is of."""
        asking = {*self.needless, *self.rightly, *self.not_affine}
        return self.needless.total() + sum(self.accepted[name] for name in asking)

    def __str__(self) -> str:
        lines = [f"{'primitive':24} accepted  needless  not affine  rightly refused  by structure"]
        for name in sorted({*self.accepted, *self.needless, *self.rightly, *self.not_affine}):
            lines.append(
                f"{name:24} {self.accepted[name]:8} {self.needless[name]:9} {self.not_affine[name]:11} "
                f"{self.rightly[name]:16} {self.structural[name]:13}"
            )
        lines.append(f"needless: {self.needless.total()}, {100 * self.share:.1f} % of the legal questions")
        lines += [f"  {count:4}  {' | '.join(kind)}" for kind, count in self.kinds.most_common()]
        return "\n".join(lines)


def legal_by_brute_force(case: Case, func: t.PrimFunc) -> bool:
    """True if the function gives the case's numbers whatever the order and the input, and stays within all bounds."""
    for seed in range(INPUTS):
        expected = case.expected(_wide(case, seed))
        for checks, program in (
            ({"check_regions": True}, func),
            ({"check_races": True}, shuffled(lowered(func, False), seed)),
        ):
            found = _wide(case, seed)
            try:
                interpret(program, *found, **checks)
            except WorkbenchError:
                return False
            if not all(map(np.array_equal, found, expected)):
                return False
    return True


def _wide(case: Case, seed: int) -> list[np.ndarray]:
    """Inputs of more different values than the fuzz has, so that a wrong order shows."""
    arrays, outputs = case.arrays(seed), case.outputs
    generator = np.random.default_rng(seed + 1)
    for number, array in enumerate(arrays):
        if number not in outputs and number not in case.below:
            array[...] = generator.integers(-40, 41, array.shape)
    return arrays


def of_its_own(rng: random.Random, seed: int) -> Case:
    """A generated program for each seed."""
    return generated(seed)


def ask(seed: int, asked: Asked, source: Source = listed) -> None:
    """Random questions about a random schedule."""
    rng = random.Random(seed)
    case = source(rng, seed)
    if case.sizes:
        return
    sch = Schedule(case.func)
    scheduled(sch, rng, rng.randint(0, MOST_BEFORE))
    known = References.of(sch, [])
    names = [name for name, entry in PRIMITIVES.items() if entry.category != "get" and name not in ALWAYS_LEGAL]
    for _ in range(QUESTIONS):
        name = rng.choice(names)
        call = random_call(PRIMITIVES[name], known, sch, rng)
        if call is not None:
            _ask(sch.copy(), case, name, call, asked)


def _ask(sch: Schedule, case: Case, name: str, call: tuple[list[Any], dict[str, Any]], asked: Asked) -> None:
    try:
        getattr(sch, name)(*call[0], **call[1])
        asked.accepted[name] += 1
        return
    except IllegalError as error:
        refusal: ScheduleError = error
    except ScheduleError:
        asked.structural[name] += 1
        return
    before = sch.func
    try:
        getattr(sch, name)(*call[0], **{**call[1], "unsafe": True})
        legal = legal_by_brute_force(case, sch.func)
    except ScheduleError:
        asked.structural[name] += 1
        return
    except Exception as error:
        asked.crashes.append(f"{name} with unsafe=True: {type(error).__name__}: {error}\n{sch.code()}\n{call}")
        return
    if not legal or unfinished_reads(sch.func, case) - unfinished_reads(before, case):
        asked.rightly[name] += 1
    elif "not affine" in refusal.found:
        asked.not_affine[name] += 1
    else:
        asked.needless[name] += 1
        kind = (name, refusal.code, _kind(refusal))
        asked.kinds[kind] += 1
        asked.examples.setdefault(kind, f"{refusal}\n{sch.code()}\n{sch.script()}")


def _kind(refusal: ScheduleError) -> str:
    """What was found, without names and numbers that differ from case to case."""
    return " ".join(word for word in refusal.found.split() if not any(c.isdigit() for c in word))[:60]


def measured(seeds: range, source: Source = listed) -> Asked:
    """The counts over seeds."""
    asked = Asked()
    for seed in seeds:
        ask(seed, asked, source)
    return asked


def main(arguments: list[str]) -> int:
    """See the module's header."""
    source = of_its_own if "generated" in arguments else listed
    asked = measured(range(int(arguments[0]) if arguments else 600), source)
    print(asked)
    for crash in asked.crashes[:5]:
        print(crash, end="\n\n")
    if "examples" in arguments:
        for kind, example in asked.examples.items():
            print("=" * 100, kind, example, sep="\n")
    return 1 if asked.share > 0.05 or asked.crashes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
