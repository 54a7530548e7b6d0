"""Listings: which statement each line is of, and texts whose values are called as is wished."""

from __future__ import annotations

import pytest

from tests.property.relay_programs import random_program
from workbench import relay
from workbench.core.equal import structural_equal
from workbench.relay.ir import expr as e
from workbench.relay.ir.listing import fragment, listing
from workbench.relay.ir.script import constants_of, parse, text


def two_steps() -> e.Function:
    x = relay.var("x", shape=(4,), dtype="float32")
    return relay.Function([x], relay.nn.relu(relay.exp(x)))


def test_lines_belong_to_statements() -> None:
    function = two_steps()
    found = listing(function)
    assert [found.lines_of(one) for one in found.statements] == [["    v0 = R.exp(x)"], ["    v1 = R.nn.relu(v0)"]]
    assert found.lines_of(None)[-1] == "    return v1" and "def main(" in found.lines_of(None)[1]


def test_what_is_written_inside_of_a_statement_belongs_to_it() -> None:
    x = relay.var("x", shape=(4, 2), dtype="float32")
    parts = relay.split(x, 2, axis=1)
    function = relay.Function([x], relay.add(parts[0], parts[1]))
    found = listing(function)
    assert [type(one).__name__ for one in found.statements] == ["Call", "Call"]
    assert all(found.statement_of[id(field)] is function.body for field in function.body.args)


def test_a_kernel_is_one_statement() -> None:
    p = relay.var("p", shape=(4,), dtype="float32")
    kernel = relay.Function([p], relay.exp(p)).with_attr("Primitive", 1)
    x = relay.var("x", shape=(4,), dtype="float32")
    found = listing(relay.Function([x], relay.Call(kernel, [x])))
    assert [type(one).__name__ for one in found.statements] == ["Function", "Call"]
    assert len(found.lines_of(kernel)) == 4 and found.statement_of[id(kernel.body)] is kernel


def test_wishes_are_taken_where_they_are_free() -> None:
    function = two_steps()
    first = function.body.args[0]
    named = listing(function, wishes={id(first): "v7"}, spared={"v0", "v1"})
    assert named.lines[2:] == ["    v7 = R.exp(x)", "    v2 = R.nn.relu(v7)", "    return v2"]
    taken = listing(function, wishes={id(first): "x", id(function.body): "x"})
    assert taken.lines[2:] == ["    x_1 = R.exp(x)", "    x_2 = R.nn.relu(x_1)", "    return x_2"]


@pytest.mark.parametrize("seed", range(60))
def test_every_line_has_one_owner_and_any_names_parse_back(seed: int) -> None:
    for name, function in random_program(seed).mod.functions.items():
        found = listing(function, name)
        assert found.text.text == text(function, name).text
        owned = sorted(number for one in [None, *found.statements] for number in found.numbers_of(one))
        assert owned == list(range(len(found.lines)))
        wishes = {id(one): f"v{99 - place}" for place, one in enumerate(found.statements[:90])}
        renamed = listing(function, name, wishes, {"v0", "v1", "v2"})
        assert structural_equal(parse(renamed.text.text, constants=constants_of(function)), function)


# --- pieces ---


def test_a_piece_names_what_is_around_it() -> None:
    x = relay.var("x", shape=(4,), dtype="float32")
    first = relay.exp(x)
    second = relay.add(first, x)
    third = relay.nn.relu(second)
    names = {id(first): "v7", id(second): "v8", id(third): "v9"}

    def called(expr: e.Expr) -> str | None:
        return names.get(id(expr))

    assert fragment(third, {id(second)}, called) == ["v8 = R.add(v7, x)", "v9 = R.nn.relu(v8)"]
    assert fragment(third, set(), called) == ["v9 = R.nn.relu(v8)"]
    assert fragment(third, {id(second)}, lambda expr: None) == ["v0 = R.add(exp, x)", "v1 = R.nn.relu(v0)"]
    spared = fragment(third, {id(second)}, lambda expr: None, {"v0"})
    assert spared == ["v1 = R.add(exp, x)", "v2 = R.nn.relu(v1)"]
    assert fragment(x, set(), called) == ["%x"]


def test_a_piece_that_is_no_statement_is_given_its_name() -> None:
    x = relay.var("x", shape=(4,), dtype="float32")
    pair = relay.Tuple([x, x])
    assert fragment(pair, set(), lambda expr: "v3" if expr is pair else None) == ["v3 = (x, x)"]
    assert fragment(pair, set(), lambda expr: None) == ["(x, x)"]


def test_pieces_of_long_programs_are_short() -> None:
    x = relay.var("x", shape=(4,), dtype="float32")
    end = x
    for _ in range(3_000):
        end = relay.add(end, x)
    assert fragment(end, set(), lambda expr: None) == ["v0 = R.add(add, x)"]
