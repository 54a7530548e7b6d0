"""Rules as data: firings with their place, explanations of refusals, the guard against endless rewriting, origins."""

from __future__ import annotations

import pytest

from workbench import relay
from workbench.core import origin, rewrite
from workbench.core.errors import WorkbenchError
from workbench.core.limits import limits
from workbench.core.node import post_order
from workbench.core.rewrite import Driver, RuleTable, why_not
from workbench.relay.ir import expr as e
from workbench.relay.patterns import any_, constant, is_float, item, op, same_type, tuple_of, where
from workbench.relay.transforms.rules import apply_rules
from workbench.relay.transforms.simplify_expr import RULES

TABLE = RuleTable("test")


@TABLE.rule("exp-of-log", op("exp", op("log", any_("x"), once=True)))
def exp_of_log(m):
    """exp(log(x)) is x."""
    return m["x"]


@TABLE.rule("declines", op("tanh", any_("x")))
def declines(m):
    """Never builds anything."""
    return None


def x_of(*shape: int) -> e.Var:
    return relay.var("x", shape=shape)


def test_a_firing_names_rule_place_and_nodes() -> None:
    x = x_of(2)
    whole = relay.exp(relay.log(x))
    with rewrite.logging() as log:
        assert apply_rules(whole, TABLE) is x
    (firing,) = log
    assert firing.rule.name == "exp-of-log" and firing.before is whole and firing.after is x
    assert firing.rule.where.startswith("test_rewrite.py:") and firing.rule.doc == "exp(log(x)) is x."
    assert firing.nanoseconds > 0


def test_a_rule_of_another_module_is_not_replaced_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RULES, "_rules", list(RULES))
    name = RULES[0].name
    with pytest.raises(WorkbenchError, match="E-RULE-CLASH"):
        RULES.rule(name, any_("x"))(lambda m: None)
    made = RULES.rule(name, any_("x"), override=True)(lambda m: None)
    again = RULES.rule(name, any_("x"))(lambda m: None)  # a cell that is run again
    assert RULES[name] is again is not made


def test_nothing_is_logged_outside() -> None:
    with rewrite.logging() as log:
        pass
    apply_rules(relay.exp(relay.log(x_of(2))), TABLE)
    assert log == []


def test_an_unchanged_program_is_the_same_object() -> None:
    whole = relay.tanh(x_of(2))
    assert apply_rules(whole, TABLE) is whole


def test_used_once_counts_uses_in_the_program() -> None:
    inner = relay.log(x_of(2))
    whole = relay.exp(inner)
    root = e.Tuple((whole, inner))
    assert apply_rules(root, TABLE) is root
    failure = why_not(TABLE["exp-of-log"], whole, root)
    assert failure is not None and "is used once; found 2 uses" in str(failure)
    assert why_not(TABLE["exp-of-log"], whole) is None


@pytest.mark.parametrize(
    ("rule", "build", "clause", "found"),
    [
        ("exp-of-log", lambda x: relay.exp(x), "is a call of log", "%x"),
        ("exp-of-log", lambda x: x, "is a call of exp", "%x"),
        ("declines", lambda x: relay.tanh(x), "builds a replacement", "declined"),
    ],
)
def test_why_not_names_the_first_failing_clause(rule: str, build, clause: str, found: str) -> None:
    failure = why_not(TABLE[rule], build(x_of(2)))
    assert failure is not None and clause in failure.clause and found in failure.found


@pytest.mark.parametrize(
    ("rule", "build", "text"),
    [
        ("add-zero", lambda x: relay.add(x, e.const(0.0)), "integers, or -0.0"),
        ("add-zero", lambda x: relay.add(x, e.const(1.0)), "zero is 0 everywhere; found 1.0"),
        ("multiply-one", lambda x: relay.multiply(x, e.const([[1.0]] * 3)), "x has the type of the whole"),
        ("clip-of-relu", lambda x: relay.clip(relay.nn.relu(x), a_min=-1.0, a_max=2.0), "not negative; found -1.0"),
        ("cast-of-cast", lambda x: relay.cast(relay.cast(x, dtype="float16"), dtype="float64"), "loses nothing"),
    ],
)
def test_why_simplification_does_not_fire(rule: str, build, text: str) -> None:
    assert text in str(why_not(RULES[rule], build(x_of(2))))


def test_attribute_constraints_by_value_and_by_function() -> None:
    pattern = RuleTable("attributes")
    pattern.rule("r", op("nn.softmax", any_("x"), attrs={"axis": lambda axis: axis > 0}))(lambda m: m["x"])
    pattern.rule("s", op("nn.softmax", any_("x"), attrs={"axis": 7}))(lambda m: m["x"])
    call = relay.nn.softmax(x_of(2, 2), axis=1)
    assert why_not(pattern["r"], call) is None
    assert str(why_not(pattern["s"], call)) == "nn.softmax has axis=7; found axis=1"


def test_commutative_operands_names_twice_tuples_and_items() -> None:
    x = x_of(2)
    table = RuleTable("more")
    table.rule("sum", op("add", constant("c"), any_("x"), commutative=True))(lambda m: m["x"])
    table.rule("double", op("add", any_("x"), any_("x")), when=[is_float("x")])(lambda m: m["x"])
    table.rule("pair", item(tuple_of(any_("a"), any_("b")), 1), when=[same_type("a", "b")])(lambda m: m["b"])
    assert why_not(table["sum"], relay.add(x, e.const(1.0))) is None
    assert why_not(table["double"], relay.add(x, x)) is None
    assert "x is the same expression" in str(why_not(table["double"], relay.add(x, relay.exp(x))))
    assert why_not(table["pair"], e.TupleGetItem(e.Tuple((x, relay.exp(x))), 1)) is None
    assert "item 1 of a tuple" in str(why_not(table["pair"], e.TupleGetItem(e.Tuple((x, x)), 0)))


def test_endless_rules_are_stopped() -> None:
    table = RuleTable("endless")
    table.rule("swap", op("add", any_("a"), any_("b")))(lambda m: relay.add(m["b"], m["a"]))
    old = limits.rewrites
    limits.rewrites = 500
    try:
        with pytest.raises(WorkbenchError, match="rules keep firing: swap") as caught:
            apply_rules(relay.add(x_of(2), relay.exp(x_of(2))), table)
    finally:
        limits.rewrites = old
    assert caught.value.code == "E-REWRITE-ENDLESS"


def test_rules_that_undo_each_other_at_one_node_are_stopped_long_before_the_limit() -> None:
    """A million firings took 46 s, in which a screen waited."""
    table = RuleTable("circle")
    table.rule("there", op("exp", any_("x")))(lambda m: relay.log(m["x"]))
    table.rule("back", op("log", any_("x")))(lambda m: relay.exp(m["x"]))
    with pytest.raises(WorkbenchError, match=r"rules keep firing: (there, back|back, there)") as caught:
        apply_rules(relay.exp(x_of(2)), table)
    assert caught.value.found == "10,001 firings, at last between exp(%x) and log(%x)"
    assert limits.rewrites == 1_000_000


def test_a_rule_that_changes_the_type_is_caught() -> None:
    table = RuleTable("wrong")
    table.rule("wrong", op("exp", any_("x")))(lambda m: relay.reshape(m["x"], newshape=(-1,)))
    with pytest.raises(WorkbenchError, match="changed the type"):
        apply_rules(relay.exp(x_of(2, 3)), table)


def test_unknown_rule() -> None:
    with pytest.raises(WorkbenchError, match="has no rule 'exp-log'"):
        TABLE["exp-log"]


def test_clauses_read_as_text() -> None:
    table = RuleTable("clauses")
    clause = where("x has two axes", lambda m: len(m["x"].checked_type.shape) == 2, lambda m: m["x"].checked_type)
    table.rule("r", op("exp", any_("x")), when=[clause])(lambda m: m["x"])
    assert str(why_not(table["r"], relay.exp(x_of(5)))) == "x has two axes; found Tensor[(5), float32]"


def test_origins_are_all_that_was_matched() -> None:
    x = x_of(2)
    inner = relay.clip(x, a_min=0.0, a_max=3.0)
    outer = relay.clip(inner, a_min=-1.0, a_max=2.0)
    with origin.recording(post_order(outer)) as origins:
        made = apply_rules(outer, RULES)
    assert origins.of(made) == {inner, outer}


def test_a_driver_that_is_told_no_heads_tries_every_rule() -> None:
    """It took a node's class for its head, which no pattern of an operator fits: nothing fired, and nobody heard."""
    x = x_of(2)
    assert Driver(RULES).run(relay.negative(relay.negative(x))) is x


@pytest.mark.nightly
def test_long_chain_under_a_driver() -> None:
    x = x_of(2)
    value: e.Expr = x
    for _ in range(20_000):
        value = relay.negative(value)
    assert Driver(RULES).run(value) is x
