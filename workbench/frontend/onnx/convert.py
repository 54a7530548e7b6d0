"""From checked records to a relay function: one walk over the nodes, each handed to its converter.

Every expression made carries the origin of its node (``Conv#3 ('name')``).  Shapes are those that inference finds;
what the file claims is compared with them and never relied on.

    importer = Importer(record, reader, "model.onnx")
    inputs, outputs = importer.run(shapes)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...core import origin, progress
from ...core.arguments import unmasked
from ...core.errors import InternalError, WorkbenchError, shorten
from ...core.limits import FoldBudget, limits
from ...core.origin import ImportedFrom
from ...core.tensor import Tensor
from ...core.time_limit import check_time
from ...relay.ir.expr import Constant, Expr, Var
from ...relay.ir.types import TensorType
from ...runtime.guards import Guard
from . import attributes, schema
from .check import check_graph
from .fold import Folder
from .functions import function_record, substituted
from .inputs import Known, input_types
from .records import FunctionRecord, GraphRecord, ModelRecord, NodeRecord, ValueClaim, kept_name
from .site import Site
from .support import unsupported_error
from .table import converter_for
from .tensors import TensorReader, to_tensor

Values = dict[str, Any]
"""Expressions by ONNX name, in one scope."""


class Importer:
    """One import.  `notes` collects what the user should know."""

    def __init__(
        self, record: ModelRecord, reader: TensorReader, name: str, *, freeze: bool = True, size: int = 0
    ) -> None:
        self.record = record
        self.reader = reader
        self.name = name
        self.freeze = freeze
        self.notes: list[str] = []
        self.guards: list[Guard] = []
        self.params: dict[str, Tensor] = {}
        self.weights: list[Var] = []
        self.nodes_done = 0
        self.folder = Folder(FoldBudget(size))
        self.subgraphs: dict[int, tuple[Any, GraphRecord]] = {}

    def note(self, text: str) -> None:
        """Add a note, once."""
        if text not in self.notes:
            self.notes.append(text)

    # --- the graph ---

    def run(
        self, shape: Mapping[str, Any] | None, dtype: Any, known: Known
    ) -> tuple[tuple[Var, ...], tuple[Expr, ...]]:
        """Convert the whole graph: its input variables and output expressions."""
        graph = self.record.graph
        known.check({claim.name for claim in graph.inputs}, self.name)
        given = {name: Tensor.of(value) for name, value in known.fixed.items()}
        free = [claim for claim in graph.inputs if claim.name not in graph.initializers or claim.name in known.assumed]
        shape = {**{name: np.shape(value) for name, value in known.assumed.items()}, **(shape or {})}
        types = input_types([claim for claim in free if claim.name not in given], shape, dtype, self.name, self.note)
        scope: Values = {}
        inputs: list[Var] = []
        for name, kind in types.items():
            variable = Var(kept_name(name), kind)
            if variable.name_hint != name:
                self.note(f"an input's name has {len(name):,} characters; {limits.name_length:,} are kept")
            origin.derived(variable, ImportedFrom("onnx", f"input '{shorten(name, 80)}'"))
            inputs.append(variable)
            scope[name] = variable if name not in known.assumed else self._assumed(variable, known.assumed[name], kind)
        for name, tensor in given.items():
            scope[name] = Constant(tensor)
        for name, proto in graph.initializers.items():
            scope.setdefault(name, self._initializer(name, proto))
        self.convert_nodes(graph.nodes, scope, self.record.opsets, graph.claims, self.name, depth=0)
        outputs = tuple(scope[claim.name] for claim in graph.outputs)
        if self.folder.budget.spent:
            limit = self.folder.budget.spent
            self.note(f"computing constants stopped at wb.limits.{limit}; what was left is computed at run time")
        for claim, value in zip(graph.outputs, outputs, strict=True):
            self._compare_claim(claim, value)
        return tuple(inputs), outputs

    def _assumed(self, variable: Var, value: Any, kind: TensorType) -> Expr:
        """The constant that stands for an input while converting; the guard that says so is kept."""
        array = np.asarray(unmasked(value, f"the value assumed for {variable.name_hint!r}"))
        if array.shape != kind.concrete_shape or not np.can_cast(array.dtype, kind.dtype.to_numpy(), "same_kind"):
            raise WorkbenchError(
                "E-ONNX-INPUT",
                f"{self.name}: the value assumed for '{shorten(variable.name_hint, 60)}' does not fit the input",
                where="assume=",
                found=f"{array.shape} {array.dtype}",
                expected=f"{kind.concrete_shape} {kind.dtype}",
                fix="give an array of the input's shape and element type",
            )
        array = array.astype(kind.dtype.to_numpy())
        self.guards.append(Guard.of(variable.name_hint, array))
        return origin.derived(Constant(Tensor.of(array)), ImportedFrom("onnx", f"assumed '{variable.name_hint}'"))

    def _initializer(self, name: str, proto: Any) -> Expr:
        label = f"initializer '{shorten(name, 80)}'"
        tensor = to_tensor(proto, self.reader, f"{self.name}: {label}")
        made: Expr = Constant(tensor)
        # Shape arithmetic needs values: integer tensors stay constants even where weights become parameters.
        if not self.freeze and tensor.dtype.is_float:
            made = Var(kept_name(name), TensorType(tensor.shape, tensor.dtype))
            self.weights.append(made)
            self.params[made.name_hint] = tensor
        return origin.derived(made, ImportedFrom("onnx", label))

    def convert_nodes(
        self,
        nodes: Sequence[NodeRecord],
        scope: Values,
        opsets: Mapping[str, int],
        claims: Mapping[str, ValueClaim],
        where: str,
        depth: int,
    ) -> None:
        """Convert nodes in order, adding what they make to `scope`."""
        if depth > limits.nesting:
            raise WorkbenchError(
                "E-IMPORT-NESTING",
                "functions and subgraphs nest too deeply",
                where=where,
                found=f"more than {limits.nesting} levels",
                expected=f"at most {limits.nesting} (wb.limits.nesting)",
                fix=f"export the model without such nesting; {limits.fix('nesting')}",
            )
        for record in progress.track(nodes, "import"):
            self.nodes_done += 1
            check_time(where)
            limits.check("nodes", self.nodes_done, "inlining the model's functions", where)
            unknown = [name for name in record.inputs if name and name not in scope]
            if unknown:  # in the body of a function; graphs are checked before
                raise WorkbenchError(
                    "E-ONNX-NODE", f"{record.label}: no value is named '{shorten(unknown[0], 60)}'", where=where,
                    expected="an input of the function, or a result of an earlier node", fix="export the model again",
                )  # fmt: skip
            operands = [scope[name] if name else None for name in record.inputs]
            made = self._convert(record, operands, scope, opsets, where, depth)
            for name, value in zip(record.outputs, made, strict=False):
                if not name:
                    continue
                scope[name] = value
                if name in claims:
                    self._compare_claim(claims[name], value)

    # --- one node ---

    def _convert(
        self,
        record: NodeRecord,
        operands: list[Any],
        scope: Values,
        opsets: Mapping[str, int],
        where: str,
        depth: int,
    ) -> tuple[Any, ...]:
        opset = opsets.get(record.domain, 1)
        place = shorten(f"{where}: {record.label}({', '.join(_type_text(item) for item in operands)})", 300)
        function = self.record.functions.get((record.domain, record.op_type))
        if function is not None:
            return self._inline(function, record, operands, f"{where}: {record.label}", depth)
        dtypes = [None if item is None else _dtype_of(item) for item in operands]
        schema.check_given(record, opset, operands, place)
        schema.check_element_types(record, opset, dtypes, place)
        converter = converter_for(record.domain, record.op_type, opset)
        if converter is None:
            return self._expand(record, operands, opsets, place, depth)
        site = Site(self, record, opsets, place, scope, depth)
        values = attributes.values_of(record, self.reader, place)
        for name in values:
            if not converter.takes(name):
                raise site.refuse(
                    f"attribute '{shorten(name, 60)}' is not supported", name, ", ".join(converter.attributes) or "none"
                )
        made = self._guarded(site, converter.function, operands, values)
        results = made if isinstance(made, tuple) else (made,)
        self._require_outputs(record, results, place)
        return self._finished(record, operands, results, place)

    def _guarded(self, site: Site, function: Any, operands: list[Any], given: Mapping[str, Any]) -> Any:
        """Run a converter; whatever it raises becomes one located error."""
        try:
            return function(site, *operands, **given)
        except WorkbenchError as error:
            error.fix = error.fix or "look at the nodes that make these operands, and at shape="
            if site.record.label not in error.where:
                error.where = site.where
            raise
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
            refusal = schema.standard_refusal(site.record, site.opset, _standard_types(operands))
            if refusal:
                raise site.refuse(
                    "the operands do not fit the operator", refusal, "what the standard allows"
                ) from error
            raise InternalError(
                "E-ONNX-CONVERTER",
                f"{site.record.label}: the importer failed: {type(error).__name__}: {error}",
                where=site.where,
                fix="report this with the model, or register a converter of your own with onnx_op",
            ) from error

    def _finished(
        self, record: NodeRecord, operands: list[Any], results: tuple[Any, ...], place: str
    ) -> tuple[Any, ...]:
        """Results folded when all operands are known, bounded in size, and carrying their origin."""
        known = all(item is None or isinstance(item, Constant) for item in operands)
        label = ImportedFrom("onnx", record.label)
        done: list[Any] = []
        for value in results:
            if isinstance(value, Expr):
                kind = value.type_or_none
                if isinstance(kind, TensorType) and kind.is_static:
                    limits.check("tensor_bytes", kind.size * kind.dtype.bytes, record.label, place)
                value = self._folded(value, record, place) if known else value
                origin.derived(value, label)
            done.append(value)
        return tuple(done)

    def _folded(self, value: Expr, record: NodeRecord, place: str) -> Expr:
        try:
            return self.folder.folded(value)
        except WorkbenchError:
            raise
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise InternalError(
                "E-ONNX-CONVERTER", f"{record.label}: its value is not computed: {type(error).__name__}: {error}",
                where=place, fix="report this with the model",
            ) from error  # fmt: skip

    def _require_outputs(self, record: NodeRecord, results: tuple[Any, ...], place: str) -> None:
        made = [value is not None for value in results]
        missing = [
            index for index, name in enumerate(record.outputs) if name and not (index < len(made) and made[index])
        ]
        if missing:
            raise WorkbenchError(
                "E-ONNX-NODE",
                f"{record.label}: output {missing[0]} is not supported",
                where=place,
                found=f"'{shorten(record.outputs[missing[0]], 60)}'",
                expected=f"{sum(made)} outputs",
                fix="export without this output",
            )

    # --- functions and bodies ---

    def _inline(
        self, function: FunctionRecord, record: NodeRecord, operands: list[Any], where: str, depth: int
    ) -> tuple[Any, ...]:
        """The function's nodes, converted in a scope of their own."""
        if len(operands) > len(function.inputs):
            raise WorkbenchError(
                "E-ONNX-NODE",
                f"{record.label}: too many inputs for the function {function.label}",
                where=where,
                found=str(len(operands)),
                expected=f"at most {len(function.inputs)}",
                fix="export the model again",
            )
        given = {**function.defaults, **record.attributes}
        scope: Values = dict.fromkeys(function.inputs)
        scope.update(zip(function.inputs, operands, strict=False))
        nodes = [substituted(node, given) for node in function.nodes]
        for node in nodes:
            schema.check_node(node, function.opsets.get(node.domain, 1), where)
        self.convert_nodes(nodes, scope, function.opsets, {}, where, depth + 1)
        results = tuple(scope.get(name) for name in function.outputs)
        self._require_outputs(record, results, where)
        for value in results:
            if isinstance(value, Expr):
                origin.derived(value, ImportedFrom("onnx", record.label))
        return results

    def _expand(
        self, record: NodeRecord, operands: list[Any], opsets: Mapping[str, int], place: str, depth: int
    ) -> tuple[Any, ...]:
        """A node without a converter, by the body that the standard gives for it."""
        opset = opsets.get(record.domain, 1)
        proto = schema.body_of(record, opset, _standard_types(operands), place)
        if proto is None:
            raise unsupported_error({(record.domain, record.op_type, opset): [record.label]}, self.name)
        function = function_record(proto, record.op_type, proto.opset_import)
        function = replace(
            function,
            opsets={**opsets, **function.opsets},
            defaults={**schema.default_attributes(record.op_type, record.domain, opset), **function.defaults},
        )
        return self._inline(function, record, operands, place, depth)

    def convert_subgraph(self, proto: Any, site: Site, given: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
        """The outputs of a graph attribute, converted in the scope of its node; `given` are its inputs."""
        where = f"{site.where.split('(')[0]}"
        graph = self._checked_subgraph(proto, site, where)
        scope = {**site.scope, **(given or {})}
        for name, tensor in graph.initializers.items():
            scope[name] = self._initializer(name, tensor)
        self.convert_nodes(graph.nodes, scope, site.opsets, graph.claims, where, site.depth + 1)
        return tuple(scope[claim.name] for claim in graph.outputs)

    def _checked_subgraph(self, proto: Any, site: Site, where: str) -> GraphRecord:
        """The record of a graph attribute, judged at its first use (a loop's body is used many times)."""
        known = self.subgraphs.get(id(proto))
        if known is not None and known[0] is proto:
            return known[1]
        graph = check_graph(proto, where, self.notes, outer=frozenset(site.scope))
        for node in graph.nodes:
            schema.check_node(node, site.opsets.get(node.domain, 1), where)
        self.subgraphs[id(proto)] = (proto, graph)
        return graph

    # --- claims ---

    def _compare_claim(self, claim: ValueClaim, value: Any) -> None:
        """Note where the file says something else than inference."""
        kind = value.type_or_none if isinstance(value, Expr) else None
        if not isinstance(kind, TensorType):
            return
        wrong_dtype = claim.dtype is not None and claim.dtype != kind.dtype
        wrong_shape = claim.shape is not None and (
            len(claim.shape) != len(kind.shape)
            or any(isinstance(said, int) and said != is_ for said, is_ in zip(claim.shape, kind.shape, strict=True))
        )
        if wrong_dtype or wrong_shape:
            said = f"{claim.shape_text} {claim.dtype or ''}".strip()
            self.note(
                f"'{shorten(claim.name, 60)}' is claimed to be {said} and is {_type_text(value)}; the latter is used"
            )


def _standard_types(operands: Sequence[Any]) -> list[tuple[str, tuple[int, ...]] | None]:
    """(dtype, shape) of each operand that is a tensor."""
    kinds = [item.type_or_none if isinstance(item, Expr) else None for item in operands]
    return [(str(kind.dtype), kind.concrete_shape) if isinstance(kind, TensorType) else None for kind in kinds]


def _dtype_of(value: Any) -> str | None:
    kind = value.type_or_none if isinstance(value, Expr) else None
    return str(kind.dtype) if isinstance(kind, TensorType) else None


def _type_text(value: Any) -> str:
    kind = value.type_or_none if isinstance(value, Expr) else None
    if not isinstance(kind, TensorType):
        return "-" if value is None else "?"
    shape = ", ".join(str(extent) for extent in kind.shape)
    return f"({shape}{',' if len(kind.shape) == 1 else ''}) {kind.dtype}"
