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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import product
from typing import Any, NamedTuple, cast

from tests.analysis.iterations import run_through
from tests.analysis.test_bindings import drawn as drawn_binding
from tests.analysis.test_bindings import value_text
from tests.analysis.test_dataflow import CARRIED, MADE, nest_of, program
from tests.analysis.test_flow_of_blocks import bodies
from tests.arith.test_digits import expression, value_of
from tests.property.known_boxes import boxes, drawn_program, of_boxes
from tests.property.known_sums import (
    SIZES,
    Answer,
    Forms,
    Loop,
    Point,
    forms,
    loosened,
    of_forms,
    of_scope,
    points,
    scope_of,
    sums,
)
from tests.property.program_checks import program_of
from tests.property.schedule_checks import draw, listed
from workbench.analysis.bindings import binding_facts, run_box, starts_apart, writes_all, writes_box, writes_once
from workbench.analysis.dataflow import Dataflow, tells_apart
from workbench.analysis.tree import BlockSite, Tree
from workbench.arith import build
from workbench.arith.build import add, const, multiply
from workbench.arith.evaluate import evaluate
from workbench.arith.nodes import PrimExpr, Var
from workbench.arith.scope import multiple_of
from workbench.core.flat import flatten_all, unflatten_all
from workbench.core.node import Node, pre_order
from workbench.tir import nodes as t
from workbench.tir.build import loop, point_region
from workbench.tir.script import parse

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
    loops = loosened(rng, drawn, size)
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
    scope, _ = scope_of(asked.loops)
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
    runs: list[tuple[int, ...]]


def bindings(func: t.PrimFunc, name: str) -> Bindings:
    site = Tree.of(func).blocks[name]
    loops = [Loop(step.var, step.min, step.extent) for step in site.loops]
    domain = set(product(*(range(getattr(item.dom.extent, "value", 0)) for item in site.block.iter_vars)))
    truths = [_true_of(site, loops[:at], loops[at:], domain) for at in range(len(loops) + 1)]
    runs = {
        tuple(int(evaluate(value, at)) for _, value in site.bindings)
        for at in points(loops, {}) if evaluate(site.realize.predicate, at)
    }  # fmt: skip
    return Bindings(func, name, truths[0].pop("guards_only"), truths, sorted(runs))


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
    box = run_box(site)
    ends = None if box is None else [range(low.offset, high.offset + 1) for low, high in box]
    yield ends, ends is not None and sorted(product(*ends)) != asked.runs


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
    lines = ["@T.prim_func", f'def main(A: T.Buffer((1,), "int32"), B: T.Buffer(({"99, " * len(values)}), "int32")):']
    for number, extent in enumerate(extents):
        lines.append("    " * (number + 1) + f"for i{number} in T.serial({extent}):")
    space = "    " * (len(names) + 1)
    lines.append(f'{space}with T.block("b"):')
    for number, (kind, extent) in enumerate(zip(kinds, extents, strict=True)):
        lines.append(f"{space}    v{number} = T.axis.{kind}({extent}, i{number})")
    func = parse("\n".join([*lines, f"{space}    B[{', '.join(values)}] = A[0]"]))
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
    yield starts_apart(block), starts_apart(block) and not asked.once
    yield once_held, once_held and not asked.once_held


# --- what is written, whatever the body ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Stores:
    """A block with loops and a condition in its body, and whether it writes all that it declares to."""

    func: t.PrimFunc
    whole: bool


def stores(seed: int) -> Stores:
    rng = random.Random(seed)
    loops = [(name, rng.choice((0, 0, 1)), rng.randint(1, 4)) for name in "abc"[: rng.randint(1, 2)]]
    value, where = value_text(rng, loops), rng.choice(("", "", "", f"a < {rng.randint(1, 5)}", "v < 2"))
    inside = [dict(zip("abc", at, strict=False)) for at in product(*(range(low, low + n) for _, low, n in loops))]
    every = [int(eval(value, dict(at))) for at in inside]
    low, end = min(every) + rng.choice((0, 0, 1)), max(every) + rng.choice((1, 1, 2, 0))
    lines = ["@T.prim_func", 'def main(B: T.Buffer((3, 99), "int32")):', "    for i in range(3):"]
    lines += ['        with T.block("b"):', "            v = T.axis.spatial(3, i)", "            T.reads()"]
    lines.append(f"            T.writes(B[v, {low + 20}:{max(low + 1, end) + 20}])")
    around = [f"for {name} in T.serial({begin}, {begin + n}):" for name, begin, n in loops]
    for depth, line in enumerate([*around, *([f"if {where}:"] if where else []), f"B[v, {value} + 20] = 1"]):
        lines.append("    " * (depth + 3) + line)
    func = parse("\n".join(lines))
    assert isinstance(func, t.PrimFunc)
    whole = all(
        {int(eval(value, dict(at))) for at in inside if not where or eval(where, {**at, "v": v})}
        >= set(range(low, max(low + 1, end)))
        for v in range(3)
    )
    return Stores(func, whole)


def of_stores(asked: Stores) -> Iterator[Answer]:
    whole = writes_all(Tree.of(asked.func).blocks["b"].block)
    yield whole, whole and not asked.whole


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
    "sums": Sweep(300, sums, of_forms),
    "scopes": Sweep(200, lambda n: forms(n, opaque=True), of_scope),
    "loops": Sweep(100, forms, _of_loops),
    "conditions": Sweep(700, conditions, of_conditions),
    "bindings": Sweep(500, lambda n: bindings(drawn_binding(random.Random(n)).func, "b"), of_bindings),
    "nests": Sweep(150, lambda n: bindings(nest_of(n), _first_block(nest_of(n))), of_bindings),
    "stores": Sweep(200, stores, of_stores),
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
