"""Texts of comparisons with a peer that runs the same model."""

from __future__ import annotations

from .plurals import counted


class Peers:
    """See the module's header; times are in milliseconds."""

    nodes = "nodes of the file"
    kernels = "kernels"
    ours = "ms"
    ratio = "ratio"
    share = "of the differences"
    none = "\u2013"

    def theirs(self, peer: str) -> str:
        return f"{peer} ms"

    def and_more(self, count: int) -> str:
        return f"+ {count}"

    def more_groups(self, count: int) -> str:
        return f"\u2026 and {counted(count, 'group', 'groups')} more"

    def whole_run(self, ours: str, peer: str, theirs: str, ratio: float, threads: int, rounds: int) -> str:
        return (
            f"a whole run: {ours} ms, {peer} {theirs} ms, ratio {ratio:.2f} "
            f"({counted(threads, 'thread', 'threads')}, medians of {counted(rounds, 'run', 'runs')} in turn)"
        )

    def call_by_call(self, ours: str, cost: float, peer: str, theirs: str, peer_cost: float) -> str:
        return (
            f"call by call: {ours} ms, {peer} {theirs} ms, without what it costs to time a call "
            f"({cost * 1e6:.1f} and {peer_cost * 1e6:.1f} \u00b5s)"
        )

    busy = "whole runs took much longer than their calls: the machine has other work, which lengthens long runs most"

    def own_alone(self, count: int, spent: str, names: str) -> str:
        return f"no nodes of the file are known for {counted(count, 'call', 'calls')} of ours, {spent} ms: {names}"

    def peer_alone(self, count: int, spent: str, names: str, peer: str) -> str:
        return f"no nodes of the file are known for {counted(count, 'call', 'calls')} of {peer}, {spent} ms: {names}"
