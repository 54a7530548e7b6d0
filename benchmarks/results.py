"""What a benchmark found: rows of times by peer, their ratios with spread, as a table, JSON and a page of pictures."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass, field
from math import exp, log
from pathlib import Path
from typing import Any

OURS = "workbench"


@dataclass
class Row:
    """Milliseconds of a subject by peer, one for each round, timed in turn."""

    subject: str
    group: str
    threads: int
    times: dict[str, list[float]]
    built: dict[str, dict[str, float]] = field(default_factory=dict)
    work: float = 0.0

    def best(self, peer: str) -> float:
        return min(self.times[peer])

    def ratio(self, peer: str) -> tuple[float, float, float]:
        """Ours over the peer's: least, median and greatest of the rounds."""
        ratios = sorted(ours / theirs for ours, theirs in zip(self.times[OURS], self.times[peer], strict=True))
        return ratios[0], statistics.median(ratios), ratios[-1]

    def against_best(self) -> float:
        """The greatest of the median ratios: how we stand against the best peer.  1 where there is none."""
        return max((self.ratio(peer)[1] for peer in self.peers()), default=1.0)

    def peers(self) -> list[str]:
        return [peer for peer in self.times if peer != OURS]


def mean(ratios: list[float]) -> float:
    """Geometric."""
    return exp(sum(map(log, ratios)) / len(ratios)) if ratios else float("nan")


def heading(peers: tuple[str, ...]) -> str:
    others = "".join(f"{peer + ' ms':>16}{'ratio':>7}{'spread':>13}" for peer in peers if peer != OURS)
    return f"{'subject':<44}{'ours ms':>10}{others}{'of peak':>9}"


def line(row: Row, flops: float) -> str:
    """As the columns of `heading`; the share of the machine's peak where the subject's arithmetic is known."""
    text = f"{row.subject:<44}{row.best(OURS):>10.3f}"
    for peer in row.peers():
        low, middle, high = row.ratio(peer)
        text += f"{row.best(peer):>16.3f}{middle:>7.2f}{f'{low:.2f}-{high:.2f}':>13}"
    return text + (f"{row.work / row.best(OURS) * 1e3 / flops:>9.0%}" if row.work else "")


def summary(rows: list[Row]) -> str:
    """Geometric means by group and peer, and what is worst against the best peer."""
    lines: list[str] = []
    for group in dict.fromkeys(row.group for row in rows):
        inside = [row for row in rows if row.group == group]
        for peer in inside[0].peers():
            lines.append(f"{group}: geometric mean against {peer} {mean([row.ratio(peer)[1] for row in inside]):.2f}")
        worst = max(inside, key=Row.against_best)
        lines.append(f"{group}: worst against the best peer {worst.against_best():.2f} ({worst.subject})")
    return "\n".join(lines)


def save(path: Path, rows: list[Row], about: dict[str, Any]) -> None:
    """One JSON file; `load` reads it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"about": about, "rows": [asdict(row) for row in rows]}, indent=1) + "\n")


def load(path: Path) -> tuple[list[Row], dict[str, Any]]:
    stored = json.loads(path.read_text())
    return [Row(**row) for row in stored["rows"]], stored["about"]


# --- ratchet --------------------------------------------------------------------------------------------------------

SLACK = 1.1
"""How far above the kept figure a ratio may come: what rounds of one machine differ by."""


def slipped(rows: list[Row], kept: dict[str, float]) -> list[str]:
    """A line for each subject that stands worse against the best peer than was kept, by more than `SLACK`."""
    found: list[str] = []
    for row in rows:
        before = kept.get(key(row))
        if before is not None and row.against_best() > before * SLACK:
            found.append(f"{key(row)}: {row.against_best():.2f} of the best peer's time, {before:.2f} was kept")
    return found


def tightened(rows: list[Row], kept: dict[str, float]) -> dict[str, float]:
    """Kept figures with what has become better, and what is new."""
    better = {key(row): round(min(row.against_best(), kept.get(key(row), float("inf"))), 3) for row in rows}
    return dict(sorted((kept | better).items()))


def key(row: Row) -> str:
    return f"{row.subject}@{row.threads}"
