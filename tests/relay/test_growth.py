"""What it costs to infer types grows with the program: counts, not times."""

from __future__ import annotations

from typing import Any

import workbench as wb
from tests.work import calls
from workbench import relay
from workbench.core import node
from workbench.relay.ir.types import FuncType, IncompleteType, TensorType, TupleType, is_complete
from workbench.relay.ir.unify import Unifier


def tuples_in_tuples(depth: int) -> Any:
    """Tuples in one another, then taken apart from outside: each type holds all those inside."""
    x = value = relay.var("x", shape=(4,))
    for _ in range(depth):
        value = relay.Tuple([value, x])
    for _ in range(depth):
        value = relay.TupleGetItem(value, 0)
    return relay.Function([x], value)


def test_a_type_is_not_looked_through_for_each_that_holds_it() -> None:
    """A thousand tuples in one another took 8 s."""
    once, twice = (
        calls(
            lambda n=depth: relay.transform.InferType()(wb.IRModule.from_expr(tuples_in_tuples(n))),
            node.children, node.map_children,
        )
        for depth in (50, 100)
    )  # fmt: skip
    assert twice <= 2.5 * once, (once, twice)


def test_what_is_unknown_is_found_inside_types_whose_other_parts_are_known() -> None:
    plain = TensorType((2,))
    known = TupleType((TupleType((plain, plain)), plain))
    unknown = IncompleteType()
    for _ in range(2):
        assert is_complete(known) and is_complete(FuncType((known,), known))
        assert not is_complete(TupleType((known, unknown)))
        assert not is_complete(TupleType((TupleType((known, unknown)), known)))


def test_an_unknown_type_filled_in_leaves_the_known_parts_the_same_objects() -> None:
    plain = TensorType((2,))
    known, unknown = TupleType((TupleType((plain, plain)), plain)), IncompleteType()
    unifier = Unifier()
    unifier.unify(unknown, known)
    found = unifier.resolve(TupleType((unknown, known)))
    assert isinstance(found, TupleType) and is_complete(found)
    assert found.fields[0] is known and found.fields[1] is known
    assert unifier.resolve(known) is known
