// What stays the same when a program changes: numbers of classes and names of kernels do not, the imported calls do.
import type { Classes } from "./links";
import type { KernelView } from "./types";

/** By class, the calls of the imported graph that it stems from, by their places there. */
export class Origins {
  constructor(private byClass: number[][] = []) {}

  of(classes: Iterable<number>): Set<number> {
    return new Set([...classes].flatMap((number) => this.byClass[number] ?? []));
  }

  /** The classes that stem from nothing else than these calls. */
  within(calls: Set<number>): Classes {
    const found = this.byClass.flatMap((own, number) => (own.length > 0 && own.every((call) => calls.has(call)) ? [number] : []));
    return new Set(found);
  }

  /**
   * The kernel that carries out what another one did: of those that have a part of the selection where that one had, the
   * one that has most in common with it; of equal ones, and where nothing is known, the one of its name.
   */
  kernel(kernels: KernelView[], before: Carried, selected: Classes): string {
    const told = kernels.map(({ name, classes }) => ({ name, own: this.of(classes), holds: classes.some((number) => selected.has(number)) }));
    const holding = before.holds ? told.filter(({ holds }) => holds) : [];
    const scored = (holding.length ? holding : told).map(({ name, own }) => ({ name, score: alike(own, before.calls) + (name === before.name ? 1e-6 : 0) }));
    const best = scored.reduce((one, other) => (other.score > one.score ? other : one), { name: "", score: 0 });
    return best.name || (kernels[0]?.name ?? "");
  }
}

/** A kernel of the program before: its name, the imported calls that it carried out, whether a selected part was in it. */
export interface Carried { name: string; calls: Set<number>; holds: boolean }

/** How much two sets have in common, 0 to 1. */
function alike(one: Set<number>, other: Set<number>): number {
  const both = [...one].filter((item) => other.has(item)).length;
  return both / Math.max(1, one.size + other.size - both);
}
