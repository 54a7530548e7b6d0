"""Rules of one's own for what an intrinsic becomes on a target, and intrinsics of one's own.

    def rule(call):                                   # what stands in the program: call.op.name, call.dtype, call.args
        return tir.call_pure_extern("float32", "__expf", call.args[0])

    register_intrin_lowering("tir.exp", target="cuda", f=rule, level=99)

Of several rules for an intrinsic and a target the one of the highest level is asked, then the next; one that
answers None or the call itself leaves it alone.  Rules come before the tables of `lower_intrinsics`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from ...arith.build import convert
from ...arith.intrinsics import INTRINSICS, Intrinsic, Result
from ...arith.nodes import Call, PrimExpr
from ...core import reliance
from ...core.code_names import Keyed, is_own
from ...core.errors import WorkbenchError, nearest

Rule = Callable[[Any], Any]


class CallEffectKind(IntEnum):
    """What a call may do (classic API): only `Pure` and `ExprAnnotation` calls may be moved or removed."""

    ExprAnnotation = 0
    Pure = 1
    ReadState = 2
    UpdateState = 3
    SpecialCallArg = 4
    EmbedInfo = 5
    ControlJump = 6
    Opaque = 3


@dataclass(frozen=True)
class OpName:
    """The classic operator of a call: its `name` begins with "tir."."""

    name: str


@dataclass(frozen=True)
class MatchedCall:
    """A call as rules see it."""

    call: Call

    @property
    def op(self) -> OpName:
        return OpName(f"tir.{self.call.op}")

    @property
    def dtype(self) -> Any:
        return self.call.dtype

    @property
    def args(self) -> tuple[PrimExpr, ...]:
        return self.call.args

    def as_prim_expr(self) -> PrimExpr:
        return self.call


class LoweringRules(Keyed):
    """The rules by kind of target and intrinsic, each with its level, the highest first."""

    kind: str = "lowering rule"
    """The word for its entries, for `reliance`."""

    def __init__(self) -> None:
        self._rules: dict[tuple[str, str], tuple[tuple[int, Rule], ...]] = {}

    def key_parts(self) -> tuple[Any, ...]:
        """The rules: what is lowered after a rule has changed is another step."""
        return (self._rules,)

    def user_entry(self, name: str) -> tuple[Any, ...] | None:
        """The rules of users for an intrinsic, on any kind of target; None for none."""
        found = [(kind, level, rule) for (kind, op), rules in self._rules.items() if name in (op, reliance.EVERY)
                 for level, rule in rules if not is_own(getattr(rule, "__module__", None))]  # fmt: skip
        return tuple(found) or None

    def enter(self, kind: str, name: str, level: int, rule: Rule) -> None:
        """Add a rule in the place of one of equal level."""
        self.remove(kind, name, level)
        self._rules[kind, name] = tuple(
            sorted([*self._rules.get((kind, name), ()), (level, rule)], key=lambda item: -item[0])
        )
        reliance.changed()

    def remove(self, kind: str, name: str, level: int) -> None:
        """Take a rule out again."""
        kept = tuple(item for item in self._rules.pop((kind, name), ()) if item[0] != level)
        if kept:
            self._rules[kind, name] = kept
        reliance.changed()

    def has(self, kind: str) -> bool:
        """Whether there are rules for a kind of target."""
        reliance.note(self, reliance.EVERY)
        return any(key[0] in (kind, "default") for key in self._rules)

    def lowered(self, call: Call, kind: str) -> PrimExpr | None:
        """What a call becomes on a kind of target by the rules; None when none applies."""
        reliance.note(self, call.op)
        for key in ((kind, call.op), ("default", call.op)):
            for _, rule in self._rules.get(key, ()):
                made = rule(MatchedCall(call))
                if made is None or made is call or isinstance(made, MatchedCall):
                    continue
                result = convert(made)
                if result.dtype != call.dtype:
                    raise WorkbenchError(
                        "E-INTRINSIC-RULE", f"the rule for tir.{call.op} on {kind} changes the dtype",
                        found=f"{result.dtype}", expected=f"{call.dtype}",
                        fix="answer an expression of the call's dtype",
                    )  # fmt: skip
                return result
        return None


RULES: Final = LoweringRules()
"""The rules of this process."""


def register_intrin_lowering(op_name: str, target: str, f: Rule | None = None, level: int = 10) -> Any:
    """Enter a rule for an intrinsic ("tir.exp") on a kind of target ("cuda", or "default" for all); also a decorator.

    Raises `WorkbenchError` E-INTRINSIC-UNKNOWN for an intrinsic that is not there: `register_op_attr` adds one.
    """
    name = op_name.removeprefix("tir.")
    if name not in INTRINSICS:
        raise WorkbenchError(
            "E-INTRINSIC-UNKNOWN", f"there is no intrinsic {op_name!r}",
            fix=nearest(name, INTRINSICS) or "make it first: ir.register_op_attr(name, 'TCallEffectKind', kind)",
        )  # fmt: skip
    if f is None:

        def enter(rule: Rule) -> Any:
            return register_intrin_lowering(op_name, target, rule, level)

        return enter
    RULES.enter(target, name, level, f)
    return f


def remove_intrin_lowering(op_name: str, target: str, level: int = 10) -> None:
    """Take a rule out again (tests, cells that are run again)."""
    RULES.remove(target, op_name.removeprefix("tir."), level)


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Say something of an intrinsic ("tir.mylog"), which is made if it is not there.

    ``TCallEffectKind`` says what its calls may do.  Other attributes have no meaning here and are refused.
    """
    name = op_name.removeprefix("tir.")
    if not op_name.startswith("tir.") or attr_key != "TCallEffectKind":
        raise WorkbenchError(
            "E-INTRINSIC-ATTRIBUTE", f"attribute {attr_key} of {op_name} is not known", found=f"{op_name}, {attr_key}",
            expected='"TCallEffectKind" of an intrinsic "tir.<name>"',
        )  # fmt: skip
    known = INTRINSICS.get(name)
    pure = value in (CallEffectKind.Pure, CallEffectKind.ExprAnnotation)
    made = (
        Intrinsic(name, None, Result.GIVEN, "an intrinsic of one's own", None, pure)
        if known is None
        else Intrinsic(name, known.arity, known.result, known.doc, known.evaluate, pure, known.floats_only)
    )
    INTRINSICS.register(name, made, override=True)
    return value
