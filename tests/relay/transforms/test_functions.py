"""Passes over functions and blocks: Inline, LambdaLift, EtaExpand, RemoveUnusedFunctions, ToBasicBlockNormalForm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.nightly import examples
from tests.relay.generate import assert_close, inputs_of, programs
from tests.relay.programs import list_module, sum_module
from workbench import relay
from workbench.core import rewrite
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.node import FrozenMap
from workbench.relay import transform
from workbench.relay.interpret import interpret
from workbench.relay.ir import expr as e
from workbench.relay.ir import types as t
from workbench.relay.ir.infer import infer_type
from workbench.relay.ir.plan import expressions
from workbench.relay.ir.script import script
from workbench.relay.ir.verify import verify

VECTOR = np.arange(3, dtype="float32")


def vector(name: str = "x") -> e.Var:
    return relay.var(name, shape=(3,))


def marked() -> IRModule:
    """main calls twice(twice(x)), which calls add_one; both are marked."""
    a, b, x = vector("a"), vector("b"), vector()
    mark = FrozenMap({"Inline": 1})
    inner = e.Var("inner")
    add_one = e.Function((a,), e.Let(inner, relay.add(a, e.const(1.0)), inner), None, (), mark)
    twice = e.Function((b,), e.Call(e.GlobalVar("add_one"), (e.Call(e.GlobalVar("add_one"), (b,)),)), None, (), mark)
    main = e.Function((x,), e.Call(e.GlobalVar("twice"), (e.Call(e.GlobalVar("twice"), (x,)),)))
    return infer_type(IRModule({"add_one": add_one, "twice": twice, "main": main}))


def closures() -> IRModule:
    """A closure called on the spot, one used as a value, one that calls itself, one inside another."""
    x, y = vector(), vector("y")
    a, b, c, f, n = vector("a"), vector("b"), vector("c"), e.Var("f"), e.Var("n", t.scalar_type("int32"))
    shared = relay.exp(y)
    called = e.Call(e.Function((a,), relay.add(a, shared)), (x,))
    value = e.If(relay.less(relay.mean(x), e.const(0.0)), e.Function((b,), relay.multiply(b, y)),
                 e.Function((c,), relay.negative(c)))  # fmt: skip
    smaller = e.Call(f, (relay.subtract(n, e.const(1)),))
    step = relay.op.get("add")()
    loop = e.Function((n,), e.If(relay.less(n, e.const(1)), x, e.Call(step, (smaller, y))), t.TensorType((3,)))
    recursive = e.Let(f, loop, e.Call(f, (e.const(3),)))
    outer, inner = vector("outer"), vector("inner")
    nested = e.Call(
        e.Function((outer,), e.Call(e.Function((inner,), relay.subtract(inner, outer)), (relay.tanh(outer),))), (x,)
    )
    return infer_type(
        IRModule({"main": e.Function((x, y), e.Tuple((called, e.Call(value, (x,)), recursive, nested, shared)))})
    )


def shared_by_blocks() -> IRModule:
    x = vector()
    both = relay.exp(x)
    return infer_type(
        IRModule.from_expr(e.If(relay.less(relay.mean(x), e.const(0.0)), relay.tanh(both), relay.negative(both)))
    )


def as_values() -> IRModule:
    """A function of the module and a constructor, used as values."""
    mod = list_module()
    cons = e.Constructor("Cons", "List")
    x, head, tail = vector(), e.Var("head", t.TensorType((3,))), e.Var("tail")
    apply, g, item = e.Var("apply"), e.Var("g"), vector("item")
    del head, tail
    double = e.Function((item,), relay.add(item, item), t.TensorType((3,)))
    function = t.FuncType((t.TensorType((3,)),), t.TensorType((3,)))
    g = e.Var("g", function)
    applied = e.Function((g,), e.Call(g, (x,)))
    body = e.Let(apply, applied, e.Tuple((e.Call(apply, (e.GlobalVar("double"),)), cons)))
    made = mod.with_functions({"double": double, "main": e.Function((x,), body)})
    return infer_type(made.with_only({"double": made["double"], "main": made["main"]}))


def unreached() -> IRModule:
    return sum_module().with_functions({name: marked()[name] for name in ("add_one", "twice")})


CASES = {
    "Inline": (transform.Inline(), marked),
    "LambdaLift": (transform.LambdaLift(), closures),
    "ToBasicBlockNormalForm": (transform.ToBasicBlockNormalForm(), shared_by_blocks),
    "EtaExpand": (transform.EtaExpand(expand_constructor=True, expand_global_var=True), as_values),
    "RemoveUnusedFunctions": (transform.RemoveUnusedFunctions(), unreached),
}


@pytest.mark.parametrize("name", CASES)
def test_before_and_after(name: str, golden) -> None:
    chosen, build = CASES[name]
    mod = build()
    with rewrite.logging() as log:
        after = chosen(mod)
    assert verify(after) == []
    golden(f"{script(mod)}\n# {name}: {'; '.join(firing.rule.name for firing in log)}\n\n{script(after)}", suffix=".py")
    assert chosen(after).same(after)


@pytest.mark.parametrize("name", ["Inline", "LambdaLift", "ToBasicBlockNormalForm"])
def test_meaning_stays(name: str) -> None:
    chosen, build = CASES[name]
    mod = build()
    inputs = [VECTOR] * len(mod["main"].params)
    assert_close(interpret(chosen(mod), *inputs), interpret(mod, *inputs), 0.0)


@settings(max_examples=examples(30))
@given(function=programs())
def test_lifted_programs_have_no_closures(function: e.Function) -> None:
    mod = infer_type(IRModule({"main": function}))
    made = transform.LambdaLift()(mod)
    assert not any(isinstance(expr, e.Function) and expr is not made["main"] for expr in expressions(made["main"]))
    inputs = inputs_of(function)
    assert_close(interpret(made, *inputs), interpret(mod, *inputs), 0.0)


def test_recursion_is_not_inlined() -> None:
    mod = sum_module()
    made = mod.with_functions({"sum": mod["sum"].replace(attrs=FrozenMap({"Inline": 1}))})
    assert transform.Inline()(made).same(made)


def test_inlined_twice_means_two_cells() -> None:
    """A body with an effect is copied for each call."""
    cell = e.Function((), e.RefCreate(e.const(1.0)), None, (), FrozenMap({"Inline": 1}))
    one, other, unit = e.Var("one"), e.Var("other"), e.Var("unit")
    make = e.Call(e.GlobalVar("cell"), ())
    again = e.Call(e.GlobalVar("cell"), ())
    body = e.Let(one, make, e.Let(other, again, e.Let(unit, e.RefWrite(one, e.const(5.0)), e.RefRead(other))))
    mod = infer_type(IRModule({"cell": cell, "main": e.Function((), body)}))
    made = transform.Inline()(mod)
    assert made.names() == ("main",) and float(interpret(made)) == float(interpret(mod)) == 1.0


def test_types_are_found_for_a_pass_that_forgets() -> None:
    """Whatever a pass builds without types has them when it is done."""
    from workbench.core.node import substitute
    from workbench.core.transform import function_pass

    @function_pass(opt_level=0, name="Forgetful", required=["InferType"], applies_to=e.Function)
    def forgetful(func, mod, ctx):
        param = e.Var("renamed", func.params[0].checked_type)
        return e.Function((param,), substitute(func.body, {func.params[0]: param}))

    made = forgetful(IRModule.from_expr(relay.tanh(relay.add(vector(), vector()))))
    assert made["main"].body.checked_type == t.TensorType((3,))


@pytest.mark.parametrize("entry", ["mian", ["main", "mian"]])
def test_unknown_entry_is_refused(entry: object) -> None:
    with pytest.raises(WorkbenchError, match="no function 'mian'") as caught:
        transform.RemoveUnusedFunctions(entry_functions=entry)(sum_module())
    assert caught.value.code == "E-PASS-ENTRY" and "main" in caught.value.fix


def test_entries_are_kept() -> None:
    mod = sum_module().with_functions(marked().functions)
    assert transform.RemoveUnusedFunctions(["add_one", "sum"])(mod).names() == ("sum", "add_one")


def test_as_a_sequence() -> None:
    passes = [transform.Inline(), transform.LambdaLift(), transform.RemoveUnusedFunctions()]
    made = transform.Sequential(passes)(marked())
    assert made.names() == ("main",)
