"""The command of `benchmarks.models` and `benchmarks.kernels`: time subjects against peers, print, save, compare."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from . import limits, results
from .peers import PEERS, Contest, Stopped, installed, version
from .results import Row
from .subjects import groups, names, subject

RATCHET = Path(__file__).with_name("ratchet.json")


def command(title: str, default: list[str], every: list[str]) -> int:
    """Reads the arguments, times, prints, saves; answers 1 where the ratchet finds what slipped, or a peer stops."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("subjects", nargs="*", help=f"names, or groups: {', '.join(groups())}")
    parser.add_argument("--all", action="store_true", help="every one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    absent = "those that are not installed are left out"
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS, help=absent)
    parser.add_argument("--build", action="store_true", help="print build times and memory as well")
    parser.add_argument("--json", type=Path, help="save what was measured here")
    parser.add_argument("--ratchet", choices=("check", "tighten"), help="against figures kept for this processor")
    chosen = parser.parse_args()
    wanted = chosen.subjects or (every if chosen.all else default)
    wanted = [name for one in wanted for name in (names(one) if one in groups() else [one])]
    peers = installed(tuple(dict.fromkeys([results.OURS, *chosen.peers])))
    about = {
        "machine": limits.machine(),
        "limits": limits.measured(chosen.threads),
        "versions": {peer: version(peer) for peer in peers},
    }
    print(_told(about, chosen.threads), results.heading(peers), sep="\n", flush=True)
    if chosen.ratchet and len(peers) < 2:
        parser.error("a ratchet keeps ratios: no peer is installed")
    rows, stopped = list[Row](), False
    for name in wanted:
        try:
            rows.append(row := timed(name, peers, chosen.threads, chosen.rounds))
        except Stopped as why:
            print(f"{name:<44}{why}", flush=True)
            stopped = True
            continue
        print(results.line(row, about["limits"]["flops"]), flush=True)
        if chosen.build:
            told = (f"{peer} {one['build']:.1f} s, {one['memory']:.0f} MB" for peer, one in row.built.items())
            print(f"    built: {'; '.join(told)}", flush=True)
        if chosen.json:
            results.save(chosen.json, rows, about)
    print(results.summary(rows))
    slipped = chosen.ratchet and ratchet(rows, about["machine"]["processor"], tighten=chosen.ratchet == "tighten")
    return 1 if stopped or slipped else 0


def timed(name: str, peers: tuple[str, ...], threads: int, rounds: int) -> Row:
    """Times one subject on all peers in turn."""
    one = subject(name)
    with Contest(name, peers, threads) as contest:
        found = [contest.round() for _ in range(rounds)]
        times = {peer: [times[peer] for times in found] for peer in peers}
        return Row(name, one.group, threads, times, contest.built, one.work)


def ratchet(rows: list[Row], processor: str, tighten: bool) -> int:
    """Compare with the figures kept for this processor, or keep what is better.  1 if any ratio slipped, else 0."""
    kept = json.loads(RATCHET.read_text()) if RATCHET.exists() else {}
    own = kept.get(processor, {})
    if not own and not tighten:
        print(f"no figures are kept for {processor}; --ratchet tighten keeps these")
        return 0
    lines = results.slipped(rows, own)
    print("\n".join(lines) or "nothing slipped")
    if tighten:
        RATCHET.write_text(json.dumps(kept | {processor: results.tightened(rows, own)}, indent=1) + "\n")
    return 1 if lines and not tighten else 0


def _told(about: dict[str, Any], threads: int) -> str:
    machine, measured = about["machine"], about["limits"]
    versions = ", ".join(f"{peer} {number}" for peer, number in about["versions"].items())
    return (
        f"{machine['processor']}, {machine['cores']} cores, {threads} used; "
        f"{measured['flops'] / 1e9:.0f} GFLOP/s, {measured['bandwidth'] / 1e9:.0f} GB/s; {versions}"
    )
