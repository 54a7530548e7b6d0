"""Nodes: identity, walks, rewriting, substitution; all safe on chains of 20,000."""

from __future__ import annotations

import copy
import pickle

import pytest

from workbench.arith.build import const
from workbench.arith.nodes import Add, IntImm, Let, Mul, PrimExpr, Var
from workbench.core import origin
from workbench.core.equal import fingerprint, first_difference, free_variables, same, structural_equal
from workbench.core.errors import WorkbenchError
from workbench.core.flat import unflatten
from workbench.core.node import FrozenMap, children, post_order, pre_order, rewrite, substitute
from workbench.relay.ir.expr import Constant, Tuple, var
from workbench.relay.ir.expr import const as const_tensor

LONG = 20_000


def chain(length: int, start: PrimExpr) -> PrimExpr:
    total = start
    for index in range(1, length):
        total = Add(total, IntImm(index))
    return total


def test_nodes_are_compared_by_identity():
    one, other = IntImm(1), IntImm(1)
    assert len({one, other}) == 2
    assert same(one, other)


def test_frozen():
    with pytest.raises(AttributeError):
        IntImm(1).value = 2  # type: ignore[misc]


def test_copies_are_the_node_itself():
    value = Add(Var("i"), IntImm(1))
    assert copy.copy(value) is value and copy.deepcopy(value) is value


def test_post_order_gives_children_first_and_each_node_once():
    shared = Var("i")
    top = Add(shared, Mul(shared, IntImm(2)))
    order = list(post_order(top))
    assert len(order) == 4
    assert order[0] is shared and order[-1] is top
    assert next(iter(pre_order(top))) is top


@pytest.mark.slow
def test_long_chains_walk_compare_hash_and_pickle():
    i = Var("i")
    one, other = chain(LONG, i), chain(LONG, i)
    assert sum(1 for _ in post_order(one)) == 2 * LONG - 1
    assert structural_equal(one, other) and fingerprint(one) == fingerprint(other)
    assert same(pickle.loads(pickle.dumps(one)), one)
    doubled = rewrite(one, lambda node: IntImm(node.value * 2) if isinstance(node, IntImm) else None)
    assert not same(doubled, one)
    assert rewrite(one, lambda node: None) is one


def test_rewrite_keeps_what_did_not_change():
    left, right = Add(Var("i"), IntImm(1)), Add(Var("j"), IntImm(2))
    made = rewrite(Add(left, right), lambda node: IntImm(7) if isinstance(node, IntImm) and node.value == 2 else None)
    assert made.a is left and made.b is not right


def test_substitute_by_identity():
    i, j = Var("i"), Var("i")
    made = substitute(Add(i, j), {i: IntImm(3)})
    assert isinstance(made.a, IntImm) and made.b is j


def test_structural_equality_up_to_renaming():
    def program(name: str) -> PrimExpr:
        x = Var(name)
        return Let(x, const(1), Add(x, x))

    assert structural_equal(program("x"), program("y"))
    assert fingerprint(program("x")) == fingerprint(program("y"))
    assert not same(program("x"), program("y"))


def test_free_variables_equal_only_themselves():
    assert not structural_equal(Add(Var("i"), const(1)), Add(Var("i"), const(1)))
    assert structural_equal(Add(Var("i"), const(1)), Add(Var("i"), const(1)), map_free_variables=True)


def test_bijection_is_injective():
    i, j, k = Var("i"), Var("j"), Var("k")
    assert not structural_equal(Add(i, j), Add(k, k), map_free_variables=True)
    assert not structural_equal(Add(k, k), Add(i, j), map_free_variables=True)


def test_first_difference_is_a_path():
    place = first_difference(Add(IntImm(1), IntImm(2)), Add(IntImm(1), IntImm(3)), names=True, map_free_variables=True)
    assert place == "b.value"


def test_floats_compare_by_bits():
    from workbench.arith.nodes import FloatImm

    assert same(FloatImm(float("nan")), FloatImm(float("nan")))
    assert not same(FloatImm(0.0), FloatImm(-0.0))


def test_free_variables_in_order_of_use():
    x, y = Var("x"), Var("y")
    names = [variable.name for variable in free_variables(Let(x, y, Add(x, y)))]  # type: ignore[attr-defined]
    assert names == ["y"]


def test_loading_refuses_unknown_classes():
    with pytest.raises(WorkbenchError) as caught:
        unflatten((("os.system", ()),))
    assert caught.value.code == "E-SAVED-CLASS"


def test_frozen_map_children_are_seen():
    from workbench.tir.nodes import Evaluate, For, ForKind

    inside = Var("n")
    loop = For(Var("i"), const(0), const(4), ForKind.SERIAL, Evaluate(const(0)), "", FrozenMap({"hint": inside}))
    assert inside in set(children(loop))


def test_origins_follow_a_rewrite():
    x = var("x", shape=(2,))
    old = Tuple((x, const_tensor(2.0)))
    with origin.recording(post_order(old)) as table:
        new = rewrite(old, lambda node: const_tensor(3.0) if isinstance(node, Constant) else None)
    assert table.of(new) == {old}
    assert table.of(new.fields[1]) == {old.fields[1]}
    assert not table.of(new.fields[0])


def test_derived_reaches_fresh_nodes_inside_and_stops_at_old_ones():
    x = var("x", shape=(2,))
    old = Tuple((x, const_tensor(2.0)))
    with origin.recording(post_order(old)) as table:
        inner = Tuple((x, x))
        new = origin.derived(Tuple((inner,)), old)
    assert table.of(inner) == {old} and table.of(new) == {old}
    assert not table.of(x)


def test_scalar_expressions_keep_no_origins():
    loop = Add(Var("i"), IntImm(2))
    with origin.recording() as table:
        rewrite(loop, lambda node: IntImm(3) if isinstance(node, IntImm) else None)
    assert len(table) == 0


def test_nothing_is_recorded_without_a_table():
    assert origin.active() is None
    origin.derived(IntImm(1), IntImm(2))


def test_a_walk_within_a_class_goes_by_way_of_its_nodes_only():
    i = Var("i")
    outer = Add(Mul(i, IntImm(2)), Add(i, IntImm(3)))
    assert [type(node).__name__ for node in pre_order(outer, Add)] == ["Add", "Add"]
    assert len(list(pre_order(outer))) == 6


def test_children_are_found_once_and_stay_those_of_the_node():
    total = Add(Var("i"), IntImm(1))
    assert children(total) is children(total) and children(total) == (total.a, total.b)
    assert children(total.replace(b=IntImm(2)))[1].value == 2
