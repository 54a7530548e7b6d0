"""What the importer may claim, found by running every operator case, also at older versions of its operator.

    python -m tests.conformance.claims [-jN] [--write]      # prints what differs from the committed claims

A claim is (operator, opsets, element types); it covers every case of that operator, at one of those opsets, whose
inputs and outputs have those types.  A row of `workbench/frontend/onnx/claims.txt` is written only if all cases that it
covers pass in native code, and at least one does for each type.

Cases of the installed onnx are at the newest version of their operator.  At an older one, a case is run where the node
is valid there; what it should give is then asked of onnxruntime, or else of the ONNX reference evaluator.  Where we
differ from the first and the second differs from it too, the case has no judge.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto

from tests.conformance.onnx_nodes import Crew, Outcome, array, cases, difference, run_case
from workbench.frontend.onnx import support
from workbench.frontend.onnx.limits import OPSETS
from workbench.frontend.onnx.records import domain_of
from workbench.frontend.onnx.schema import signature_of
from workbench.frontend.onnx.tensors import DTYPES

CLAIMS = Path(support.__file__).parent / "claims.txt"
FEATURES = {"string": "string", "sequence": "sequence", "optional": "optional"}


@dataclass
class Probe:
    """A case at one version of its operator; looks like a case to `run_case`."""

    case: Any
    operator: str
    since: int
    """The operator's version: the opset that brought it."""
    opset: int
    """The opset of the model, the newest with that version."""
    until: int
    model: Any

    @property
    def own(self) -> bool:
        return self.model is self.case.model

    @property
    def name(self) -> str:
        return self.case.name if self.own else f"{self.case.name}@{self.opset}"

    @property
    def rtol(self) -> float:
        return self.case.rtol

    @property
    def atol(self) -> float:
        return self.case.atol if self.own else max(self.case.atol, 1e-5)

    @cached_property
    def types(self) -> frozenset[str]:
        """Element types of inputs and outputs; "string", "sequence", "optional" for what is no tensor of numbers."""
        graph = self.model.graph
        return frozenset(_type_name(value.type) for value in (*graph.input, *graph.output))

    @cached_property
    def data_sets(self) -> Any:
        if self.own:
            return self.case.data_sets
        return [(inputs, _judged(self, inputs, outputs)) for inputs, outputs in self.case.data_sets]


_NATIVE = frozenset({"bool", "float16", "float32", "float64", *(f"{sign}int{bits}" for sign in ("", "u")
                                                                for bits in (8, 16, 32, 64))})  # fmt: skip
"""What onnxruntime hands out as NumPy arrays."""


class NoJudgeError(Exception):
    """Nothing but we can say what an older version of the case gives."""


def _type_name(kind: Any) -> str:
    field = kind.WhichOneof("value")
    if field != "tensor_type":
        return field.removesuffix("_type")
    number = kind.tensor_type.elem_type
    return DTYPES.get(number, TensorProto.DataType.Name(number).lower())


def _judged(probe: Probe, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """The outputs: the case's own if an independent judge agrees, else that judge's."""
    names = [value.name for value in probe.model.graph.input]
    given = {name: array(value) for name, value in zip(names, inputs, strict=False)}
    found = _onnxruntime(probe.model, given) if probe.types <= _NATIVE else None
    if found is None:
        found = _reference(probe.model, given)
    own = [array(value) for value in outputs]
    return own if not difference(found, own, max(probe.rtol, 1e-3), max(probe.atol, 1e-4)) else found


def _onnxruntime(model: Any, given: dict[str, Any]) -> list[Any] | None:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, given)
    except Exception:  # onnxruntime's errors have no common base; it simply has no word on this model
        return None


def _reference(model: Any, given: dict[str, Any]) -> list[Any]:
    from onnx.reference import ReferenceEvaluator

    try:
        with np.errstate(all="ignore"):
            return list(ReferenceEvaluator(model).run(None, given))  # type: ignore[arg-type]
    except Exception as error:  # likewise
        raise NoJudgeError(str(error)[:80]) from None


def probes(chosen: Iterable[Any], older: bool = True) -> Iterator[Probe]:
    """The cases of one operator each, at their own and (if wanted) at all older versions."""
    for case in chosen:
        nodes = case.model.graph.node
        if len(nodes) != 1:
            continue
        (node,) = nodes
        domain = domain_of(node.domain)
        versions = {domain_of(item.domain): item.version for item in case.model.opset_import}
        label = f"{domain}.{node.op_type}" if domain else node.op_type
        top = versions.get(domain, 0)
        until, seen = OPSETS[1], 0
        for opset in range(OPSETS[1] if not domain else top, 0, -1):
            signature = signature_of(node.op_type, domain, opset)
            if signature is None:
                break
            if signature.since == seen:
                continue
            seen, until = signature.since, opset
            if signature.since <= top <= until:
                yield Probe(case, label, signature.since, top, until, case.model)
            elif until < top and older and OPSETS[0] <= until and not domain and not signature.deprecated:
                model = _restamped(case.model, until)
                if model is not None and _types_fit(model, node, signature):
                    yield Probe(case, label, signature.since, until, until, model)


def _restamped(model: Any, opset: int) -> Any:
    """The model at an older opset, if its node is valid there."""
    made = type(model)()
    made.CopyFrom(model)
    del made.opset_import[:]
    made.opset_import.add(domain="", version=opset)
    made.ir_version = 10
    try:
        onnx.checker.check_model(made, full_check=True)
    except Exception:  # whatever it objects to
        return None
    return made


def _types_fit(model: Any, node: Any, signature: Any) -> bool:
    kinds = {value.name: value.type for value in model.graph.input}
    for position, name in enumerate(node.input):
        if name not in kinds or position >= signature.most:
            continue
        _, _, parameter = signature.operands[min(position, len(signature.operands) - 1)]
        allowed = signature.element_types.get(parameter, {parameter})
        field = kinds[name].WhichOneof("value")
        if field == "tensor_type":
            standard = _STANDARD[kinds[name].tensor_type.elem_type]
            if f"tensor({standard})" not in allowed:
                return False
    return True


_STANDARD = {number: TensorProto.DataType.Name(number).lower() for number in TensorProto.DataType.values()}


def run_probe(probe: Any) -> Outcome:
    """As `run_case`, compiled; status "unjudged" where nobody knows the right answer."""
    try:
        probe.data_sets  # noqa: B018  (asks the judge)
    except NoJudgeError as error:
        return Outcome(probe.name, "unjudged", str(error))
    outcome = run_case(probe, compiled=True)
    if outcome.status == "wrong" and not probe.own and _judges_differ(probe):
        return Outcome(probe.name, "unjudged", "onnxruntime and the reference evaluator differ")
    return outcome


def _judges_differ(probe: Probe) -> bool:
    names = [value.name for value in probe.model.graph.input]
    for inputs, outputs in probe.data_sets:
        given = {name: array(value) for name, value in zip(names, inputs, strict=False)}
        try:
            if difference(_reference(probe.model, given), outputs, max(probe.rtol, 1e-3), max(probe.atol, 1e-4)):
                return True
        except NoJudgeError:
            return False
    return False


# --- deriving claims ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One claim, for one version of one operator."""

    operator: str
    since: int
    until: int
    types: frozenset[str]


def derived(found: Sequence[tuple[Probe, Outcome]]) -> list[Row]:
    """The widest claims that all outcomes bear out."""
    by_version: dict[tuple[str, int, int], list[tuple[Probe, Outcome]]] = defaultdict(list)
    for probe, outcome in found:
        if outcome.status != "unjudged" and not support.excepted(probe.operator, probe.name):
            by_version[probe.operator, probe.since, probe.until].append((probe, outcome))
    rows: list[Row] = []
    for (operator, since, until), results in sorted(by_version.items()):
        types = _bearable(results)
        if types:
            rows.append(Row(operator, since, until, types))
    return rows


def _bearable(results: Sequence[tuple[Probe, Outcome]]) -> frozenset[str]:
    """The types of passing cases, less those without which no failing case is covered; rarest go first."""
    good = [probe.types for probe, outcome in results if outcome.passed]
    bad = [probe.types for probe, outcome in results if not outcome.passed]
    types = frozenset().union(*good) if good else frozenset()
    for failing in bad:
        if failing <= types:
            rarest = min(sorted(failing), key=lambda name: sum(name in item for item in good))
            types -= {rarest}
    covered = [item for item in good if item <= types]
    return frozenset().union(*covered) if covered else frozenset()


def text_of(rows: Sequence[Row]) -> str:
    """The committed form: operator, opsets, element types; neighbours with equal types are joined."""
    lines = [support.CLAIMS_HEAD]
    joined: list[Row] = []
    for row in sorted(rows, key=lambda row: (row.operator, row.since)):
        since = max(row.since, OPSETS[0]) if "." not in row.operator else row.since
        last = joined[-1] if joined else None
        if last and (last.operator, last.types, last.until + 1) == (row.operator, row.types, since):
            joined[-1] = Row(last.operator, last.since, row.until, row.types)
        else:
            joined.append(Row(row.operator, since, row.until, row.types))
    lines += [f"{row.operator}\t{row.since}-{row.until}\t{' '.join(sorted(row.types))}" for row in joined]
    return "\n".join(lines) + "\n"


def contradictions(found: Sequence[tuple[Probe, Outcome]]) -> list[str]:
    """Claimed cases that fail, and passing ones that are not claimed."""
    problems: list[str] = []
    for probe, outcome in found:
        if outcome.status == "unjudged":
            continue
        claimed = support.claimed(probe.operator, probe.opset, probe.types) and not support.excepted(
            probe.operator, probe.name
        )
        if claimed != outcome.passed:
            problems.append(
                f"{probe.name}: {'claimed' if claimed else 'not claimed'}, but {outcome.status} {outcome.reason} "
                f"({probe.operator}-{probe.since}, {' '.join(sorted(probe.types))})"
            )
    return problems


def run_all(chosen: Sequence[Any], older: bool, workers: int = 1) -> list[tuple[Probe, Outcome]]:
    """All probes of the cases with their outcomes."""
    todo = list(probes(chosen, older))
    return list(zip(todo, Crew(todo, workers, run=run_probe).run(), strict=True))


def main(arguments: list[str]) -> None:
    """Print what contradicts the committed claims; with --write, write what holds."""
    workers = [int(word[2:]) for word in arguments if word.startswith("-j")]
    wanted = [word for word in arguments if not word.startswith("-")]
    chosen = [case for case in cases() if not wanted or any(word in case.name for word in wanted)]
    found = run_all(chosen, True, *workers)
    if "--write" in arguments and not wanted:
        CLAIMS.write_text(text_of(derived(found)), encoding="utf-8")
        support.claims.cache_clear()
    for problem in contradictions(found):
        print(problem)
    unjudged = sum(outcome.status == "unjudged" for _, outcome in found)
    passed = sum(outcome.passed for _, outcome in found)
    print(f"{passed} of {len(found) - unjudged} probes pass ({unjudged} have no judge); {len(support.claims())} rows")


if __name__ == "__main__":
    main(sys.argv[1:])
