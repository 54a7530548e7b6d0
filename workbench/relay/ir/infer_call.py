"""Typing rules of calls: operators, functions, tuple items, references; and how their refusals read.

A rule whose operands are not known well enough yet answers None and is tried again later (`CallRules.settle`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.errors import WorkbenchError
from . import expr as e
from . import types as t
from .brief import brief
from .operator import Operator
from .operator_type import check_operands, operator_type
from .types import FuncType, IncompleteType, Type, is_complete
from .unify import Mismatch, Unifier, bind_dimensions, with_dimensions


class CallRules:
    """The part of inference that waits: rules that need types which may be known only later."""

    def __init__(self, unifier: Unifier) -> None:
        self.unifier = unifier
        self.rigid: set[int] = set()
        self.place = ""
        self.promised: dict[int, tuple[e.Expr, Type]] = {}
        """Unknown results of functions that were called before their body was seen, by function."""
        self._waiting: list[tuple[e.Expr, IncompleteType, Callable[[], Type | None]]] = []

    def result_of(self, func: e.Function) -> Type:
        """A stand-in for the result of a function whose body has not been seen."""
        return self.promised.setdefault(id(func), (func, IncompleteType()))[1]

    def later(self, expr: e.Expr, rule: Callable[[], Type | None]) -> Type:
        """What `rule` answers, or a stand-in until it can."""
        found = rule()
        if found is not None:
            return found
        unknown = IncompleteType()
        self._waiting.append((expr, unknown, rule))
        return unknown

    def settle(self) -> None:
        """Try the waiting rules until none makes progress."""
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            for expr, unknown, rule in waiting:
                found = rule()
                if found is None:
                    self._waiting.append((expr, unknown, rule))
                else:
                    self.expect(unknown, found, expr, "its use")
            if len(self._waiting) == len(waiting):
                raise self.unknown(self._waiting[0][0])

    def unknown(self, expr: e.Expr) -> WorkbenchError:
        raise NotImplementedError

    # --- rules ---

    def operated(self, call: e.Call, arguments: Sequence[Type]) -> Type | None:
        """The result of an operator."""
        assert isinstance(call.op, Operator)
        types = [self.unifier.resolve(argument) for argument in arguments]
        if any(isinstance(found, IncompleteType) for found in types):
            types = self._deduced(call, call.op, types)
        if not all(isinstance(found, t.TensorType) or is_complete(found) for found in types):
            return None
        return operator_type(call.op, types, call.args, self.place)

    def _deduced(self, call: e.Call, op: Operator, types: list[Type]) -> list[Type]:
        """Operand types, those that are unknown from the operator's attributes where it can tell."""
        check_operands(op, types, self.place)
        told = op.deduce(*(None if isinstance(found, IncompleteType) else found for found in types))
        for index, (found, known) in enumerate(zip(types, told, strict=True)):
            if isinstance(found, IncompleteType) and known is not None:
                types[index] = self.expect(known, found, call, f"operand {index}")
        return types

    def applied(self, call: e.Call, callee: Type, arguments: Sequence[Type]) -> Type | None:
        """The result of a function, constructor or closure."""
        found = self.unifier.shallow(callee)
        if isinstance(found, IncompleteType):
            return None
        if not isinstance(found, FuncType):
            raise WorkbenchError(
                "E-TYPE-CALL",
                "what is called is not a function",
                where=f"{brief(call)} in {self.place}",
                found=repr(found),
                nodes=(call,),
            )
        self.check_arity(brief(call), len(found.arg_types), len(arguments), call)
        if len(call.type_args) > len(found.type_params):
            raise WorkbenchError(
                "E-TYPE-ARITY",
                f"{len(call.type_args)} type arguments for {len(found.type_params)} type parameters",
                where=f"{brief(call)} in {self.place}",
                nodes=(call,),
            )
        made = self.unifier.instantiate(found, call.type_args)
        bound: dict[int, Any] = {}
        resolved = [self.unifier.resolve(argument) for argument in arguments]
        for expected, actual in zip(made.arg_types, resolved, strict=True):
            bind_dimensions(expected, actual, self.rigid, bound)
        for index, (expected, actual) in enumerate(zip(made.arg_types, resolved, strict=True)):
            wanted = with_dimensions(expected, bound) if bound else expected
            self.expect(wanted, actual, call, f"parameter {index}")
        return with_dimensions(self.unifier.resolve(made.ret_type), bound) if bound else made.ret_type

    def tuple_item(self, expr: e.TupleGetItem, whole: Type) -> Type | None:
        """One field of a tuple."""
        found = self.unifier.shallow(whole)
        if isinstance(found, IncompleteType):
            return None
        if not isinstance(found, t.TupleType):
            raise WorkbenchError(
                "E-TYPE-TUPLE",
                "only tuples have items",
                where=f"{brief(expr)} in {self.place}",
                found=repr(found),
                expected="a tuple",
                nodes=(expr,),
            )
        if not 0 <= expr.index < len(found.fields):
            raise WorkbenchError(
                "E-TYPE-INDEX",
                f"item {expr.index} of a tuple of {len(found.fields)}",
                where=f"{brief(expr)} in {self.place}",
                found=repr(found),
                expected=f"an index from 0 to {len(found.fields) - 1}" if found.fields else "a tuple with items",
                nodes=(expr,),
            )
        return found.fields[expr.index]

    def cell(self, found: Type, expr: e.Expr) -> Type:
        """What a reference holds."""
        held = IncompleteType()
        joined = self.expect(t.RefType(held), found, expr, "a reference")
        return joined.value if isinstance(joined, t.RefType) else held

    # --- checks ---

    def check_arity(self, name: str, expected: int, found: int, expr: e.Expr) -> None:
        if expected != found:
            raise WorkbenchError(
                "E-TYPE-ARITY",
                f"{name} takes {expected} operands, not {found}",
                where=f"{brief(expr)} in {self.place}",
                nodes=(expr,),
            )

    def expect(self, expected: Type, found: Type, expr: e.Expr, what: str) -> Type:
        """The two types made equal; raises E-TYPE-MISMATCH that shows the expression."""
        try:
            return self.unifier.unify(expected, found)
        except Mismatch as mismatch:
            raise WorkbenchError(
                "E-TYPE-MISMATCH",
                f"the type does not agree with {what}: {mismatch.reason}",
                where=f"{brief(expr)} in {self.place}",
                found=repr(self.unifier.resolve(found)),
                expected=repr(self.unifier.resolve(expected)),
                nodes=(expr,),
            ) from None
