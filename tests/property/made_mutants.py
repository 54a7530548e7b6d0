"""Mutants that are made by rule, of the modules that the answers of legality rest on; which of them are noticed.

    python -m tests.property.made_mutants                  # list the sample, numbered
    python -m tests.property.made_mutants 17 18            # check these, with a table
    python -m tests.property.made_mutants --all [--seconds 60] [--kept FILE]   # outcomes in FILE are not run again
    python -m tests.property.made_mutants --missed --kept FILE                  # those that FILE says were not noticed

A mutant is one change of a module's syntax tree, put in while the module is loaded: a comparison turned, a number one
larger or smaller, a clause or an early return left out, min for max, all for any, plus for minus.  A process of its
own answers the questions of `known_answers` with it, then runs random schedules.
"""

from __future__ import annotations

import ast
import copy
import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any

from tests.property.mutants import Planted, source_of

MODULES = (
    "workbench.arith.digits", "workbench.arith.scope", "workbench.analysis.accesses", "workbench.analysis.dataflow",
    "workbench.analysis.filled_boxes", "workbench.analysis.box_forms", "workbench.analysis.bindings",
)  # fmt: skip
SAMPLE = 300
SECONDS = 60.0
SCHEDULES = 3.0
"""Seconds of random schedules, where all answers are right."""


@dataclass(frozen=True)
class Made:
    """`new` stands for the bytes `begin` to `end` of a module's source."""

    module: str
    begin: int
    end: int
    old: str
    new: str
    name: str
    """The function it is in, and what it does: the same while other lines change."""
    state: str
    """Of the text of that function."""

    def planted_in(self, text: str) -> str:
        data = text.encode()
        assert data[self.begin : self.end].decode() == self.old, self.name
        return (data[: self.begin] + f"({self.new})".encode() + data[self.end :]).decode()


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 80 else f"{words[:40]} ... {words[-35:]}"


EQUIVALENT: dict[str, str] = {
    "accesses.Accesses._conditions: isinstance(part, n.IntImm) and part.value  ->  False":
        "what always holds is left out below as well",
    "accesses.Accesses.__init__: 0  ->  -1": "only the order of the numbers counts",
    "accesses.Accesses._rises: factor > 0  ->  factor >= 0": "no factor of a form is 0",
    "bindings._is_written: low is None or length is None  ->  low is None": "the extents of regions are forms",
    "bindings.writes_all: has_only_stores(block) or any( all(_is_w ... , block.init) if part is not None )  ->  "
    "any((all((_is_written(part, region) for  ... , block.init) if part is not None))":
        "the statements of such a block say the same, more slowly",
    "box_forms._together: 0  ->  -1 #4": "there is one",
    "box_forms.joined: 0  ->  1": "the first box has none before it",
    "box_forms.joined: at < len(found) <= MOST_BOXES  ->  at < len(found) < MOST_BOXES": "the limit is one of effort",
    "dataflow.Dataflow._given: form is not None and reach is not None and size is not None  ->  "
    "form is not None and reach is not None":
        "the extents of buffers are forms",
    "dataflow.Dataflow._in_earlier_iterations: first.kind in _IN_ORDER and all(map(_surely_runs, loops[1:]))  ->  "
    "first.kind in _IN_ORDER": "`filled` asks it of each loop",
    "digits.Digits.injective: not completed and len(left) == len(numbers)  ->  len(left) == len(numbers)":
        "what is completed was read in the same round",
    "digits.Digits._are_independent: run is None or len(digits) == 1  ->  len(digits) == 1":
        "a sum of digits has been asked for before: without a run there is none",
    "digits.Digits._are_independent: run.size >= top.high  ->  run.size > top.high":
        "a source of as many values as its digits have is a multiple of the places below",
    "digits.Digits._completed: place in parts and place < parts[int(place)].high  ->  place in parts":
        "digits have more than one value",
    "filled_boxes._Filling._ends_sum: 0  ->  1 #3": "the condition moves: there is a term",
    "filled_boxes._Filling._ends_sum: min(moving.values(), default=0) <= 0  ->  min(moving.values(), default=0) < 0":
        "the condition moves, and no factor of a form is 0",
    "scope.Scope.enter: 1  ->  0": "in a loop of no iterations nothing is said",
    "scope.Scope.has_iterations: 0  ->  -1 #2": "whether it is 0 is asked before",
    "scope.Scope.has_iterations: low is not None and high is not None and self.at_most(low, high)  ->  "
    "high is not None and self.at_most(low, high)":
        "of a loop both ends are known, or none",
    "scope.Scope.index: 1  ->  0": "the order of the terms is one of text",
    "accesses.Accesses.here: 0  ->  1": "of a single block it is not asked what comes before",
    "box_forms.joined: 0  ->  -1": "the last box is joined with those before it once more, which gives the same boxes",
    "dataflow.Dataflow._in_the_first: 1  ->  0 #3": "the first of the loops runs: one of its iterations stands",
    "dataflow.Dataflow._tile: 0  ->  -1 #3": "tiles that are numbered from -1 on are told apart as well",
    "digits.Digits._take_all_combinations: 0  ->  -1": "digits are grouped by their source: all have the same",
    "filled_boxes._Filling._begins_empty: 0  ->  -1": "a run that does not end with the loop is not empty at its begin",
    "scope.Scope.is_natural: 1  ->  2": "whether a form is above 0 does not change when it is doubled",
}  # fmt: skip
"""Mutants of the sample that change no answer, and why."""


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


def _nodes(node: ast.AST, where: str, state: str = "") -> Iterator[tuple[str, str, ast.AST]]:
    """The nodes of a tree that are run: no annotations, and no texts; with the function that each is in, its state."""
    yield where, state, node
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        where = f"{where}.{node.name}"
    if isinstance(node, ast.FunctionDef):
        state = _hash(ast.unparse(node))
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or isinstance(node, ast.JoinedStr):
            continue
        for part in field if isinstance(field, list) else [field]:
            if isinstance(part, ast.AST):
                yield from _nodes(part, where, state)


def mutants_of(module: str) -> list[Made]:
    """All mutants of a module, in the order of its source."""
    text = source_of(module)
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: dict[tuple[int, int, str], Made] = {}
    names: Counter[str] = Counter()
    for where, state, node in _nodes(ast.parse(text), module.rpartition(".")[2]):
        for old, new in _changes(node):
            assert old.end_lineno is not None and old.end_col_offset is not None
            begin, end = starts[old.lineno - 1] + old.col_offset, starts[old.end_lineno - 1] + old.end_col_offset
            said, instead = text.encode()[begin:end].decode(), ast.unparse(ast.fix_missing_locations(new))
            if (begin, end, instead) not in found:
                name = f"{where}: {_short(said)}  ->  {_short(instead)}"
                names[name] += 1
                name += f" #{names[name]}" if names[name] > 1 else ""
                found[begin, end, instead] = Made(module, begin, end, said, instead, name, state)
    return list(found.values())


@cache
def sample() -> Sequence[Made]:
    """`SAMPLE` mutants, drawn by their names once and for all: others are drawn only where the source changes."""
    every = [one for module in MODULES for one in mutants_of(module)]
    return sorted(every, key=lambda one: sha256(one.name.encode()).digest())[:SAMPLE]


# --- checking -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What was noticed of a mutant.

    `wrong`: an answer is not true, or there is none; `weaker`: what was shown is not shown any more; `other`: answers
    differ in another way, none is seen to be wrong; `schedule`: none differs, but a random schedule fails; `same`.
    """

    verdict: str
    seconds: float
    how: str = ""

    @property
    def is_noticed(self) -> bool:
        return self.verdict != "same"

    def __str__(self) -> str:
        return f"{self.verdict:8} {self.seconds:5.1f} s  {self.how}"


def check(
    numbers: Iterable[int], questions: Sequence[Any], share: float = 1.0, seconds: float = SECONDS
) -> Iterator[tuple[int, Outcome]]:
    """The outcomes of mutants of the sample, by questions that were prepared; a `share` of the random schedules."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "questions"
        path.write_bytes(b"".join(map(pickle.dumps, questions)))
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


def _read(path: Path) -> Iterator[Any]:
    """Questions one after the other: a mutant is mostly told by one of the first."""
    with path.open("rb") as file:
        while file.peek():
            yield pickle.load(file)


def _checked(mutant: Made, path: Path, share: float) -> Outcome:
    """In the child, before anything of the compiler is loaded."""
    sys.meta_path.insert(0, Planted(mutant))  # type: ignore[arg-type]
    begun = time.process_time()
    from tests.property.known_answers import difference

    verdict, how = difference(_read(path))
    if verdict != "same":
        return Outcome(verdict, time.process_time() - begun, how)
    from tests.property.schedule_checks import run_seeds

    begun_schedules, first = time.process_time(), 0
    while time.process_time() - begun_schedules < SCHEDULES * share:
        made = run_seeds(range(first, first + 10), native=0, most=1)
        first += 10
        if made.failures:
            return Outcome("schedule", time.process_time() - begun, made.failures[0].splitlines()[0])
    return Outcome("same", time.process_time() - begun)


def table(outcomes: dict[int, Outcome]) -> list[str]:
    """The figures of several outcomes, in all and by module: `found` are all noticed, of those that are no `equal`."""
    lines = [f"{'':14} made equal found of wrong schedule weaker other same seconds"]
    modules = {module: [n for n in outcomes if sample()[n].module == module] for module in MODULES}
    for name, numbers in [*modules.items(), ("all", list(outcomes))]:
        count = Counter(outcomes[number].verdict for number in numbers)
        equal = [number for number in numbers if sample()[number].name in EQUIVALENT]
        rest = [outcomes[number] for number in numbers if number not in equal]
        found = sum(outcome.is_noticed for outcome in rest)
        figures = (len(numbers), len(equal), found, len(rest))
        figures += tuple(count[word] for word in ("wrong", "schedule", "weaker", "other", "same"))
        lines.append(
            f"{name.rpartition('.')[2]:14} " + "{:4} {:5} {:5} {:2} {:5} {:8} {:6} {:5} {:4}".format(*figures)
            + f" {sum(outcomes[number].seconds for number in numbers):7.0f}"
        )  # fmt: skip
    return lines


class Kept:
    """A file of outcomes, one a line: those of functions that have changed since are passed over."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.outcomes: dict[int, Outcome] = {}
        numbers = {(one.name, one.state): number for number, one in enumerate(sample())}
        for line in path.read_text().splitlines() if path is not None and path.exists() else ():
            name, state, *said = json.loads(line)
            if (name, state) in numbers:
                self.outcomes[numbers[name, state]] = Outcome(*said)

    def add(self, number: int, outcome: Outcome) -> None:
        self.outcomes[number] = outcome
        if self.path is not None:
            one = sample()[number]
            with self.path.open("a") as file:
                file.write(json.dumps([one.name, one.state, *asdict(outcome).values()]) + "\n")


def _after(arguments: list[str], word: str, default: str) -> str:
    return arguments[arguments.index(word) + 1] if word in arguments else default


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
    path = _after(arguments, "--kept", "")
    kept = Kept(Path(path) if path else None)
    if "--all" in arguments:
        wanted = [number for number in range(len(sample())) if number not in kept.outcomes]
    elif "--missed" in arguments:
        wanted = [n for n, outcome in kept.outcomes.items() if not outcome.is_noticed]
        wanted = [number for number in wanted if sample()[number].name not in EQUIVALENT]
    else:
        wanted = list(map(int, takewhile(str.isdigit, arguments)))
    from tests.property.known_answers import prepared

    for number, outcome in check(wanted, prepared(), seconds=float(_after(arguments, "--seconds", str(SECONDS)))):
        kept.add(number, outcome)
        print(f"{number:3} {sample()[number].name}\n    {outcome}", flush=True)
    print(*table(kept.outcomes), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
