"""te.Schedule and te.Stage as handles: what they show, how they compare, and that they are values underneath."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.property.stage_orders import chain, convolution, matmul
from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule as LoopSchedule
from workbench.schedule.stages import StageError


def test_stages_and_their_places() -> None:
    a, b, d = matmul()
    c = d.op.body[0].a.producer
    s = te.create_schedule(d.op)
    assert isinstance(s, te.Schedule) and all(isinstance(stage, te.Stage) for stage in s.stages)
    assert [stage.op for stage in s.stages] == [a.op, b.op, c.op, d.op] and s.outputs == [d.op]
    assert s[c] == s[c.op] == s.stage_map[c.op] and s[c] != s[d] and len({s[c], s[c.op]}) == 1
    assert s[d].is_output and not s[c].is_output
    assert [s[c].attach_type, s[c].attach_stage, s[c].attach_ivar] == ["root", None, None]
    s[c].compute_at(s[d], d.op.axis[0])
    assert s[c].attach_type == "scope" and s[c].attach_stage == s[d] and s[c].attach_ivar is d.op.axis[0]
    s[c].compute_inline()
    assert s[c].attach_type == "inline"
    s[c].set_scope("local")
    assert (s[c].scope, s[d].scope) == ("local", "global")
    assert "C" in repr(s) and "stage(D: i, j)" == repr(s[d])


def test_loops_are_handles() -> None:
    _, _, d = matmul()
    s = te.create_schedule([d])
    i, j = d.op.axis
    xo, yo, xi, yi = s[d].tile(i, j, 4, 3)
    assert all(one is other for one, other in zip(s[d].leaf_iter_vars, (xo, yo, xi, yi), strict=True))
    assert len(s[d].all_iter_vars) == 6 and s[d].all_iter_vars[0] is i
    assert [axis.var.name for axis in (xo, yi)] == ["i.outer", "j.inner"]
    assert [axis.dom.extent.value for axis in (xo, yo, xi, yi)] == [2, 3, 4, 3]
    assert [type(relation).__name__ for relation in s[d].relations] == ["Split", "Split"]
    assert s[d].fuse(xi, yi).dom.extent.value == 12


def test_caches_give_stages_with_axes() -> None:
    a, _, d = matmul()
    c = d.op.body[0].a.producer
    s = te.create_schedule(d.op)
    i, j = c.op.axis
    cache = s.cache_write(c, "local")
    assert s[cache].op is cache.op and s[cache].scope == "local" and len(s[cache].op.axis) == 2
    assert s[cache].op.reduce_axis[0] is c.op.reduce_axis[0] and s[c].op.reduce_axis == ()
    assert s[c].op.axis[0] is i and s[c].op.axis[1] is j and s[cache].op.axis[0] is not i
    assert s[c].origin_op is c.op and s[c].op is not c.op
    copy = s.cache_read(a, "shared", cache)
    assert [stage.op.name for stage in s.stages] == ["A", "B", "A.shared", "C.local", "C", "D"]
    assert copy.shape == a.shape and s[copy].attach_type == "root"


def test_a_schedule_keeps_nothing_of_its_copy() -> None:
    a, b, d = matmul()
    s = te.create_schedule(d.op)
    other = s.normalize()
    other[d].split(d.op.axis[0], factor=2)
    assert len(s[d].leaf_iter_vars) == 2 and len(other[d].leaf_iter_vars) == 3
    first = s.to_schedule([a, b, d])
    s[d].vectorize(d.op.axis[1])
    assert "vectorized" not in first.script() and "vectorized" in s.script([a, b, d])
    before = s.recorded
    s[d].unroll(d.op.axis[0])
    s.restore(before)
    assert "unroll" not in s.script()


def test_the_last_place_and_the_last_kind_count() -> None:
    x, four = chain()
    s = te.create_schedule(four.op)
    one = next(stage for stage in s.stages if stage.op.name == "one")
    _, j = four.op.axis
    one.compute_inline()
    one.compute_root()
    s[four].unroll(j)
    s[four].vectorize(j)
    text = s.script([x, four])
    assert 'T.block("one")' in text and "vectorized" in text and "unroll" not in text


def test_what_it_leads_to_is_a_schedule_of_the_engine() -> None:
    *args, relu = convolution()
    s = te.create_schedule(relu.op)
    o, y, _ = relu.op.axis
    s[relu].parallel(s[relu].fuse(o, y))
    schedule = s.to_schedule([*args, relu], name="conv")
    assert isinstance(schedule, LoopSchedule) and schedule.func_working_on == "conv"
    assert [step.primitive for step in s.trace.steps][-1] == "decompose_reduction"
    again = LoopSchedule(te.create_prim_func([*args, relu], name="conv"))
    schedule.trace.apply_to(again)
    assert again.script() == schedule.script()
    schedule.undo()
    assert s.to_schedule([*args, relu], name="conv").script() == again.script()
    assert "text/html" in s._repr_mimebundle_() and "T.parallel" in s._repr_mimebundle_()["text/plain"]


def test_show_prints_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, d = matmul()
    te.create_schedule(d.op).show()
    assert 'T.block("D")' in capsys.readouterr().out


def test_a_long_chain_of_stages() -> None:
    x = te.placeholder((4,), name="X")
    last = x
    for number in range(500):
        last = te.compute((4,), lambda i, last=last: last[i] + 1.0, name=f"s{number}")
    s = te.create_schedule(last.op)
    assert len(s.stages) == 501 and len(repr(s).splitlines()) == 501
    s[last].split(last.op.axis[0], factor=2)
    assert 'T.block("s499")' in s.script([x, last])


# --- lower and build ----------------------------------------------------------------------------------------------


def run(module: wb.runtime.Module) -> None:
    a, b = (np.random.default_rng(0).integers(-3, 4, shape).astype("float32") for shape in ((6, 7), (7, 8)))
    for function in (module["product"], module.entry_func, module):
        d = np.zeros((6, 8), "float32")
        function(a, b, d)
        np.testing.assert_array_equal(d, a @ b + 1)


def test_lower_and_build() -> None:
    args = matmul()
    s = te.create_schedule(args[-1].op)
    s[args[-1]].vectorize(args[-1].op.axis[1])
    lowered = wb.lower(s, args, name="product", simple_mode=True)
    assert isinstance(lowered, wb.IRModule) and list(lowered.names()) == ["product"] and "T.ramp" in str(lowered)
    module = wb.build(s, args, "llvm", name="product")
    run(module)
    assert module.entry_name == "product" and "product" in module.get_source()
    a, b, d = np.zeros((6, 7), "float32"), np.zeros((7, 8), "float32"), np.zeros((6, 8), "float32")
    assert module.time_evaluator("product", wb.cpu(0), number=2)(a, b, d).mean > 0


def test_build_of_all_kinds() -> None:
    args = matmul()
    function = te.create_prim_func(args, name="product")
    schedule = te.create_schedule(args[-1].op)
    for program in (function, LoopSchedule(function), wb.IRModule({"product": function})):
        run(wb.build(program, target="llvm"))
        assert "product" in str(wb.lower(program))
    for program in (args, schedule):
        run(wb.build(program, args, name="product") if program is schedule else wb.build(program, name="product"))


def test_a_schedule_opens_as_a_session() -> None:
    args = matmul()
    s = te.create_schedule(args[-1].op)
    s[args[-1]].vectorize(args[-1].op.axis[1])
    a, b = np.ones((6, 7), "float32"), np.ones((7, 8), "float32")
    for program in (s, s.to_schedule()):
        session = wb.open(program)
        np.testing.assert_array_equal(session.run({"A": a, "B": b})["D"], a @ b + 1)
        assert "T.vectorized" in session.tir["main"].script()


def test_lower_is_the_package_too() -> None:
    """`workbench.lower` is a package and, as of old, a function; whichever came first."""
    import workbench.lower as package

    assert package.Lowered is not None and wb.lower is package
    args = matmul()
    assert "main" in str(package(te.create_schedule(args[-1].op), args))  # type: ignore[operator]


def test_refusals_of_build() -> None:
    args = matmul()
    s = te.create_schedule(args[-1].op)
    for attempt, code in (
        (lambda: wb.build(s, args, "cuda"), "E-BUILD-TARGET"),
        (lambda: wb.build(s, args, binds={args[0]: 1}), "E-BUILD-BINDS"),
        (lambda: wb.lower(args[-1].op, args), "E-BUILD-KIND"),
        (lambda: wb.lower(s, args[:2]), "E-STAGE-ARGS"),
    ):
        with pytest.raises(WorkbenchError) as caught:
            attempt()
        assert caught.value.code == code and caught.value.found
    s[args[-1]].bind(args[-1].op.axis[0], te.thread_axis("threadIdx.x"))
    assert "thread_binding" in str(wb.lower(s, args))
    with pytest.raises(WorkbenchError) as caught:
        wb.build(s, args, "llvm")
    assert caught.value.code == "E-CODEGEN-LOOP"


def test_the_reader_of_a_refusal_sees_the_call(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, d = matmul()
    c = d.op.body[0].a.producer
    s = te.create_schedule(d.op)
    s[c].vectorize(c.op.reduce_axis[0])  # the line to blame
    with pytest.raises(StageError) as caught:
        s.show()
    error = caught.value
    assert "test_handles.py" in error.where and "the line to blame" in error.where
    assert error.cause is not None and error.witness is not None and "sch.vectorize(j)" in error.fix
