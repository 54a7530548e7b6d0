// What caches hold at a moment of the order of visits, by a formula for the last visit of each element.
//
// The iterations that touch an element fix some digits of the loops (those of the axes in its index).  The last of them
// up to now agrees with now as far as possible, then falls below it once, then is as large as it can be.
import { elements, groupsOf, strides, type Loop, type Nest } from "./lens";
import type { AccessView } from "./types";

/** Combinations of axis values: the offset they reach, their share of the rank, and where they first leave `now`. */
interface Combos { offset: Int32Array; rank: Float64Array; at: Int32Array; below: Uint8Array }

/** For each array, when each element was touched last, up to and with the visit `now`: greater is later, -1 is never. */
export function lastVisits(nest: Nest, now: ArrayLike<number>): Float64Array[] {
  const found = nest.view.arrays.map((array) => new Float64Array(elements(array)).fill(-1));
  nest.view.accesses.forEach((access, number) => note(nest, access, number, now, found[access.array]!));
  return found;
}

function note(nest: Nest, access: AccessView, number: number, now: ArrayLike<number>, last: Float64Array): void {
  const used = new Set(access.dims.flatMap(([, terms]) => terms.map(([axis]) => axis)));
  const ends = endings(nest, now, nest.loops.map((loop) => !used.has(loop.axis)));
  const steps = strides(nest.view.arrays[access.array]!);
  const groups = groupsOf(access).map((dims) => combosOf(nest, access, dims, steps, now));
  const inner = groups.pop()!;
  const outer = groups.reduce(crossed, { offset: Int32Array.of(0), rank: Float64Array.of(0), at: Int32Array.of(nest.loops.length), below: Uint8Array.of(0) });
  const every = nest.view.accesses.length;
  for (let one = 0; one < outer.offset.length; one++) {
    const [offset, rank, at, below] = [outer.offset[one]!, outer.rank[one]!, outer.at[one]!, outer.below[one]!];
    for (let other = 0; other < inner.offset.length; other++) {
      const nearer = inner.at[other]! < at;
      const end = ends[2 * (nearer ? inner.at[other]! : at) + (nearer ? inner.below[other]! : below)]!;
      if (end < 0) continue;
      const when = (rank + inner.rank[other]! + end) * every + number;
      const element = offset + inner.offset[other]!;
      if (when > last[element]!) last[element] = when;
    }
  }
}

function crossed(one: Combos, other: Combos): Combos {
  const count = one.offset.length * other.offset.length;
  const made: Combos = { offset: new Int32Array(count), rank: new Float64Array(count), at: new Int32Array(count), below: new Uint8Array(count) };
  let place = 0;
  for (let i = 0; i < one.offset.length; i++) {
    for (let k = 0; k < other.offset.length; k++, place++) {
      const from = one.at[i]! < other.at[k]! ? ([one, i] as const) : ([other, k] as const);
      made.offset[place] = one.offset[i]! + other.offset[k]!;
      made.rank[place] = one.rank[i]! + other.rank[k]!;
      made.at[place] = from[0].at[from[1]]!;
      made.below[place] = from[0].below[from[1]]!;
    }
  }
  return made;
}

/** The values of all axes in a group of dimensions. */
function combosOf(nest: Nest, access: AccessView, dims: number[], steps: number[], now: ArrayLike<number>): Combos {
  const factors = new Map<number, number>();
  let base = 0;
  for (const dim of dims) {
    const [offset, terms] = access.dims[dim]!;
    base += offset * steps[dim]!;
    for (const [axis, factor] of terms) factors.set(axis, (factors.get(axis) ?? 0) + factor * steps[dim]!);
  }
  let all: Combos = { offset: Int32Array.of(base), rank: Float64Array.of(0), at: Int32Array.of(nest.loops.length), below: Uint8Array.of(0) };
  for (const [axis, factor] of factors) all = crossed(all, valuesOf(nest, axis, factor, now));
  return all;
}

/** Each value of an axis: how its loops stand then, compared with now. */
function valuesOf(nest: Nest, axis: number, factor: number, now: ArrayLike<number>): Combos {
  const { extent, offset, term } = nest.view.axes[axis]!;
  const own = nest.loops.map((loop, at) => [loop, at] as const).filter(([loop]) => loop.axis === axis);
  const count = term < 0 ? 1 : extent;
  const made: Combos = { offset: new Int32Array(count), rank: new Float64Array(count), at: new Int32Array(count).fill(nest.loops.length), below: new Uint8Array(count) };
  for (let value = 0; value < count; value++) {
    made.offset[value] = (value + offset) * factor;
    for (const [loop, at] of own) {
      const digit = digitOf(loop, value);
      made.rank[value]! += digit * nest.weights[at]!;
      if (digit !== now[at] && at < made.at[value]!) {
        made.at[value] = at;
        made.below[value] = digit < now[at]! ? 1 : 0;
      }
    }
  }
  return made;
}

function digitOf(loop: Loop, value: number): number {
  return Math.floor(value / loop.stride) % loop.extent;
}

/** What the free loops add to the rank of the last visit, for each place where the fixed ones first leave `now`.
 *
 * Two numbers a place: for a digit above that of now, and for one below it; -1 where there was no such visit.
 */
function endings(nest: Nest, now: ArrayLike<number>, free: boolean[]): Float64Array {
  const count = nest.loops.length;
  const found = new Float64Array(2 * count + 2).fill(-1);
  const rank = (digits: number[]): number =>
    digits.reduce((sum, digit, at) => sum + (free[at] ? digit * nest.weights[at]! : 0), 0);
  found[2 * count] = found[2 * count + 1] = rank(Array.from(now));
  for (let at = 0; at < count; at++) {
    if (free[at]) continue;
    found[2 * at + 1] = rank(filled(nest, now, free, at, 0));
    let turn = at - 1;
    while (turn >= 0 && !(free[turn] && now[turn]! > 0)) turn--;
    if (turn >= 0) found[2 * at] = rank(filled(nest, now, free, turn, 1));
  }
  return found;
}

/** Free digits as now before `at`, less by `step` there, and as large as they can be behind. */
function filled(nest: Nest, now: ArrayLike<number>, free: boolean[], at: number, step: number): number[] {
  const digits = nest.loops.map((_, place) => (place < at ? now[place]! : place === at ? now[at]! - step : 0));
  for (let place = at + 1; place < digits.length; place++) {
    if (!free[place]) continue;
    let most = nest.loops[place]!.extent - 1;
    for (const guard of nest.guards) {
      const own = guard.members.find(([loop]) => loop === place);
      if (!own) continue;
      const held = guard.members.reduce((sum, [loop, stride]) => sum + (loop === place ? 0 : digits[loop]! * stride), 0);
      most = Math.min(most, Math.floor((guard.extent - 1 - held) / own[1]));
    }
    digits[place] = most;
  }
  return digits;
}

/** When each line of each array was touched last; arrays begin at a line. */
export function lastLines(nest: Nest, last: Float64Array[], line: number): Float64Array[] {
  return nest.view.arrays.map((array, number) => {
    const held = Math.max(1, Math.floor(line / array.bytes));
    const own = last[number]!;
    const found = new Float64Array(Math.ceil(own.length / held)).fill(-1);
    for (let element = 0, at = 0; at < found.length; at++) {
      const end = Math.min(element + held, own.length);
      let most = -1;
      for (; element < end; element++) if (own[element]! > most) most = own[element]!;
      found[at] = most;
    }
    return found;
  });
}

export interface Held {
  /** For each array, each line: 0 never touched, 1 in the first cache, 2 in the second, ..., then in memory again. */
  classes: Uint8Array[];
  /** Lines of each class. */
  counts: number[];
}

/** Where each line is, if each cache held the lines touched last (fully associative, least recently used). */
export function held(nest: Nest, last: Float64Array[]): Held {
  const caches = nest.view.caches;
  const lines = lastLines(nest, last, caches[0]?.line ?? 64);
  const touched = lines.reduce((all, own) => all + own.reduce((sum, when) => sum + (when >= 0 ? 1 : 0), 0), 0);
  const ranked = new Float64Array(touched);
  let at = 0;
  for (const own of lines) for (const when of own) if (when >= 0) ranked[at++] = when;
  ranked.sort();
  const since = caches.map((cache) => ranked[touched - Math.floor(cache.size / cache.line)] ?? 0);
  const counts = new Array<number>(caches.length + 2).fill(0);
  const classes = lines.map((own) => Uint8Array.from(own, (when) => {
    let place = 0;
    if (when >= 0) for (place = 1; place <= since.length && when < since[place - 1]!; place++);
    counts[place]!++;
    return place;
  }));
  return { classes, counts };
}
