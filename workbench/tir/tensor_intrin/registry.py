"""`TensorIntrin`: a description that programs are compared with, and the implementation that takes its place.

    TensorIntrin.register("dot_4", description, implementation)
    schedule.tensorize(loop, "dot_4")

Both are functions of the same buffers.  A description whose block has an init computes its result whole; one without
adds to what is there.  For the first kind `reset` and `update` may say how to do it in two steps, which is needed when
the reduction goes on outside.  Invariant: all functions of an intrinsic have the same parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...core.equal import same, structural_equal
from ...core.errors import WorkbenchError, nearest
from ...core.node import pre_order
from ...core.table import Table
from .. import nodes as t

_LIBRARY: Final = tuple(f"workbench.tir.tensor_intrin.{name}" for name in ("dots", "x86", "arm_cpu", "transposes"))


@dataclass(frozen=True)
class TensorIntrin:
    """See the module's header."""

    name: str
    desc: t.PrimFunc
    impl: t.PrimFunc | None
    """None where the result can only be made by `reset` and `update`."""
    reset: t.PrimFunc | None = None
    update: t.PrimFunc | None = None

    @staticmethod
    def register(
        name: str,
        desc: t.PrimFunc,
        impl: t.PrimFunc | None,
        override: bool = False,
        *,
        reset: t.PrimFunc | None = None,
        update: t.PrimFunc | None = None,
        module: str = "",
    ) -> TensorIntrin:
        """Enter an intrinsic, declared in `module`, under a name.

        Raises `WorkbenchError`: E-TENSOR-INTRIN, E-TABLE-CLASH.
        """
        made = TensorIntrin(name, desc, impl, reset, update)
        made.check()
        return TENSOR_INTRINSICS.register(name, made, module=module, override=override)

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """The intrinsic of a name.  Raises `WorkbenchError` E-TENSOR-INTRINSIC-UNKNOWN unless `allow_missing`."""
        if allow_missing:
            return TENSOR_INTRINSICS.get(name)
        return TENSOR_INTRINSICS[name]

    @property
    def description(self) -> t.Stmt:
        """What the description computes: the body of its root block."""
        body = self.desc.body
        return body.block.body if isinstance(body, t.BlockRealize) and not body.block.iter_vars else body

    def check(self) -> None:
        """Refuse an intrinsic whose functions do not belong together."""
        parts = (("implementation", self.impl), ("reset", self.reset), ("update", self.update))
        if not any(function is not None for _, function in parts):
            raise self._refuse("it has neither implementation nor update", "a description only", "an implementation")
        for word, function in parts:
            if function is not None:
                self._check_parameters(word, function)
        if not any(isinstance(node, t.Block) and node.name != "root" for node in pre_order(self.desc)):
            raise self._refuse("its description holds no block", "loops only", 'with T.block("..."): in it')

    def _check_parameters(self, word: str, function: t.PrimFunc) -> None:
        mine, others = self.desc.params, function.params
        fits = len(mine) == len(others) and all(_alike(one, two) for one, two in zip(mine, others, strict=True))
        if not fits:
            raise self._refuse(f"its {word} has other parameters than its description", _shown(others), _shown(mine))

    def _refuse(self, message: str, found: str, expected: str) -> WorkbenchError:
        return WorkbenchError(
            "E-TENSOR-INTRIN", f"tensor intrinsic {self.name}: {message}", found=found, expected=expected,
            fix="write both as functions of the same buffers",
        )  # fmt: skip


def _alike(one: t.Buffer | object, two: t.Buffer | object) -> bool:
    if not isinstance(one, t.Buffer) or not isinstance(two, t.Buffer):
        return False
    return one.dtype == two.dtype and len(one.shape) == len(two.shape) and same(one.shape, two.shape)


def _shown(params: tuple[object, ...]) -> str:
    return ", ".join(
        f"{item.name}: {item.dtype}[{', '.join(str(getattr(x, 'value', x)) for x in item.shape)}]"
        if isinstance(item, t.Buffer)
        else "a number"
        for item in params
    )


TENSOR_INTRINSICS: Table[TensorIntrin] = Table("tensor intrinsic", filled_by=_LIBRARY)


def registered_name(intrinsic: TensorIntrin | str) -> str:
    """The name under which an intrinsic is registered; one that is not yet is entered, under a free name.

    Steps of schedules hold intrinsics by name.  Raises `WorkbenchError` for an unknown name.
    """
    if isinstance(intrinsic, str):
        if intrinsic not in TENSOR_INTRINSICS:
            raise WorkbenchError(
                "E-TENSOR-INTRINSIC-UNKNOWN", f"there is no tensor intrinsic named {intrinsic!r}",
                fix=nearest(intrinsic, TENSOR_INTRINSICS) or "register it: tir.TensorIntrin.register(name, desc, impl)",
            )  # fmt: skip
        return intrinsic
    name, number = intrinsic.name, 0
    while name in TENSOR_INTRINSICS:
        if _equal(TENSOR_INTRINSICS[name], intrinsic):
            return name
        number += 1
        name = f"{intrinsic.name}_{number}"
    TENSOR_INTRINSICS.register(
        name, TensorIntrin(name, intrinsic.desc, intrinsic.impl, intrinsic.reset, intrinsic.update)
    )
    return name


def _equal(one: TensorIntrin, two: TensorIntrin) -> bool:
    pairs = ((one.desc, two.desc), (one.impl, two.impl), (one.reset, two.reset), (one.update, two.update))
    return all(a is b or (a is not None and b is not None and structural_equal(a, b)) for a, b in pairs)
