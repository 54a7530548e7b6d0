// Which lines of which layers belong together: looked up in the page, without asking the kernel.
import type { LinkView } from "./types";

export type Classes = ReadonlySet<number>;
export const NONE: Classes = new Set();

/** One kernel's link table, with the set of each line of each layer. */
export class Links {
  private lines = new Map<string, Uint16Array>();
  private sets: Classes[];

  constructor(readonly view: LinkView) {
    this.sets = view.sets.map((numbers) => new Set(numbers));
    for (const [layer, runs] of Object.entries(view.layers)) {
      let total = 0;
      for (let i = 0; i < runs.length; i += 2) total += runs[i]!;
      const lines = new Uint16Array(total);
      let at = 0;
      for (let i = 0; i < runs.length; i += 2) {
        lines.fill(runs[i + 1]!, at, at + runs[i]!);
        at += runs[i]!;
      }
      this.lines.set(layer, lines);
    }
  }

  /** Whether machine code is linked: not while a program is being changed. */
  get native(): boolean {
    return this.lines.has("asm");
  }

  /** Whether the lines of a layer are linked. */
  has(layer: string): boolean {
    return this.lines.has(linked(layer));
  }

  /** The classes of a line, from 0. */
  on(layer: string, line: number): Classes {
    const number = this.lines.get(linked(layer))?.[line];
    return number === undefined ? NONE : this.sets[number] ?? NONE;
  }

  /** Which of the sets share a class with `chosen`, by number. */
  private meeting(chosen: Classes): boolean[] {
    return this.sets.map((held) => meets(held, chosen));
  }

  /** The stretches of lines of a layer that share a class with `chosen`: [first, behind the last]. */
  lit(layer: string, chosen: Classes): [number, number][] {
    const lines = this.lines.get(linked(layer));
    if (!lines || chosen.size === 0) return [];
    const wanted = this.meeting(chosen);
    const found: [number, number][] = [];
    for (let i = 0; i < lines.length; i++) {
      if (!wanted[lines[i]!]) continue;
      const last = found.at(-1);
      if (last && last[1] === i) last[1] = i + 1;
      else found.push([i, i + 1]);
    }
    return found;
  }

  /** What of this kernel is meant by `chosen`, by name, each once. */
  names(chosen: Classes): string[] {
    const found = Object.entries(this.view.names).filter(([number]) => chosen.has(Number(number)));
    return [...new Set(found.map(([, name]) => name))];
  }

  get own(): number[] {
    return Object.keys(this.view.names).map(Number);
  }
}

/** The layer's name in the table, which calls LLVM's text by its form. */
function linked(layer: string): string {
  return layer === "llvm" ? "ll" : layer;
}

export function meets(one: Classes, other: Classes): boolean {
  const [small, large] = one.size < other.size ? [one, other] : [other, one];
  for (const number of small) if (large.has(number)) return true;
  return false;
}

export function lineCount(stretches: [number, number][]): number {
  return stretches.reduce((sum, [first, end]) => sum + end - first, 0);
}
