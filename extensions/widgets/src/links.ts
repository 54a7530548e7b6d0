// Which lines of which layers belong together: looked up in the page, without asking the kernel.
import type { LinkView } from "./types";

export type Classes = ReadonlySet<number>;
export const NONE: Classes = new Set();

/** How a line is marked: not at all, as what is around the selection, as the selection. */
export type Mark = 0 | 1 | 2;
/** The grade of lines that tell of the whole function. */
const WHOLE = 2;

/** One kernel's link table, with the set of each line of each layer. */
export class Links {
  private lines = new Map<string, Uint16Array>();
  /** By layer, the sets that it has. */
  private used = new Map<string, number[]>();
  private sets: Classes[];
  /** By what is chosen, and by layer and box, the marks of a layer's sets. */
  private marked = new WeakMap<Classes, Map<string, Mark[]>>();

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
      this.used.set(layer, [...new Set(lines)]);
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

  /** Whether a set's lines stand in a box, or in one inside of it. */
  private isIn(set: number, box: string): boolean {
    for (let at = this.view.within[set] ?? 0; at > 0; at = this.view.boxes[at - 1]![2]) if (this.view.boxes[at - 1]![0] === box) return true;
    return false;
  }

  /**
   * The marks of a layer's sets.  Of a box where the layer has it, its lines are the selection; else those that do what is
   * chosen themselves, and where there are none, those nearest around it.
   */
  private marks(layer: string, chosen: Classes, box: string): Mark[] {
    const kept = this.marked.get(chosen) ?? new Map<string, Mark[]>();
    const known = kept.get(`${layer} ${box}`);
    if (known) return known;
    const sets = (this.used.get(layer) ?? []).filter((set) => meets(this.sets[set]!, chosen));
    const inside = box ? sets.filter((set) => this.isIn(set, box)) : [];
    const grade = (set: number) => this.view.grades[set] ?? 0;
    const least = Math.min(...sets.map(grade));
    const hits = new Set(inside.length > 0 ? inside : sets.filter((set) => grade(set) === least));
    const marks: Mark[] = [];
    for (const set of sets) marks[set] = hits.has(set) ? 2 : grade(set) < WHOLE ? 1 : 0;
    this.marked.set(chosen, kept.set(`${layer} ${box}`, marks));
    return marks;
  }

  /** How a line is marked where this is selected. */
  mark(layer: string, line: number, chosen: Classes, box = ""): Mark {
    const set = this.lines.get(linked(layer))?.[line];
    return set === undefined || chosen.size === 0 ? 0 : this.marks(linked(layer), chosen, box)[set] ?? 0;
  }

  /** The stretches of lines of a layer that are the selection: [first, behind the last]. */
  lit(layer: string, chosen: Classes, box = ""): [number, number][] {
    const lines = this.lines.get(linked(layer));
    if (!lines || chosen.size === 0) return [];
    const marks = this.marks(linked(layer), chosen, box);
    const found: [number, number][] = [];
    for (let i = 0; i < lines.length; i++) {
      if (marks[lines[i]!] !== 2) continue;
      const last = found.at(-1);
      if (last && last[1] === i) last[1] = i + 1;
      else found.push([i, i + 1]);
    }
    return found;
  }

  // --- boxes of the schedule ---

  get boxes(): LinkView["boxes"] {
    return this.view.boxes;
  }

  /** What the program does in a box; null where the schedule after this move has other boxes. */
  inBox(moved: string, box: string): Classes | null {
    if (moved !== this.view.schedule) return null;
    const held = (this.used.get("schedule") ?? []).filter((set) => this.isIn(set, box));
    const doing = held.filter((set) => !this.view.grades[set]);
    return new Set((doing.length > 0 ? doing : held).flatMap((set) => [...this.sets[set]!]));
  }

  /** How a box is marked where this is selected: what is in it is, or a part of that. */
  markBox(box: string, chosen: Classes, selected: string): Mark {
    if (chosen.size === 0) return 0;
    const held = (this.used.get("schedule") ?? []).filter((set) => this.isIn(set, box) && meets(this.sets[set]!, chosen));
    if (held.length === 0) return 0;
    if (selected) return this.below(box, selected) ? 2 : this.below(selected, box) ? 1 : 0;
    return box.startsWith("b:") && held.some((set) => !this.view.grades[set]) ? 2 : 1;
  }

  /** Whether a box is another or inside of it. */
  private below(box: string, other: string): boolean {
    const { boxes } = this.view;
    for (let at = boxes.findIndex(([id]) => id === box) + 1; at > 0; at = boxes[at - 1]![2]) if (boxes[at - 1]![0] === other) return true;
    return false;
  }

  /** The box that a line is the beginning of, or belongs to without doing anything: of loops that begin on it, the outermost. */
  boxOn(layer: string, line: number): string {
    const set = this.lines.get(linked(layer))?.[line] ?? 0;
    let at = this.view.grades[set] === 1 ? this.view.within[set] ?? 0 : 0;
    const lines = new Set((this.used.get(linked(layer)) ?? []).map((one) => this.view.within[one]));
    const around = () => this.view.boxes[at - 1]![2];
    while (at > 0 && !NATIVE_FORMS.has(linked(layer)) && around() > 0 && !lines.has(around())) at = around();
    return at > 0 ? this.view.boxes[at - 1]![0] : "";
  }

  /** The block of the schedule that does the first of what is chosen; empty where none does. */
  blockOf(chosen: Classes): string {
    const set = (this.used.get("schedule") ?? []).find((one) => !this.view.grades[one] && meets(this.sets[one]!, chosen));
    return set === undefined ? "" : this.view.boxes[(this.view.within[set] ?? 0) - 1]?.[0] ?? "";
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

const NATIVE_FORMS = new Set(["ll", "asm"]);

/** The layer's name in the table, which calls LLVM's text by its form. */
function linked(layer: string): string {
  return layer === "llvm" ? "ll" : layer;
}

export function meets(one: Classes, other: Classes): boolean {
  const [small, large] = one.size < other.size ? [one, other] : [other, one];
  for (const number of small) if (large.has(number)) return true;
  return false;
}

/** Whether two are the same. */
export function alike(one: Classes, other: Classes): boolean {
  return one.size === other.size && [...one].every((number) => other.has(number));
}

export function lineCount(stretches: [number, number][]): number {
  return stretches.reduce((sum, [first, end]) => sum + end - first, 0);
}
