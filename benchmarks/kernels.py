"""Single operators against onnxruntime and OpenVINO: matrix products, layers of two networks, what stands between.

    python -m benchmarks.kernels [--all] [--threads N] [--rounds N] [--json FILE] [GROUP or NAME...]
"""

from __future__ import annotations

import sys

from .subjects import groups, names
from .timed import command

KERNELS = ["matmul_512", "matmul_512_variable", "resnet50_3x3s1_64to64at56", "softmax_128x3072", "layernorm_512x768"]
"""What is measured unless operators are named."""


def main() -> int:
    every = [name for group in groups() if group != "networks" for name in names(group)]
    return command("operators against their peers", KERNELS, every)


if __name__ == "__main__":
    sys.exit(main())
