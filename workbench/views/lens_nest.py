"""How the loops around a block make its iterators: a tree of splits for each, with the factors as they are now.

    for i_0, j_0, k, i_1: C[i_0 * 8 + i_1, j_0]      # vi: loop i, split [None, 8] by step 3; vj: j_0 itself

With other factors the extents and strides of all loops follow from the tree, so that a page can compute what a
change of a factor does to the order of visits without asking.

Invariant: the trees are checked against the program: the forms of the bindings are those of the trees, and each
condition of the block is the end of one of their terms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..analysis.tree import BlockSite, extent_of
from ..arith.build import add, conjuncts, const, multiply
from ..arith.forms import Form
from ..arith.nodes import PrimExpr, Var
from ..arith.scope import Scope, number_of
from ..core.errors import WorkbenchError
from ..core.node import substitute
from ..schedule.arguments import ResultName
from ..schedule.changing import changed
from ..schedule.moves import asks
from ..schedule.schedule import Schedule
from ..tir import nodes as t
from ..tir.script import text


@dataclass(frozen=True)
class Split:
    """A term that is made of parts, the outermost first: term = (part 0 * extent 1 + part 1) * extent 2 + ..."""

    of: int
    parts: tuple[int, ...]
    factors: tuple[int | None, ...]
    step: int
    """The step of the trace that made it, from 1; 0 where no step's factors can be changed."""


@dataclass(frozen=True)
class Leaf:
    """A loop, or one of the loops that a fused loop stands for."""

    term: int
    kind: str
    fused: str
    """The loop of the program that this one is a part of; empty for a loop of its own."""


@dataclass
class Nest:
    """The loops around a block; terms are numbers, `names` and `extents` by term."""

    names: list[str] = field(default_factory=list[str])
    extents: list[int] = field(default_factory=list[int])
    splits: list[Split] = field(default_factory=list[Split])
    leaves: list[Leaf] = field(default_factory=list[Leaf])
    axes: dict[Var, tuple[int, int]] = field(default_factory=dict[Var, tuple[int, int]])
    """For each iterator its term, or -1, and a number beside it."""

    def add(self, name: str, extent: int) -> int:
        self.names.append(name)
        self.extents.append(extent)
        return len(self.names) - 1


def refused(what: str, found: str, fix: str, nodes: tuple[Any, ...] = ()) -> WorkbenchError:
    """The error for a nest that the lens has no closed formula for."""
    return WorkbenchError(
        "E-LENS-AFFINE", what, found=found[:200], expected="indices and iterators that are affine in the loops",
        fix=fix, kept="the schedule is unchanged", nodes=nodes,
    )  # fmt: skip


def nest_of(schedule: Schedule, site: BlockSite) -> Nest:
    """The loops around a block of the schedule.  Raises `WorkbenchError` E-LENS-AFFINE saying what is not affine."""
    reader = _Reader(schedule, site)
    nest = reader.read()
    for whole in reader.wholes():
        _regain(schedule, site, nest, whole)
    return nest


@dataclass(frozen=True)
class _Whole:
    """A tile that may be as large as its axis: the loop over tiles runs once and is in no binding any more."""

    step: int
    outer: int
    """The term of the loop over tiles."""
    factor: int


def _regain(schedule: Schedule, site: BlockSite, nest: Nest, whole: _Whole) -> None:
    """Split the axis that would follow the step were its tile smaller, so that the edge stays to be dragged back.

        for j_0 in range(1): for ax in range(16): B[ax]        # compute_at(B, j_0), where j_0 * 16 was left out

    Which axis it is, the schedule says itself, done again with a smaller tile; where it refuses, no split is added.
    """
    factor = next((one for one in range(whole.factor // 2, 1, -1) if whole.factor % one == 0), (whole.factor + 1) // 2)
    try:
        made = changed(schedule, whole.step, {"factors": (None, factor)})
        if any(not asks(item.step) for item in made.dropped):
            return
        its = next(one for one in made.schedule.state.tree.leaves if one.name == site.name)
        smaller = _Reader(made.schedule, its).read()
    except (WorkbenchError, StopIteration):
        return
    followed = {split.of for split in smaller.splits if split.step == whole.step}
    iterators = zip(site.block.iter_vars, its.block.iter_vars, strict=False)
    for own, other in iterators:
        term, offset = nest.axes[own.var]
        if smaller.axes[other.var][0] not in followed or term not in {leaf.term for leaf in nest.leaves}:
            continue
        if nest.extents[term] == whole.factor and offset == 0:
            axis = nest.add(own.var.name, whole.factor)
            nest.splits.append(Split(axis, (whole.outer, term), (None, whole.factor), whole.step))
            nest.axes[own.var] = axis, 0
            return


class _Reader:
    def __init__(self, schedule: Schedule, site: BlockSite) -> None:
        self.site = site
        self.nest = Nest()
        self.made: dict[int, tuple[int, Any, tuple[Any, ...], tuple[int | None, ...]]] = {}
        """For each loop that a split made: the step, the loop that was split, its parts, the factors."""
        self.fused: dict[int, tuple[Var, ...]] = {}
        self.extents: dict[int, int] = {}
        self.scope = Scope()
        """Knows the loops, of which fused ones are taken apart."""
        self.terms: dict[int, int] = {}
        self._history(schedule)

    def _history(self, schedule: Schedule) -> None:
        """What splits and fuses have made, and the extents of loops that are gone."""
        for state in schedule.states:
            for loop_site in state.tree.loops.values():
                extent = extent_of(loop_site.loop)
                if extent is not None:
                    self.extents[id(loop_site.loop.var)] = extent
        named = schedule.state.named
        for number, step in enumerate(schedule.state.steps, 1):
            given = dict(step.arguments)
            results = tuple(named.get(name) for name in step.results)
            known = all(isinstance(result, Var) for result in results)
            if len(results) == 1 and any(loop is results[0] for loop in _taken(given, named)):
                continue  # one loop fused, or split into one part, is that loop still
            if step.primitive == "split" and known and isinstance(given.get("loop"), ResultName):
                factors = tuple(_number(factor, named) for factor in given["factors"])
                for result in results:
                    self.made[id(result)] = number, named.get(given["loop"].name), results, factors
            if step.primitive == "fuse" and known:
                parts = tuple(named.get(item.name) for item in given["loops"])
                if all(isinstance(part, Var) and id(part) in self.extents for part in parts):
                    self.fused[id(results[0])] = parts

    def read(self) -> Nest:
        values: dict[Var, PrimExpr] = {}
        leaves: list[Var] = []
        for loop in self.site.loops:
            if extent_of(loop) is None or number_of(loop.min) != 0:
                raise refused(
                    f"loop {loop.var.name} has no constant extent", f"from {text(loop.min).text}",
                    "look at another block, or at a program of constant shapes", (loop,),
                )  # fmt: skip
            own = self._unfused(loop.var)
            fused = loop.var.name if len(own) > 1 else ""
            if fused:
                values[loop.var] = self._sum(own)
            for var in own:
                leaves.append(var)
                self.nest.leaves.append(Leaf(self._term(var), str(loop.kind.value), fused))
        scope, used = self.scope, set[int]()
        for var in leaves:
            scope.enter(var, const(0), const(self.extents[id(var)]))
        for iterator, value in self.site.bindings:
            form = self._form(value, values, iterator.var.name)
            if not used.isdisjoint(form.terms):
                raise refused(
                    f"one loop moves two iterators of {self.site.name}", text(value).text,
                    "look at another block", (self.site.block,),
                )  # fmt: skip
            used |= form.terms.keys()
            self.nest.axes[iterator.var] = self._axis(iterator, form, leaves), form.offset
        self._check_conditions(values)
        return self.nest

    def wholes(self) -> list[_Whole]:
        """The loops over one tile: made by a split in two, and a part of no iterator."""
        within = {part for split in self.nest.splits for part in split.parts}
        within |= {term for term, _ in self.nest.axes.values()}
        found: list[_Whole] = []
        for var in self._vars():
            number, _, parts, factors = self.made.get(id(var), (0, None, (), ()))
            alone = self.extents[id(var)] == 1 and self._term(var) not in within
            if alone and len(parts) == 2 and parts[0] is var and factors[0] is None and (factors[1] or 0) > 1:
                found.append(_Whole(number, self._term(var), factors[1] or 0))
        return found

    # --- terms ---

    def _term(self, var: Var) -> int:
        if id(var) not in self.terms:
            self.terms[id(var)] = self.nest.add(var.name, self.extents[id(var)])
        return self.terms[id(var)]

    def _unfused(self, var: Var) -> list[Var]:
        """The loops that a fused loop runs through, one inside the other."""
        parts = self.fused.get(id(var))
        return [var] if parts is None else [own for part in parts for own in self._unfused(part)]

    def _sum(self, parts: list[Var]) -> PrimExpr:
        """The value of a fused loop from those of its parts."""
        value: PrimExpr = const(0)
        for part in parts:
            value = add(multiply(value, self.extents[id(part)]), part)
        return value

    def _form(self, value: PrimExpr, values: Mapping[Var, PrimExpr], iterator: str) -> Form:
        """A binding over the loops, or the refusal."""
        form = self.scope.linear(substitute(value, values))
        if any(not isinstance(self.scope.atoms.table[atom].expr, Var) for atom in form.terms):
            raise refused(
                f"iterator {iterator} of block {self.site.name} is no affine function of the loops", text(value).text,
                "split loops before they are fused, or look at another block", (self.site.block,),
            )  # fmt: skip
        return form

    def _root(self, var: Any) -> Any:
        while id(var) in self.made:
            var = self.made[id(var)][1]
        return var

    def _axis(self, iterator: t.IterVar, form: Form, leaves: list[Var]) -> int:
        """The term of an iterator, with the splits below it; -1 where it stands still."""
        own = [var for var in leaves if self.scope.number_of(var) in form.terms]
        if not own:
            return -1
        extent = number_of(iterator.dom.extent)
        root = self._root(own[0])
        if isinstance(root, Var) and form.offset == 0 and self.extents.get(id(root)) == extent:
            tree, splits = self._tree(root, {id(var) for var in leaves})
            if tree is not None and tree.same_as(form):
                self.nest.splits += splits
                return self._term(root)
        return self._mixed(iterator, form, own, extent)

    def _tree(self, var: Var, leaves: set[int]) -> tuple[Form | None, list[Split]]:
        """The value of a loop of before over the loops of now, as its splits say; None where they do not lead there."""
        if id(var) in leaves:
            return self.scope.variable(var), []
        found = next((made for made in self.made.values() if made[1] is var), None)
        if found is None or any(id(part) not in self.extents for part in found[2]):
            return None, []
        number, _, parts, factors = found
        form, splits = Form({}, 0), [Split(self._term(var), tuple(map(self._term, parts)), factors, number)]
        for part in parts:
            inner, below_it = self._tree(part, leaves)
            if inner is None:
                return None, []
            form = form.times(self.extents[id(part)]).plus(inner)
            splits += below_it
        return form, splits

    def _mixed(self, iterator: t.IterVar, form: Form, own: list[Var], extent: int | None) -> int:
        """An iterator that is a sum of loops, each stride the reach of the inner, and no loop of before."""
        strides = {id(self.scope.atoms.table[atom].expr): factor for atom, factor in form.terms.items()}
        parts = sorted(own, key=lambda var: (-strides[id(var)], -self.extents[id(var)]))
        reach = 1
        for var in reversed(parts):
            if strides[id(var)] != reach or form.offset != 0 or extent is None:
                raise refused(
                    f"iterator {iterator.var.name} of block {self.site.name} is visited in overlapping pieces",
                    " + ".join(f"{strides[id(var)]} * {var.name}" for var in parts) + f" + {form.offset}",
                    "look at another block: one element belongs to several iterations here", (self.site.block,),
                )  # fmt: skip
            reach *= self.extents[id(var)]
        if len(parts) == 1 and reach == extent:
            return self._term(parts[0])
        term = self.nest.add(iterator.var.name, extent or reach)
        terms = tuple(map(self._term, parts))
        extents = tuple(self.extents[id(var)] for var in parts)
        factors, step = self._followed(parts) or (extents, 0)
        self.nest.splits.append(Split(term, terms, factors, step))
        return term

    def _followed(self, parts: list[Var]) -> tuple[tuple[int | None, ...], int] | None:
        """The factors and the step of the split that a tile follows: its outer loop belongs to the tile of a consumer.

            for j_0: { for ax: B[j_0 * 8 + ax]; for j_1: C[j_0 * 8 + j_1] = B[...] }     # compute_at(B, j_0)
        """
        if len(parts) != 2 or id(parts[1]) in self.made or id(parts[0]) not in self.made:
            return None
        number, _, made, factors = self.made[id(parts[0])]
        if len(made) != 2 or made[0] is not parts[0] or factors != (None, self.extents[id(parts[1])]):
            return None
        return factors, number

    # --- conditions ---

    def _check_conditions(self, values: Mapping[Var, PrimExpr]) -> None:
        """Each condition of the block says that a term of the trees has not reached its end."""
        ends = {self._end(term).key for term in self._inner_terms()}
        for condition in conjuncts(self.site.realize.predicate):
            form = self.scope.at_least_zero(substitute(condition, values))
            if form is None or form.key not in ends:
                raise refused(
                    f"block {self.site.name} runs only where a condition holds", text(condition).text,
                    "look at another block, or split by factors that divide", (self.site.block,),
                )  # fmt: skip

    def _inner_terms(self) -> list[int]:
        return [split.of for split in self.nest.splits]

    def _end(self, term: int) -> Form:
        """extent - 1 - term, over the loops."""
        return Form({}, self.nest.extents[term] - 1).minus(self._value(term))

    def _value(self, term: int) -> Form:
        split = next((split for split in self.nest.splits if split.of == term), None)
        if split is None:
            return self.scope.variable(next(var for var in self._vars() if self.terms.get(id(var)) == term))
        form = Form({}, 0)
        for part in split.parts:
            form = form.times(self.nest.extents[part]).plus(self._value(part))
        return form

    def _vars(self) -> list[Var]:
        return [own for loop in self.site.loops for own in self._unfused(loop.var)]


def _taken(given: Mapping[str, Any], named: Mapping[str, Any]) -> list[Any]:
    """The loops that a step was given."""
    loops = [given.get("loop"), *(given.get("loops") or ())]
    return [named.get(loop.name) for loop in loops if isinstance(loop, ResultName)]


def _number(factor: Any, named: Mapping[str, Any]) -> int | None:
    value = named.get(factor.name) if isinstance(factor, ResultName) else factor
    return value if isinstance(value, int) else None
