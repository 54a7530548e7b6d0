"""A layer of one session beside the same of another."""

from __future__ import annotations

import numpy as np

import workbench as wb
from tests.schedule.programs import plain_matmul
from workbench import relay
from workbench.schedule import Schedule
from workbench.views.compared import _alike, compared, counterpart
from workbench.views.layers import LayersModel


def test_what_a_compiler_numbers_anew_is_no_difference() -> None:
    """A remark in the loops changes lines of debug information and nothing that is computed."""
    plain = wb.open(Schedule(plain_matmul(16, 16, 16)))
    schedule = plain.schedule("main")
    schedule.annotate(schedule.get_block("C"), "remark", "x")
    other = plain.edit(schedule={"main": schedule})
    found = compared(LayersModel(plain), LayersModel(other), "asm", "main")
    assert found.hunks == ()
    schedule.parallel(schedule.get_loops("C")[0])
    parallel = plain.edit(schedule={"main": schedule})
    assert compared(LayersModel(plain), LayersModel(parallel), "asm", "main").added > 0


def test_a_kernel_called_like_an_instruction_hides_no_difference() -> None:
    """In `add`, vaddps was v@ps; in `exp`, a call of llvm.exp was one of llvm.log in `log`."""
    lines = ["vaddps ymm0", "call llvm.add.f32", "ladder:", "add:", ".size add, 3", "  call add_0123456789ab"]
    assert _alike(lines, "asm", "add") == [*lines[:3], "@:", ".size", "  call @"]


def test_kernels_are_beside_each_other_by_what_they_do() -> None:
    """Names are numbered in each program: a kernel of its own for the first clip gives the others further numbers."""
    x = relay.var("x", shape=(1, 4, 8, 8))
    w = relay.const(np.ones((4, 4, 3, 3), np.float32))
    y = x
    for a_max in (6.0, 6.0, 5.0):
        y = relay.clip(relay.nn.conv2d(y, w, padding=(1, 1)), a_min=0.0, a_max=a_max)
    session = wb.open(relay.Function([x], y))
    edited = session.edit(relay=session.relay.script().replace("a_max=6.0", "a_max=3.0", 1))
    one, other = LayersModel(session), LayersModel(edited)
    name = "fused_nn_conv2d_clip"
    beside = {kernel: counterpart(one, other, kernel) for kernel in edited.kernels}
    assert beside == {name: name, f"{name}_1": name, f"{name}_2": f"{name}_1"}
    last = compared(one, other, "schedule", f"{name}_2")
    assert last.beside == f"{name}_1" and (last.removed, last.added) == (1, 1), "the name alone"
    for layer in ("asm", "llvm"):  # where symbols, files and sizes are named after it
        assert compared(one, other, layer, f"{name}_1").hunks == ()
        assert len(compared(one, other, layer, name).hunks) == 1, "the limit of its clip"


def test_kernels_are_beside_each_other_by_the_arithmetic_that_they_share() -> None:
    """Each call counted as much: a convolution's kernel that serves two calls was less alike than the clip behind."""
    w = relay.const(np.ones((4, 4, 3, 3), np.float32))
    y = x = relay.var("x", shape=(1, 4, 8, 8))
    for a_max in (6.0, 5.0):
        y = relay.clip(relay.nn.conv2d(y, w, padding=(1, 1)), a_min=0.0, a_max=a_max)
    y = relay.sigmoid(relay.nn.max_pool2d(y, pool_size=(3, 3)))
    session = wb.open(relay.Function([x], relay.transpose(y, axes=(0, 2, 3, 1))))
    fused, apart = LayersModel(session), LayersModel(session.without("FuseOps"))
    beside = {kernel: counterpart(apart, fused, kernel) for kernel in fused.session.kernels}
    assert beside == {
        "fused_nn_conv2d_clip": "fused_nn_conv2d",
        "fused_nn_conv2d_clip_1": "fused_nn_conv2d",
        "fused_nn_max_pool2d_sigmoid": "fused_nn_max_pool2d",
        "fused_transpose": "fused_transpose",
    }, "transposing is no arithmetic, and done all the same"
    back = {kernel: counterpart(fused, apart, kernel) for kernel in apart.session.kernels}
    assert back == {
        "fused_nn_conv2d": "fused_nn_conv2d_clip",
        "fused_clip": "fused_nn_conv2d_clip",
        "fused_clip_1": "fused_nn_conv2d_clip_1",
        "fused_nn_max_pool2d": "fused_nn_max_pool2d_sigmoid",
        "fused_sigmoid": "fused_nn_max_pool2d_sigmoid",
        "fused_transpose": "fused_transpose",
    }


def test_what_code_loads_and_jumps_to_and_the_numbers_of_arm_are_differences() -> None:
    """Numbers of labels and of metadata stand for something; on ARM "#" begins a number and no remark."""
    from workbench.views.compared import _alike

    pairs = (
        ("asm", "vmovaps .LCPI0_0(%rip), %ymm0", "vmovaps .LCPI0_1(%rip), %ymm0"),
        ("asm", "jne .LBB0_3", "jne .LBB0_5"),
        ("asm", "add x0, x0, #4", "add x0, x0, #8"),
        ("llvm", "load float, ptr %1, !tbaa !4", "load float, ptr %1, !tbaa !5"),
        ("asm", '.asciz "unit # 1"', '.asciz "unit # 2"'),
        ("llvm", 'c"!dbg !1\\00"', 'c"!dbg !2\\00"'),
    )
    for layer, one, other in pairs:
        assert _alike([one], layer) != _alike([other], layer)
    assert _alike(["subq $8, %rsp  # imm = 0x8", ".Ltmp3:"], "asm") == _alike(["subq $8, %rsp", ".Ltmp9:"], "asm")
