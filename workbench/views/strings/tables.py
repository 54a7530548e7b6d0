"""The tables of all parts, and those that are spoken now.

    from .strings.tables import say
    say.graph.parameters(300)                # "300 parameters"

A text with values in it is a method, a sentence is one text, and no place of use puts texts together.  Texts are asked
for when they are shown, never when a module is loaded.  So another language is another `Strings`:

    class Grafik(Graph):
        scalar = "Skalar"

        def parameters(self, count: int) -> str:
            return f"{count} Parameter"

    speak(Strings(graph=Grafik(), ...))      # from now on; what was spoken before is the answer

Not here: messages of errors, whose codes are their keys, and what the meanings of words are (`views.word_docs`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Final

from .candidates import Candidates
from .changes import Changes
from .charts import Charts
from .checks import Checks
from .graph import Graph
from .lens import Lens
from .peers import Peers
from .pipeline import Pipeline
from .protocol import Protocol
from .runs import Runs
from .schedule import Schedule
from .session import Session
from .snapshot import Snapshot
from .words import Words


@dataclass
class Strings:
    """A table for each part; in English where no other is given."""

    candidates: Candidates = field(default_factory=Candidates)
    changes: Changes = field(default_factory=Changes)
    charts: Charts = field(default_factory=Charts)
    checks: Checks = field(default_factory=Checks)
    graph: Graph = field(default_factory=Graph)
    lens: Lens = field(default_factory=Lens)
    peers: Peers = field(default_factory=Peers)
    pipeline: Pipeline = field(default_factory=Pipeline)
    protocol: Protocol = field(default_factory=Protocol)
    runs: Runs = field(default_factory=Runs)
    schedule: Schedule = field(default_factory=Schedule)
    session: Session = field(default_factory=Session)
    snapshot: Snapshot = field(default_factory=Snapshot)
    words: Words = field(default_factory=Words)


say: Final = Strings()
"""What is spoken now."""


def speak(tables: Strings) -> Strings:
    """Take the texts of these tables from now on; gives those that were taken before."""
    before = replace(say)
    for part in fields(Strings):
        setattr(say, part.name, getattr(tables, part.name))
    return before
