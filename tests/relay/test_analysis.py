"""Classic names: relay.analysis and relay.testing."""

from __future__ import annotations

import pytest

from tests.relay.programs import list_module, mixed_function, network
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


def residual() -> e.Function:
    x = relay.var("x", shape=(1, 4, 8, 8))
    weights = [relay.var(f"w{index}", shape=(4, 4, 3, 3)) for index in range(2)]
    first = relay.nn.relu(relay.nn.conv2d(x, weights[0], padding=(1, 1)))
    second = relay.nn.conv2d(first, weights[1], padding=(1, 1))
    return e.Function((x, *weights), relay.nn.relu(relay.add(second, first)))


def test_layers_and_multiplications() -> None:
    function = residual()
    assert analysis.count_layers(function, ["nn.conv2d"]) == 2
    assert analysis.count_layers(function, {"nn.relu", "nn.conv2d"}) == 4
    assert analysis.get_total_mac_number(function) == 2 * (4 * 8 * 8) * (4 * 3 * 3)
    x, w = relay.var("x", shape=(5, 6)), relay.var("w", shape=(7, 6))
    assert analysis.get_total_mac_number(relay.nn.dense(x, w)) == 5 * 6 * 7


def test_features() -> None:
    found = analysis.detect_feature(residual())
    assert found == {analysis.Feature[name] for name in ("fVar", "fFunction", "fOp", "fCall", "fGraph")}
    assert analysis.Feature.fMatch in analysis.detect_feature(list_module())
    loop = relay.var("loop")
    x = relay.var("x", shape=())
    recursive = e.Let(loop, e.Function((x,), e.Call(loop, (x,))), loop)
    assert analysis.Feature.fLetRec in analysis.detect_feature(recursive)


def test_forms() -> None:
    assert analysis.check_constant(e.Tuple((relay.const(1), relay.const(2.0))))
    assert not analysis.check_constant(relay.var("x"))
    x, c = relay.var("x", shape=(2,)), relay.var("c", shape=(), dtype="bool")
    shared = relay.tanh(x)
    inside = e.If(c, relay.tanh(x), x)
    across = e.If(c, shared, relay.negative(shared))
    assert analysis.check_basic_block_normal_form(e.Function((x, c), inside))
    assert not analysis.check_basic_block_normal_form(e.Function((x, c), across))
    assert not analysis.check_basic_block_normal_form(e.Function((x, c), relay.add(shared, e.If(c, shared, x))))


def test_kinds_and_type_variables() -> None:
    a = relay.TypeVar("a")
    function = relay.FuncType((a,), a, (a,))
    assert analysis.check_kind(function) is relay.TypeKind.TYPE
    assert analysis.bound_type_vars(function) == [a] and analysis.free_type_vars(a) == [a]
    shape = relay.TypeVar("s", relay.TypeKind.SHAPE_VAR)
    assert analysis.check_kind(shape) is relay.TypeKind.SHAPE_VAR
    with pytest.raises(WorkbenchError, match="only types of values"):
        analysis.check_kind(relay.TupleType([shape]))
    listed = relay.TypeCall(relay.GlobalTypeVar("Nope"), (relay.scalar_type("float32"),))
    with pytest.raises(WorkbenchError, match="does not fit"):
        analysis.check_kind(listed, list_module())


def test_pieces_of_programs() -> None:
    mod = transform.InferType()(relay.IRModule.from_expr(residual()))
    names = analysis.extract_fused_functions(mod)
    assert all(function.is_primitive for function in names.values()) and any("nn_conv2d" in name for name in names)
    piece = analysis.extract_intermdeiate_expr(mod, 1)
    assert piece["main"].body.op.name == "nn.relu" and len(piece["main"].params) == 2
    with pytest.raises(WorkbenchError, match="no expression 99"):
        analysis.extract_intermdeiate_expr(mod, 99)
    x, w = relay.var("x", shape=(2, 3)), relay.var("weight", shape=(3, 4))
    assert analysis.search_fc_transpose(relay.nn.dense(x, relay.transpose(w))) == ["weight"]
    assert analysis.alpha_equal(residual(), residual())
