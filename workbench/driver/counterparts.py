"""Which expression of one version of a graph is which of another, where that is certain.

    positions = counterparts(now, before)     # by identity of an expression of `now`: its position in `parts(before)`

Where the graphs differ only in what their expressions are, the place of each says which it is.  Else equal expressions
are told apart by where they stand: those with the same operands are the same, and so are those that are the same
operand of the same users, unless that user has another operand like it or one of a row of them may be gone.  What is
the only one of its kind in the whole, or in a function whose counterpart is known, is the same; so are the only readers
of what is the same.  Pairs found serve to find their neighbours.  An expression that others are like and that nothing
around tells apart has no counterpart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Hashable, Sequence
from typing import Final

from ..core.node import Node, children, post_order
from ..relay.ir import expr as r
from ..relay.ir.operator import Operator
from ..relay.ir.plan import LEAVES
from . import reattach

Users = tuple[tuple[int, int], ...]
"""(position of a user, place of the operand) for all users of an expression."""


VALUES: Final = (r.Constant, r.GlobalVar, r.Constructor)
"""What is nothing but its value: of one value they are one, since whether they are one object no text says."""


def parts(function: r.Expr) -> tuple[list[Node], dict[int, int]]:
    """The expressions of a function, operands first, each of `VALUES` once; and the position of each by identity."""
    nodes: list[Node] = []
    positions: dict[int, int] = {}
    values: dict[Hashable, int] = {}
    for node in post_order(function):
        if isinstance(node, (r.Expr, r.Clause)):
            place = len(nodes)
            if isinstance(node, VALUES):
                place = values.setdefault(reattach.own_key(node), place)
            if place == len(nodes):
                nodes.append(node)
            positions[id(node)] = place
    return nodes, positions


class _Graph:
    """The expressions of a version by position, operands first."""

    def __init__(self, function: r.Expr) -> None:
        self.nodes, self.positions = parts(function)
        whole = reattach.whole_keys(function)
        self.whole = [whole[id(node)] for node in self.nodes]
        self.operands = [self._below(node) for node in self.nodes]
        self.kind = [_kind(node) for node in self.nodes]
        self.scope = self._scopes()
        self.own = self._own()
        users: list[list[tuple[int, int]]] = [[] for _ in self.nodes]
        for position, operands in enumerate(self.operands):
            for place, operand in enumerate(operands):
                users[operand].append((position, place))
        self.users: list[Users] = [tuple(found) for found in users]
        self.counted = Counter(zip(self.scope, self.own, strict=True))

    def _scopes(self) -> list[int]:
        """The position of the innermost function around each expression; its own for one outside of all.

        The parts of two fused functions are alike, name by name: only the function tells them apart.
        """
        found = [-1] * len(self.nodes)
        for position, node in enumerate(self.nodes):
            stack = list(self.operands[position]) if isinstance(node, r.Function) else []
            while stack:
                below = stack.pop()
                if found[below] < 0:
                    found[below] = position
                    stack.extend(self.operands[below])
        return [position if scope < 0 else scope for position, scope in enumerate(found)]

    def shape(self) -> list[tuple[int, Hashable]]:
        """The expressions but `VALUES`, each with its operands by their rank here; leaves are what they are."""
        ranks: dict[int, Hashable] = {}
        found: list[tuple[int, Hashable]] = []
        for position, node in enumerate(self.nodes):
            own = reattach.own_key(node) if isinstance(node, LEAVES) else type(node).__name__
            if isinstance(node, VALUES):
                ranks[position] = own
            else:
                ranks[position] = len(found)
                found.append((position, (own, tuple(ranks[operand] for operand in self.operands[position]))))
        return found

    def _own(self) -> list[Hashable]:
        """What each is without its operands; a function and a call of it also by the kinds that the function holds."""
        within: dict[int, list[Hashable]] = {}
        for position, scope in enumerate(self.scope):
            if scope != position:
                within.setdefault(scope, []).append(self.kind[position])
        found: list[Hashable] = []
        for position, node in enumerate(self.nodes):
            called = self.operands[position][0] if isinstance(node, r.Call) and isinstance(node.op, r.Function) else -1
            holds = within.get(called if called >= 0 else position, ())
            found.append((reattach.own_key(node), tuple(holds)) if holds else reattach.own_key(node))
        return found

    def _below(self, node: Node) -> tuple[int, ...]:
        return tuple(self.positions[id(child)] for child in children(node) if id(child) in self.positions)

    def alone(self, position: int, keys: Sequence[Hashable]) -> bool:
        """Whether no user of an expression has another operand of the same key."""
        return all(
            sum(keys[other] == keys[position] for other in self.operands[user]) == 1
            for user, _ in self.users[position]
        )

    def in_row(self, position: int, known: Container[int]) -> bool:
        """Whether what an expression reads, or what reads it, is like it and reads the same of what is known."""

        def look(at: int) -> Hashable:
            return self.own[at], tuple(operand if operand in known else -1 for operand in self.operands[at])

        near = (*self.operands[position], *(user for user, _ in self.users[position]))
        return any(look(other) == look(position) for other in near)


def _kind(node: Node) -> Hashable:
    """What an expression is, without its parameters."""
    if isinstance(node, VALUES):
        return reattach.own_key(node)
    named = isinstance(node, r.Call) and isinstance(node.op, Operator)
    return (type(node).__name__, node.op.name if named else "")  # type: ignore[union-attr]


def counterparts(new: r.Expr, old: r.Expr) -> dict[int, int]:
    """See the module's header."""
    search = _Search(_Graph(new), _Graph(old))
    search.run(lambda: reattach.reattach(new, old).pairs)
    found = ((identity, search.partner.get(position)) for identity, position in search.new.positions.items())
    return {identity: other for identity, other in found if other is not None}


class _Search:
    """The pairs found so far, from which more are found."""

    def __init__(self, new: _Graph, old: _Graph) -> None:
        self.new, self.old = new, old
        self.partner: dict[int, int] = {}
        self.taken: set[int] = set()

    def run(self, likely: Callable[[], Sequence[tuple[Node, Node]]]) -> None:
        """Pair by what is the only one of its kind, then along operands and users, then what only resembles."""
        self._only(self.new.whole, self.old.whole)
        self._by_place()
        self._only(self.new.own, self.old.own)
        self._pair(len(self.new.nodes) - 1, len(self.old.nodes) - 1)  # the functions themselves
        self._spread(self.new.own, self.old.own)
        self._only_in_scope()
        self._spread(self.new.own, self.old.own)
        self._spread(self.new.kind, self.old.kind)
        self._only_in_scope()
        self._spread(self.new.own, self.old.own)
        self._twins()
        if len(self.partner) == min(len(self.new.nodes), len(self.old.nodes)):
            return
        self._likely(likely())
        self._spread(self.new.own, self.old.own)

    def _likely(self, pairs: Sequence[tuple[Node, Node]]) -> None:
        """Pair what an alignment of the texts pairs, where nothing else that is left is like either."""
        left_new = Counter(own for at, own in enumerate(self.new.own) if at not in self.partner)
        left_old = Counter(own for at, own in enumerate(self.old.own) if at not in self.taken)
        for node, former in pairs:
            one, other = self.new.positions[id(node)], self.old.positions[id(former)]
            ours, theirs = self.new.own[one], self.old.own[other]
            free = one not in self.partner and other not in self.taken
            if free and left_new[ours] == left_old[theirs] == 1 and self._stand_alike(one, other):
                if self._pair(one, other):
                    left_new[ours] -= 1
                    left_old[theirs] -= 1

    def _pair(self, one: int, other: int) -> bool:
        mine, theirs = self.new.nodes[one], self.old.nodes[other]
        if one in self.partner or other in self.taken or type(mine) is not type(theirs):
            return False
        if isinstance(mine, VALUES) and self.new.own[one] != self.old.own[other]:
            return False
        self.partner[one] = other
        self.taken.add(other)
        return True

    def _by_place(self) -> None:
        """Pair by place where the graphs differ only in what their expressions are.

        Not where a pair found denies it, or where what stands at one place now stood at another before: one that is
        left out and one that is put in elsewhere give the same shape.
        """
        mine, theirs = self.new.shape(), self.old.shape()
        if [look for _, look in mine] != [look for _, look in theirs]:
            return
        places = {one: other for (one, _), (other, _) in zip(mine, theirs, strict=True)}
        changed = sum(self.new.own[one] != self.old.own[other] for one, other in places.items())
        moved = changed - (Counter(self.new.own) - Counter(self.old.own)).total()
        if moved == 0 and all(places.get(one, other) == other for one, other in self.partner.items()):
            for one, other in places.items():
                self._pair(one, other)

    def _only(self, ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> None:
        """Pair what only one on each side has."""
        mine, other = unique_positions(ours), unique_positions(theirs)
        for key, position in mine.items():
            if position >= 0 and other.get(key, -1) >= 0:
                self._pair(position, other[key])

    def _only_in_scope(self) -> None:
        """Pair what is the only one of its kind in functions that are paired."""
        around = (-1 if scope == at else self.partner.get(scope, -1) for at, scope in enumerate(self.new.scope))
        mine = [(scope, own) for scope, own in zip(around, self.new.own, strict=True)]
        theirs = list(zip(self.old.scope, self.old.own, strict=True))
        self._only(mine, theirs)

    def _spread(self, ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> None:
        """Pair by the operands and by the users of what is paired, until nothing more is found."""
        up = unique_positions([(key, below) for key, below in zip(theirs, self.old.operands, strict=True)])
        own_up = unique_positions([(key, below) for key, below in zip(ours, self.new.operands, strict=True)])
        standing = enumerate(zip(theirs, self.old.users, strict=True))
        down = {(key, frozenset(users)): place for place, (key, users) in standing}
        found = True
        while found:
            found = False
            for position in range(len(self.new.nodes)):
                if position not in self.partner:
                    found |= self._by_operands(position, ours, own_up, up)
                if position not in self.partner:
                    found |= self._by_own_operand(position, ours, theirs)
            for position in reversed(range(len(self.new.nodes))):
                if position not in self.partner:
                    found |= self._by_users(position, ours, theirs, down)

    def _by_operands(
        self, position: int, ours: Sequence[Hashable], own: dict[Hashable, int], known: dict[Hashable, int]
    ) -> bool:
        below = self.new.operands[position]
        if not below or own[ours[position], below] < 0:
            return False
        other = known.get((ours[position], tuple(self.partner.get(operand, -1) for operand in below)), -1)
        return other >= 0 and self._pair(position, other)

    def _twins(self) -> None:
        """Pair, in order, those that are the same on the same operands, as many as were: which is which matters not."""
        found = True
        while found:
            mine, theirs = defaultdict[Hashable, list[int]](list), defaultdict[Hashable, list[int]](list)
            for at, below in enumerate(self.new.operands):
                if at not in self.partner and below and all(operand in self.partner for operand in below):
                    mine[self.new.own[at], tuple(self.partner[operand] for operand in below)].append(at)
            for at, below in enumerate(self.old.operands):
                if at not in self.taken and below:
                    theirs[self.old.own[at], below].append(at)
            alike = [(places, theirs[key]) for key, places in mine.items() if len(places) == len(theirs[key])]
            found = any([self._pair(*pair) for both in alike for pair in zip(*both, strict=True)])
            if found:
                self._spread(self.new.own, self.old.own)

    def _by_own_operand(self, position: int, ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> bool:
        """Pair the only readers of what is paired: a layer is known by its weights.

        Where it is computed, nothing else that they read may be another's.
        """
        for place, operand in enumerate(self.new.operands[position]):
            if operand in self.partner and self.new.users[operand] == ((position, place),):
                users = self.old.users[self.partner[operand]]
                other = users[0][0] if len(users) == 1 and users[0][1] == place else -1
                known = isinstance(self.new.nodes[operand], LEAVES) or (other >= 0 and self._agree(position, other))
                if other >= 0 and known and ours[position] == theirs[other]:
                    return self._pair(position, other)
        return False

    def _agree(self, one: int, other: int) -> bool:
        """Whether two have as many operands, and none that is paired has another partner than the other's there."""
        mine, theirs = self.new.operands[one], self.old.operands[other]
        return len(mine) == len(theirs) and all(
            self.partner.get(a, b) == b and (a in self.partner or b not in self.taken)
            for a, b in zip(mine, theirs, strict=True)
        )

    def _by_users(
        self,
        position: int,
        ours: Sequence[Hashable],
        theirs: Sequence[Hashable],
        known: dict[tuple[Hashable, frozenset[tuple[int, int]]], int],
    ) -> bool:
        users = self.new.users[position]
        other = known.get((ours[position], frozenset((self.partner.get(user, -1), place) for user, place in users)))
        if not users or other is None or not (self.new.alone(position, ours) and self.old.alone(other, theirs)):
            return False
        return self._told_apart(position, other) and self._pair(position, other)

    def _told_apart(self, one: int, other: int) -> bool:
        """Whether two of the same users are the same, though what is below them is not.

        Two that are not alike are; so are two functions, since one belongs to the call that calls it; so are two that
        read something known as well, unless they stand in a row of others like them; else the functions around them
        must hold as many like each, or one of a row may be gone.
        """
        ours, theirs = self.new.own[one], self.old.own[other]
        if ours != theirs or isinstance(self.new.nodes[one], r.Function):
            return True
        reads_known = any(operand in self.partner for operand in self.new.operands[one]) and self._agree(one, other)
        if reads_known and not (self.new.in_row(one, self.partner) or self.old.in_row(other, self.taken)):
            return True
        return self.new.counted[self.new.scope[one], ours] == self.old.counted[self.old.scope[other], theirs]

    def _stand_alike(self, one: int, other: int) -> bool:
        """Whether two have the same operands or the same users."""
        below = tuple(self.partner.get(operand, -1) for operand in self.new.operands[one])
        users = {(self.partner.get(user, -1), place) for user, place in self.new.users[one]}
        return (bool(below) and below == self.old.operands[other]) or users == set(self.old.users[other])


def unique_positions(keys: Sequence[Hashable]) -> dict[Hashable, int]:
    """The position of each key; -1 where several have it."""
    found: dict[Hashable, int] = {}
    for position, key in enumerate(keys):
        found[key] = -1 if key in found else position
    return found
