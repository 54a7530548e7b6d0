"""Where the time of a subject goes, kernel by kernel: arithmetic, traffic and instructions, against its peers.

    python -m benchmarks.apart resnet50_7x7s2_3to64at224 softmax_12x128x128 [--peers workbench onnxruntime]

On one thread.  Of each kernel: microseconds; floating-point operations, and their share of the peak of multiply-adds;
bytes of its arguments, each once, and their share of the bandwidth of memory; instructions that the machine code runs
(`driver.trips`), in all and a cycle, by kind.  Cycles are those of a core that starts two multiply-adds of vectors in
each, at the rate that the run measured.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from math import prod
from typing import Any

from .limits import measured
from .peers import Contest, installed
from .subjects import subject

KINDS = {
    "multiply-adds": r"vf?n?m(add|sub)|vpdp", "gathers": r"v(p?gather|p?scatter)",
    "broadcasts": r"vp?broadcast",
    "shuffles": r"vp?(unpck|shuf|perm|blend|insert|extract|align|compress|expand|movshdup|movd|movq|pack)",
    "arithmetic": r"v(add|sub|mul|div|max|min|sqrt|cmp|and|or|xor|scalef|cvt|round|rndscale|rcp|rsqrt|p)",
    "moves": r"v?mov|kmov", "scalar": r".",
}  # fmt: skip
"""What instructions are called, the first that fits."""
RUNS = 30


def kinds_of(provenance: Any, kernel: str) -> Counter[str]:
    """Instructions that one call of a kernel runs, by kind; those that read or write memory count there as well."""
    from workbench.driver.trips import trips

    text = provenance.text(kernel, "asm").split("\n")
    found: Counter[str] = Counter()
    for line, count in zip(text, trips(provenance, kernel, "asm"), strict=False):
        words = line.split("#")[0].split(None, 1)
        if not count or not words or words[0].startswith(".") or words[0].endswith(":"):
            continue
        name, operands = words[0], words[1] if len(words) > 1 else ""
        found[next(kind for kind, pattern in KINDS.items() if re.match(pattern, name))] += count
        if "(%r" in operands:
            found["to memory" if operands.rstrip().endswith((")", "}")) else "from memory"] += count
    return found


def told(session: Any, inputs: dict[str, Any], machine: dict[str, float], lanes: int) -> list[str]:
    """A paragraph for each kernel."""
    from workbench.analysis.operations import flops

    cycle = 4 * lanes / machine["flops"]
    seconds = _seconds(session, inputs)
    functions = session.step("Schedule").stage.module.functions
    lines: list[str] = []
    for kernel in session.kernels:
        func, taken = functions[kernel], seconds[kernel]
        moved = sum(prod(extent.value for extent in p.shape) * p.dtype.bytes for p in func.params)
        work = flops(func)
        kinds = kinds_of(session.provenance, kernel)
        total = sum(kinds[kind] for kind in KINDS)
        lines += [
            f"  {kernel[:70]}: {taken * 1e6:.1f} us, {taken / cycle:,.0f} cycles",
            f"    {work:,} operations, {work / taken / machine['flops']:.0%} of the peak; "
            f"{moved:,} bytes, {moved / taken / machine['bandwidth']:.0%} of the bandwidth",
            f"    {total:,} instructions, {total * cycle / taken:.2f} a cycle: "
            + ", ".join(f"{kinds[kind]:,} {kind}" for kind in KINDS if kinds[kind])
            + f"; {kinds['from memory']:,} read memory, {kinds['to memory']:,} write it",
        ]
    return lines


def _seconds(session: Any, inputs: dict[str, Any]) -> dict[str, float]:
    """The least time of each kernel in its place in the network."""
    found: dict[str, float] = {}
    for _ in range(RUNS):
        for call in session.profile(inputs).calls:
            found[call.kernel] = min(found.get(call.kernel, 1.0), call.seconds)
    return found


def main() -> int:
    os.environ["WORKBENCH_NUM_THREADS"] = "1"
    import workbench as wb

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="+")
    parser.add_argument("--peers", nargs="*", default=["workbench", "onnxruntime", "openvino"])
    given = parser.parse_args()
    machine = measured(1)
    for name in given.subjects:
        with Contest(name, installed(tuple(given.peers)), 1) as contest:
            rounds = [contest.round() for _ in range(3)]
        best = {peer: min(one[peer] for one in rounds) for peer in rounds[0]}
        print(name + ": " + ", ".join(f"{peer} {taken * 1e3:.1f} us" for peer, taken in best.items()))
        model, inputs = subject(name).made()
        session = wb.open(model, shape={key: value.shape for key, value in inputs.items()})
        print("\n".join(told(session, inputs, machine, session.target.lanes)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
