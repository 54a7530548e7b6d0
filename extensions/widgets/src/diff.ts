// From hunks and the lines that are here to rows on the screen.
import type { Chunk, Hunk, TextView } from "./types";

const AGAIN = 1000;     // milliseconds until lines whose answer did not come are asked for again, where they are looked at
const CONTEXT = 4;      // unchanged lines shown around a change
const FOLD = 3;         // a stretch is folded when it hides more lines than this
export const PAGE = 200; // lines that opening a fold shows at a time

export type Row =
  | { kind: "same" | "add" | "del"; before: number; after: number; text: string | undefined; pair?: string }
  | { kind: "fold"; before: number; after: number; count: number }
  | { kind: "kind"; index: number; title: string; size: number; open: boolean }
  | { kind: "more"; index: number; count: number; here: boolean };

/** Lines by number, of which some are here. */
export class Lines {
  private known = new Map<number, string>();
  readonly total: number;

  constructor(view: TextView) {
    this.total = view.total;
    for (const chunk of view.chunks) this.add(chunk.start, chunk.lines);
  }

  add(start: number, lines: string[]): void {
    lines.forEach((line, i) => this.known.set(start + i, line));
  }

  at(number: number): string | undefined {
    return this.known.get(number);
  }
}

/** A text before and after with what is needed to draw it. */
export class Shown {
  readonly before: Lines;
  readonly after: Lines;
  private readonly hunks: Hunk[];
  private opened = new Set<number>();
  private made: Row[] | null = null;
  private asked = new Set<string>();

  constructor(view: { before: TextView; after: TextView; hunks: Hunk[] }) {
    this.before = new Lines(view.before);
    this.after = new Lines(view.after);
    this.hunks = view.hunks;
  }

  /** The rows of one column, made when something has changed. */
  get rows(): Row[] {
    return (this.made ??= rows(this.before, this.after, this.hunks, this.opened));
  }

  private changed(): void {
    this.made = null;
  }

  /** Lines came to a side that lacked them. */
  add(side: "before" | "after", chunk: Chunk): void {
    this[side].add(chunk.start, chunk.lines);
    this.changed();
  }

  /** Show `count` unchanged lines, from a number in the text after. */
  open(start: number, count: number): void {
    for (let i = 0; i < count; i++) this.opened.add(start + i);
    this.changed();
  }

  /** Ask for the pages of lines that the rows lack, each once at a time: an answer may be lost, or a refusal. */
  missing(wanted: Row[], ask: (side: "before" | "after", start: number) => Promise<void>): void {
    for (const row of wanted) {
      if (!("text" in row) || row.text !== undefined) continue;
      const side = row.kind === "del" ? "before" : "after";
      const start = Math.floor(row[side] / PAGE) * PAGE;
      const page = `${side} ${start}`;
      if (this.asked.has(page)) continue;
      this.asked.add(page);
      void ask(side, start).finally(() => setTimeout(() => this.asked.delete(page), AGAIN));
    }
  }
}

/** `opened` holds the numbers (in the text after) of unchanged lines that were asked to be shown. */
function rows(before: Lines, after: Lines, hunks: Hunk[], opened: Set<number>): Row[] {
  const result: Row[] = [];
  let left = 0;
  let right = 0;
  for (const hunk of [...hunks, { before_start: before.total, before_count: 0, after_start: after.total, after_count: 0 }]) {
    same(result, after, left, right, hunk.after_start - right, right > 0 || left > 0, hunk.after_start < after.total || hunk.after_count > 0, opened);
    for (let i = 0; i < hunk.before_count; i++) {
      const pair = i < hunk.after_count ? after.at(hunk.after_start + i) : undefined;
      result.push({ kind: "del", before: hunk.before_start + i, after: -1, text: before.at(hunk.before_start + i), pair });
    }
    for (let i = 0; i < hunk.after_count; i++) {
      const pair = i < hunk.before_count ? before.at(hunk.before_start + i) : undefined;
      result.push({ kind: "add", before: -1, after: hunk.after_start + i, text: after.at(hunk.after_start + i), pair });
    }
    left = hunk.before_start + hunk.before_count;
    right = hunk.after_start + hunk.after_count;
  }
  return result;
}

function same(
  result: Row[], after: Lines, left: number, right: number, count: number, changeAbove: boolean, changeBelow: boolean,
  opened: Set<number>,
): void {
  const alone = !changeAbove && !changeBelow;
  const head = alone ? 60 : changeAbove ? CONTEXT : 0;
  const tail = changeBelow ? CONTEXT : 0;
  const folds = count > head + tail + FOLD;
  let folded = 0;
  const flush = (i: number) => {
    if (folded) result.push({ kind: "fold", before: left + i - folded, after: right + i - folded, count: folded });
    folded = 0;
  };
  for (let i = 0; i < count; i++) {
    const near = !folds || i < head || i >= count - tail || opened.has(right + i);
    if (!near) {
      folded++;
      continue;
    }
    flush(i);
    result.push({ kind: "same", before: left + i, after: right + i, text: after.at(right + i) });
  }
  flush(count);
}
