"""Questions whose true answers are known by running through all points, and what is answered to them.

    questions = prepared()                    # drawn once, with the truth and what is answered now
    difference(questions)                     # in another process, with a mutant planted: what is answered there

What is drawn and what is true comes from a process without a mutant; an answer is compared with both: it may not be
wrong, and it should be no weaker.
"""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import product
from math import inf, prod
from typing import Any, NamedTuple, cast

from tests.analysis.iterations import run_through
from tests.analysis.test_bindings import drawn as drawn_binding
from tests.analysis.test_bindings import value_text
from tests.analysis.test_dataflow import CARRIED, MADE, nest_of, program
from tests.analysis.test_flow_of_blocks import bodies
from tests.arith.test_digits import drawn as drawn_forms
from tests.arith.test_digits import expression, value_of
from tests.property.known_boxes import boxes, drawn_program, of_boxes
from tests.property.program_checks import program_of
from tests.property.schedule_checks import draw, listed
from workbench.analysis.bindings import binding_facts, writes_box, writes_once
from workbench.analysis.dataflow import Dataflow, tells_apart
from workbench.analysis.tree import BlockSite, Tree
from workbench.arith import build
from workbench.arith.build import add, const, multiply
from workbench.arith.digits import Digits
from workbench.arith.evaluate import evaluate
from workbench.arith.forms import Form
from workbench.arith.nodes import PrimExpr, Var
from workbench.arith.scope import Scope, are_equal, multiple_of, number_of
from workbench.core.flat import flatten_all, unflatten_all
from workbench.core.node import Node, pre_order
from workbench.tir import nodes as t
from workbench.tir.build import loop, point_region
from workbench.tir.script import parse

Answer = tuple[Any, bool]
"""(what is said: for a fact whether it is shown, else some value or None; whether that is wrong)."""
Point = Mapping[Var, int]


@dataclass(frozen=True)
class Loop:
    var: Var
    begin: PrimExpr
    extent: PrimExpr


def points(loops: Sequence[Loop], at: Point) -> Iterator[Point]:
    """All points of loops, the first outermost."""
    if not loops:
        yield at
        return
    step, *rest = loops
    begin = int(evaluate(step.begin, at))
    for value in range(begin, begin + int(evaluate(step.extent, at))):
        yield from points(rest, {**at, step.var: value})


def _scope(loops: Sequence[Loop]) -> tuple[Scope, list[int]]:
    scope = Scope()
    return scope, [scope.enter(step.var, step.begin, step.extent) for step in loops]


def _loosened(rng: random.Random, drawn: Sequence[tuple[Var, int, int]], size: Var) -> list[Loop]:
    """Loops of which some have a symbolic extent, or begin where an outer one stands."""
    found: list[Loop] = []
    for var, begin, extent in drawn:
        how = rng.random()
        first = add(found[-1].var, begin) if found and how < 0.2 else const(begin, "int64")
        found.append(Loop(var, first, size if 0.2 < how < 0.35 else const(extent, "int64")))
    return found


# --- forms --------------------------------------------------------------------------------------------------------

SIZES = (1, 2, 3, 5)
"""What a symbolic extent may be."""


@dataclass(frozen=True)
class Forms:
    """Values over loops of which the last `own` run, the others standing still."""

    loops: list[Loop]
    own: int
    values: list[PrimExpr]
    ends: list[tuple[Point, list[tuple[int, int]]]]
    """Where the others may stand, and the least and greatest of each value there."""
    counts: list[list[int]]
    """How many values of each there are."""
    every: list[tuple[Point, tuple[int, ...]]]
    """Some points, and the values there."""
    injective: bool
    fills: bool


def forms(seed: int, opaque: bool = False) -> Forms:
    """`opaque`: of expressions that are no sums of multiples, too."""
    rng, size = random.Random(seed), Var("n", "int64")
    drawn, values = drawn_forms(rng)
    if opaque:
        how = rng.choice((build.maximum, build.minimum, multiply))
        values[0] = how(values[0], add(rng.choice(drawn)[0], rng.randint(-1, 2)))
        values.append(rng.choice(drawn)[0])
    loops = _loosened(rng, drawn, size)
    own = rng.randint(1, len(loops)) if rng.random() < 0.4 else len(loops)
    at, inner = loops[: len(loops) - own], loops[len(loops) - own :]
    ends: list[tuple[Point, list[tuple[int, int]]]] = []
    counts: list[list[int]] = []
    every: list[tuple[Point, tuple[int, ...]]] = []
    injective = fills = True
    for still in (point for number in SIZES for point in points(at, {size: number})):
        found = [tuple(int(evaluate(value, point)) for value in values) for point in points(inner, still)]
        spans = [(min(axis), max(axis)) for axis in zip(*found, strict=True)]
        ends.append((still, spans))
        every += zip(points(inner, still), found, strict=True)
        counts.append([len(set(axis)) for axis in zip(*found, strict=True)])
        injective = injective and len(set(found)) == len(found)
        fills = fills and len(set(found)) == prod(high - low + 1 for low, high in spans)
    return Forms(loops, own, values, ends, counts, rng.sample(every, min(20, len(every))), injective, fills)


def of_forms(asked: Forms) -> Iterator[Answer]:
    scope, atoms = _scope(asked.loops)
    own = set(atoms[len(atoms) - asked.own :])
    made = [form for value in asked.values if (form := scope.form(value)) is not None]
    digits = Digits(scope, made, own)
    yield digits.injective, digits.injective and not asked.injective
    yield digits.fills, digits.fills and not asked.fills
    for place, form in enumerate(made):
        for side, end in enumerate(scope.ends(form, own)):
            truths = [spans[place][side] for _, spans in asked.ends]
            values = _at(scope, end, asked)
            beyond = zip(values or (), truths, strict=bool(values))
            yield values, any(value > true if side == 0 else value < true for value, true in beyond)
            yield values == truths, False
            values = _at(scope, digits.runs[place][side], asked) if digits.runs is not None else None
            yield values, values is not None and values != truths
    for run, counts in zip(digits.runs or (), zip(*asked.counts, strict=True), strict=False):
        size = None if run.size == inf else run.size
        yield size, size is not None and set(counts) != {size}


def of_scope(asked: Forms) -> Iterator[Answer]:
    """How forms are written, and what moves in them."""
    scope, atoms = _scope(asked.loops)
    own = set(atoms[len(atoms) - asked.own :])
    for place, value in enumerate(asked.values):
        form, truth = scope.linear(value), [values[place] for _, values in asked.every]
        spans = [axes[place] for _, axes in asked.ends[:40] if place < len(axes)]
        yield "index", _values(scope.index(form), asked) != truth
        moving, still = scope.parted(form, own)
        yield sorted(moving.terms), moving.plus(still).key != form.key or scope.moves(still, own)
        moves = scope.moves(form, own)
        yield moves, not moves and any(low < high for low, high in spans)
        yield sorted(scope.variables_of(form) & set(atoms)), moves is scope.variables_of(form).isdisjoint(own)
        only, number = scope.only_variable(form), number_of(value)
        yield only is not None, only is not None and _values(only, asked) != truth
        yield scope.holds(value >= 0), scope.holds(value >= 0) and any(low < 0 for low, _ in spans)
        yield number, number is not None and {*truth} != {number}
        same = are_equal(value, asked.values[0])
        yield same, same is not (place == 0) and truth != [values[0] for _, values in asked.every]


def _values(expr: PrimExpr, asked: Forms) -> list[int]:
    return [int(evaluate(expr, at)) for at, _ in asked.every]


def _at(scope: Scope, form: Form | None, asked: Forms) -> list[int] | None:
    """The values of an end, which moves only with what stands still."""
    return None if form is None else [value_of(scope, form, at) for at, _ in asked.ends]


# --- conditions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Conditions:
    """Whether a condition follows from others; and of two expressions, which is less, and what divides one."""

    loops: list[Loop]
    condition: PrimExpr
    given: list[PrimExpr]
    follows: bool
    truths: list[tuple[Point, bool]]
    """Whether the condition holds, at some points."""
    pair: tuple[PrimExpr, PrimExpr]
    in_order: bool
    values: list[int]
    """Of the first."""


def conditions(seed: int) -> Conditions:
    rng, size = random.Random(seed), Var("n", "int64")
    drawn = [(Var(name, "int64"), rng.choice((0, 0, 0, 1, -2)), rng.randint(1, 6)) for name in "abc"]
    loops = _loosened(rng, drawn, size)
    parts = [expression(rng, drawn, rng.choice((0, 0, 1, 2))) for _ in range(2)]

    def condition(left: PrimExpr) -> PrimExpr:
        right = const(rng.randint(-3, 9), "int64")
        return rng.choice((left < right, left < right, left <= right, left >= right, build.equal(left, right)))

    given = [condition(rng.choice(parts)) for _ in range(rng.choice((0, 1, 2, 2, 3)))]
    whole = rng.choice((parts[0], parts[1], add(*parts), add(multiply(parts[0], rng.choice((2, 3, -1))), parts[1])))
    wanted = condition(whole)
    pair = (rng.choice((whole, multiply(whole, rng.choice((2, 6))))), add(rng.choice(parts), rng.randint(-2, 12)))
    every = [point for number in SIZES for point in points(loops, {size: number})]
    truths = [(point, bool(evaluate(wanted, point))) for point in every]
    follows = all(true for point, true in truths if all(evaluate(one, point) for one in given))
    values = [tuple(int(evaluate(side, point)) for side in pair) for point in every]
    some = rng.sample(truths, min(20, len(truths)))
    in_order = all(one <= other for one, other in values)
    return Conditions(loops, wanted, given, follows, some, pair, in_order, [one for one, _ in values[:40]])


def of_conditions(asked: Conditions) -> Iterator[Answer]:
    scope, _ = _scope(asked.loops)
    limits = scope.limits(asked.condition)
    said = [all(value_of(scope, limit, at) <= 0 for limit in limits) for at, _ in asked.truths]
    yield said, bool(limits) and said != [true for _, true in asked.truths]
    natural = scope.at_least_zero(asked.condition)
    said = natural and [value_of(scope, natural, at) >= 0 for at, _ in asked.truths]
    yield said, natural is not None and said != [true for _, true in asked.truths]
    yield scope.holds(asked.condition), scope.holds(asked.condition) and not all(true for _, true in asked.truths)
    follows = scope.follows(limits, [limit for one in asked.given for limit in scope.limits(one)])
    yield follows, follows and not asked.follows
    one, other = map(scope.form, asked.pair)
    if one is not None and other is not None:
        in_order = scope.at_most(one, other)
        yield in_order, in_order and not asked.in_order
    divisor = multiple_of(asked.pair[0])
    yield divisor, any(value % divisor if divisor else value for value in asked.values)


# --- bindings -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bindings:
    """A function, and what is true of a block while its loops from the first, second, ... on run."""

    func: t.PrimFunc
    block: str
    guards_only: bool
    truths: list[dict[str, bool]]


def bindings(func: t.PrimFunc, name: str) -> Bindings:
    site = Tree.of(func).blocks[name]
    loops = [Loop(step.var, step.min, step.extent) for step in site.loops]
    domain = set(product(*(range(getattr(item.dom.extent, "value", 0)) for item in site.block.iter_vars)))
    truths = [_true_of(site, loops[:at], loops[at:], domain) for at in range(len(loops) + 1)]
    return Bindings(func, name, truths[0].pop("guards_only"), truths)


def _true_of(site: BlockSite, outer: list[Loop], inner: list[Loop], domain: set[tuple[int, ...]]) -> dict[str, bool]:
    made = dict.fromkeys(("covers", "injective", "writes_box", "guards_only"), True)
    for still in points(outer, {}):
        every: list[tuple[int, ...]] = []
        runs: list[tuple[int, ...]] = []
        for at in points(inner, still):
            every.append(tuple(int(evaluate(value, at)) for _, value in site.bindings))
            if evaluate(site.realize.predicate, at):
                runs.append(every[-1])
            elif every[-1] in domain:
                made["guards_only"] = False
        box = set(product(*(range(min(axis), max(axis) + 1) for axis in zip(*every, strict=True))))
        made["covers"] &= set(runs) >= domain
        made["injective"] &= len(set(runs)) == len(runs)
        made["writes_box"] &= set(runs) >= domain & box
    return made


def of_bindings(asked: Bindings) -> Iterator[Answer]:
    site = Tree.of(asked.func).blocks[asked.block]
    region = point_region(site.block.writes[0].buffer, [item.var for item, _ in site.bindings])
    for at, true in enumerate(asked.truths):
        facts = binding_facts(site, site.loops[at:])
        yield facts.covers, facts.covers and not true["covers"]
        yield facts.injective, facts.injective and not true["injective"]
        box = writes_box(site, region, site.loops[at:])
        yield box, box and not true["writes_box"]
    yield facts.guards_only, facts.guards_only and not asked.guards_only


# --- what is written once -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    """A block, and whether it writes no element twice, while none or all of its reduction iterators stand still."""

    func: t.PrimFunc
    once: bool
    once_held: bool


def written(seed: int) -> Written:
    rng = random.Random(seed)
    names = [f"v{number}" for number in range(rng.randint(1, 3))]
    extents = [rng.randint(1, 5) for _ in names]
    kinds = [rng.choice(("spatial", "spatial", "reduce")) for _ in names]
    variables = [(name, 0, extent) for name, extent in zip(names, extents, strict=True)]
    values = [value_text(rng, variables) for _ in range(rng.choice((1, 2)))]
    lines = ["@T.prim_func", f'def main(B: T.Buffer(({", ".join("99" for _ in values)},), "int32")):']
    for number, extent in enumerate(extents):
        lines.append("    " * (number + 1) + f"for i{number} in T.serial({extent}):")
    space = "    " * (len(names) + 1)
    lines.append(f'{space}with T.block("b"):')
    for number, (kind, extent) in enumerate(zip(kinds, extents, strict=True)):
        lines.append(f"{space}    v{number} = T.axis.{kind}({extent}, i{number})")
    func = parse("\n".join([*lines, f"{space}    B[{', '.join(values)}] = 1"]))
    assert isinstance(func, t.PrimFunc)
    spatial = [at for at, kind in enumerate(kinds) if kind == "spatial"]
    once = [True, True]
    for held in (0, 1):
        writers: dict[Any, Any] = {}
        for point in product(*map(range, extents)):
            element = [eval(value, dict(zip(names, point, strict=True))) for value in values]
            others = [at for number, at in enumerate(point) if number not in spatial] if held else []
            own = [point[at] for at in spatial]
            once[held] &= writers.setdefault(str((element, others)), own) == own
    return Written(func, once[0], once[1])


def of_written(asked: Written) -> Iterator[Answer]:
    block = Tree.of(asked.func).blocks["b"].block
    held = frozenset(item.var for item in block.iter_vars if item.kind is t.IterKind.REDUCE)
    once, once_held = writes_once(block), writes_once(block, held)
    yield once, once and not asked.once
    yield once_held, once_held and not asked.once_held


# --- flow of values -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flow:
    """A program, and of some loops and buffers in it: whether values are passed on, whether writes meet; if known."""

    func: t.PrimFunc
    truths: list[tuple[t.For, t.Buffer, bool | None, bool | None]]


def flow(func: t.PrimFunc) -> Flow:
    truths: list[tuple[t.For, t.Buffer, bool | None, bool | None]] = []
    buffers = [buffer for node in pre_order(func.body) if isinstance(node, t.Block) for buffer in node.alloc_buffers]
    for step in (node for node in pre_order(func.body) if isinstance(node, t.For)):
        for buffer in buffers:
            made = run_through(func.body, step, buffer)
            passes_on = getattr(step.extent, "value", 2) > 1 and not step.has_private_buffers
            missed = None if made is None else made.missed and passes_on
            truths.append((step, buffer, missed, None if made is None else made.meet))
    return Flow(func, truths)


def of_flow(asked: Flow) -> Iterator[Answer]:
    made = Dataflow(asked.func.body)
    for step, buffer, missed, meet in asked.truths:
        kept, apart = not made.carries(step, buffer), made.writes_apart(step, buffer)
        yield kept, kept and missed is True
        yield apart, apart and meet is True


def _of_loops(asked: Forms) -> Iterator[Answer]:
    loops = [loop(step.var, step.extent, t.Evaluate(const(0))).replace(min=step.begin) for step in asked.loops]
    inner = loops[len(loops) - asked.own :]
    if asked.own == len(loops):
        apart = tells_apart(asked.values, inner)
        yield apart, apart and not asked.injective


# --- all together -------------------------------------------------------------------------------------------------


class Sweep(NamedTuple):
    """Problems of one sort: the n-th of `count`, and the answers to it."""

    count: int
    drawn: Callable[[int], Any]
    answers: Callable[[Any], Iterator[Answer]]


_LINES = [*MADE.values(), *CARRIED.values()]
_BODIES = bodies()
SWEEPS = {
    "boxes": Sweep(300, lambda n: boxes(drawn_program(random.Random(n))), of_boxes),
    "statements": Sweep(300, lambda n: flow(drawn_program(random.Random(n))), of_flow),
    "forms": Sweep(700, forms, of_forms),
    "opaque forms": Sweep(300, lambda n: forms(n, opaque=True), of_forms),
    "scopes": Sweep(200, lambda n: forms(n, opaque=True), of_scope),
    "loops": Sweep(100, forms, _of_loops),
    "conditions": Sweep(700, conditions, of_conditions),
    "bindings": Sweep(500, lambda n: bindings(drawn_binding(random.Random(n)).func, "b"), of_bindings),
    "nests": Sweep(150, lambda n: bindings(nest_of(n), _first_block(nest_of(n))), of_bindings),
    "written": Sweep(300, written, of_written),
    "lines": Sweep(len(_LINES), lambda n: flow(program(_LINES[n])), of_flow),
    "bodies": Sweep(len(_BODIES), lambda n: flow(cast(t.PrimFunc, parse(_BODIES[n]))), of_flow),
    "random nests": Sweep(500, lambda n: flow(nest_of(n)), of_flow),
    "schedules": Sweep(80, lambda n: flow(draw(n, listed).schedule.func), of_flow),
    "programs": Sweep(80, lambda n: flow(draw(n * 15, program_of).schedule.func), of_flow),
}


def _first_block(func: t.PrimFunc) -> str:
    return next(name for name, site in Tree.of(func).blocks.items() if site.loops and site.block.writes)


class _Packing(pickle.Pickler):
    """Puts nodes aside, as a table of all of them: what two parts of a problem share stays shared."""

    def __init__(self, file: BytesIO) -> None:
        super().__init__(file)
        self.nodes: dict[int, Node] = {}

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, Node):
            return None
        self.nodes[id(obj)] = obj
        return list(self.nodes).index(id(obj))


class _Unpacking(pickle.Unpickler):
    def __init__(self, data: bytes, nodes: Sequence[Node]) -> None:
        super().__init__(BytesIO(data))
        self.nodes = nodes

    def persistent_load(self, pid: Any) -> Any:
        return self.nodes[pid]


class Question(NamedTuple):
    sweep: str
    nodes: Any
    """The table of the nodes in the problem, and where each of them is in it."""
    packed: bytes
    said: list[Any]

    @classmethod
    def of(cls, sweep: str, problem: Any, said: list[Any]) -> Question:
        file = BytesIO()
        packing = _Packing(file)
        packing.dump(problem)
        return cls(sweep, flatten_all(packing.nodes.values()), file.getvalue(), said)

    @property
    def problem(self) -> Any:
        return _Unpacking(self.packed, unflatten_all(*self.nodes)).load()


def prepared(share: float = 1.0) -> list[Question]:
    """Of each sweep a share; what is answered must not be wrong."""
    found: list[Question] = []
    for name, sweep in SWEEPS.items():
        for number in range(int(sweep.count * share) or 1):
            problem = sweep.drawn(number)
            answers = list(sweep.answers(problem))
            assert not any(wrong for _, wrong in answers), f"{name} {number}: {answers}\n{problem}"
            found.append(Question.of(name, problem, [said for said, _ in answers]))
    random.Random(1).shuffle(found)  # one of the first tells most mutants
    return sorted(found, key=lambda question: question.sweep != "bodies")


def shown(questions: Sequence[Question]) -> Counter[str]:
    """How many answers say something, by sweep."""
    return Counter(question.sweep for question in questions for said in question.said if said)


def difference(questions: Iterable[Question]) -> tuple[str, str]:
    """The first answer that is another than it was, told in words: (wrong, weaker, other or same; which it is)."""
    for number, question in enumerate(questions):
        what, problem = f"{question.sweep} {number}", question.problem
        try:
            answers = list(SWEEPS[question.sweep].answers(problem))
        except Exception as error:
            return "wrong", f"{what}: {type(error).__name__}: {error}"[:200]
        if len(answers) != len(question.said):
            return "other", f"{what}: {len(answers)} answers instead of {len(question.said)}"
        for (said, wrong), old in zip(answers, question.said, strict=True):
            if wrong:
                return "wrong", f"{what}: {said} is wrong, {old} was said"[:200]
            if said != old:
                return "other" if said else "weaker", f"{what}: {said} instead of {old}"[:200]
    return "same", ""
