"""Which schedule a kernel gets is an argument: a provider answers with a schedule for a kernel.

Providers: the default rules, records of tuning, or what a person chose in the editor (`override`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..core import origin, progress
from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.time_limit import check_time
from ..schedule.rules.default_rules import default
from .kernel import Kernel

if TYPE_CHECKING:
    from ..schedule.schedule import Schedule

Provider = Callable[[Kernel], "Schedule"]


def default_provider(kernel: Kernel) -> Schedule:
    """The rules of `schedule.rules`, from the target's capabilities; no search."""
    return default(kernel)


def override(chosen: Mapping[str, Schedule], otherwise: Provider = default_provider) -> Provider:
    """A provider that answers a person's schedules by kernel name, and asks `otherwise` for the rest."""

    def provide(kernel: Kernel) -> Schedule:
        return chosen[kernel.name] if kernel.name in chosen else otherwise(kernel)

    return provide


def schedule_kernels(
    mod: IRModule, kernels: tuple[Kernel, ...], provider: Provider = default_provider
) -> tuple[IRModule, dict[str, Schedule]]:
    """The module with every kernel scheduled, and the schedules by kernel name."""
    schedules: dict[str, Schedule] = {}
    changed: dict[str, Any] = {}
    for kernel in progress.track(kernels, "schedule", lambda kernel: kernel.name):
        check_time(f"schedule of kernel {kernel.name}")
        try:
            made = provider(kernel)
        except WorkbenchError as error:
            raise error.located(f"schedule of kernel {kernel.name}") from None
        schedules[kernel.name] = made
        scheduled = made.func
        if scheduled is not kernel.func:
            origin.derived(scheduled, kernel.func)
        changed[kernel.name] = scheduled
    return mod.with_functions(changed), schedules
