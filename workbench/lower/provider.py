"""Which schedule a kernel gets is an argument: a provider answers with a schedule for a kernel.

Providers: the default rules, records of tuning, or what a person chose in the editor (`override`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core import origin, progress
from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.time_limit import check_time
from ..schedule.errors import ScheduleError
from ..schedule.rules.generic import blockwise
from ..schedule.rules.shapes import Machine
from ..schedule.schedule import Schedule
from ..tir.calling import Changed, callers, changed_parameters, other_parameters, parameter_texts
from ..tir.nodes import PrimFunc
from .kernel import Kernel

Provider = Callable[[Kernel], Schedule]


def default_provider(kernel: Kernel) -> Schedule:
    """The schedule of the implementation that computes the kernel; block by block where it does not fit; no search.

    Raises `ScheduleError` where a person chose one that does not fit what is fused around the operator.
    """
    schedule = Schedule(kernel.func)
    choice = kernel.choice
    if choice is not None and kernel.block in schedule.state.tree.blocks:
        attempt = schedule.copy()
        try:
            choice.schedule(attempt, kernel)
            return attempt
        except ScheduleError:
            if choice.by_hand or choice.implementation.of_person:
                raise
    blockwise(schedule, Machine.of(kernel.target))
    return schedule


def override(chosen: Mapping[str, Schedule], otherwise: Provider = default_provider) -> Provider:
    """A provider that answers a person's schedules by kernel name, and asks `otherwise` for the rest."""

    def provide(kernel: Kernel) -> Schedule:
        return chosen[kernel.name] if kernel.name in chosen else otherwise(kernel)

    return provide


def schedule_kernels(
    mod: IRModule, kernels: tuple[Kernel, ...], provider: Provider = default_provider
) -> tuple[IRModule, dict[str, Schedule]]:
    """The module with every kernel scheduled, and the schedules by kernel name.

    Raises `WorkbenchError` (E-EDIT-SIGNATURE) for a schedule after which a kernel is called in another way.
    """
    schedules: dict[str, Schedule] = {}
    changed: dict[str, Any] = {}
    for kernel in progress.track(kernels, "schedule", lambda kernel: kernel.name):
        check_time(f"schedule of kernel {kernel.name}")
        try:
            made = provider(kernel)
            require_callers_served(kernel, made, mod)
        except WorkbenchError as error:
            raise error.located(f"schedule of kernel {kernel.name}") from None
        schedules[kernel.name] = made
        scheduled = made.func
        if scheduled is not kernel.func:
            origin.derived(scheduled, kernel.func)
        changed[kernel.name] = scheduled
    return mod.with_functions(changed), schedules


def require_callers_served(kernel: Kernel, schedule: Schedule, mod: IRModule) -> None:
    """Refuse a schedule that changes a kernel's parameters while others call it: native code trusts them.

    A loop program's function that nobody calls may take others: who runs it sees its parameters as they are.
    """
    changed = _called_differently(kernel.func, schedule)
    if changed is None:
        return
    calling = callers(mod.functions, kernel.name)
    if kernel.of_graph or calling:
        raise other_parameters(
            kernel.name, changed, f"{' and '.join(calling) or 'the model'} calls it with these",
            "change a copy's layout: sch.cache_read or sch.cache_write, then transform_layout on the cache",
            "the function before its schedule",
        )  # fmt: skip


def _called_differently(before: PrimFunc, schedule: Schedule) -> Changed | None:
    """What callers would have to do otherwise: other parameters, or elements in other places of one shape."""
    if schedule.func is before:
        return None
    changed = changed_parameters(before, schedule.func)
    if changed is None and schedule.relaid_parameters:
        number, text = schedule.relaid_parameters[0]
        expected = parameter_texts(before)[number]
        return Changed(f"{expected}, its elements at {text}", expected)
    return changed
