"""Which implementation computes an operator: the cheapest by a model, or what a person chose.

    workload = Workload(Conv2D(...), (data_type, weight_type), target)
    for candidate in candidates(workload):                  # the cheapest first, then those that do not fit, and why
        print(candidate)
    choice = chosen(workload)                               # conv2d.blocks blocks=2 columns=7 width=14

A choice is made for an operator as it stands in the graph, its layouts among its attributes, whatever is fused around
it: cost is that of the operator alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from operator import index
from typing import Any

from ..core.errors import WorkbenchError, nearest
from ..core.node import FrozenMap
from ..core.rewrite import Failure
from .implementation import Choice, Config, Implementation, Workload
from .implementations.of_strategy import of_strategies
from .implementations.table import FAMILIES, READ_OF


@dataclass(frozen=True)
class Candidate:
    """An implementation for a workload: its cheapest config and that one's cycles, or why it cannot be taken."""

    workload: Workload
    implementation: Implementation
    config: FrozenMap
    cycles: float
    refusal: Failure | None = None
    configs: int = 0
    """How many there are."""

    @property
    def choice(self) -> Choice:
        return Choice(self.workload, self.implementation, self.config)

    def __str__(self) -> str:
        if self.refusal is not None:
            return f"{self.implementation.name}: {self.refusal}"
        return f"{self.choice}: {self.cycles:,.0f} cycles"


def candidates(workload: Workload) -> tuple[Candidate, ...]:
    """The implementations of the operator's family: the cheapest first, at the end those that do not fit."""
    found = [_candidate(one, workload) for one in _of(workload)]
    return tuple(sorted(found, key=lambda one: (one.refusal is not None, -one.implementation.priority, one.cycles)))


def chosen(workload: Workload) -> Choice | None:
    """The cheapest candidate; None for an operator without a family, whose loops are scheduled block by block."""
    return next((one.choice for one in candidates(workload) if one.refusal is None), None)


def choice_again(workload: Workload, name: str, config: Config) -> Choice:
    """What `chosen` chose for an equal workload, by the implementation's name and its config."""
    implementation = next(one for one in _of(workload) if one.name == name)
    return Choice(workload, implementation, FrozenMap(config))


def choice_by_hand(workload: Workload, name: str, config: Config) -> Choice:
    """The implementation of that name, with the cheapest config that agrees with the numbers given.

    Raises `WorkbenchError`: E-CHOICE-UNKNOWN for another name, E-CHOICE-REFUSED where it cannot compute the workload,
    E-CHOICE-CONFIG for numbers that it does not have.
    """
    known = {one.name: one for one in _of(workload)}
    where = str(workload)
    name = _named(name)
    if name not in known:
        raise WorkbenchError(
            "E-CHOICE-UNKNOWN", f"no implementation {name!r} computes {workload.operator.name}", where=where,
            expected=", ".join(known) or "an operator with several implementations", fix=nearest(name, known),
        )  # fmt: skip
    refusal = known[name].why_not(workload)
    if refusal is not None:
        raise WorkbenchError(
            "E-CHOICE-REFUSED", f"{name} cannot compute this {workload.operator.name}", where=where,
            found=refusal.found, expected=refusal.clause,
        )  # fmt: skip
    every = known[name].priced(workload)
    config = _numbers_of(name, config, [one for one, _ in every], where)
    agreeing = [one for one, _ in every if all(one[key] == value for key, value in config.items())]
    if not agreeing:
        raise WorkbenchError(
            "E-CHOICE-CONFIG", f"{name} has no config with all of these numbers", where=where,
            found=_numbers(config), expected="; ".join(sorted({_numbers(one) for one, _ in every}))[:300],
        )  # fmt: skip
    return Choice(workload, known[name], FrozenMap(agreeing[0]), by_hand=True)


def no_choice(kernel: str) -> WorkbenchError:
    """A kernel without an operator that has implementations."""
    return WorkbenchError(
        "E-CHOICE-UNKNOWN", "no operator of this kernel has implementations to choose from", where=f"kernel {kernel}",
        expected=", ".join(FAMILIES), fix="schedule it by hand: s.schedule(kernel)",
    )  # fmt: skip


def _named(given: Any) -> str:
    """The name of an implementation, which may be given itself, or as one of `candidates`."""
    given = given.implementation if isinstance(given, (Candidate, Choice)) else given
    name = given.name if isinstance(given, Implementation) else given
    if not isinstance(name, str):
        raise WorkbenchError(
            "E-CHOICE-UNKNOWN", "an implementation is chosen by its name", found=type(given).__name__,
            expected="a name of session.candidates(kernel), or none at all for the cheapest",
        )  # fmt: skip
    return name[:100]


def _whole(value: Any) -> int | None:
    """A number of a config as int; None for what is none."""
    if isinstance(value, bool):
        return None
    try:
        return index(value)
    except TypeError:
        return None


def _numbers_of(name: str, config: Config, every: list[Config], where: str) -> Config:
    """The numbers given, as ints.

    Refuses names that the implementation does not leave open, and values that no config of it has.
    """
    made: dict[str, int] = {}
    for key, given in config.items():
        value = _whole(given)
        values = sorted({one[key] for one in every if key in one})
        if not values:
            raise WorkbenchError(
                "E-CHOICE-CONFIG", f"{name} leaves no {key!r} open", where=where,
                expected=", ".join(every[0]) or "no numbers", fix=nearest(key, every[0]),
            )  # fmt: skip
        if value is None or value not in values:
            raise WorkbenchError(
                "E-CHOICE-CONFIG", f"{key} of {name} cannot be that", where=where, found=_brief(given),
                expected=", ".join(map(str, values)),
            )  # fmt: skip
        made[key] = value
    return made


def _brief(value: Any) -> str:
    """A value in a few letters, whatever it is."""
    if isinstance(value, int) and abs(value) >= 10**20:
        return f"a number of {value.bit_length()} bits"
    return repr(value)[:80]


def _numbers(config: Config) -> str:
    return " ".join(f"{name}={value}" for name, value in config.items())


def _candidate(implementation: Implementation, workload: Workload) -> Candidate:
    refusal = implementation.why_not(workload)
    if refusal is not None:
        return Candidate(workload, implementation, FrozenMap(), inf, refusal)
    every = implementation.priced(workload)
    config, cycles = every[0]
    return Candidate(workload, implementation, FrozenMap(config), cycles, None, len(every))


def _of(workload: Workload) -> tuple[Implementation, ...]:
    """What users registered for an operator, then the implementations of its family.

    Only of one whose own class names it: what is derived from that class may compute something else.  Raises
    `WorkbenchError` E-CHOICE-FAMILY for an operator that does not tell what implementations of its family read.
    """
    kind = type(workload.operator)
    family = vars(kind).get("family", "")
    missing = [name for name in READ_OF.get(family, ()) if not hasattr(kind, name)]
    if missing:
        raise WorkbenchError(
            "E-CHOICE-FAMILY", f"{kind.name} is of the family {family!r} and lacks what is asked of it",
            found=f"no {' and no '.join(missing)}", expected=", ".join(READ_OF[family]),
            fix="write the method, or leave `family` away: its loops are as `compute` has them then",
        )  # fmt: skip
    return (*of_strategies(workload), *FAMILIES.get(family, ()))
