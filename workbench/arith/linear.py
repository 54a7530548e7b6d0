"""Integer expressions as linear forms: a constant plus coefficients of atoms.

Atoms are variables, and whatever is not linear (a floor division, a load); equal atoms are merged by structure.
Everything is iterative.

>>> i, j = n.Var("i"), n.Var("j")
>>> form = linear(i * 8 + j + 3)
>>> form.constant, [term.coefficient for term in form.terms]
(3, [8, 1])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..core.equal import fingerprint
from ..core.node import pre_order
from . import nodes as n
from .build import add, const, multiply


@dataclass(frozen=True, eq=False)
class Term:
    """coefficient * atom."""

    atom: n.PrimExpr
    coefficient: int
    key: str
    """Equal for equal atoms."""


@dataclass(frozen=True, eq=False)
class Linear:
    """The sum of `terms` and `constant`; no two terms have one key, no coefficient is zero."""

    terms: tuple[Term, ...]
    constant: int

    def expression(self) -> n.PrimExpr:
        """The form as an expression again."""
        total: n.PrimExpr = const(0)
        for term in self.terms:
            total = add(total, multiply(term.atom, term.coefficient))
        return add(total, self.constant)

    def split(self, variables: Iterable[n.Var]) -> tuple[Linear, Linear]:
        """(the part without any of `variables`, the part with them); the constant goes to the first."""
        wanted = {id(variable) for variable in variables}
        inside = tuple(term for term in self.terms if mentions(term.atom, wanted))
        kept = {term.key for term in inside}
        return Linear(tuple(term for term in self.terms if term.key not in kept), self.constant), Linear(inside, 0)

    def same_terms(self, other: Linear) -> bool:
        """Whether the two differ by a constant only."""
        mine = {term.key: term.coefficient for term in self.terms}
        return mine == {term.key: term.coefficient for term in other.terms}

    def bounds(self, extents: Mapping[int, int]) -> tuple[int, int] | None:
        """Least and greatest value when each atom is a variable in [0, extents[id(variable)]); None if one is not."""
        low = high = self.constant
        for term in self.terms:
            extent = extents.get(id(term.atom))
            if extent is None:
                return None
            reach = term.coefficient * (extent - 1)
            low, high = low + min(0, reach), high + max(0, reach)
        return low, high


def mentions(expr: n.PrimExpr, identities: set[int]) -> bool:
    """Whether a variable of these identities occurs in `expr`."""
    return any(id(node) in identities for node in pre_order(expr))


def linear(expr: n.PrimExpr) -> Linear:
    """The linear form of an integer expression."""
    constant = 0
    coefficients: dict[str, int] = {}
    atoms: dict[str, n.PrimExpr] = {}
    stack: list[tuple[n.PrimExpr, int]] = [(expr, 1)]
    while stack:
        current, factor = stack.pop()
        if isinstance(current, n.IntImm):
            constant += factor * current.value
        elif isinstance(current, n.Add):
            stack += [(current.b, factor), (current.a, factor)]
        elif isinstance(current, n.Sub):
            stack += [(current.b, -factor), (current.a, factor)]
        elif isinstance(current, n.Mul) and isinstance(current.b, n.IntImm):
            stack.append((current.a, factor * current.b.value))
        elif isinstance(current, n.Mul) and isinstance(current.a, n.IntImm):
            stack.append((current.b, factor * current.a.value))
        else:
            key = f"v{id(current)}" if isinstance(current, n.Var) else fingerprint(current)
            atoms.setdefault(key, current)
            coefficients[key] = coefficients.get(key, 0) + factor
    terms = (Term(atoms[key], coefficient, key) for key, coefficient in coefficients.items() if coefficient)
    return Linear(tuple(terms), constant)
