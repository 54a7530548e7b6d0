"""A schedule's history as a machine: any order of apply, undo, redo, branch, save, load and replay keeps its laws.

undo after apply gives the state before, redo gives it back, a replayed trace gives the same state, the text of the
program reads back, a refusal changes nothing, copies do not see one another.
"""

from __future__ import annotations

import random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.nightly import examples
from tests.property.drawing import scheduled
from tests.property.schedule_programs import MAKERS, drawn
from workbench.core.equal import structural_equal
from workbench.schedule import Schedule, Trace
from workbench.tir.script import parse, script

SEEDS = st.integers(0, 2**20)


def _behind(sch: Schedule) -> list[str]:
    """The fingerprints of all states from the first to the one looked at."""
    history = sch._history
    return [history[number].fingerprint for number in history.chain(history._here)]


class History(RuleBasedStateMachine):
    """The schedule, and what its fingerprints must be: those behind and those that `redo` leads to."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []
        self.undone: list[str] = []
        self.others: list[tuple[Schedule, list[str], list[str]]] = []
        self.saved: list[tuple[str, str]] = []

    @initialize(name=st.sampled_from(sorted(MAKERS)), seed=SEEDS)
    def begin(self, name: str, seed: int) -> None:
        self.case = drawn(random.Random(seed), name)
        self.sch = Schedule(self.case.func)
        self.done = [self.sch.fingerprint()]

    @rule(seed=SEEDS, count=st.integers(1, 3))
    def apply(self, seed: int, count: int) -> None:
        """Some primitives, with the questions for references that they need: each step is one to undo."""
        scheduled(self.sch, random.Random(seed), count)
        prints = _behind(self.sch)
        assert prints[: len(self.done)] == self.done
        if len(prints) > len(self.done):
            self.undone = []
        self.done = prints

    @rule(steps=st.integers(1, 40))
    def undo(self, steps: int) -> None:
        assert self.sch.undo(steps) == (steps < len(self.done))
        if steps < len(self.done):
            self.undone += reversed(self.done[-steps:])
            del self.done[-steps:]

    @rule(steps=st.integers(1, 40))
    def redo(self, steps: int) -> None:
        assert self.sch.redo(steps) == (steps <= len(self.undone))
        if steps <= len(self.undone):
            for _ in range(steps):
                self.done.append(self.undone.pop())

    @rule()
    def there_and_back(self) -> None:
        """To the beginning and to the end again."""
        steps = len(self.done) - 1
        if steps:
            assert self.sch.undo(steps) and self.sch.fingerprint() == self.done[0]
            assert self.sch.redo(steps) and self.sch.fingerprint() == self.done[-1]

    @rule()
    def branch(self) -> None:
        self.others.append((self.sch.copy(), list(self.done), list(self.undone)))

    @rule(data=st.data())
    def change_branches(self, data: Any) -> None:
        """Work goes on on an older copy, with what could be undone and redone there."""
        if self.others:
            number = data.draw(st.integers(0, len(self.others) - 1))
            mine = (self.sch, self.done, self.undone)
            self.sch, self.done, self.undone = self.others[number]
            self.others[number] = mine

    @rule(data=st.data())
    def switch(self, data: Any) -> None:
        """To the end of a branch of the history: undo leads to the beginning from there, and redo nowhere."""
        number = data.draw(st.integers(0, len(self.sch.branches) - 1))
        expected = self.sch.branches[number].state.fingerprint
        self.sch.switch(number)
        assert self.sch.fingerprint() == expected
        self.done, self.undone = _behind(self.sch), []

    @rule()
    def save(self) -> None:
        self.saved.append((self.sch.trace.as_json(), self.done[-1]))

    @rule(data=st.data())
    def load(self, data: Any) -> None:
        if self.saved:
            text, expected = data.draw(st.sampled_from(self.saved))
            again = Schedule(self.case.func)
            Trace.from_json(text).apply_to(again)
            assert again.fingerprint() == expected

    @rule()
    def run_as_python(self) -> None:
        names: dict[str, Any] = {"sch": Schedule(self.case.func)}
        exec(self.sch.code(), names)
        assert names["sch"].fingerprint() == self.done[-1]

    @rule()
    def read_back(self) -> None:
        assert structural_equal(parse(script(self.sch.func)), self.sch.func, True)

    @invariant()
    def state_is_as_expected(self) -> None:
        if self.done:
            assert self.sch.fingerprint() == self.done[-1]
            assert all(other.fingerprint() == done[-1] for other, done, _ in self.others)


History.TestCase.settings = settings(max_examples=examples(25), stateful_step_count=25)
test_histories_keep_the_laws = History.TestCase


def test_a_thousand_undos_and_redos() -> None:
    """undo and redo a thousand times over a schedule of many steps: every fingerprint is met again."""
    sch = Schedule(drawn(random.Random(3), "convolution").func)
    scheduled(sch, random.Random(5), 12)
    prints = _behind(sch)
    assert len(prints) > 12
    moves = 0
    while moves < 1_000:
        for expected in reversed(prints[:-1]):
            assert sch.undo() and sch.fingerprint() == expected
            moves += 1
        assert not sch.undo()
        for expected in prints[1:]:
            assert sch.redo() and sch.fingerprint() == expected
            moves += 1
        assert not sch.redo()
