"""merge: loops of nests that follow one another become one."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.tree import Tree
from ...arith.nodes import PrimExpr, Var
from ...arith.scope import are_equal, number_of
from ...core.node import substitute
from ...tir import nodes as t
from ...tir.build import seq
from ..chains import distinct
from ..errors import refuse, require
from ..legality import require_mergeable
from ..references import LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Replacement, replaced


@primitive(category="loop")
def merge(state: ScheduleState, *loops: LoopRV) -> Change[LoopRV]:
    """Run nests that follow one another in one nest, down to the loops given, one of each.

    before:  for i, j in grid(4, 6): B[i, j] = A[i, j]
             for x, y in grid(4, 6): C[x, y] = B[x, y]
    after:   for i, j in grid(4, 6):                        # merge(j, y); the inner loop is answered
                 B[i, j] = A[i, j]
                 C[i, j] = B[i, j]

    The loops of the first nest stay.  Legal if no iteration of a later nest needs, or spoils, what an iteration of an
    earlier nest does that now comes after it.
    Raises `ScheduleError`: nests that do not follow one another, loops of different depths or extents, loops that are
    not serial, dependences that would be turned round (with a witness).
    """
    given = distinct(state, loops, "merge")
    if len(given) == 1:
        return Change(state.func, (given[0].var,))
    chains = _chains(state, given)
    for chain in chains:
        _check_chain(chains[0], chain)
    parts = [_renamed(chain, chains[0]) for chain in chains]
    made: t.Stmt = seq(*parts)
    for loop in reversed(chains[0]):
        made = loop.replace(body=made)
    changes: dict[int, Replacement] = {id(chain[0]): None for chain in chains[1:]}
    changes[id(chains[0][0])] = made
    func = replaced(state.func, changes)
    merged = _along(Tree.of(func), chains[0])
    require_mergeable(state, func, merged, [len(_statements(part)) for part in parts], given)
    return Change(func, (chains[0][-1].var,))


def _chains(state: ScheduleState, given: Sequence[t.For]) -> list[list[t.For]]:
    """The loops from each nest's top to the loop given."""
    paths = [(*state.tree.loops[id(loop.var)].path, loop) for loop in given]
    shared = 0
    while all(len(path) > shared and path[shared] is paths[0][shared] for path in paths):
        shared += 1
    around = paths[0][shared - 1] if shared else None
    chains = [list(path[shared:]) for path in paths]
    tops = [chain[0] for chain in chains if chain]
    if not isinstance(around, t.SeqStmt) or len(tops) < len(given) or len(set(map(id, tops))) < len(given):
        raise _apart(given, "loops around one another, or two of one nest")
    first = next(number for number, part in enumerate(around.stmts) if part is tops[0])
    following = around.stmts[first : first + len(tops)]
    if len(following) < len(tops) or any(one is not other for one, other in zip(following, tops, strict=True)):
        raise _apart(given, "other statements between the nests, or the nests in another order")
    for chain in chains:
        for outer in chain[:-1]:
            require(
                isinstance(outer, t.For) and isinstance(outer.body, t.For),
                "E-SCHEDULE-BRANCH",
                f"cannot merge: more stands between {_name(chain[0])} and {_name(chain[-1])} than loops",
                found=f"a {type(outer).__name__} with more in it than the next loop",
                expected="loops nested directly in one another",
                fix="merge outer loops",
                nodes=(outer, chain[-1]),
            )
    return [[loop for loop in chain if isinstance(loop, t.For)] for chain in chains]


def _apart(given: Sequence[t.For], found: str) -> Exception:
    return refuse(
        "E-SCHEDULE-MERGE-APART",
        f"cannot merge {', '.join(loop.var.name for loop in given)}: their nests do not follow one another",
        found=found,
        expected="loops of nests that stand directly one after the other, first nest first",
        fix="name one loop of each nest, in the order of the program",
        nodes=given,
    )


def _check_chain(first: Sequence[t.For], other: Sequence[t.For]) -> None:
    """Both nests must have the same serial loops: depth, first value, extent."""
    require(
        len(first) == len(other),
        "E-SCHEDULE-MERGE-DEPTH",
        f"cannot merge {first[-1].var.name} and {other[-1].var.name}: they stand at different depths",
        found=f"{len(first)} and {len(other)} loops from the top of their nests",
        expected="loops at the same depth",
        fix="choose loops at the same depth",
        nodes=(first[-1], other[-1]),
    )
    values: dict[Var, PrimExpr] = {loop.var: mine.var for loop, mine in zip(other, first, strict=True)}
    for mine, loop in zip(first, other, strict=True):
        require(
            loop.kind is t.ForKind.SERIAL and not loop.annotations,
            "E-SCHEDULE-MERGE-KIND",
            f"cannot merge {loop.var.name}: it is {'annotated' if loop.annotations else loop.kind.value}",
            found=f"a loop of kind {loop.kind.value}",
            expected="serial loops without annotations",
            fix="merge first, annotate the result afterwards",
            nodes=(loop,),
        )
        require(
            all(_same(getattr(mine, bound), substitute(getattr(loop, bound), values)) for bound in ("min", "extent")),
            "E-SCHEDULE-MERGE-EXTENT",
            f"cannot merge {mine.var.name} and {loop.var.name}: they do not run through the same values",
            found=f"{_range(mine)} and {_range(loop)}",
            expected="equal first values and extents",
            fix="split or partition the longer loop first",
            nodes=(mine, loop),
        )


def _same(one: PrimExpr, other: PrimExpr) -> bool:
    return are_equal(one, other)


def _range(loop: t.For) -> str:
    extent = number_of(loop.extent)
    return f"{loop.var.name} in {'a symbolic range' if extent is None else f'range({extent})'}"


def _name(stmt: t.Stmt) -> str:
    return stmt.var.name if isinstance(stmt, t.For) else type(stmt).__name__


def _renamed(chain: Sequence[t.For], first: Sequence[t.For]) -> t.Stmt:
    """The body of a nest over the loops of the first one."""
    if chain is first:
        return chain[-1].body
    values: dict[Var, PrimExpr] = {loop.var: mine.var for loop, mine in zip(chain, first, strict=True)}
    return substitute(chain[-1].body, values)


def _along(tree: Tree, chain: Sequence[t.For]) -> list[t.For]:
    return [tree.loops[id(loop.var)].loop for loop in chain]


def _statements(stmt: t.Stmt) -> tuple[t.Stmt, ...]:
    return stmt.stmts if isinstance(stmt, t.SeqStmt) else (stmt,)
