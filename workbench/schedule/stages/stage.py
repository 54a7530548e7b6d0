"""The classic `te.Stage`: a handle on one stage of a te schedule.  Its calls are recorded, not carried out.

    xo, yo, xi, yi = s[C].tile(*C.op.axis, 32, 32)
    s[CC].compute_at(s[C], yo)                      # before or after the tile's loops are reordered: the same program

Calls that make no sense are refused at once (`StageError`); what the engine refuses at the first look names the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...arith.nodes import literal
from ...te.nodes import Operation
from ...tir.nodes import IterVar
from .calls import Call, called, refused
from .layout import transformed
from .relations import Attach, MarkKind, Relation, StageRecord, names

if TYPE_CHECKING:
    from .schedule import Schedule

_MOST = 2**31


class Stage:
    """See the module's header.  Every primitive raises `StageError` for iteration variables that are no loops of this
    stage (any more)."""

    def __init__(self, schedule: Schedule, key: int) -> None:
        self._schedule = schedule
        self._key = key

    # --- reading ---

    @property
    def record(self) -> StageRecord:
        """The immutable record that this handle points to."""
        return self._schedule.recorded.stages[self._key]

    @property
    def op(self) -> Operation:
        """What the stage computes now: `cache_write` and `rfactor` give a stage another operation."""
        return self.record.op

    @property
    def origin_op(self) -> Operation:
        return self._schedule.recorded.origins[self._key]

    @property
    def leaf_iter_vars(self) -> list[IterVar]:
        """The loops, outermost first."""
        return list(self.record.leaves)

    @property
    def all_iter_vars(self) -> list[IterVar]:
        """The axes of the operation and whatever was made of them."""
        return list(self.record.all_axes)

    @property
    def relations(self) -> list[Relation]:
        return list(self.record.relations)

    @property
    def is_output(self) -> bool:
        return self.record.is_output

    @property
    def scope(self) -> str:
        """Where the result lives: "global", or what `set_scope` and the caches said."""
        found = [item.value for item in self.record.remarks if item.kind == "set_scope"]
        return found[-1] if found else self._schedule.recorded.scopes.get(self._key, "global")

    @property
    def attach_type(self) -> str:
        """ "root", "inline" or "scope"."""
        return self.record.attach.kind if self.record.attach is not None else "root"

    @property
    def attach_stage(self) -> Stage | None:
        attach = self.record.attach
        return Stage(self._schedule, attach.stage) if attach is not None and attach.kind == "scope" else None

    @property
    def attach_ivar(self) -> IterVar | None:
        return self.record.attach.axis if self.record.attach is not None else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stage) and other._schedule is self._schedule and other._key == self._key

    def __hash__(self) -> int:
        return hash((id(self._schedule), self._key))

    def __repr__(self) -> str:
        return f"stage({self.op.name}: {names(self.record.leaves) or 'scalar'})"

    # --- loops ---

    def split(
        self, parent: IterVar, factor: Any = None, nparts: Any = None, disable_predication: bool = False
    ) -> tuple[IterVar, IterVar]:
        """(outer, inner): `factor` is the extent of the inner loop, or `nparts` that of the outer one.

        Where it does not divide the extent the last iterations are guarded, unless `disable_predication` asks for them
        to run too.
        """
        call = self._call("split", [parent], {"factor": factor, "nparts": nparts})
        if (factor is None) == (nparts is None):
            raise refused(
                call, "E-STAGE-SPLIT", "one of factor and nparts is needed",
                found="both" if factor is not None else "neither", expected="factor=8, or nparts=8",
                fix="factor is the extent of the inner loop, nparts that of the outer",
            )  # fmt: skip
        size = _whole(factor if factor is not None else nparts, call)
        at = self._position(parent, call)
        self.record.require_unmarked(parent, call)
        sizes = (size, None) if factor is not None else (None, size)
        made = self.record.split(parent, at, *sizes, bool(disable_predication), call)
        self._become(made)
        outer, inner = made.leaves[at : at + 2]
        return outer, inner

    def fuse(self, *args: IterVar) -> IterVar:
        """One loop of loops that stand directly inside one another; of none, a loop of one iteration (scalars)."""
        parts = _flat(args)
        call = self._call("fuse", parts)
        positions = self._positions(parts, call)
        for part in parts:
            self.record.require_unmarked(part, call)
        if not parts and self.record.leaves:
            raise refused(
                call, "E-STAGE-FUSE", "nothing is given to fuse", found="a stage that has loops",
                expected="loops, outermost first", fix=f"one or more of {names(self.record.leaves)}",
            )  # fmt: skip
        if positions != list(range(positions[0], positions[0] + len(parts)) if positions else []):
            raise refused(
                call, "E-STAGE-FUSE", "the loops are not directly inside one another",
                found=f"loops {names(self.record.leaves)}", expected="neighbours, outermost first",
                fix=f"reorder({names(parts)}) first",
            )  # fmt: skip
        at = positions[0] if positions else 0
        made = self.record.fuse(parts, at, call)
        self._become(made)
        return made.leaves[at]

    def reorder(self, *args: IterVar) -> None:
        """Put loops of this stage into the order given; the others stay where they are."""
        axes = _flat(args)
        call = self._call("reorder", axes)
        self._become(self.record.reorder(axes, self._positions(axes, call), call))

    def tile(
        self, x_parent: IterVar, y_parent: IterVar, x_factor: Any, y_factor: Any
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """(x outer, y outer, x inner, y inner), in that order."""
        x_outer, x_inner = self.split(x_parent, factor=x_factor)
        y_outer, y_inner = self.split(y_parent, factor=y_factor)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    # --- places ---

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute this stage inside loop `scope` of stage `parent`, as much as one iteration of it needs."""
        call = self._call("compute_at", [parent, scope])
        if not isinstance(parent, Stage) or parent._schedule is not self._schedule or parent._key == self._key:
            raise refused(
                call, "E-STAGE-PARENT", "another stage of this schedule was expected", found=repr(parent)[:60],
                expected="s[consumer]", fix="choose a stage that reads this one",
            )  # fmt: skip
        parent._position(scope, call)
        self._place(Attach("scope", parent._key, scope, call), call)

    def compute_inline(self) -> None:
        """Compute the values where they are read."""
        call = self._call("compute_inline", [])
        self._place(Attach("inline", -1, None, call), call)

    def compute_root(self) -> None:
        """Compute the stage in loops of its own, before its consumers; this is how stages begin."""
        self._place(None, self._call("compute_root", []))

    def _place(self, attach: Attach | None, call: Call) -> None:
        self._require_computed(call)
        self._become(replace(self.record, attach=attach))

    # --- kinds of loops ---

    def vectorize(self, var: IterVar) -> None:
        """Run the iterations of a loop as lanes of vectors."""
        self._mark("vectorize", var)

    def unroll(self, var: IterVar) -> None:
        """Write a loop out."""
        self._mark("unroll", var)

    def parallel(self, var: IterVar) -> None:
        """Run the iterations of a loop on the threads of the pool."""
        self._mark("parallel", var)

    def bind(self, ivar: IterVar, thread_ivar: Any) -> None:
        """Run a loop along an axis of a GPU's threads: `te.thread_axis("threadIdx.x")`."""
        call = self._call("bind", [ivar, thread_ivar])
        tag = thread_ivar if isinstance(thread_ivar, str) else getattr(thread_ivar, "thread_tag", "")
        if not tag:
            raise refused(
                call, "E-STAGE-THREAD", "a thread axis was expected", found=repr(thread_ivar)[:60],
                expected='te.thread_axis("threadIdx.x")', fix="make one with te.thread_axis",
            )  # fmt: skip
        self._position(ivar, call)
        self._become(self.record.mark(ivar, "bind", str(tag), call))

    def pragma(self, var: IterVar, pragma_type: str, pragma_value: Any = None) -> None:
        """A remark on a loop for later stages, such as "auto_unroll_max_step", 16."""
        call = self._call("pragma", [var, pragma_type], {"pragma_value": pragma_value})
        self._position(var, call)
        self._become(self.record.mark(var, "pragma", (pragma_type, _plain(pragma_value)), call))

    def prefetch(self, tensor: Any, var: IterVar, offset: Any) -> None:
        """A remark that what a later iteration of `var` (by `offset`) reads of `tensor` is worth fetching early."""
        call = self._call("prefetch", [tensor, var, offset])
        self._position(var, call)
        self._become(self.record.mark(var, "prefetch", (tensor.name, _plain(offset)), call))

    def tensorize(self, var: IterVar, tensor_intrin: Any) -> None:
        """Replace the loops from `var` inwards by a tensor intrinsic (`te.decl_tensor_intrin`)."""
        call = self._call("tensorize", [var, tensor_intrin])
        self._position(var, call)
        self._become(self.record.mark(var, "tensorize", tensor_intrin, call))

    def _mark(self, kind: MarkKind, axis: IterVar) -> None:
        call = self._call(kind, [axis])
        self._position(axis, call)
        self._become(self.record.mark(axis, kind, None, call))

    # --- the stage as a whole ---

    def set_scope(self, scope: str) -> None:
        """Where the result lives: "global", "local", "shared"."""
        self._remark("set_scope", scope, [scope])

    def double_buffer(self) -> None:
        """A remark that the result may be kept twice, to be filled while it is read."""
        self._remark("double_buffer", 0, [])

    def rolling_buffer(self) -> None:
        """Keep only the part of the result that later iterations still read."""
        self._remark("rolling_buffer", 0, [])

    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """Make the stride of an axis of the result a multiple of `factor`, plus `offset` (elements)."""
        call = self._call("storage_align", [axis, factor, offset])
        axes = getattr(self.op, "axis", ())
        for number, item in enumerate(axes):
            if item is axis:
                self._become(self.record.remark("storage_align", (number, int(factor), int(offset)), call, alone=False))
                return
        raise refused(
            call, "E-STAGE-AXIS", "an axis of the result was expected", found=repr(getattr(axis, "var", axis))[:60],
            expected=names(axes), fix=f"take it from s[{self.op.name}].op.axis",
        )  # fmt: skip

    def set_store_predicate(self, predicate: Any) -> None:
        """A remark that the result is to be stored only where `predicate` holds (one thread of many that have it)."""
        self._remark("store_predicate", predicate, [predicate])

    def env_threads(self, threads: Any) -> None:
        """A remark that the stage runs inside these thread axes."""
        tags = [str(getattr(item, "thread_tag", item)) for item in _flat([threads])]
        self._remark("env_threads", tuple(tags), [threads])

    def transform_layout(self, mapping_function: Callable[..., Any]) -> list[IterVar]:
        """Store the result under other indices, and loop in their order; the new loops, outermost first."""
        call = self._call("transform_layout", [mapping_function])
        self._require_computed(call)
        made = transformed(self.record, mapping_function, call)
        self._become(made)
        return list(made.leaves)

    def _remark(self, kind: str, value: Any, shown: Sequence[Any]) -> None:
        call = self._call({"store_predicate": "set_store_predicate"}.get(kind, kind), shown)
        self._require_computed(call)
        self._become(self.record.remark(kind, value, call))

    # --- helpers ---

    def _call(self, name: str, positional: Sequence[Any], named: dict[str, Any] | None = None) -> Call:
        shown = [_Raw(f"s[{item.op.name}]") if isinstance(item, Stage) else item for item in positional]
        return called(f"s[{self.op.name}]", name, shown, named)

    def _become(self, record: StageRecord) -> None:
        self._schedule.become(record)

    def _position(self, axis: Any, call: Call) -> int:
        return self.record.position(axis, call, self._schedule.owner_of)

    def _positions(self, axes: Sequence[IterVar], call: Call) -> list[int]:
        found = [self._position(axis, call) for axis in axes]
        if len(set(found)) != len(found):
            raise refused(
                call, "E-STAGE-TWICE", "an iteration variable is given twice", found=names(axes),
                expected="each once", fix="leave one out",
            )  # fmt: skip
        return found

    def _require_computed(self, call: Call) -> None:
        if self.record.is_placeholder:
            raise refused(
                call, "E-STAGE-PLACEHOLDER", f"{self.op.name} is given from outside", found="a placeholder",
                expected="a stage that is computed", fix=f"s.cache_read({self.op.name}, scope, readers) makes a copy",
            )  # fmt: skip


class _Raw:
    """A text that is shown as it is."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _flat(values: Sequence[Any]) -> list[Any]:
    """Arguments given one by one or as one list."""
    if len(values) == 1 and isinstance(values[0], (list, tuple)):
        return list(values[0])
    return list(values)


def _whole(value: Any, call: Call) -> int:
    """A factor as a positive int."""
    number = literal(value, value)
    if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= _MOST:
        return number
    raise refused(
        call, "E-STAGE-FACTOR", "a factor is a whole number of iterations", found=repr(value)[:60],
        expected=f"1 to {_MOST}", fix="give a number; for a symbolic extent split by a constant",
    )  # fmt: skip


def _plain(value: Any) -> Any:
    """Constants as Python values, other expressions as text."""
    value = literal(value, value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
