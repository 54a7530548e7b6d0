"""Names for printing: every variable gets one that means it, and only it, wherever it is visible.

A name is kept when it is an identifier that hides nothing; otherwise it gets a suffix, and the text says the true
name in ``T.names({...})``, so that a round trip is exact.  Variables that are free, bound more than once, or used
outside their binder are declared at the head of the function (``n = T.int64()``); a binder of a declared name binds
that variable.

>>> Names.of_program(Var("i")).printed(Var("k"))
'k'
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections import Counter
from typing import Any

from ...arith.nodes import Var
from ...core.node import Node
from ..scopes import BIND, UNBIND, USE, events

RESERVED = frozenset(("T", "tir", "range", "self", *keyword.kwlist))


def is_plain(name: str) -> bool:
    """True when `name` may stand in the text as it is."""
    return name.isidentifier() and name not in RESERVED and unicodedata.normalize("NFKC", name) == name


def sanitized(name: str) -> str:
    """An identifier that resembles `name`."""
    made = re.sub(r"[^0-9A-Za-z_]", "_", name[:64]) or "v"
    if made[0].isdigit():
        made = "v" + made
    return made if is_plain(made) else made + "_"


class Names:
    """Printed names by variable; see the module's header."""

    def __init__(self) -> None:
        self.by_identity: dict[int, str] = {}
        self.declared: list[Any] = []
        self.declared_ids: set[int] = set()
        self.renamed: dict[str, str] = {}
        self.originals: set[str] = set()
        self._alive: list[Any] = []
        self._abbreviations = 0

    @classmethod
    def of_program(cls, root: Node) -> Names:
        names = cls()
        names._find_declared(root)
        names._assign(root)
        return names

    def printed(self, variable: Any) -> str:
        """The name of a variable in the text; a stray one shows its own name."""
        return self.by_identity.get(id(variable)) or sanitized(variable.name)

    def abbreviation(self) -> str:
        """A new name for a subexpression."""
        while True:
            name = f"e{self._abbreviations}"
            self._abbreviations += 1
            if name not in self.originals and name not in self.renamed:
                return name

    def _find_declared(self, root: Node) -> None:
        bound: Counter[int] = Counter()
        active: Counter[int] = Counter()
        chosen: dict[int, Any] = {}
        for event, variable in events(root):
            self._alive.append(variable)
            self.originals.add(variable.name)
            if event is BIND:
                bound[id(variable)] += 1
                active[id(variable)] += 1
                if bound[id(variable)] > 1:
                    chosen[id(variable)] = variable
            elif event is UNBIND:
                active[id(variable)] -= 1
            elif not active[id(variable)]:
                chosen[id(variable)] = variable
        # Scalars first, since shapes of declared buffers may use them.
        self.declared = sorted(chosen.values(), key=lambda variable: not isinstance(variable, Var))
        self.declared_ids = set(chosen)

    def _assign(self, root: Node) -> None:
        active: Counter[str] = Counter()
        for variable in self.declared:
            self._choose(variable, active)
            active[self.by_identity[id(variable)]] += 1
        for event, variable in events(root):
            if id(variable) in self.declared_ids or event is USE:
                continue
            if event is BIND:
                self._choose(variable, active)
            active[self.by_identity[id(variable)]] += 1 if event is BIND else -1

    def _choose(self, variable: Any, active: Counter[str]) -> None:
        original = variable.name
        if is_plain(original) and not active[original] and original not in self.renamed:
            self.by_identity[id(variable)] = original
            return
        base = sanitized(original)
        number = 0 if base != original else 1
        while True:
            candidate = f"{base}_{number}" if number else base
            number += 1
            if active[candidate] or candidate in self.originals or not is_plain(candidate):
                continue
            if self.renamed.get(candidate, original) == original:
                break
        self.renamed[candidate] = original
        self.by_identity[id(variable)] = candidate
