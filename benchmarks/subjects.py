"""What the benchmarks time: networks and single operators, each an ONNX model with its inputs, by name.

`subject("resnet50")`, `subject("matmul_512")`, `names("layers")`.  The same name gives the same model and the same
numbers in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

REAL = {
    "efficientnet_lite0": "efficientnet_lite0_imagenet_dynamo",
    "efficientnet_lite0_old": "efficientnet_lite0_imagenet",
    "dnsmos": "dnsmos_model_v8",
    "ocr_cls": "ch_ppocr_mobile_v2.0_cls_infer",
    "ocr_det": "ch_PP-OCRv4_det_infer",
    "magika": "magika_standard_v3_3",
    "basic_pitch": "basic_pitch_nmp",
    "minilm": "minilm_l6_fp32",
    "silero_sequence": "silero_vad_16k_sequence",
    "silero_op15": "silero_vad_16k_op15",
    "resemblyzer": "resemblyzer_lstm",
}
"""Files of real networks by short name."""


@dataclass(frozen=True)
class Subject:
    """A model that peers run; `work`: its floating-point operations a call, a multiply-add as two, 0 if not told."""

    name: str
    group: str
    made: Callable[[], tuple[Any, dict[str, Any]]]
    work: float = 0.0


@cache
def _all() -> dict[str, Subject]:
    from tests.models import LIGHT, light_input, light_model

    from . import networks, operators

    found = [Subject(name, "networks", lambda n=name: (light_model(n), light_input(n))) for name in LIGHT]
    found += [Subject(name, "networks", lambda f=file: _from_file(f)) for name, file in REAL.items()]
    found += [Subject(name, "networks", made) for name, made in networks.BY_SCRIPT.items()]
    found += operators.all_operators()
    return {one.name: one for one in found}


def subject(name: str) -> Subject:
    """By its name.  Raises `SystemExit` for an unknown one."""
    known = _all()
    if name not in known:
        raise SystemExit(f"nothing to time is called {name!r}; there are: {', '.join(known)}")
    return known[name]


def names(group: str) -> list[str]:
    """Of a group, in order."""
    return [one.name for one in _all().values() if one.group == group]


def groups() -> list[str]:
    return list(dict.fromkeys(one.group for one in _all().values()))


def _from_file(file: str) -> tuple[Any, dict[str, Any]]:
    import onnx

    from tests.models import find_model, recorded

    path = find_model(file)
    if path is None:
        raise SystemExit(f"the model {file}.onnx is not here; set WORKBENCH_MODELS to a folder that has it")
    return onnx.load(path), recorded(file)[0]
