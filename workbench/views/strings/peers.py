"""Texts of comparisons with a peer that runs the same model."""

from __future__ import annotations

from .plurals import counted
from .times import time_text


class Peers:
    """See the module's header."""

    nodes = "nodes of the file"
    kernels = "kernels"
    ours = "ours"
    ratio = "ratio"
    share = "of the differences"
    none = "\u2013"
    share_help = (
        "of the differences: a group's part of all that the two differ by, losses and gains together; "
        "+ where ours takes longer"
    )

    def theirs(self, peer: str) -> str:
        return peer

    def time(self, seconds: float) -> str:
        return time_text(seconds)

    def and_more(self, count: int) -> str:
        return f"+ {count}"

    def more_groups(self, count: int) -> str:
        return f"\u2026 {counted(count, 'group', 'groups')} more"

    def too_short(self, count: int) -> str:
        return f"too short to tell: {counted(count, 'group', 'groups')}"

    def too_short_help(self, ours: float, theirs: float) -> str:
        return (
            f"too short to tell: calls below {time_text(ours)} of ours or {time_text(theirs)} of theirs, about what "
            "the clocks can tell and an empty call takes"
        )

    def whole_run(self, ours: str, peer: str, theirs: str, ratio: float, threads: int, rounds: int) -> str:
        return (
            f"a whole run: {ours}, {peer} {theirs}, ratio {ratio:.2f} "
            f"({counted(threads, 'thread', 'threads')}, medians of {counted(rounds, 'run', 'runs')})"
        )

    def call_by_call(self, ours: str, cost: float, peer: str, theirs: str, peer_cost: float) -> str:
        return (
            f"call by call: {ours}, {peer} {theirs}, each call without what an empty one takes "
            f"({time_text(cost)} and {time_text(peer_cost)})"
        )

    def apart(self, ours: float, peer: str, theirs: float, threads: int) -> str:
        waits = f"; the {threads} threads of a call are waited for before the next" if threads > 1 else ""
        return (
            f"calls and whole runs disagree: calls are {100 * ours:.0f} % of a run of ours, {100 * theirs:.0f} % of "
            f"one of {peer}'s. To time each call takes time itself, and what is between calls is in whole runs "
            f"alone{waits}"
        )

    def own_alone(self, count: int, spent: str, names: str) -> str:
        return f"no nodes of the file are known for {counted(count, 'call', 'calls')} of ours, {spent}: {names}"

    def peer_alone(self, count: int, spent: str, names: str, peer: str) -> str:
        return f"no nodes of the file are known for {counted(count, 'call', 'calls')} of {peer}, {spent}: {names}"
