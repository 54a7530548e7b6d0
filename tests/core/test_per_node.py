import gc
import weakref

import pytest

from workbench.core.per_node import per_node


class Thing:
    pass


def test_a_node_is_asked_once_and_another_for_itself() -> None:
    asked: list[Thing] = []

    @per_node
    def number(thing: Thing) -> int:
        asked.append(thing)
        return len(asked)

    one, other = Thing(), Thing()
    assert [number(one), number(other), number(one)] == [1, 2, 1]


def test_zero_is_an_answer_and_none_is_not() -> None:
    asked: list[int | None] = []

    @per_node
    def number(thing: Thing) -> int | None:
        asked.append(answers[len(asked)])
        return asked[-1]

    answers, thing = [None, 0, 5], Thing()
    assert [number(thing) for _ in range(4)] == [None, 0, 0, 0]


def test_an_error_is_raised_each_time() -> None:
    @per_node
    def number(thing: Thing) -> int:
        raise ValueError("no")

    thing = Thing()
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            number(thing)


def test_nodes_are_not_kept_alive() -> None:
    @per_node
    def number(thing: Thing) -> int:
        return 1

    thing = Thing()
    number(thing)
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None
