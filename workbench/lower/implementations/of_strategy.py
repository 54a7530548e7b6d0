"""Implementations that users registered by classic strategies (`relay.op.strategy`): te computes and te schedules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ... import te
from ...core.errors import WorkbenchError
from ...core.rewrite import Failure
from ...relay.ir.types import TensorType, TupleType
from ...relay.op.strategy import STRATEGIES, OpImplementation
from ...schedule.rules.generic import blockwise
from ...schedule.schedule import Schedule
from ..implementation import Config, Implementation, Workload
from .plain import Plain

if TYPE_CHECKING:
    from ..kernel import Kernel

T = TypeVar("T")


class OfStrategy(Implementation):
    """What a user's strategy added; costs are those of the operator's own expression, since nothing is known of it."""

    of_person = True

    def __init__(self, given: OpImplementation) -> None:
        self.given = given
        self.name, self.priority = given.name, given.plevel
        self.about = "a user's strategy"

    def why_not(self, workload: Workload) -> Failure | None:
        return None

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        yield from Plain("").costs(workload)

    def compute(self, workload: Workload, config: Config, *tensors: Any) -> Any:
        own = self.given.compute
        if own is None:
            return super().compute(workload, config, *tensors)
        kind = workload.operator.infer(*workload.types)
        flat = [one for given in tensors for one in (given if isinstance(given, list) else [given])]
        made: Any = _run(self.name, "compute", workload, lambda: own(workload.operator, flat, kind))
        return _checked(self.name, made, kind)

    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        blockwise(schedule, workload.machine)

    def schedule_kernel(self, schedule: Schedule, kernel: Kernel, workload: Workload, config: Config) -> None:
        own = self.given.schedule
        if own is None:
            self.schedule(schedule, kernel.block, workload, config)
            return
        outs = list(kernel.outputs)
        made: Any = _run(self.name, "schedule", workload, lambda: own(workload.operator, outs, kernel.target))
        if not hasattr(made, "to_schedule"):
            raise _refuse(self.name, "its schedule is none", type(made).__name__, "a te schedule of the outputs")
        trace = _run(self.name, "schedule", workload, lambda: made.to_schedule(kernel.tensors, kernel.name).trace)
        schedule.replay(trace)


def of_strategies(workload: Workload) -> tuple[OfStrategy, ...]:
    """What users registered for the operator and the target, the highest `plevel` first.

    Raises `WorkbenchError` E-STRATEGY where their code fails, or two ways have one name.
    """
    registered = STRATEGIES.get(workload.operator.name)
    if registered is None:
        return ()
    inputs = [te.placeholder(kind.shape, kind.dtype, name=f"p{at}") for at, kind in enumerate(_tensors(workload.types))]
    kind = workload.operator.infer(*workload.types)

    def asked() -> list[OpImplementation]:
        with workload.target:
            return registered.implementations(workload.operator, list(inputs), kind, workload.target)

    found = sorted(_run(workload.operator.name, "strategy", workload, asked), key=lambda one: -one.plevel)
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise _refuse(workload.operator.name, "two ways have one name", ", ".join(names), "a name for each")
    return tuple(map(OfStrategy, found))


def _tensors(types: Sequence[Any]) -> list[Any]:
    return [one for kind in types for one in (kind.fields if isinstance(kind, TupleType) else (kind,))]


def _run(name: str, part: str, workload: Workload, asked: Callable[[], T]) -> T:
    """What a user's function answers; what it raises is told with its name."""
    try:
        return asked()
    except WorkbenchError as error:
        raise error.located(f"{part} of strategy {name}") from None
    except Exception as error:  # any of a user's code
        found = f"{type(error).__name__}: {error}"[:300]
        raise WorkbenchError(
            "E-STRATEGY", f"the {part} of strategy {name} failed", where=str(workload)[:300], found=found,
            fix="mend it, or remove it: relay.op.strategy.STRATEGIES.remove(name of the operator)",
        ) from error  # fmt: skip


def _checked(name: str, made: Any, kind: Any) -> Any:
    """The tensors of a compute, which have the type of the operator's result."""
    several = isinstance(kind, TupleType)
    tensors = list(made) if isinstance(made, (list, tuple)) else [made]
    wanted = list(kind.fields) if several else [kind]
    found = [TensorType(one.shape, one.dtype) if isinstance(one, te.Tensor) else type(one).__name__ for one in tensors]
    if len(found) != len(wanted) or any(not _alike(one, other) for one, other in zip(found, wanted, strict=True)):
        raise _refuse(name, "its compute answers something else than the operator", _told(found), _told(wanted))
    return tensors if several else tensors[0]


def _alike(one: Any, other: Any) -> bool:
    if not isinstance(one, TensorType) or one.dtype != other.dtype or len(one.shape) != len(other.shape):
        return False
    pairs = zip(one.shape, other.shape, strict=True)
    return all(a == b for a, b in pairs if isinstance(a, int) and isinstance(b, int))


def _told(kinds: Sequence[Any]) -> str:
    return ", ".join(map(str, kinds))[:200]


def _refuse(name: str, message: str, found: str, expected: str) -> WorkbenchError:
    return WorkbenchError("E-STRATEGY", f"strategy {name}: {message}", found=found, expected=expected)
