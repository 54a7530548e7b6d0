// The changes of a step by what they did: a heading for each kind, with the lines of one change under it.
import type { Row } from "./diff";

export interface KindView { title: string; count: number; size: number; rows: [string, string][]; shown: number; cut: number }
export interface DifferenceView { step: string; summary: string; kinds: KindView[]; left_out: number }

/** Changed lines from which a difference is shown by kind where nobody asked for the whole text. */
export const MANY = 40;

/** The kinds of a difference as rows; which of them are open changes. */
export class Kinds {
  private made: Row[] | null = null;
  private shown: number[];

  constructor(readonly view: DifferenceView) {
    this.shown = view.kinds.map((kind) => kind.shown);
  }

  get rows(): Row[] {
    return (this.made ??= [...this.view.kinds.flatMap((kind, index) => this.of(kind, index)), ...this.rest()]);
  }

  /** Open a kind, or close it; `all`: with the lines that were left out for their number. */
  turn(index: number, all = false): void {
    const { rows, shown } = this.view.kinds[index]!;
    this.shown[index] = all ? rows.length : this.shown[index] ? 0 : shown || rows.length;
    this.made = null;
  }

  private rest(): Row[] {
    const count = this.view.left_out;
    return count ? [{ kind: "more", index: -1, count, here: false }] : [];
  }

  private of(kind: KindView, index: number): Row[] {
    const shown = this.shown[index]!;
    const rows: Row[] = [{ kind: "kind", index, title: kind.title, size: kind.size, open: shown > 0 }];
    if (shown === 0) return rows;
    rows.push(...lines(kind.rows.slice(0, shown)));
    const more = kind.rows.length - shown + kind.cut;
    if (more > 0) rows.push({ kind: "more", index, count: more, here: shown < kind.rows.length });
    return rows;
  }
}

/** Lines without numbers: those of a change stand in another place each time.  A line taken out knows the one put in. */
function lines(signed: [string, string][]): Row[] {
  const result: Row[] = [];
  for (let start = 0; start < signed.length; ) {
    const removed = run(signed, start, "-");
    const added = run(signed, start + removed.length, "+");
    const alike = removed.length === added.length;
    removed.forEach((text, i) => result.push({ kind: "del", before: -1, after: -1, text, pair: alike ? added[i] : undefined }));
    added.forEach((text, i) => result.push({ kind: "add", before: -1, after: -1, text, pair: alike ? removed[i] : undefined }));
    start += removed.length + added.length;
    if (removed.length + added.length === 0) result.push({ kind: "same", before: -1, after: -1, text: signed[start++]![1] });
  }
  return result;
}

function run(signed: [string, string][], start: number, sign: string): string[] {
  let stop = start;
  while (stop < signed.length && signed[stop]![0] === sign) stop++;
  return signed.slice(start, stop).map(([, text]) => text);
}
