"""The converters: from (domain, operator) and opset version to the function that makes relay of a node.

A converter is a function of the node and its operands; its keyword-only parameters are the node's attributes with the
standard's defaults.  It may answer one expression or a tuple, one for each output.

    @onnx_op("Clip", since=11)
    def clip(node: Site, x: Expr, low: Expr | None = None, high: Expr | None = None) -> Expr: ...

Add one for an operator of your own from anywhere: ``@onnx_op("Fancy", domain="my.company")``.  Where operands and
attributes of a relay operator agree with the foreign one (`Operator.aliases["onnx"]`), none is needed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

from ...core import reliance
from ...core.code_names import is_own
from ...core.errors import WorkbenchError
from ...core.table import imported
from ...relay.ir.operator import OPERATORS, Operator
from .emit import call
from .limits import OPSETS
from .records import domain_of

FAMILIES: Final = (
    "elementwise",
    "activation",
    "shaping",
    "indexing",
    "reduction",
    "convolution",
    "pooling",
    "resize",
    "normalization",
    "products",
    "recurrent",
    "control",
    "quantized",
    "signal",
    "sampling",
)
"""The modules `ops_*.py` that hold the converters."""


@dataclass(frozen=True)
class Converter:
    """One converter; valid for opsets `since` to `until` (inclusive) of its domain."""

    op_type: str
    domain: str
    since: int
    until: int
    function: Callable[..., Any]

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes it takes."""
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(item.name for item in parameters if item.kind is inspect.Parameter.KEYWORD_ONLY)

    def takes(self, attribute: str) -> bool:
        """Whether there is a parameter for an attribute of the node."""
        return self._takes_any or attribute in self.attributes

    @cached_property
    def _takes_any(self) -> bool:
        parameters = inspect.signature(self.function).parameters.values()
        return any(item.kind is inspect.Parameter.VAR_KEYWORD for item in parameters)


CONVERTERS: Final[dict[tuple[str, str], list[Converter]]] = {}
"""Every converter by (domain, operator)."""
_FILLED_BY: Final = tuple(f"{__package__}.ops_{family}" for family in FAMILIES)


def onnx_op(
    op_type: str, *, since: int = 1, until: int = OPSETS[1], domain: str = "", override: bool = False
) -> Callable[[Any], Any]:
    """Register the decorated function as the converter of `op_type`; a later one for equal `since` replaces it.

    One from outside for an operator that the workbench converts is refused unless `override`.
    """

    def decorate(function: Any) -> Any:
        if not is_own(function.__module__):
            imported(_FILLED_BY)  # else the workbench's own would replace it later
            if not override:
                _require_free(domain_of(domain), op_type)
        known = CONVERTERS.setdefault((domain_of(domain), op_type), [])
        known[:] = [item for item in known if item.since != since]
        known.append(Converter(op_type, domain_of(domain), since, until, function))
        return function

    return decorate


def _require_free(domain: str, op_type: str) -> None:
    own = any(is_own(item.function.__module__) for item in CONVERTERS.get((domain, op_type), ()))
    if own or (domain == "" and op_type in aliased()):
        raise WorkbenchError(
            "E-ONNX-CONVERTER", f"the workbench converts {op_type!r} itself",
            fix="pass override=True to convert it otherwise in all models that are opened from now on",
        )  # fmt: skip


def converter_for(domain: str, op_type: str, opset: int) -> Converter | None:
    """The converter in force at `opset`, if there is one."""
    imported(_FILLED_BY)
    fitting = [item for item in CONVERTERS.get((domain, op_type), ()) if item.since <= opset <= item.until]
    if fitting:
        return max(fitting, key=lambda item: item.since)
    if domain == "" and (cls := aliased().get(op_type)) is not None:
        return Converter(op_type, "", 1, OPSETS[1], one_to_one(cls))
    return None


def aliased() -> dict[str, type[Operator]]:
    """Operators of relay that say which ONNX operator they equal."""
    reliance.note(OPERATORS, reliance.EVERY)
    return _aliased(reliance.moment())


@lru_cache(maxsize=1)
def _aliased(moment: int) -> dict[str, type[Operator]]:
    """`aliased` at a moment of the tables."""
    return {cls.aliases["onnx"]: cls for cls in OPERATORS.values() if "onnx" in cls.aliases}


def one_to_one(cls: type[Operator]) -> Callable[..., Any]:
    """A converter that hands operands and attributes on as they are."""

    def convert(node: Any, *operands: Any, **attributes: Any) -> Any:
        return call(cls.name, *operands, **attributes)

    return convert
