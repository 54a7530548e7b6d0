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
}

/** A kernel of the program before: its name, what the kernel told that it does, whether a selected part was in it. */
export interface Carried { name: string; did: number[]; holds: boolean }

/**
 * The kernel to show: of those that have a part of the selection, where the one before had, that which does most of what
 * that one did (`order`); where nothing is known, the one of its name.
 */
export function follow(kernels: KernelView[], order: string[], name: string, holds: boolean, selected: Classes): string {
  const holding = kernels.filter(({ classes }) => holds && classes.some((number) => selected.has(number)));
  const among = (holding.length ? holding : kernels).map((kernel) => kernel.name);
  return [...order, name, ...among].find((one) => among.includes(one)) ?? "";
}
