"""Every step of whole models against the imported model: steps, kernels, processor seconds, tolerance used, verdict.

    python -m tests.conformance.numerics [-v] [MODEL...]

Light models run on seeded weights, real ones on recorded inputs (tests/models.py).  `-v` prints each report.  A model
that this machine has not got, or that cannot be imported or lowered yet, is a row that says so.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from tests.models import LIGHT, find_model, light_input, light_model, recorded
from workbench import WorkbenchError

REAL = {
    "efficientnet_lite0": "efficientnet_lite0_imagenet",
    "efficientnet_dynamo": "efficientnet_lite0_imagenet_dynamo",
    "ppocr_cls": "ch_ppocr_mobile_v2.0_cls_infer",
    "ppocr_det": "ch_PP-OCRv4_det_infer",
    "dnsmos": "dnsmos_model_v8",
    "magika": "magika_standard_v3_3",
    "basic_pitch": "basic_pitch_nmp",
    "minilm": "minilm_l6_fp32",
}
"""Real models by their short names."""
MODELS = (*LIGHT, *REAL)
SMALL = ("magika",)
"""Those that every run of the tests checks."""


@dataclass(frozen=True)
class Row:
    """One model's line of the table."""

    model: str
    steps: int = 0
    kernels: int = 0
    checked: int = 0
    seconds: float = 0.0
    part: float = 0.0
    verdict: str = "right"
    text: str = ""

    def __str__(self) -> str:
        if not self.steps:
            return f"{self.model:<22}{'':>46}{self.verdict}"
        return (
            f"{self.model:<22}{self.steps:>6}{self.kernels:>9}{self.checked:>9}{self.seconds:>9.1f}"
            f"{100 * self.part:>11.1f} %  {self.verdict}"
        )


HEADING = f"{'model':<22}{'steps':>6}{'kernels':>9}{'checks':>9}{'CPU s':>9}{'of tolerance':>13}  verdict"


def model_and_inputs(name: str) -> tuple[Any, dict[str, Any]] | None:
    """A model and inputs for it; None where the file is not here."""
    if name in LIGHT:
        return light_model(name), light_input(name)
    file = REAL[name]
    path = find_model(file)
    return None if path is None else (str(path), recorded(file)[0])


def check(name: str) -> Row:
    """The row of one model."""
    import workbench as wb

    found = model_and_inputs(name)
    if found is None:
        return Row(name, verdict="the file is not here")
    model, inputs = found
    try:
        session = wb.open(model, shape={key: array.shape for key, array in inputs.items()})
        report = session.check_numerics(inputs)
        kernels = len(session.kernels)
    except WorkbenchError as error:
        return Row(name, verdict=f"{error.code} {error.message}"[:110])
    first = report.first_wrong
    text = str(report)
    return Row(
        name, len(report.checks), kernels, report.kernel_checks, report.seconds, report.part,
        f"first wrong: {first}; {report.checks[-1].note or report.tensor}"[:160] if first else "right", text,
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=list(MODELS), metavar="MODEL")
    parser.add_argument("-v", action="store_true", help="print each report")
    parser.add_argument("--here", action="store_true", help="all models in this process")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.models if name not in MODELS]
    if unknown:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(MODELS)}")
    if len(chosen.models) > 1 and not chosen.here:  # a process each: memory comes back
        print(HEADING, flush=True)
        options = ["-v"] if chosen.v else []
        command = [sys.executable, "-m", "tests.conformance.numerics", "--here", *options]
        return max(subprocess.run([*command, name], check=False).returncode for name in chosen.models)
    rows = [check(name) for name in chosen.models]
    for row in rows:
        if chosen.v and row.text:
            print(row.text)
        print(row, flush=True)
    return int(any(row.verdict != "right" for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
