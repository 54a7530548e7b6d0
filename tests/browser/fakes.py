"""A small model that behaves like a real one, so that the pipeline screen is tested without a compiler.

`FakePipeline` is a list of texts with rewrites between them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.line_diff import line_hunks
from workbench.driver.difference import Difference, text_difference
from workbench.ui.models import Side
from workbench.views.schema import (
    Chunk,
    ErrorView,
    PipelineView,
    RewriteSummary,
    RewriteView,
    StepSummary,
    StepView,
    TextView,
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

    def difference(self, step: str) -> Difference:
        self.asked.append(("difference", step))
        number = self._index(step)
        return text_difference(step, self.texts[number], self.texts[number + 1])

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
