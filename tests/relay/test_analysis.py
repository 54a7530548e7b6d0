"""Classic names: relay.analysis and relay.testing."""

from __future__ import annotations

import pytest

from tests.relay.programs import mixed_function, network
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.relay import analysis, transform
from workbench.relay.ir import expr as e
from workbench.relay.testing import run_infer_type, run_opt_pass


def test_variables() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    function = e.Function((x,), relay.add(x, y))
    assert analysis.free_vars(function) == [y] and analysis.bound_vars(function) == [x]
    assert set(analysis.all_vars(function)) == {x, y}
    assert [variable.name_hint for variable in analysis.bound_vars(mixed_function())].count("x") == 2


def test_counts_and_dtypes() -> None:
    assert analysis.list_op_freqs(network())["nn.conv2d"] == 2
    assert analysis.all_dtypes(run_infer_type(network()["main"])) == {"float32"}
    visited: list[e.Expr] = []
    analysis.post_order_visit(network()["main"].body, visited.append)
    assert len(visited) == len({id(expr) for expr in visited})


def test_run_opt_pass_on_expressions_and_functions() -> None:
    x = relay.var("x", shape=(2,))
    doubled = relay.negative(relay.negative(x))
    assert run_opt_pass(doubled, transform.SimplifyExpr()) is x
    assert run_opt_pass(e.Function((x,), doubled), [transform.SimplifyExpr()]).body is x
    with pytest.raises(WorkbenchError, match="no prelude"):
        run_opt_pass(doubled, transform.SimplifyExpr(), import_prelude=True)


def test_names_of_the_package() -> None:
    func = relay.parse("def @main(%x: Tensor[(2), float32]) { exp(%x) }")["main"]
    assert relay.astext(func).startswith("#[version") and relay.analysis.well_formed(func)
    assert relay.parse_expr("fn (%x: float32) { %x }").params[0].name_hint == "x"
