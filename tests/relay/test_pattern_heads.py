"""What a pattern says of a node's head: it may be wrong on one side only, or a rule would not fire in silence."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

import workbench as wb
from tests.driver.programs import small_model
from tests.nightly import some
from workbench import relay
from workbench.core.node import Node, post_order
from workbench.core.rewrite import Driver, Failure, RuleTable
from workbench.relay import transforms
from workbench.relay.ir.expr import Call, Constant, If, Tuple, TupleGetItem
from workbench.relay.ir.operator import Operator
from workbench.relay.patterns import any_, constant, head_of, item, op, operators, tuple_of


def tables() -> dict[str, RuleTable]:
    """The tables of rules of the graph's passes."""
    modules = [import_module(found.name) for found in iter_modules(transforms.__path__, f"{transforms.__name__}.")]
    return {
        f"{module.__name__.rsplit('.', 1)[-1]}.{name}": value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, RuleTable)
    }


def programs() -> Iterator[Node]:
    session = wb.open(small_model())
    for handle in session.steps:
        if handle.step.action.level == "relay":
            yield handle.after["main"]
    x = relay.var("x", shape=(2, 3))
    pair = relay.Tuple([relay.shape_of(x), relay.add(relay.const([[0.0] * 3] * 2), x)])
    chosen = If(relay.const(True), TupleGetItem(pair, 1), relay.reshape(relay.zeros((6,), "float32"), (2, 3)))
    module = wb.IRModule.from_expr(relay.Function([x], relay.multiply(chosen, relay.const(1.0))))
    yield relay.transform.InferType()(module)["main"]


@pytest.mark.parametrize("name", some(sorted(tables()), 3))
def test_a_rule_that_would_match_is_tried(name: str) -> None:
    met = 0
    for program in programs():
        for node in post_order(program):
            head = head_of(node)
            for rule in tables()[name]:
                fits = getattr(rule.pattern, "fits", None)
                if not isinstance(rule.match(node), Failure):
                    met += 1
                    assert fits is None or fits(head), f"{rule.name} matches {node!r}, and says that it fits none"
    assert met or name not in ("fold_constant.RULES", "simplify_inference.RULES", "simplify_expr.RULES")


@pytest.mark.parametrize(
    ("pattern", "fitting"),
    [
        (op("add", any_()), {"add"}),
        (op(("add", "exp")), {"add", "exp"}),
        (op(operators("any", lambda operator: True)), {"add", "exp"}),
        (constant(), {Constant}),
        (tuple_of(any_()), {Tuple}),
        (item(any_()), {TupleGetItem}),
    ],
)
def test_heads(pattern: Any, fitting: set[Any]) -> None:
    assert {head for head in ("add", "exp", Constant, Tuple, TupleGetItem, If) if pattern.fits(head)} == fitting


def test_a_pattern_of_a_person_that_says_nothing_is_tried_everywhere() -> None:
    table = RuleTable("mine")

    class Calls:
        def match(self, node: Node, match: Any) -> Failure | None:
            return None if isinstance(node, Call) and isinstance(node.op, Operator) else Failure("a call", "none")

    seen: list[str] = []

    @table.rule("look", Calls())
    def look(m: Any) -> None:
        seen.append(m.root.op.name)

    x = relay.var("x", shape=(2, 3))
    Driver(table, head=head_of).run(relay.Function([x], relay.exp(relay.tanh(x))))
    assert seen == ["tanh", "exp"]
