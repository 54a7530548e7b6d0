"""Two small models that behave like real ones, so that screens are tested without a compiler.

`FakePipeline` is a list of texts with rewrites between them; `FakeSchedule` is a matmul whose loops can be
split, reordered, vectorised and so on, by rules simple enough to be seen right at a glance."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.line_diff import line_hunks
from workbench.ui.models import Side
from workbench.views.schema import (
    Chunk,
    ErrorView,
    HistoryEntry,
    Parameter,
    PipelineView,
    PrimitiveView,
    ReasonsView,
    RewriteSummary,
    RewriteView,
    ScheduleView,
    StepSummary,
    StepView,
    SuggestionsView,
    TextView,
    TreeNode,
)


@dataclass(frozen=True)
class Rewrite:
    """One replacement of text: rule, file and line of the rule, where, old, new, why."""

    rule: str
    source: str
    where: str
    old: str
    new: str
    why: str


@dataclass(frozen=True)
class Pass:
    """A step of the fake: its rewrites change the text of the step before."""

    name: str
    kind: Any
    milliseconds: float
    rewrites: tuple[Rewrite, ...] = ()
    error: ErrorView | None = None
    group: str = ""


IMPORTED = """@R.function
def main(x: Tensor[(1, 3, 224, 224), "float32"]) -> Tensor[(1, 1000), "float32"]:
    v0 = R.nn.conv2d(x, meta["stem_w"], strides=(2, 2), padding=(0, 0, 1, 1))
    v1 = R.nn.batch_norm(v0, meta["stem_g"], meta["stem_b"], meta["stem_m"], meta["stem_v"], epsilon=0.001)
    v2 = R.clip(v1[0], a_min=0.0, a_max=6.0)
    v3 = R.nn.conv2d(v2, meta["b0_dw"], padding=(1, 1, 1, 1), groups=32)
    v4 = R.nn.batch_norm(v3, meta["b0_g"], meta["b0_b"], meta["b0_m"], meta["b0_v"], epsilon=0.001)
    v5 = R.clip(v4[0], a_min=0.0, a_max=6.0)
    v6 = R.add(v5, R.const(0.0))
    v7 = R.multiply(v6, R.const(1.0))
    v8 = R.nn.conv2d(v7, meta["b0_pw"])
    v9 = R.nn.batch_norm(v8, meta["b1_g"], meta["b1_b"], meta["b1_m"], meta["b1_v"], epsilon=0.001)
    v10 = R.nn.global_avg_pool2d(v9[0])
    v11 = R.reshape(v10, newshape=(1, 1280))
    v12 = R.nn.dense(v11, meta["fc_w"], units=1000)
    v13 = R.nn.bias_add(v12, meta["fc_b"])
    v14 = R.nn.softmax(v13, axis=-1)
    return v14
"""


def _unfold_batch_norm(number: int, name: str) -> Rewrite:
    return Rewrite(
        "batch_norm_to_scale_and_shift",
        "simplify_inference.py:58",
        f"v{number}",
        f'R.nn.batch_norm(v{number - 1}, meta["{name}_g"], meta["{name}_b"], meta["{name}_m"], '
        f'meta["{name}_v"], epsilon=0.001)',
        f'R.add(R.multiply(v{number - 1}, meta["{name}_scale"]), meta["{name}_shift"])',
        "In inference mean and variance are constants: the normalisation is one scale and one shift.",
    )


PASSES = (
    Pass("from_onnx", "import", 212.0),
    Pass("InferType", "relay", 9.3),
    Pass(
        "SimplifyInference",
        "relay",
        3.1,
        (_unfold_batch_norm(1, "stem"), _unfold_batch_norm(4, "b0"), _unfold_batch_norm(9, "b1")),
    ),
    Pass(
        "SimplifyExpr",
        "relay",
        2.4,
        (
            Rewrite("add_zero", "simplify_expr.py:31", "v6", "R.add(v5, R.const(0.0))", "v5", "x + 0 is x."),
            Rewrite(
                "multiply_one",
                "simplify_expr.py:37",
                "v7",
                "R.multiply(v6, R.const(1.0))",
                "v6",
                "x * 1 is x.",
            ),
        ),
    ),
    Pass("FoldConstant", "relay", 41.0),
    Pass("EliminateCommonSubexpr", "relay", 0.8),
    Pass(
        "DeadCodeElimination",
        "relay",
        0.6,
        (
            Rewrite("inline_alias", "dead_code.py:22", "v6", "    v6 = v5\n", "", "v6 is another name of v5."),
            Rewrite("inline_alias", "dead_code.py:22", "v7", "    v7 = v6\n", "", "v7 is another name of v5."),
            Rewrite("rename_use", "dead_code.py:29", "v8", "conv2d(v7,", "conv2d(v5,", "The name is gone."),
        ),
    ),
    Pass(
        "FuseOps",
        "relay",
        5.2,
        (
            Rewrite(
                "fuse_elementwise",
                "fuse_ops.py:140",
                "v2",
                "    v2 = R.clip(v1[0], a_min=0.0, a_max=6.0)\n",
                "    v2 = fused_add_multiply_clip(v1)  # one kernel\n",
                "v1 has one user and both are elementwise.",
            ),
        ),
    ),
    Pass("lower", "te", 18.0, group="dense_0"),
    Pass("Simplify", "tir", 1.2, group="dense_0"),
    Pass("VectorizeLoop", "tir", 0.09, group="dense_0"),
    Pass(
        "emit_llvm",
        "codegen",
        64.0,
        error=ErrorView(
            "E-CODEGEN-INTRINSIC",
            "no machine code for tir.erfinv",
            where="kernel dense_0, line 7",
            found="tir.erfinv(float32)",
            expected="an intrinsic of the target llvm",
            fix="disable FastMath, or register a lowering",
        ),
    ),
)


def _names(error_for: str, name: str, known: Sequence[str]) -> WorkbenchError:
    return WorkbenchError("E-STEP-UNKNOWN", f"there is no {error_for}", found=name[:60], expected=", ".join(known))


class FakePipeline:
    """A pipeline of texts; `texts` may be given for tests of size."""

    def __init__(self, passes: Sequence[Pass] = PASSES, start: str = IMPORTED, title: str = "efficientnet_lite0"):
        self.passes = tuple(passes)
        self.title = title
        self.asked: list[tuple[str, Any]] = []
        self.texts = [start]
        for one in self.passes:
            self.texts.append(self._after(self.texts[-1], one.rewrites))
        self.texts[0] = start if self.passes and self.passes[0].kind != "import" else ""
        self.state = hashlib.sha256("\0".join(self.texts).encode()).hexdigest()[:12]

    @staticmethod
    def _after(text: str, rewrites: Sequence[Rewrite]) -> str:
        for rewrite in rewrites:
            text = text.replace(rewrite.old, rewrite.new, 1)
        return text

    def _index(self, step: str) -> int:
        ids = [self._id(number) for number in range(len(self.passes))]
        if step not in ids:
            raise _names("step", step, ids)
        return ids.index(step)

    def _id(self, number: int) -> str:
        return f"s{number}"

    def view(self) -> PipelineView:
        steps = []
        for number, one in enumerate(self.passes):
            before, after = self.texts[number], self.texts[number + 1]
            steps.append(
                StepSummary(
                    id=self._id(number),
                    name=one.name,
                    kind=one.kind,
                    changed=before != after,
                    milliseconds=one.milliseconds,
                    ops_before=before.count("R."),
                    ops_after=after.count("R."),
                    rewrite_count=len(one.rewrites),
                    group=one.group,
                    error=one.error,
                )
            )
        return PipelineView(self.state, tuple(steps), self.title)

    def step(self, step: str) -> StepView:
        self.asked.append(("step", step))
        number = self._index(step)
        before, after = self.texts[number], self.texts[number + 1]
        one = self.passes[number]
        summaries = tuple(RewriteSummary(r.rule, r.source, r.where, 12.5) for r in one.rewrites)
        hunks = line_hunks(before.splitlines(), after.splitlines())
        return StepView(
            step,
            self.state,
            _shortened(before),
            _shortened(after),
            hunks,
            summaries,
            len(summaries),
            call=f'session["{one.name}"]',
        )

    def rewrite(self, step: str, index: int) -> RewriteView:
        self.asked.append(("rewrite", (step, index)))
        number = self._index(step)
        rewrites = self.passes[number].rewrites
        if not 0 <= index < len(rewrites):
            raise _names("rewrite", str(index), [str(i) for i in range(len(rewrites))])
        before = self._after(self.texts[number], rewrites[:index])
        after = self._after(before, rewrites[index : index + 1])
        one = rewrites[index]
        return RewriteView(
            step,
            index,
            RewriteSummary(one.rule, one.source, one.where, 12.5),
            TextView.of(before),
            TextView.of(after),
            line_hunks(before.splitlines(), after.splitlines()),
            one.why,
            (("x", one.where),),
        )

    def text(self, step: str, side: Side, start: int, count: int) -> Chunk:
        self.asked.append(("text", (step, side, start, count)))
        text = self.texts[self._index(step) + (side == "after")]
        return Chunk(start, tuple(text.splitlines()[start : start + count]))


def _shortened(text: str, limit: int = 1000) -> TextView:
    whole = TextView.of(text)
    if whole.total <= limit:
        return whole
    return TextView(whole.total, (Chunk(0, whole.chunks[0].lines[:limit]),))


@dataclass(frozen=True)
class Loop:
    """A loop of the fake matmul."""

    name: str
    extent: int
    kind: Any = "serial"
    reduction: bool = False


@dataclass(frozen=True)
class State:
    """The loops, outermost first, and the call that made them."""

    loops: tuple[Loop, ...]
    call: str = ""


HEADER = "def matmul(A: T.Buffer((512, 256)), B: T.Buffer((256, 512)), C: T.Buffer((512, 512))):"
START = State((Loop("i", 512), Loop("j", 512), Loop("k", 256, reduction=True)))
ANNOTATIONS = {"parallel": "parallel", "vectorize": "vectorized", "unroll": "unrolled"}
DOCS = {
    "split": "One loop becomes two: for i -> for i_0, for i_1.",
    "fuse": "This loop and the one inside it become one.",
    "reorder": "Change the order of perfectly nested loops.",
    "vectorize": "Run the loop's iterations as lanes of one instruction.",
    "parallel": "Share the loop's iterations among threads.",
    "unroll": "Write the loop's body out.",
    "cache_write": "Compute into a small buffer, then copy it out.",
    "decompose_reduction": "Set the sum to zero in a nest of its own.",
}
BLOCK_ONLY = ("cache_write", "decompose_reduction")


@dataclass(frozen=True)
class FakeSchedule:
    """A value: `apply`, `undo` and `redo` give others."""

    states: tuple[State, ...] = (START,)
    position: int = 0
    name: str = "matmul"

    @property
    def loops(self) -> tuple[Loop, ...]:
        return self.states[self.position].loops

    @property
    def schedule(self) -> State:
        return self.states[self.position]

    def reasons(self, selection: str) -> ReasonsView:
        view = self.view()
        reasons = {p.name: p.applicable[selection] for p in view.primitives if selection in p.applicable}
        return ReasonsView(view.state, selection, reasons)

    def reason(self, primitive: str, loop: Loop) -> str | None:
        """Why a primitive does not apply to a loop."""
        last = self.loops[-1].name == loop.name
        carries = loop.reduction and primitive in ("vectorize", "parallel")
        rules = {
            "fuse": "there is no loop inside it" if last else None,
            "split": "its extent is 1" if loop.extent == 1 else None,
        }
        if primitive in rules:
            return rules[primitive]
        if primitive in ANNOTATIONS and loop.kind != "serial":
            return f"the loop is already {loop.kind}"
        if carries:
            return f"{loop.name} carries the sum into C[i, j]; decompose_reduction first"
        if primitive == "vectorize" and loop.extent > 64:
            return f"{loop.extent} lanes are more than 64; split it first"
        return None

    def view(self) -> ScheduleView:
        node = TreeNode("b:C", "block", "C", detail="C[i, j] += A[i, k] * B[k, j]")
        for loop in reversed(self.loops):
            node = TreeNode(
                f"l:{loop.name}", "loop", loop.name, str(loop.extent), loop.kind, "", loop.reduction, (node,)
            )
        calls = [state.call for state in self.states[1:]]
        code = "\n".join(
            [
                'sch = session.schedule("matmul")',
                'i, j, k = sch.get_loops(sch.get_block("C"))',
                *calls[: self.position],
            ]
        )
        return ScheduleView(
            state=hashlib.sha256(repr(self.states[: self.position + 1]).encode()).hexdigest()[:12],
            name=self.name,
            tree=(node,),
            code=code,
            script=TextView.of(self.script()),
            primitives=tuple(self.primitive(name) for name in DOCS),
            history=tuple(HistoryEntry(call.split("(")[0], call) for call in calls),
            position=self.position,
            can_undo=self.position > 0,
            can_redo=self.position < len(calls),
        )

    def primitive(self, name: str) -> PrimitiveView:
        selection = Parameter("block" if name in BLOCK_ONLY else "loop", "selection")
        ids = tuple(f"l:{loop.name}" for loop in self.loops)
        parameters = {
            "split": (Parameter("factors", "integers", "outer to inner", [None, 8]),),
            "reorder": (Parameter("order", "loops", "outermost first", list(ids)),),
            "cache_write": (Parameter("scope", "choice", choices=("local", "global")),),
        }.get(name, ())
        if name in BLOCK_ONLY:
            reasons: dict[str, str | None] = {"b:C": None if name == "cache_write" else "the sum has no start value"}
        else:
            reasons = {f"l:{loop.name}": self.reason(name, loop) for loop in self.loops}
        return PrimitiveView(name, DOCS[name], (selection, *parameters), reasons)

    def script(self) -> str:
        lines = [
            "@T.prim_func",
            HEADER,
        ]
        for depth, loop in enumerate(self.loops, 1):
            lines.append(f"{'    ' * depth}for {loop.name} in T.{loop.kind}({loop.extent}):")
        inside = "    " * (len(self.loops) + 1)
        return "\n".join([*lines, f"{inside}C[vi, vj] += A[vi, vk] * B[vk, vj]"])

    def apply(self, primitive: str, selection: str, arguments: dict[str, Any]) -> FakeSchedule:
        name = selection.removeprefix("l:")
        index = next((n for n, loop in enumerate(self.loops) if loop.name == name), None)
        if index is None:
            raise WorkbenchError("E-SCHEDULE-LOOP", "there is no such loop", found=selection)
        reason = self.reason(primitive, self.loops[index])
        if reason:
            raise WorkbenchError("E-SCHEDULE", f"cannot {primitive} {name}", found=reason, nodes=(selection,))
        loops, call = self._rewritten(primitive, index, arguments)
        return FakeSchedule((*self.states[: self.position + 1], State(loops, call)), self.position + 1)

    def _rewritten(self, primitive: str, index: int, arguments: dict[str, Any]) -> tuple[tuple[Loop, ...], str]:
        loops, loop = self.loops, self.loops[index]
        if primitive in ANNOTATIONS:
            changed = replace(loop, kind=ANNOTATIONS[primitive])
            return (*loops[:index], changed, *loops[index + 1 :]), f"sch.{primitive}({loop.name})"
        if primitive == "split":
            inner = self._factor(loop, arguments.get("factors"))
            pair = (
                replace(loop, name=f"{loop.name}_0", extent=loop.extent // inner),
                replace(loop, name=f"{loop.name}_1", extent=inner),
            )
            names = f"{pair[0].name}, {pair[1].name}"
            call = f"{names} = sch.split({loop.name}, factors=[None, {inner}])"
            return (*loops[:index], *pair, *loops[index + 1 :]), call
        if primitive == "reorder":
            order = [name.removeprefix("l:") for name in arguments["order"]]
            by_name = {one.name: one for one in loops}
            return tuple(by_name[name] for name in order), f"sch.reorder({', '.join(order)})"
        other = loops[index + 1]
        name = f"{loop.name}_{other.name}_fused"
        fused = replace(loop, name=name, extent=loop.extent * other.extent)
        return (*loops[:index], fused, *loops[index + 2 :]), f"{name} = sch.fuse({loop.name}, {other.name})"

    def _factor(self, loop: Loop, factors: Any) -> int:
        inner = factors[-1] if isinstance(factors, list) and factors else None
        if not isinstance(inner, int) or inner <= 0 or loop.extent % inner:
            raise WorkbenchError(
                "E-SCHEDULE-FACTOR",
                f"cannot split {loop.name} by {inner}",
                where="matmul line 4: for k in T.serial(256)",
                found=f"extent {loop.extent}, factor {inner}",
                expected="a factor that divides the extent",
                fix="split with factors=[None, 8]",
                kept="the schedule is unchanged",
                nodes=(f"l:{loop.name}",),
            )
        return inner

    def ways(self, primitive: str, selection: str) -> SuggestionsView:
        view = self.view()
        reason = next(p.applicable.get(selection) for p in view.primitives if p.name == primitive)
        error = ErrorView("E-SCHEDULE", f"cannot {primitive}", found=reason or "")
        return SuggestionsView(view.state, selection, primitive, error, (), False)

    def accept(self, primitive: str, selection: str, number: int) -> FakeSchedule:
        raise WorkbenchError("E-SCHEDULE-SUGGESTION", "there is no such suggestion", found=str(number))

    def force(self, primitive: str, selection: str) -> FakeSchedule:
        raise WorkbenchError("E-SCHEDULE", f"cannot {primitive}", found=selection)

    def switch(self, branch: int) -> FakeSchedule:
        raise WorkbenchError("E-SCHEDULE-BRANCH-NUMBER", "there is one branch", found=str(branch))

    def undo(self) -> FakeSchedule:
        if self.position == 0:
            raise WorkbenchError("E-SCHEDULE-UNDO", "nothing to undo")
        return FakeSchedule(self.states, self.position - 1)

    def redo(self) -> FakeSchedule:
        if self.position == len(self.states) - 1:
            raise WorkbenchError("E-SCHEDULE-REDO", "nothing to redo")
        return FakeSchedule(self.states, self.position + 1)
