// The formulas of the tile lens: from the factors of splits to extents, footprints and the order of visits.
// Nothing here asks the kernel, and nothing runs through the iterations: sets of indices are intervals.
import type { AccessView, ArrayView, LensView } from "./types";

/** Another factor for a part of a split, not applied yet. */
export interface Draft { split: number; part: number; factor: number }

export interface Loop { name: string; extent: number; kind: string; fused: string; axis: number; stride: number }
interface Guard { axis: number; extent: number; members: [loop: number, stride: number][] }

export interface Nest {
  view: LensView;
  /** Extents by term. */
  extents: number[];
  loops: Loop[];
  /** How far one step of each loop goes in the order of visits. */
  weights: number[];
  /** Where a split does not divide: the sum over some loops stays below an extent. */
  guards: Guard[];
  /** The split of each term that has one, and the loop of each that is one. */
  splitOf: Map<number, number>;
  loopOf: Map<number, number>;
}

/** Disjoint half-open intervals of whole numbers, sorted: [from, to, from, to, ...]. */
export type Intervals = number[];

const FREE = -1;

/** The nest with the factors of the schedule, or with one of them drafted anew. */
export function nestOf(view: LensView, draft: Draft | null = null): Nest {
  const extents = view.terms.map((term) => term.extent);
  const splitOf = new Map(view.splits.map((split, number) => [split.term, number]));
  view.splits.forEach((split, number) => {
    const factors = drafted(split.factors, draft && draft.split === number ? draft : null);
    const product = factors.reduce<number>((all, factor) => all * (factor ?? 1), 1);
    split.parts.forEach((part, i) => (extents[part] = factors[i] ?? Math.ceil(extents[split.term]! / product)));
  });
  const loops = view.loops.map(({ term, kind, fused }): Loop =>
    ({ name: view.terms[term]!.name, extent: extents[term]!, kind, fused, axis: -1, stride: 0 }));
  const weights = loops.map(() => 1);
  for (let at = loops.length - 2; at >= 0; at--) weights[at] = weights[at + 1]! * loops[at + 1]!.extent;
  const loopOf = new Map(view.loops.map((loop, at) => [loop.term, at]));
  const nest: Nest = { view, extents, loops, weights, guards: [], splitOf, loopOf };
  view.axes.forEach((axis, number) => {
    if (axis.term < 0) return;
    for (const [at, stride] of members(nest, axis.term, number)) Object.assign(loops[at]!, { axis: number, stride });
  });
  return nest;
}

/** The factors of a split with one of them changed; where none was left open, the outermost takes the rest. */
function drafted(factors: (number | null)[], draft: Draft | null): (number | null)[] {
  if (!draft) return factors;
  const made = factors.map((factor, i) => (i === draft.part ? draft.factor : factor));
  if (!made.includes(null)) made[0] = null;
  return made;
}

/** The factors that a draft asks for, as the step of the schedule takes them. */
export function draftedFactors(view: LensView, draft: Draft): (number | null)[] {
  return drafted(view.splits[draft.split]!.factors, draft);
}

/** The loops below a term, each with its stride in it; notes the guards on the way. */
function members(nest: Nest, term: number, axis: number): [number, number][] {
  const number = nest.splitOf.get(term);
  if (number === undefined) return [[nest.loopOf.get(term)!, 1]];
  const found: [number, number][] = [];
  let reach = 1;
  for (const part of [...nest.view.splits[number]!.parts].reverse()) {
    for (const [loop, stride] of members(nest, part, axis)) found.push([loop, stride * reach]);
    reach *= nest.extents[part]!;
  }
  if (reach > nest.extents[term]!) nest.guards.push({ axis, extent: nest.extents[term]!, members: found });
  return found;
}

/** What one step of a term is worth in the value of the term that it is a part of in the end. */
export function strideOf(nest: Nest, term: number): { root: number; stride: number } {
  const split = nest.view.splits.find(({ parts }) => parts.includes(term));
  if (!split) return { root: term, stride: 1 };
  const { root, stride } = strideOf(nest, split.term);
  const inner = split.parts.slice(split.parts.indexOf(term) + 1);
  return { root, stride: inner.reduce((all, part) => all * nest.extents[part]!, stride) };
}

// --- sets of indices ---------------------------------------------------------------------------------------------

export function size(set: Intervals): number {
  let count = 0;
  for (let i = 0; i < set.length; i += 2) count += set[i + 1]! - set[i]!;
  return count;
}

/** Sorted and joined; pairs may overlap. */
function joined(pairs: [number, number][]): Intervals {
  pairs.sort((one, other) => one[0] - other[0]);
  const found: Intervals = [];
  for (const [from, to] of pairs) {
    if (found.length > 0 && from <= found.at(-1)!) found[found.length - 1] = Math.max(found.at(-1)!, to);
    else found.push(from, to);
  }
  return found;
}

/** Every sum of an element of one and an element of the other. */
function sums(one: Intervals, other: Intervals): Intervals {
  const pairs: [number, number][] = [];
  for (let i = 0; i < one.length; i += 2)
    for (let k = 0; k < other.length; k += 2) pairs.push([one[i]! + other[k]!, one[i + 1]! + other[k + 1]! - 1]);
  return joined(pairs);
}

/** Every element times a number. */
function scaled(set: Intervals, factor: number): Intervals {
  if (factor === 1) return set;
  const pairs: [number, number][] = [];
  for (let i = 0; i < set.length; i += 2)
    for (let value = set[i]!; value < set[i + 1]!; value++) pairs.push([value * factor, value * factor + 1]);
  return joined(pairs);
}

/** The values of a term; `digits` holds loops that stand still, the others (-1) run through. */
function termSet(nest: Nest, term: number, digits: ArrayLike<number>): Intervals {
  const number = nest.splitOf.get(term);
  if (number === undefined) {
    const digit = digits[nest.loopOf.get(term)!]!;
    return digit === FREE ? [0, nest.extents[term]!] : digit < nest.extents[term]! ? [digit, digit + 1] : [];
  }
  let inner: Intervals = [0, 1];
  let reach = 1;
  for (const part of [...nest.view.splits[number]!.parts].reverse()) {
    const outer = termSet(nest, part, digits);
    const whole = inner.length === 2 && inner[0] === 0 && inner[1] === reach;
    inner = whole ? outer.map((end) => end * reach) : sums(scaled(outer, reach), inner);
    reach *= nest.extents[part]!;
  }
  const extent = nest.extents[term]!;
  return joined(pairsOf(inner).filter(([from]) => from < extent).map(([from, to]) => [from, Math.min(to, extent)]));
}

function pairsOf(set: Intervals): [number, number][] {
  return Array.from({ length: set.length / 2 }, (_, i) => [set[2 * i]!, set[2 * i + 1]!]);
}

/** The values of an iterator of the block. */
export function axisSet(nest: Nest, axis: number, digits: ArrayLike<number>): Intervals {
  const { term, offset } = nest.view.axes[axis]!;
  if (term < 0) return [offset, offset + 1];
  return termSet(nest, term, digits).map((end) => end + offset);
}

// --- the order of visits -----------------------------------------------------------------------------------------

/** How many iterations there are while some loops stand still. */
function countOf(nest: Nest, digits: ArrayLike<number>): number {
  let count = nest.view.axes.reduce((all, _, axis) => all * size(axisSet(nest, axis, digits)), 1);
  nest.loops.forEach((loop, at) => { if (loop.axis < 0 && digits[at] === FREE) count *= loop.extent; });
  return count;
}

export function visits(nest: Nest): number {
  return countOf(nest, nest.loops.map(() => FREE));
}

/** What each loop stands at in visit `number`, from 0. */
export function visitAt(nest: Nest, number: number): Int32Array {
  const digits = new Int32Array(nest.loops.length).fill(FREE);
  let left = number;
  nest.loops.forEach((loop, at) => {
    const guarded = nest.guards.some((guard) => guard.axis === loop.axis);
    digits[at] = 0;
    let inside = countOf(nest, digits);
    if (!guarded) {
      digits[at] = Math.min(Math.floor(left / inside), loop.extent - 1);
      left -= digits[at]! * inside;
      return;
    }
    while (left >= inside && digits[at]! < loop.extent - 1) {
      left -= inside;
      digits[at]!++;
      inside = countOf(nest, digits);
    }
  });
  return digits;
}

export function axisValues(nest: Nest, digits: ArrayLike<number>): number[] {
  const values = nest.view.axes.map((axis) => axis.offset);
  nest.loops.forEach((loop, at) => { if (loop.axis >= 0) values[loop.axis]! += digits[at]! * loop.stride; });
  return values;
}

/** How far one step in each dimension goes, in elements. */
export function strides(array: ArrayView): number[] {
  const found = array.shape.map(() => 1);
  for (let dim = found.length - 2; dim >= 0; dim--) found[dim] = found[dim + 1]! * array.shape[dim + 1]!;
  return found;
}

export function elements(array: ArrayView): number {
  return array.shape.reduce((all, extent) => all * extent, 1);
}

/** The element that an access touches, counted row by row. */
export function elementOf(nest: Nest, access: AccessView, values: number[]): number {
  const steps = strides(nest.view.arrays[access.array]!);
  return access.dims.reduce((sum, [offset, terms], dim) =>
    sum + steps[dim]! * terms.reduce((index, [axis, factor]) => index + values[axis]! * factor, offset), 0);
}

// --- footprints --------------------------------------------------------------------------------------------------

/** A product of sets of offsets: one for each group of dimensions that no axis ties to another. */
export interface Region { groups: Intervals[] }

export function regionOf(nest: Nest, access: AccessView, digits: ArrayLike<number>): Region {
  const sets = new Map<number, Intervals>();
  for (const [, terms] of access.dims) for (const [axis] of terms) sets.set(axis, axisSet(nest, axis, digits));
  const steps = strides(nest.view.arrays[access.array]!);
  return { groups: groupsOf(access).map((dims) => {
    if (dims.length > 1) return tied(access, dims, steps, sets);
    const [offset, terms] = access.dims[dims[0]!]!;
    const set = terms.reduce<Intervals>((all, [axis, factor]) => sums(all, scaled(sets.get(axis)!, factor)), [offset, offset + 1]);
    return scaled(set, steps[dims[0]!]!);
  }) };
}

/** Dimensions that share an axis, together. */
export function groupsOf(access: AccessView): number[][] {
  const groups: { dims: number[]; axes: Set<number> }[] = [];
  access.dims.forEach(([, terms], dim) => {
    const own = { dims: [dim], axes: new Set(terms.map(([axis]) => axis)) };
    for (const group of groups.filter(({ axes }) => [...own.axes].some((axis) => axes.has(axis)))) {
      groups.splice(groups.indexOf(group), 1);
      own.dims = [...group.dims, ...own.dims];
      for (const axis of group.axes) own.axes.add(axis);
    }
    groups.push(own);
  });
  return groups.map(({ dims }) => dims);
}

/** The offsets of dimensions that share axes, as in A[i, i + k]. */
function tied(access: AccessView, dims: number[], steps: number[], sets: Map<number, Intervals>): Intervals {
  let set: Intervals = [0, 1];
  const factors = new Map<number, number>();
  for (const dim of dims) {
    const [offset, terms] = access.dims[dim]!;
    set = set.map((end) => end + offset * steps[dim]!);
    for (const [axis, factor] of terms) factors.set(axis, (factors.get(axis) ?? 0) + factor * steps[dim]!);
  }
  for (const [axis, factor] of factors) set = sums(set, scaled(sets.get(axis)!, factor));
  return set;
}

export function count(region: Region): number {
  return region.groups.reduce((all, set) => all * size(set), 1);
}

/** Set the bytes of a mask where a region lies. */
export function paint(region: Region, mask: Uint8Array): void {
  const fill = (group: number, base: number): void => {
    const set = region.groups[group]!;
    const last = group === region.groups.length - 1;
    for (let i = 0; i < set.length; i += 2) {
      if (last) mask.fill(1, base + set[i]!, base + set[i + 1]!);
      else for (let offset = set[i]!; offset < set[i + 1]!; offset++) fill(group + 1, base + offset);
    }
  };
  fill(0, 0);
}

/** The elements of an array that are touched while the loops that `digits` leaves free run through. */
export function touched(nest: Nest, array: number, digits: ArrayLike<number>): number {
  const regions = new Map<string, Region>();
  for (const access of nest.view.accesses) {
    if (access.array !== array) continue;
    const region = regionOf(nest, access, digits);
    regions.set(JSON.stringify(region.groups), region);
  }
  if (regions.size === 1) return count([...regions.values()][0]!);
  const mask = maskOf(nest, array, digits);
  return mask.reduce((all, one) => all + one, 0);
}

export function maskOf(nest: Nest, array: number, digits: ArrayLike<number>): Uint8Array {
  const mask = new Uint8Array(elements(nest.view.arrays[array]!));
  for (const access of nest.view.accesses) if (access.array === array) paint(regionOf(nest, access, digits), mask);
  return mask;
}

/** The loops outside `level` stand still at `digits`, the others run through. */
export function atLevel(nest: Nest, level: number, digits: ArrayLike<number>): Int32Array {
  return Int32Array.from(nest.loops, (_, at) => (at < level ? digits[at]! : FREE));
}

/** Every loop at its middle iteration; the parts of a fused loop together. */
export function middle(nest: Nest): Int32Array {
  const digits = new Int32Array(nest.loops.length);
  for (let first = 0, end = 0; first < digits.length; first = end) {
    const fused = nest.loops[first]!.fused;
    for (end = first + 1; fused && end < digits.length && nest.loops[end]!.fused === fused; end++);
    const product = nest.loops.slice(first, end).reduce((all, loop) => all * loop.extent, 1);
    let rest = (product - 1) >> 1;
    for (let at = end - 1; at >= first; at--) {
      digits[at] = rest % nest.loops[at]!.extent;
      rest = Math.floor(rest / nest.loops[at]!.extent);
    }
  }
  return digits;
}

/** Bytes by array for each loop running through once, those around it in the middle; at last for one iteration. */
export function footprints(nest: Nest): number[][] {
  const still = middle(nest);
  return Array.from({ length: nest.loops.length + 1 }, (_, level) =>
    nest.view.arrays.map((array, number) => touched(nest, number, atLevel(nest, level, still)) * array.bytes));
}
