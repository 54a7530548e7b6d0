"""Random sessions: edits of every kind, reruns, saving, branching, in any order; what must hold of each.

    python -m tests.property.random_sessions 0 500      # seeds from 0 to 499, and the figures

A session is judged by its plan alone: what the program means follows from the sites that its edits changed (see
`session_programs`).  It either computes that, live, from a file and built without a history, by text and by numbers, or
a step says by E-EDIT-REBASE which edit stopped where.  An edit below a change is *carried* where its step has no error.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

import workbench as wb
from tests.property.session_programs import PROGRAMS, SLOPES, UNARY, Program, Sites
from workbench.core.errors import WorkbenchError
from workbench.core.node import pre_order
from workbench.driver.build import run
from workbench.driver.contents import Contents
from workbench.driver.plan import EditRow, ScheduleRow
from workbench.driver.text import parse_function, script
from workbench.tir.nodes import Block, PrimFunc

TARGETS: Final = ("llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64", "llvm")
PIPELINES: Final = (
    ("InferType", "SimplifyInference", "FuseOps"),
    ("SimplifyInference", "FoldConstant", "SimplifyExpr", "FuseOps"),
    ("InferType", "FoldConstant"),
)
GRAPH_PASSES: Final = ("InferType", "FastMath", "SimplifyExpr", "EliminateCommonSubexpr", "FoldConstant")
OPTIONAL: Final = (
    "FoldConstant", "SimplifyExpr", "FoldScaleAxis", "EliminateCommonSubexpr", "PackWeights", "FuseOps",
    "UnrollLoop", "Simplify",
)  # fmt: skip
Edit = Callable[[Any], Any]


class _Broken(Exception):
    """Edits that do not chain."""


@dataclass
class Figures:
    """Counts over all sequences."""

    sequences: int = 0
    commands: Counter[str] = field(default_factory=Counter)
    below: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(kind of edit, kind of change above it): how often."""
    carried: Counter[tuple[str, str]] = field(default_factory=Counter)
    conflicts: int = 0
    computed: int = 0
    """Sessions whose outputs were compared."""
    commuted: int = 0
    reported: int = 0
    """Pairs of edit and rerun of which one order was refused or stopped with a report."""
    problems: list[str] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        """The figures in a line."""
        return {
            "sequences": self.sequences,
            "commands": self.commands.total(),
            "outputs compared": self.computed,
            "edits below a change": self.below.total(),
            "carried": self.carried.total(),
            "fewest of a pair": min(self.below.values(), default=0),
        }

    def __str__(self) -> str:
        share = sum(self.carried.values()) / max(1, sum(self.below.values()))
        rows = [
            f"  {edit:<9} below {change:<9} {count:>6}, carried {self.carried[edit, change] / count:.0%}"
            for (edit, change), count in sorted(self.below.items())
        ]
        return "\n".join([
            f"{self.sequences} sequences, {sum(self.commands.values())} commands: {dict(self.commands)}",
            f"outputs compared {self.computed} times",
            f"edit and rerun: {self.commuted} the same in both orders, {self.reported} refused or reported in one",
            f"edits below a change: {sum(self.below.values())}, carried {share:.1%}, conflicts {self.conflicts}",
            *rows,
            f"{len(self.problems)} problems",
            *self.problems,
        ])  # fmt: skip


class Walk:
    """One sequence of commands on one program."""

    def __init__(self, seed: int, figures: Figures) -> None:
        self.random = random.Random(seed)
        self.seed, self.figures = seed, figures
        self.program: Program = PROGRAMS[seed % len(PROGRAMS)]
        self.session: Any = wb.open(self.program.opened())
        self.earlier: list[Any] = [self.session]
        self.changes: dict[Any, tuple[int, Any, Any] | None] = {}
        """By the edit's row: the site that it changes, from what, to what; None for one that changes no number."""
        self.fresh = [slope for slope in SLOPES if slope not in self.program.sites]
        self.random.shuffle(self.fresh)
        self.notes = 0
        self.told: list[str] = []

    # --- the walk ---

    def go(self) -> None:
        """6 to 15 commands; conflicts are resolved by command, by going back, or left for a while."""
        for _ in range(self.random.randint(6, 15)):
            kind, command = self.drawn()
            before = self.session
            self.told.append(kind)
            self.figures.commands[kind] += 1
            try:
                after = command(before)
            except WorkbenchError as error:
                self.told[-1] += f" refused ({error.code})"
                continue
            if kind in ("save", "branch", "rebase"):
                self.session = after
                continue
            self.count(kind, before, after)
            self.session = after
            self.earlier.append(after)
        self.probe(self.session)
        self.judge(self.session)

    def probe(self, session: Any) -> None:
        """Each kind of change once above the edits that the session has; it is not gone on from."""
        commands = [*self.reruns(), ("without", self.without)]
        if "relay" in self.held():  # few passes stand above such edits, so more are drawn
            commands += [item for item in self.reruns() if item[0] == "replace"] * 2 + [("without", self.without)] * 2
        commands += [] if self.program.loops else [("relay", self.edit_relay)] * 4
        commands += [("te", self.edit_te), ("schedule", self.edit_schedule)]
        for kind, command in commands if self.error(session) is None else []:
            try:
                after = command(session)
            except WorkbenchError:
                continue
            self.figures.commands[f"{kind} (probe)"] += 1
            self.count(kind, session, after)

    def drawn(self) -> tuple[str, Edit]:
        """A command with its kind."""
        conflict = self.error(self.session)
        if conflict is not None and self.random.random() < 0.8:
            return self.random.choice([("rebase", lambda s: s.rebase(keep="applicable")), ("branch", self.branch)])
        edits: dict[str, Edit] = {"tir": self.edit_tir, "te": self.edit_te, "schedule": self.edit_schedule}
        edits |= {} if self.program.loops else {"relay": self.edit_relay}
        held = self.held()
        lacking = [kind for kind in edits if kind not in held]
        if lacking and self.random.random() < (0.9 if len(lacking) > 1 else 0.5):
            kind = self.random.choice(lacking)
            return kind, edits[kind]
        if self.random.random() < 0.1:
            return self.random.choice([("save", self.saved), ("branch", self.branch)])
        above = [*self.reruns(), ("without", self.without)]
        above += [(kind, edits[kind]) for kind in ("relay", "te", "schedule") if kind in edits]
        return self.random.choice(above)

    def held(self) -> set[str]:
        """The kinds of edits that the session has."""
        found = {_level(self.session, index) for index, row in enumerate(self.session.plan.rows, 1)
                 if isinstance(row, EditRow)}  # fmt: skip
        tails = any(isinstance(row, ScheduleRow) and row.tails for row in self.session.plan.rows)
        return found | ({"schedule"} if tails else set())

    def reruns(self) -> list[tuple[str, Edit]]:
        """Commands that change what lies above the edits."""
        draw = self.random
        target, names = draw.choice(TARGETS), draw.sample(OPTIONAL, draw.randint(1, 2))
        chosen, pipeline, share = draw.choice(GRAPH_PASSES), draw.choice(PIPELINES), draw.random()

        def disabled(session: Any) -> Any:
            return session.rerun(disabled_pass=[name for name in names if name in session.labels])

        def inserted(session: Any) -> Any:
            level = "tir" if self.program.loops or share > 0.7 else "relay"
            steps = [row.name for row in session.plan.rows if row.kind == "pass" and row.level == level]
            label = steps[int(share * 997) % len(steps)] if steps else "Import"
            return session.rerun(insert={label: chosen if level == "relay" else "Simplify"})

        def replaced(session: Any) -> Any:
            steps = [row.name for row in session.plan.rows if row.kind == "pass" and row.name in OPTIONAL]
            if not steps:
                raise WorkbenchError("E-DRAWN", "no pass is left to replace")
            label = steps[int(share * 991) % len(steps)]
            row = session.plan.rows[session.labels.index(label) - 1]
            return session.rerun(replace={label: "Simplify" if row.level == "tir" else chosen})

        made: list[tuple[str, Edit]] = [
            ("target", lambda s: s.rerun(target=target)), ("disabled", disabled), ("insert", inserted),
            ("replace", replaced),
        ]  # fmt: skip
        if not self.program.loops:
            made.append(("passes", lambda s: s.rerun(passes=pipeline)))
        return made

    def without(self, session: Any) -> Any:
        """Without a pass or an edit that others stand below."""
        rows = list(enumerate(session.plan.rows, 1))
        passes = [index for index, row in rows if row.kind == "pass" and row.name in (*OPTIONAL, "InsertPolls")]
        edits = [index for index, row in rows if isinstance(row, EditRow)]
        if edits and (not passes or self.random.random() < 0.3):
            return session.without(edits[0])
        if not passes:
            raise WorkbenchError("E-DRAWN", "nothing is left to leave out")
        return session.without(self.random.choice(passes))

    def saved(self, session: Any) -> Any:
        return reopened(session)

    def branch(self, session: Any) -> Any:
        """Go on from an earlier session, or from any branch of the history."""
        if self.random.random() < 0.5:
            return self.random.choice(self.earlier)
        branches = session.branches
        return branches[self.random.randrange(len(branches))]

    # --- edits ---

    def edit_relay(self, session: Any) -> Any:
        steps = [index for index, action in enumerate(session.actions) if action.level == "relay"]
        first = steps[min(1, len(steps) - 1)]
        edited = any(isinstance(row, EditRow) for row in session.plan.rows)
        index = self.random.choice([first, first, self.random.choice(steps)] if edited else [steps[-1], first])
        return self.of_text(session, "relay", index, "main")

    def edit_te(self, session: Any) -> Any:
        index = session.plan.kernel_step()
        return self.of_text(session, "te", index, self.one_with_something(session, index, session.kernels, "te"))

    def edit_tir(self, session: Any) -> Any:
        index = session.plan.loop_step()
        names = [name for name in session.step(index).stage.module.names() if name != "main" or self.program.loops]
        return self.of_text(session, "tir", index, self.one_with_something(session, index, names, "tir"))

    def one_with_something(self, session: Any, index: int, names: Sequence[str], level: str) -> str:
        """A function in which there is a site, or a loop to mark."""
        program = session[index].program
        spelled = [self.spelled(session, site, level) for site in range(len(self.program.sites))]
        found = [name for name in names if any(part in program[name].script() for part in (*spelled, "T.serial("))]
        return self.random.choice(found or list(names))

    def of_text(self, session: Any, level: str, index: int, name: str) -> Any:
        """The session with a site changed in a function's text, or a loop marked."""
        module = session.step(index).stage.module
        if session.step(index).error is not None:
            raise session.step(index).error
        text = session[index].program[name].script()
        present = [site for site in range(len(self.program.sites)) if self.spelled(session, site, level) in text]
        if present and (level == "relay" or self.random.random() < 0.6):
            site = self.random.choice(present)
            old = self.value(session, site)
            new = self.fresh.pop() if isinstance(old, float) else self.random.choice([n for n in UNARY if n != old])
            if isinstance(new, str) and f"R.{new}(" in text:
                raise WorkbenchError("E-DRAWN", "the operator is there already")
            changed = text.replace(self.spelled(session, site, level), _spelled(new, level))
            change = (site, old, new)
        elif level != "relay" and "T.serial(" in text:
            self.notes += 1
            changed, change = text.replace("T.serial(", "T.unroll(", 1), None
        else:
            raise WorkbenchError("E-DRAWN", "nothing to change there")
        assert changed != text and name in module
        label = session.labels[index]
        if level == "te":
            made = session.edit(te={name: parse_function(changed)})
        else:
            made = session.edit(**{level: {name: changed}}, at=label)
        (row,) = [row for row in made.plan.rows if isinstance(row, EditRow) and row not in session.plan.rows] or [None]
        if row is not None:
            self.changes[row] = change
        return made

    def spelled(self, session: Any, site: int, level: str) -> str:
        value = self.value(session, site)
        return _spelled(value, level) if value is not None else "\0"

    def value(self, session: Any, site: int) -> Any:
        """What a site is now, by the edits of the plan; None where that is not known."""
        try:
            sites = self.sites(session)
        except _Broken:
            return None
        return sites[site] if sites is not None else None

    def sites(self, session: Any) -> Sites | None:
        """The sites after all edits of a plan; None where an edit was rewritten by `rebase`.

        Raises `_Broken` where an edit changes a site that is no more what it was: some step has to say so.
        """
        sites = list(self.program.sites)
        for row in session.plan.rows:
            if isinstance(row, EditRow):
                if row not in self.changes:
                    return None
                change = self.changes[row]
                if change is not None:
                    site, old, new = change
                    if sites[site] != old:
                        raise _Broken(f"site {site} is {sites[site]}, an edit says {old} -> {new}")
                    sites[site] = new
        return tuple(sites)

    def edit_schedule(self, session: Any) -> Any:
        kernel = self.random.choice(session.kernels)
        schedule = session.schedule(kernel, default=self.random.random() < 0.7)
        names = [node.name for node in pre_order(schedule.func) if isinstance(node, Block) and node.name != "root"]
        loops = schedule.get_loops(schedule.get_block(self.random.choice(names)))
        loop = self.random.choice(loops)
        self.notes += 1
        action = self.random.choice(["annotate", "split", "unroll"])
        if action == "annotate":
            schedule.annotate(loop, f"note_{self.notes}", 1)
        elif action == "split":
            schedule.split(loop, factors=[None, 2])
        else:
            schedule.unroll(loop)
        return session.edit(schedule={kernel: schedule})

    # --- judging ---

    def error(self, session: Any) -> WorkbenchError | None:
        return session.step(len(session) - 2).error

    def count(self, kind: str, before: Any, after: Any) -> None:
        """Which edits stood below the change, and which of them were carried over it."""
        if kind in ("relay", "te", "tir", "schedule"):
            pairs = zip(before.plan.rows, after.plan.rows, strict=False)
            fork = next((i for i, (a, b) in enumerate(pairs) if a != b), len(after.plan.rows))  # else: as it was before
        elif kind in ("target", "passes", "disabled", "insert", "replace", "without"):
            rows = zip(before.plan.rows, after.plan.rows, strict=False)
            fork = 0 if kind == "target" else next((i for i, (a, b) in enumerate(rows) if a != b), len(after.plan.rows))
        else:
            return
        kept = [row for row in before.plan.rows if isinstance(row, EditRow)]
        lost = [row for row in kept if row not in after.plan.rows]
        if lost and not (kind == "without" and len(lost) == 1):
            self.problem(f"{kind} dropped {len(lost)} edits in silence")
        old_tails = next((row.tails for row in before.plan.rows if isinstance(row, ScheduleRow)), ())
        new_tails = next((row.tails for row in after.plan.rows if isinstance(row, ScheduleRow)), ())
        if kind != "schedule" and old_tails != new_tails:
            self.problem(f"{kind} changed the schedules by hand")
        for index, row in enumerate(after.plan.rows[fork:], fork + 1):
            mine = isinstance(row, EditRow) and row in before.plan.rows
            if not mine and not (isinstance(row, ScheduleRow) and row.tails and row in before.plan.rows):
                continue
            earlier = before.plan.rows.index(row) + 1
            if before.step(earlier).error is not None or (index > 1 and after.step(index - 1).error is not None):
                continue
            level = "schedule" if isinstance(row, ScheduleRow) else _level(after, index)
            key = (level, kind)
            self.figures.below[key] += 1
            error = after.step(index).error
            if error is None:
                self.figures.carried[key] += 1
            else:
                self.figures.conflicts += 1
                if error.code not in ("E-EDIT-REBASE", "E-EDIT-SIGNATURE"):
                    self.problem(f"{level} below {kind}: {error}")

    def judge(self, session: Any) -> None:
        """Live, reloaded and built without a history are the same, and compute what the sites say."""
        self.figures.sequences += 1
        again = reopened(session)
        if again.labels != session.labels or again.plan.rows != session.plan.rows:
            self.problem("the file has another plan")
        error = self.error(session)
        found = self.error(again)
        if (error is None) != (found is None) or (error is not None and found is not None and error.code != found.code):
            self.problem(f"live: {error}; reloaded: {found}")
        try:
            rows = tuple(row for row in session.plan.rows if row.kind != "codegen")
            stage = run(
                replace(session.plan, rows=rows), session.step(0).stage.module,
                contents=Contents(session.history.contents.constants),
            )  # fmt: skip
        except WorkbenchError as raised:
            if error is None or raised.code != error.code:
                self.problem(f"built without a history: {raised}; live: {error}")
            return
        if error is not None:
            self.problem(f"built without a history, but live: {error}")
            return
        live = texts(session.step(len(session) - 2).stage.module)
        if live != texts(again.step(len(again) - 2).stage.module):
            self.problem("reloaded, the loops are others")
        if live != texts(stage.module):
            self.problem("built without a history, the loops are others")
        for index, row in enumerate(session.plan.rows, 1):
            if isinstance(row, EditRow) and not session.step(index).changed and not self.is_there(session, row, index):
                self.problem(f"step {session.labels[index]} changes nothing: it was dropped in silence")
        self.compare(session, again)
        self.commute(session)

    def is_there(self, session: Any, row: EditRow, index: int) -> bool:
        """Whether what an edit marks is marked already by a schedule before it."""
        module = session.step(index).stage.module
        return self.changes.get(row) is None and any("T.unroll(" in text for text in texts(module).values())

    def compare(self, session: Any, again: Any) -> None:
        try:
            sites = self.sites(session)
        except _Broken as broken:
            self.problem(f"no step says that an edit does not apply: {broken}")
            return
        inputs = self.program.inputs()
        try:
            outputs, other = list(session.run(inputs).values()), list(again.run(inputs).values())
        except WorkbenchError as error:
            self.problem(f"does not run: {error}")
            return
        for one, two in zip(outputs, other, strict=True):
            if not np.array_equal(one, two, equal_nan=True):
                self.problem("reloaded, it computes something else")
        if sites is None:
            return
        self.figures.computed += 1
        rough = any(row.name == "FastMath" for row in session.plan.rows)
        for one, value in zip(outputs, self.program.expected(sites), strict=True):
            if not np.allclose(one, value, rtol=1e-3 if rough else 1e-4, atol=1e-3 if rough else 1e-5):
                self.problem(f"computes {one.ravel()[:3]}, its edits say {value.ravel()[:3]} (sites {sites})")

    def commute(self, session: Any) -> None:
        """An edit of a site and a rerun, in both orders."""
        kinds = ["te", "tir"] if self.program.loops else ["relay", "te", "tir"]
        level = self.random.choice(kinds)
        name, rerun = self.random.choice(self.reruns())
        state = self.random.getstate()
        try:
            edit = self.repeatable(session, level)
            one = rerun(edit(session))
            other = edit(rerun(session))
        except WorkbenchError:
            self.figures.reported += 1
            return
        finally:
            self.random.setstate(state)
        errors = [self.error(made) for made in (one, other)]
        if any(errors):
            self.figures.reported += 1
            return
        first, second = (texts(made.step(len(made) - 2).stage.module) for made in (one, other))
        if first == second:
            self.figures.commuted += 1
        else:
            self.problem(f"edit of {level} and rerun ({name}) do not commute")

    def repeatable(self, session: Any, level: str) -> Edit:
        """An edit that can be made on two sessions: a number that stands in one function becomes another."""
        numbers = [site for site in range(len(self.program.sites)) if isinstance(self.value(session, site), float)]
        if not numbers:
            raise WorkbenchError("E-DRAWN", "nothing to change there")
        old, new = self.value(session, self.random.choice(numbers)), self.fresh.pop()

        def edit(made: Any) -> Any:
            plan = made.plan
            graph = max((step for step, row in enumerate(plan.rows, 1) if row.level == "relay"), default=0)
            place = {"te": plan.kernel_step, "tir": plan.loop_step, "relay": lambda: graph}[level]()
            found = {}
            for name in made.step(place).stage.module.names():
                text = made[place].program[name].script()
                if _spelled(old, level) in text:
                    found[name] = text.replace(_spelled(old, level), _spelled(new, level))
            if not found:
                raise WorkbenchError("E-DRAWN", "nothing to change there")
            if level == "te":
                return made.edit(te={name: parse_function(text) for name, text in found.items()})
            return made.edit(**{level: found})

        return edit

    def problem(self, text: str) -> None:
        after = ", ".join(self.told)
        self.figures.problems.append(f"seed {self.seed} ({self.program.name}): {text}\n    after {after}")


def _level(session: Any, index: int) -> str:
    row = session.plan.rows[index - 1]
    if row.level == "relay":
        return "relay"
    return "te" if "Schedule" in session.labels[index:] else "tir"


def _spelled(value: Any, level: str) -> str:
    if isinstance(value, str):
        return f"R.{value}(" if level == "relay" else "\0"
    return f"alpha={value})" if level == "relay" else f"T.float32({value})"


def texts(module: Any) -> dict[str, str]:
    """The loop functions as text."""
    return {name: script(function) for name, function in module.items() if isinstance(function, PrimFunc)}


def reopened(session: Any) -> Any:
    """Saved and opened again."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s.wb.json")
        session.save(path)
        return wb.open(path)


def walked(begin: int, end: int) -> Figures:
    """The figures of some seeds."""
    figures = Figures()
    for seed in range(begin, end):
        walk = Walk(seed, figures)
        try:
            walk.go()
        except Exception as error:
            walk.problem(f"{type(error).__name__}: {error}")
    return figures


if __name__ == "__main__":
    print(walked(*map(int, sys.argv[1:3])))
