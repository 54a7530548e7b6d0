"""decompose_padding: a padded copy becomes a fill with the pad value and a copy of what lies inside."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...analysis.bindings import writes_box
from ...analysis.regions import Bound
from ...analysis.tree import BlockSite, Tree
from ...arith import build
from ...arith import nodes as a
from ...arith.build import conjuncts
from ...arith.forms import Form
from ...arith.nodes import PrimExpr, Var
from ...core import origin
from ...core.node import substitute
from ...tir import nodes as t
from ..blocks import require_written_apart
from ..errors import refuse, require
from ..inlining import plain_variables, single_store
from ..placing import Window, moved, outputs_of
from ..references import BlockRV, LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, replaced, with_regions


@dataclass(frozen=True)
class _Inside:
    """Where an iterator is inside: from `low` on, up to and with `high`."""

    low: Form
    high: Form


@primitive(category="reduction")
def decompose_padding(state: ScheduleState, block: BlockRV, loop: LoopRV) -> Change[BlockRV]:
    """Fill a padded buffer with its pad value before a loop, and let the block copy only what lies inside.

    before:  for i in range(8): P[i] = if_then_else(i >= 1 and i < 7, X[i - 1], 0)
    after:   for i in range(8): P[i] = 0                                  # the block answered
             for ax0 in range(6): P[ax0 + 1] = X[ax0]

    In a loop that others share, the block copies where it stands, and all that the loop fills is filled before it.
    Raises `ScheduleError`: a block that is no padded copy, a condition that is no range of its iterators, a loop that
    is not around it, loops that are not serial, values that depend on when they are computed.
    """
    site, target = state.block(block), state.loop(loop)
    require_written_apart(state, site, "decompose the padding of")
    store = single_store(site, "decompose the padding of")
    plain_variables(site, store.indices, "decompose the padding of")
    condition, value, pad = _parts(site, store)
    inside = _inside(site, condition)
    at = _position(site, target)
    alone = _alone_from(site, at)
    # What is filled and written by nobody is read by nobody, unless it is the caller's.
    _require_filled(site, target, at if outputs_of(state, site) else alone)
    names = Names(state.tree.names())
    filled = _filling(site, store, pad, names)
    copied = _copying(site, store, value, inside)
    fill = _nested(site, filled, at, names)
    copy = _nested(site, copied, alone, names)
    if alone == at:
        return Change(replaced(state.func, {id(target): (fill, copy)}), (filled.name,))
    held = site.loops[alone] if alone < len(site.loops) else site.realize
    func = replaced(state.func, {id(held): copy})
    now = Tree.of(func).loops[id(target.var)].loop
    return Change(replaced(func, {id(now): (fill, now)}), (filled.name,))


def _nested(site: BlockSite, block: t.Block, at: int, names: Names) -> t.Stmt:
    """A block with the iterators of that at `site` in loops over what these take while its loops from `at` on run."""
    bounds = _bounds(site, site.loops[at:])
    windows = {
        id(new.var): _window(bounds[id(old.var)], new, site)
        for old, new in zip(site.block.iter_vars, block.iter_vars, strict=True)
    }
    known = {key: window for key, window in windows.items() if window is not None}
    return moved(_at(site, block), known, site.loops[:at], names, False)


def _alone_from(site: BlockSite, at: int) -> int:
    """From which of its loops on, `at` or a later one, nothing stands beside the block."""
    for number in reversed(range(at, len(site.loops))):
        inner = site.loops[number + 1] if number + 1 < len(site.loops) else site.realize
        if site.loops[number].body is not inner:
            return number + 1
    return at


def _at(site: BlockSite, block: t.Block) -> BlockSite:
    return replace(site, realize=site.realize.replace(block=block))


def _parts(site: BlockSite, store: t.BufferStore) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
    """(condition, value inside, pad value) of a padded copy."""
    value = store.value
    if isinstance(value, a.Call) and value.op == "if_then_else":
        condition, inner, pad = value.args
    elif isinstance(value, a.Select):
        condition, inner, pad = value.condition, value.true_value, value.false_value
    else:
        raise _no_padding(site, f"a {type(value).__name__} is stored")
    if not isinstance(pad, (a.FloatImm, a.IntImm)):
        raise _no_padding(site, "the value outside is no constant")
    return condition, inner, pad


def _no_padding(site: BlockSite, found: str) -> Exception:
    return refuse(
        "E-SCHEDULE-PADDING-FORM",
        f"{site.name} is no padded copy",
        found=found,
        expected="one store of if_then_else(inside, value, constant)",
        fix="choose a block that pads",
        nodes=(site.block,),
    )


def _inside(site: BlockSite, condition: PrimExpr) -> dict[int, _Inside]:
    """The range of each iterator in which the condition holds, by the iterator's identity."""
    scope = site.forms
    found = {id(item.var): _Inside(*map(scope.linear, _ends(item.dom))) for item in site.block.iter_vars}
    for part in conjuncts(condition):
        form = scope.at_least_zero(part)
        own = site.iterators & scope.variables_of(form) if form is not None else frozenset[int]()
        if form is None or len(own) != 1:
            raise _no_range(site)
        (variable,) = own
        factor = form.terms.get(variable, 0)
        rest = form.plus(Form({variable: 1}, 0), -factor)
        if factor not in (1, -1) or scope.moves(rest, own):
            raise _no_range(site)
        place = id(scope.atoms.table[variable].expr)
        known = found[place]
        if factor == 1:
            found[place] = _Inside(_tighter(site, known.low, rest.times(-1), True), known.high)
        else:
            found[place] = _Inside(known.low, _tighter(site, known.high, rest, False))
    for item in site.block.iter_vars:
        extent = found[id(item.var)].high.minus(found[id(item.var)].low).constant
        require(
            extent is None or extent >= 0,
            "E-SCHEDULE-PADDING-FORM",
            f"nothing of {site.name} lies inside",
            found=f"no value of {item.var.name} meets the condition",
            expected="a condition that some iterations meet",
            fix="leave the block as it is",
            nodes=(site.block,),
        )
    return found


def _ends(domain: t.Range) -> tuple[PrimExpr, PrimExpr]:
    return domain.min, build.subtract(build.add(domain.min, domain.extent), 1)


def _tighter(site: BlockSite, one: Form, other: Form, lower: bool) -> Form:
    """The greater of two lower ends, or the smaller of two upper ones."""
    if site.forms.at_most(one, other):
        return other if lower else one
    if site.forms.at_most(other, one):
        return one if lower else other
    raise _no_range(site)


def _no_range(site: BlockSite) -> Exception:
    return refuse(
        "E-SCHEDULE-PADDING-RANGE",
        f"where {site.name} is inside is no range of its iterators",
        found="a condition that is not a bound of one iterator, or bounds that cannot be compared",
        expected="conditions like vi >= 1 and vi < 7",
        fix="write the padding as bounds of single iterators",
        nodes=(site.block,),
    )


def _position(site: BlockSite, target: t.For) -> int:
    """Which of the block's loops the target is; from it on, they are serial."""
    at = next((number for number, loop in enumerate(site.loops) if loop is target), None)
    require(
        at is not None,
        "E-SCHEDULE-NOT-AROUND",
        f"{target.var.name} is no loop around {site.name}",
        found=f"its loops are {', '.join(loop.var.name for loop in site.loops) or 'none'}",
        expected="a loop around the block",
        fix="choose one of get_loops(block)",
        nodes=(site.block, target),
    )
    assert at is not None
    for loop in site.loops[at:]:
        require(
            loop.kind is t.ForKind.SERIAL,
            "E-SCHEDULE-PADDING-LOOP",
            f"cannot decompose the padding of {site.name}: {loop.var.name} is not serial",
            found=f"a {loop.kind.value} loop",
            expected="serial loops around the block, from the chosen loop on",
            fix="decompose before annotating loops",
            nodes=(loop,),
        )
    return at


def _require_filled(site: BlockSite, target: t.For, at: int) -> None:
    """Refuse loops, from number `at` on, that leave gaps."""
    require(
        all(writes_box(site, region, site.loops[at:]) for region in site.block.writes),
        "E-SCHEDULE-PARTIAL",
        f"cannot show that the loops of {site.name} from {target.var.name} on fill a box",
        found="loops with gaps",
        expected="loops that run through ranges of the iterators",
        fix="decompose before splitting or fusing",
        nodes=(site.block, target),
    )


def _bounds(site: BlockSite, inner: tuple[t.For, ...]) -> dict[int, Bound]:
    """What values each iterator takes while the inner loops run."""
    scope, found = site.forms, dict[int, Bound]()
    own = scope.numbers(loop.var for loop in inner)
    for item, value in site.bindings:
        low, high = scope.ends(scope.linear(value), own)
        if low is None or high is None:
            raise _unbounded(site)
        found[id(item.var)] = Bound(low, high)
    return found


def _unbounded(site: BlockSite) -> Exception:
    return refuse(
        "E-SCHEDULE-PARTIAL",
        f"the loops of {site.name} give its iterators no ranges",
        found="a symbolic or irregular binding",
        expected="iterators that are sums of loops",
        fix="decompose before splitting or fusing",
        nodes=(site.block,),
    )


def _window(bound: Bound, item: t.IterVar, site: BlockSite) -> Window | None:
    """The values of an iterator that lie in a bound and in its domain; None for the whole domain."""
    scope = site.forms
    first, last = map(scope.linear, _ends(item.dom))
    if scope.at_most(bound.low, first) and scope.at_most(last, bound.high):
        return None
    low, high = bound
    if low.constant is not None and first.constant is not None:
        low = Form({}, max(low.constant, first.constant))
    if high.constant is not None and last.constant is not None:
        high = Form({}, min(high.constant, last.constant))
    extent = Bound(low, high).extent(scope)
    if extent is None:
        raise _unbounded(site)
    return Window(scope.index(low), max(extent, 0))


def _filling(site: BlockSite, store: t.BufferStore, pad: PrimExpr, names: Names) -> t.Block:
    block = site.block
    fresh = {item.var: Var(f"{item.var.name}", item.var.dtype) for item in block.iter_vars}
    iter_vars = tuple(item.replace(var=fresh[item.var]) for item in block.iter_vars)
    body = t.BufferStore(store.buffer, pad, tuple(substitute(index, fresh) for index in store.indices))
    made = t.Block(names.fresh(f"{block.name}_pad_const"), iter_vars, (), (), (), None, body)
    return origin.derived(with_regions(made), block)


def _copying(site: BlockSite, store: t.BufferStore, value: PrimExpr, inside: dict[int, _Inside]) -> t.Block:
    iter_vars: list[t.IterVar] = []
    for item in site.block.iter_vars:
        found = inside[id(item.var)]
        begin, extent = map(site.forms.index, (found.low, found.high.minus(found.low).shifted(1)))
        iter_vars.append(item.replace(dom=t.Range(begin, extent)))
    changed = site.block.replace(iter_vars=tuple(iter_vars), body=origin.derived(store.replace(value=value), store))
    return origin.derived(with_regions(changed), site.block)


__all__ = ["decompose_padding"]
