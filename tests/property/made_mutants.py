"""Mutants that are made by rule, of the modules that the answers of legality rest on; which of them are noticed.

    python -m tests.property.made_mutants                  # list the sample, numbered
    python -m tests.property.made_mutants 17 18            # check these, with a table
    python -m tests.property.made_mutants --all [--seconds 60]

A mutant is one change of a module's syntax tree, put in while the module is loaded: a comparison turned, a number one
larger or smaller, a clause or an early return left out, min for max, all for any, plus for minus.  A process of its
own answers the questions of `known_answers` with it, then runs random schedules.
"""

from __future__ import annotations

import ast
import copy
import json
import pickle
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.property.mutants import Planted, source_of

MODULES = (
    "workbench.arith.digits", "workbench.arith.scope", "workbench.analysis.accesses", "workbench.analysis.dataflow",
    "workbench.analysis.filled_boxes", "workbench.analysis.box_forms", "workbench.analysis.bindings",
)  # fmt: skip
SAMPLE = 300
SECONDS = 60.0
SCHEDULES = 8.0
"""Seconds of random schedules, where all answers are right."""


@dataclass(frozen=True)
class Made:
    """`new` stands for the bytes `begin` to `end` of a module's source."""

    module: str
    begin: int
    end: int
    line: int
    old: str
    new: str

    @property
    def name(self) -> str:
        """Where it is and what it does."""
        return f"{self.module.rpartition('.')[2]}:{self.line}: {_short(self.old)}  ->  {_short(self.new)}"

    def planted_in(self, text: str) -> str:
        data = text.encode()
        assert data[self.begin : self.end].decode() == self.old, self.name
        return (data[: self.begin] + f"({self.new})".encode() + data[self.end :]).decode()


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else f"{words[:40]} ... {words[-15:]}"


# --- making -------------------------------------------------------------------------------------------------------

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OTHER = {"min": "max", "max": "min", "all": "any", "any": "all"}
_OPPOSITE: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(a part of a node, or itself; what stands there instead)."""
    if isinstance(node, ast.If):
        if not node.orelse and isinstance(node.body[0], (ast.Return, ast.Continue)):
            yield node.test, ast.Constant(False)
    elif isinstance(node, ast.comprehension):
        yield from ((test, ast.Constant(True)) for test in node.ifs)
    elif isinstance(node, ast.BoolOp):
        for at in range(len(node.values)):
            yield node, _changed(node, values=node.values[:at] + node.values[at + 1 :])
    elif isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            turned = _TURNED[type(op)]()
            yield node, _changed(node, ops=[*node.ops[:at], turned, *node.ops[at + 1 :]])
    else:
        yield from _of_parts(node)


def _of_parts(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPPOSITE:
        yield node, _changed(node, op=_OPPOSITE[type(node.op)]())
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield from ((node, ast.Constant(node.value + by)) for by in (1, -1))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OTHER:
        yield node.func, ast.Name(_OTHER[node.func.id])
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "plus":
        first, *factor = node.args
        sign = ast.UnaryOp(ast.USub(), factor[0] if factor else ast.Constant(1))
        yield node, _changed(node, args=[first, sign])


def _changed(node: Any, **fields: Any) -> Any:
    made = copy.copy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    if isinstance(made, ast.BoolOp) and len(made.values) == 1:
        return made.values[0]
    return made


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree that are run: no annotations, and no texts."""
    yield node
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or isinstance(node, ast.JoinedStr):
            continue
        for part in field if isinstance(field, list) else [field]:
            if isinstance(part, ast.AST):
                yield from _nodes(part)


def mutants_of(module: str) -> list[Made]:
    """All mutants of a module, in the order of its source."""
    text = source_of(module)
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[Made] = []
    for node in _nodes(ast.parse(text)):
        for old, new in _changes(node):
            assert old.end_lineno is not None and old.end_col_offset is not None
            begin, end = starts[old.lineno - 1] + old.col_offset, starts[old.end_lineno - 1] + old.end_col_offset
            said = text.encode()[begin:end].decode()
            found.append(Made(module, begin, end, old.lineno, said, ast.unparse(ast.fix_missing_locations(new))))
    return sorted(dict.fromkeys(found), key=lambda one: (one.begin, one.end, one.new))


@cache
def sample() -> Sequence[Made]:
    """`SAMPLE` mutants, of each module as many in proportion as it has, in an order drawn once and for all."""
    every = {module: mutants_of(module) for module in MODULES}
    count = sum(map(len, every.values()))
    rng = random.Random(1)
    found = [one for made in every.values() for one in rng.sample(made, round(SAMPLE * len(made) / count))]
    rng.shuffle(found)
    return found


# --- checking -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What was noticed of a mutant.

    `wrong`: an answer is not true, or there is none; `schedule`: all are, but a random schedule fails; `weaker`: what
    was shown is not shown any more; `other`: answers differ in another way, none is seen to be wrong; `same`: none.
    """

    verdict: str
    seconds: float
    how: str = ""

    def __str__(self) -> str:
        return f"{self.verdict:8} {self.seconds:5.1f} s  {self.how}"


def check(numbers: Iterable[int], share: float = 1.0, seconds: float = SECONDS) -> Iterator[tuple[int, Outcome]]:
    """The outcomes of mutants of the sample, by a `share` of the questions."""
    from tests.property.known_answers import prepared

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "questions"
        path.write_bytes(pickle.dumps(prepared(share)))
        for number in numbers:
            yield number, _outcome(number, path, share, seconds)


def _outcome(number: int, path: Path, share: float, seconds: float) -> Outcome:
    command = [sys.executable, "-m", "tests.property.made_mutants", "--one", str(number), str(path), str(share)]
    begun = time.monotonic()
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return Outcome("wrong", seconds, "no answer in time")
    if told.returncode:
        return Outcome("wrong", time.monotonic() - begun, told.stderr.strip().splitlines()[-1])
    return Outcome(**json.loads(told.stdout.strip().splitlines()[-1]))


def _checked(mutant: Made, path: Path, share: float) -> Outcome:
    """In the child, before anything of the compiler is loaded."""
    sys.meta_path.insert(0, Planted(mutant))  # type: ignore[arg-type]
    begun = time.process_time()
    from tests.property.known_answers import Changes, differences

    changes: Changes = differences(pickle.loads(path.read_bytes()))
    if changes.wrong:
        return Outcome("wrong", time.process_time() - begun, changes.wrong)
    from tests.property.schedule_checks import run_seeds

    verdict = "same" if not changes.count else "other" if changes.more else "weaker"
    begun_schedules, first = time.process_time(), 0
    while time.process_time() - begun_schedules < SCHEDULES * share:
        made = run_seeds(range(first, first + 10), native=0, most=1)
        first += 10
        if made.failures:
            return Outcome("schedule", time.process_time() - begun, f"{verdict}; {made.failures[0].splitlines()[0]}")
    return Outcome(verdict, time.process_time() - begun, changes.told)


def table(outcomes: dict[int, Outcome]) -> list[str]:
    """The figures of several outcomes, in all and by module."""
    lines = [f"{'':14} made wrong schedule weaker other same"]
    modules = {module: [n for n in outcomes if sample()[n].module == module] for module in MODULES}
    for name, numbers in [*modules.items(), ("all", list(outcomes))]:
        count = Counter(outcomes[number].verdict for number in numbers)
        figures = (len(numbers), *(count[word] for word in ("wrong", "schedule", "weaker", "other", "same")))
        lines.append(f"{name.rpartition('.')[2]:14} " + "{:4} {:5} {:8} {:6} {:5} {:4}".format(*figures))
    return lines


def main(arguments: list[str]) -> int:
    """See the module's header."""
    if arguments[:1] == ["--one"]:
        number, path, share = arguments[1:]
        print(json.dumps(asdict(_checked(sample()[int(number)], Path(path), float(share)))))
        return 0
    if not arguments:
        for number, mutant in enumerate(sample()):
            print(f"{number:3} {mutant.name}")
        print(f"{len(sample())} of {sum(len(mutants_of(module)) for module in MODULES)} mutants")
        return 0
    seconds = float(arguments[arguments.index("--seconds") + 1]) if "--seconds" in arguments else SECONDS
    wanted = range(len(sample())) if arguments[0] == "--all" else map(int, arguments)
    outcomes: dict[int, Outcome] = {}
    for number, outcome in check(wanted, seconds=seconds):
        outcomes[number] = outcome
        print(f"{number:3} {sample()[number].name}\n    {outcome}", flush=True)
    print(*table(outcomes), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
