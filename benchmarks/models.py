"""Whole networks against onnxruntime and OpenVINO, in separate processes, in turn.

    python -m benchmarks.models [--all] [--threads N] [--build] [--rounds N] [--json FILE] [MODEL...]
"""

from __future__ import annotations

import sys

from .subjects import names
from .timed import command

MODELS = ["squeezenet", "resnet50", "efficientnet_lite0", "dnsmos"]
"""What is measured unless models are named."""


def main() -> int:
    return command("networks against their peers", MODELS, names("networks"))


if __name__ == "__main__":
    sys.exit(main())
