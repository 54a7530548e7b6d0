"""Planted bugs of schedules: one-line wrongs in primitives, legality, bounds, simplifier, each in its own process.

    python -m tests.property.mutants                      # list them
    python -m tests.property.mutants split-tail           # does the fuzz find this one?  Status 0 if it does
    python -m tests.property.mutants --all [--seconds 60 [NAME ...]] # all, or these, with a table

A mutant is a module and a line of it, changed while the module is loaded; nothing on disk is touched.  The random
schedules of `schedule_checks` run on it, in two processes, until something fails.
"""

# The table quotes lines of source as they stand.
# ruff: noqa: E501

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any, Protocol

SECONDS = 60.0
BEGINS = (0, 1_000_000)
"""The first seeds of the two processes that look for a mutant."""
SCHEDULE = "workbench.schedule."
PRIMITIVES = "workbench.schedule.primitives."
ANALYSIS = "workbench.analysis."


@dataclass(frozen=True)
class Mutant:
    """`old`, which stands once in the source of `module`, is `new` instead."""

    name: str
    kind: str
    """primitive, legality, bounds or simplifier."""
    module: str
    old: str
    new: str

    def planted_in(self, text: str) -> str:
        """The source of the module with the bug in it."""
        assert text.count(self.old) == 1, f"{self.name} does not stand in {self.module} any more"
        return text.replace(self.old, self.new)


class Plant(Protocol):
    """A change of the source of a module."""

    @property
    def module(self) -> str: ...

    def planted_in(self, text: str) -> str: ...


def _of(kind: str, prefix: str, *rows: tuple[str, str, str, str]) -> list[Mutant]:
    return [Mutant(name, kind, prefix + module, old, new) for name, module, old, new in rows]


MUTANTS: Sequence[Mutant] = (
    *_of(
        "primitive", PRIMITIVES,
        ("split-tail", "split", "if not exact:", "if not exact and None not in factors:"),
        ("split-guard-off-by-one", "split", "build.less(old.var, build.add(old.min, old.extent))",
         "build.less_equal(old.var, build.add(old.min, old.extent))"),
        ("split-rounds-down", "split", "build.add(old.extent, product - 1), product)", "old.extent, product)"),
        ("split-exact-by-first-factor", "split", "not any(count % product for", "not any(count % (factors[-1] or 1) for"),
        ("split-covers-less", "split", "product >= extent,", "product >= extent - 1,"),
        ("split-index-order", "split", "build.multiply(index, extent), var)", "build.multiply(var, extent), index)"),
        ("fuse-divides-by-outer", "fuse", "rest = rest if last else build.floordiv(rest, size)",
         "rest = rest if last else build.floordiv(rest, chain[0].extent)"),
        ("fuse-extent-of-two", "fuse", "for size in extents[1:]:\n        extent =",
         "for size in extents[1:2]:\n        extent ="),
        ("fuse-forgets-first-remainder", "fuse", "last = old is chain[0]", "last = old is chain[-1]"),
        ("reorder-ignores-dependences", "reorder", "notes = require_reorderable(state, chain, after)", "notes = ()"),
        ("compute-at-any-consumer", "compute_at", "inside = any(part is target.loop for part in reader.path)",
         "inside = any(isinstance(part, t.For) and part.body is target.loop.body for part in reader.path) "
         "or reader.order > target.order"),
        ("compute-at-before-producers", "compute_at", "                not shared,\n", "                True,\n"),
        ("compute-at-last-window", "compute_at", "ranges.get(iter_var.var, iter_var.dom), union(known, scope)",
         "ranges.get(iter_var.var, iter_var.dom), known[-1]"),
        ("compute-at-forgets-shift", "compute_at", "Bound(bound.low.minus(shift), bound.high.minus(shift))",
         "Bound(bound.low, bound.high)"),
        ("compute-at-after-consumer", "compute_at",
         "first = min(part_of(state.tree, target.loop, consumer) for consumer in consumers)",
         "first = 1 + min(part_of(state.tree, target.loop, consumer) for consumer in consumers)"),
        ("compute-at-inner-loops-only", "compute_at", "return consumer.loops[at + 1 :]",
         "return consumer.loops[at + 2 :]"),
        ("reverse-at-late-producers", "reverse_compute_at", "not shared and writer.order < target.order,",
         "not shared or writer.order < target.order,"),
        ("reverse-at-before-producer", "reverse_compute_at",
         "last = max(part_of(state.tree, target.loop, producer) for producer in producers) + 1",
         "last = max(part_of(state.tree, target.loop, producer) for producer in producers)"),
        ("reverse-at-diagonal", "reverse_compute_at", "if not _variables(site.forms, bound).isdisjoint(", "if not frozenset[int]().isdisjoint("),
        ("reverse-at-read-anywhere", "reverse_compute_at", "cannot be told from\"\n        return forbid",
         "cannot be told from\"\n        return None if why else forbid"),
        ("reverse-at-gaps", "reverse_compute_at", "if not writes_box(producer, written, inner):",
         "if False and not writes_box(producer, written, inner):"),
        ("inline-of-a-partial-consumer", "reverse_compute_inline", "build.all_of(value >= 0, value < extent) for", "value >= 0 for"),
        ("inline-swaps-iterators", "compute_inline",
         'variables = plain_variables(site, store.indices, "inline")',
         'variables = plain_variables(site, store.indices, "inline"); '
         "variables = dict(zip(variables, reversed(list(variables.values()))))"),
        ("inline-reads-only-first", "compute_inline", "for reader in readers:", "for reader in readers[:1]:"),
        ("rfactor-of-every-combiner", "rfactor", "        not problem,\n", "        True,\n"),
        ("rfactor-without-condition", "rfactor", "    if plan.inside:\n", "    if False:\n"),
        ("rfactor-drops-predicate", "rfactor", "predicate=plan.kept, block=made)", "predicate=build.const(True), block=made)"),
        ("rfactor-of-sums-that-go-on", "rfactor", "initialises_first(site) and (", "(True or "),
        ("decompose-init-after", "decompose_reduction", "{id(now): (initial, now)}", "{id(now): (now, initial)}"),
        ("decompose-inside-reduction", "decompose_reduction", "id(outer.var) not in reduced or extent_of(outer) == 1,", "True,"),
        ("parts-share-private-buffers", "loop_partition", "if len(made) > 1 and any(", "if len(made) > 9 and any("),
        ("decompose-drops-loops", "decompose_reduction", "        if id(loop.var) in spatial:\n",
         "        if id(loop.var) in spatial and loop is not site.loops[-1]:\n"),
    ),
    *_of(
        "legality", SCHEDULE,
        ("independent-always", "legality", "recovered([loop], touched) and not (",
         "recovered([loop], touched) and len(touched) < 2 and not ("),
        ("private-is-assumed", "legality", "return not dependence.uncovered(loop, buffer, sites)", "return True"),
        ("private-in-spite-of-readers", "legality", "for block in around) or not _touches(other, buffer):",
         "for block in around) or all(region.buffer is not buffer for region in other.block.writes):"),
        ("any-order-for-every-combiner", "reductions",
         "if found is None or found.flaws.associative or found.flaws.commutative:", "if found is None:"),
        ("sums-over-spatial-loops", "legality", "only_reduced = reduce_variables(site) - spatial_variables(site)",
         "only_reduced = reduce_variables(site) | spatial_variables(site)"),
        ("still-independent-is-not-asked", "kinds", "    for loop in at_once.values():", "    for loop in ():"),
        ("cache-read-goes-stale", "caching", "writer.order < first and not any(", "writer.order < first or not any("),
        ("cache-read-after", "caching", "{id(top): (made, top)}", "{id(top): (top, made)}"),
        ("cache-write-before", "caching", "{id(top): (top, made)}", "{id(top): (made, top)}"),
        ("cache-write-shared", "caching", "excused or all(", "True or all("),
        ("later-writers", "blocks", "if later and writer.order > site.order and meets", "if later and writer.order < 0 and meets"),
        ("apart-along-no-axis", "recurrence", "_after(a, b, scope) or _after(b, a, scope) for", "True for"),
        ("whole-domain-by-guards", "blocks", "        runs_everywhere(site),\n", "        guarded,\n"),
        ("unfinished-sums-are-read", "blocks", "return writer.name != reader.name and not around.",
         "return writer.name == reader.name and not around."),
        ("sums-are-private", "legality", "in other.block.writes) and id(loop.var) in reduce_variables(other):",
         "in other.block.writes) and id(loop.var) in ():"),
        ("threads-combine-everything", "legality", "all(touch.site is site for touch in touched)\n        and id(",
         "True\n        and id("),
        ("several-writers", "blocks", "if len(state.tree.writers(region.buffer)) != 1:",
         "if len(state.tree.writers(region.buffer)) > 2:"),
    ),
    *_of(
        "legality", ANALYSIS,
        ("dependence-of-writes-only", "dependence", "if not (one.writes or other.writes):",
         "if not (one.writes and other.writes):"),
        ("dependence-far-loops-only", "dependence", "if second > first and first not in earlier:",
         "if second > first + 1 and first not in earlier:"),
        ("dependence-first-access-only", "dependence", "for other in touched:\n                if not (one",
         "for other in touched[:1]:\n                if not (one"),
        ("dependence-first-buffer", "dependence", "        if buffer in skip:\n", "        if buffer in skip or len(touched) > 2:\n"),
        ("recovered-from-one-access", "recovery", "        if not shapes[-1]:\n            return []",
         "        if not shapes[-1]:\n            shapes.pop()"),
        ("recovered-rest-too-wide", "recovery", "return most - least < abs(factor.constant)",
         "return most - least <= abs(factor.constant)"),
        ("recovered-by-one-digit", "recovery", "return _make_up({digit for digits in given for digit in digits}, extent_of(loop))",
         "return any(given)"),
        ("covers-whatever-stands-still", "bindings", "if self.holds_in_domain(still) else None", "if still is not None else None"),
        ("guards-imply-everything", "bindings", "return all(self.scope.follows(one.limits, domain) for one in conditions)",
         "return bool(conditions) or not domain or True"),
        ("init-may-come-late", "reduction_loops", "REDUCE and not begin.same_as(", "SCAN and not begin.same_as("),
        ("covers-in-part", "coverage", "domain.is_subset(run)", "run.is_subset(domain)"),
    ),
    *_of(
        "bounds", ANALYSIS,
        ("buffers-inside-their-loop", "dataflow", "return not all(self._is_made(read, loop, writes) for read in reads)",
         "return False"),
        ("written-at-some-time", "dataflow", "if write.order < read.order:", "if write.order != read.order:"),
        ("holds-one-more", "box_forms", "any(scope.at_most(one, high) for one in theirs.highs)",
         "any(scope.at_most(one, high.shifted(1)) for one in theirs.highs)"),
        ("hull-without-length", "regions", "high.shifted(axis.extent.value - 1) if", "high if"),
        ("union-takes-the-larger", "regions", "return one if scope.at_most(one, other) else other if",
         "return other if scope.at_most(one, other) else one if"),
        ("bindings-are-not-put-in", "tree", "substitute(self.forms.simplify(expr), self.values)", "self.forms.simplify(expr)"),
        ("greater-takes-the-smaller", "regions", "return one if scope.at_most(other, one) else other if",
         "return other if scope.at_most(other, one) else one if"),
        ("extent-off-by-one", "regions", "return most + 1 if most < FINITE", "return most if most < FINITE"),
        ("detect-merges-regions", "regions", "setdefault(place, region)", "setdefault(0, region)"),
    ),
    *_of(
        "bounds", "workbench.tir.transforms.",
        ("compact-too-small", "compact_buffers", "end = max(before.size, apart + found.size)", "end = before.size"),
        ("compact-off-by-one", "compact_buffers", "high.plus(low, -1).shifted(1).constant", "high.plus(low, -1).constant"),
        ("starts-before-all-loops", "lower_blocks", "if not tells_apart([value for _, value in pairs], chain):", "if not pairs:"),
        ("init-without-predicate", "lower_blocks", "    made = made if _is_true(predicate) else t.IfThenElse(predicate, made)\n    for",
         "    for"),
    ),
    *_of(
        "simplifier", "workbench.arith.",
        ("completed-too-early", "digits", "if bound.high - bound.low < place:", "if bound.high - bound.low < 2 * place:"),
        ("digits-may-meet", "digits", "if abs(digit.factor) <= reach:", "if abs(digit.factor) < reach:"),
        ("sums-have-no-gaps", "digits", "(step > made.size or made.size == inf)", "(step > 2 * made.size or made.size == inf)"),
        ("remainder-too-small", "forms", "return Interval(0, unit.modulus - 1).times(unit.factor)",
         "return Interval(0, unit.modulus - 2).times(unit.factor)"),
        ("ends-of-the-wrong-side", "scope", "            if unit.factor < 0:\n", "            if unit.factor < -1:\n"),
        ("natural-below-zero", "scope", "if self.atoms.bound(form).low >= 0:", "if self.atoms.bound(form).low >= -1:"),
        ("intervals-ignore-signs", "forms", "return Interval(self.high * factor, self.low * factor)",
         "return Interval(self.low * factor, self.high * factor)"),
        ("nested-division", "forms", "atom.divisor), atom.divisor * divisor)", "atom.divisor), atom.divisor + divisor)"),
        ("division-by-range", "forms", "if bound.is_point and abs(bound.low)", "if bound.high - bound.low <= 1 and abs(bound.low)"),
        ("holds-if-it-compares", "scope", "return form is not None and self.is_natural(form)", "return form is not None"),
        ("divided-forgets-offset", "forms", "remainder = Form(rest, form.offset % divisor)", "remainder = Form(rest, 0)"),
        ("peeled-too-much", "forms", "if 0 <= bound.low and bound.high < candidate:",
         "if 0 <= bound.low and bound.high <= candidate:"),
        ("range-one-shorter", "simplify", "last = self.simplify(build.subtract(build.add(begin, extent), 1))",
         "last = self.simplify(build.subtract(build.add(begin, extent), 2))"),
        ("less-or-equal-is-less", "laws", "gap = gap.shifted(-1)  # x <= y", "gap = gap.shifted(0)  # x <= y"),
        ("true-too-early", "laws", "    if _at_most(s, gap.shifted(1)):\n        return s.truth(True)",
         "    if _at_most(s, gap):\n        return s.truth(True)"),
        ("conditions-divided-up", "laws",
         "gap = Form({k: v // common for k, v in gap.terms.items()}, gap.offset // common)\n    kind, *sides = _less",
         "gap = Form({k: v // common for k, v in gap.terms.items()}, -(-gap.offset // common))\n    kind, *sides = _less"),
    ),
)  # fmt: skip
BY_NAME = {mutant.name: mutant for mutant in MUTANTS}


# --- planting -----------------------------------------------------------------------------------------------------


def source_of(module: str) -> str:
    """The text of a module, without loading it."""
    found = importlib.util.find_spec(module.rpartition(".")[0])
    assert found is not None and found.submodule_search_locations
    path = f"{found.submodule_search_locations[0]}/{module.rpartition('.')[2]}.py"
    with open(path, encoding="utf-8") as file:
        return file.read()


def stands(mutant: Mutant) -> bool:
    """Whether the line is still there, once."""
    return source_of(mutant.module).count(mutant.old) == 1


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads one module changed."""

    def __init__(self, name: str, path: str, mutant: Plant) -> None:
        super().__init__(name, path)
        self.mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return compile(self.mutant.planted_in(self.get_data(path).decode()), path, "exec")


class Planted:
    """A finder in front of all others that answers for one module."""

    def __init__(self, mutant: Plant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.mutant.module:
            return None
        found = importlib.machinery.PathFinder.find_spec(name, path)
        assert found is not None and found.origin is not None
        return importlib.util.spec_from_file_location(
            name, found.origin, loader=_Loader(name, found.origin, self.mutant)
        )


# --- finding ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """Whether a mutant was found, after how many schedules and seconds, and by what."""

    name: str
    found: bool
    schedules: int
    seconds: float
    how: str

    def __str__(self) -> str:
        verdict = "found" if self.found else "NOT FOUND"
        return f"{self.name:32} {verdict:10} {self.schedules:6} schedules {self.seconds:6.1f} s  {self.how}"


def hunt(mutant: Mutant, seconds: float = SECONDS) -> Outcome:
    """Plant a mutant in two new processes and let the random schedules look for it, each with seeds of its own.

    Seconds are of a process's own time.  What fails without the mutant too is no find.
    """
    outcomes: list[Outcome] = []
    running = [_started(mutant, seconds, begin) for begin in BEGINS]
    until = time.monotonic() + seconds * 3 + 60
    while running and not any(outcome.found for outcome in outcomes):
        time.sleep(0.05)
        late = time.monotonic() > until
        done = [process for process in running if late or process.poll() is not None]
        running = [process for process in running if process not in done]
        outcomes += [_outcome(mutant, process) for process in done]
    for process in running:
        _outcome(mutant, process)
    outcome = max(outcomes, key=lambda outcome: (outcome.found, outcome.seconds))
    if outcome.found and _fails(outcome.how):
        return replace(outcome, found=False, how=f"fails without the mutant too: {outcome.how}")
    return outcome


def _started(mutant: Mutant, seconds: float, begin: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.property.mutants", mutant.name, str(seconds), str(begin)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _outcome(mutant: Mutant, process: subprocess.Popen[str]) -> Outcome:
    """What a process has told; one that has not ended is stopped."""
    if process.poll() is None:
        process.kill()
    told, problem = process.communicate()
    if not told.strip():
        return Outcome(mutant.name, False, 0, 0.0, f"the process failed: {problem.strip()[-300:]}")
    return Outcome(**json.loads(told.strip().splitlines()[-1]))


def _fails(how: str) -> bool:
    """Whether the seeds that a failure names fail without a mutant."""
    from tests.property.schedule_checks import run_seeds

    named = re.match(r"seeds? ([\d, ]+)", how)
    assert named is not None, how
    return bool(run_seeds(map(int, named[1].split(",")), native=1).failures)


def _hunted(mutant: Mutant, seconds: float, first: int) -> Outcome:
    """In the child: plant, then check seeds from `first` on until something fails.  Seconds are of processor time."""
    sys.meta_path.insert(0, Planted(mutant))  # type: ignore[arg-type]
    begun = time.process_time()
    from tests.property.schedule_checks import run_seeds

    schedules, step = 0, 20
    while True:
        made = run_seeds(range(first + schedules, first + schedules + step), most=1)
        schedules += made.seeds
        used = time.process_time() - begun
        if made.failures or used > seconds:
            how = made.failures[0].split("\n")[0][:200] if made.failures else ""
            return Outcome(mutant.name, bool(made.failures) and used <= seconds, schedules, used, how)


def main(arguments: list[str]) -> int:
    """See the module's header."""
    if not arguments:
        for mutant in MUTANTS:
            print(f"{mutant.name:32} {mutant.kind:11} {mutant.module}{'' if stands(mutant) else '  (gone)'}")
        print(f"{len(MUTANTS)} planted bugs")
        return 0
    if arguments[0] != "--all":
        seconds = float(arguments[1]) if len(arguments) > 1 else SECONDS
        outcome = _hunted(BY_NAME[arguments[0]], seconds, int(arguments[2]) if len(arguments) > 2 else 0)
        print(json.dumps(outcome.__dict__))
        return 0 if outcome.found else 1
    seconds = float(arguments[arguments.index("--seconds") + 1]) if "--seconds" in arguments else SECONDS
    outcomes: list[Outcome] = []
    wanted = [mutant for mutant in MUTANTS if stands(mutant) and (len(arguments) < 4 or mutant.name in arguments[3:])]
    for mutant in wanted:
        outcomes.append(hunt(mutant, seconds))
        print(outcomes[-1], flush=True)
    found = sum(outcome.found for outcome in outcomes)
    print(f"{found} of {len(outcomes)} planted bugs found, {100 * found / len(outcomes):.0f} %")
    return 0 if found >= 0.95 * len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
