// Reading a text: what the word under the pointer means, where one value is used, what is folded, where a text occurs.
import { Refusal } from "./connection";
import { Overtaken } from "./connection";
import { say } from "./strings";
import { beside, Tips } from "./tip";
import { tokens, type Token } from "./text";
import type { Pane, WorkbenchStore } from "./workbench";

export interface WordsView {
  layer: string; kernel: string; names: [line: number, name: string, told: string, indent: number][];
  docs: Record<string, string>; folds: number[];
}
/** What is sought, and what was found of it in the text of that key; `at`: the place that was gone to, -1 for none. */
export interface Find { key: string; text: string; lines: number[]; count: number; at: number; problem: string }
type Ask = (op: string, args: Record<string, unknown>, channel?: string) => Promise<{ view: unknown }>;
interface Words { view: WordsView; byName: Map<string, WordsView["names"]>; folds: Map<number, number> }
/** A stretch of a line, and how it is drawn. */
export type Mark = [start: number, stop: number, kind: string];

const WORD = /[%@]?[A-Za-z_][\w.]*/g;
const LONG_LINE = 2000;

export class Reading {
  readonly tips = new Tips();
  /** The value that is followed: in which text, its name, the line of its definition (-1: none is known). */
  followed: { key: string; name: string; line: number } | null = null;
  /** By pane. */
  finds: [Find | null, Find | null] = [null, null];
  private words = new Map<string, Words>();
  private folded = new Map<string, Set<number>>();
  private shownLines = new Map<string, { base: number[] | null; lines: number[] | null }>();

  constructor(private store: WorkbenchStore, private ask: Ask) {}

  clear(): void {
    this.words.clear();
    this.folded.clear();
    this.shownLines.clear();
    this.followed = null;
    this.finds = [null, null];
  }

  async load(layer: string): Promise<void> {
    const key = this.store.key(layer);
    if (this.words.has(key)) return;
    const asked = this.ask("words", { layer, kernel: this.store.kernel });
    const reply = await asked.catch((error: unknown) => {
      if (error instanceof Refusal && error.view.code === "E-UI-RECORDED") return null; // a text reads without its aids
      throw error;
    });
    if (!reply) return;
    const view = reply.view as WordsView;
    const byName = new Map<string, WordsView["names"]>();
    for (const one of view.names) byName.set(one[1], [...(byName.get(one[1]) ?? []), one]);
    const folds = new Map<number, number>();
    for (let i = 0; i < view.folds.length; i += 2) folds.set(view.folds[i]!, view.folds[i + 1]!);
    this.store.set(() => this.words.set(key, { view, byName, folds }));
  }

  // --- what a word means ---

  private definition(key: string, line: number, text: string, name: string): WordsView["names"][0] | undefined {
    const known = this.words.get(key)?.byName.get(name) ?? [];
    const indent = text.length - text.trimStart().length + (text.trimStart().startsWith("def ") ? 4 : 0);
    let found: WordsView["names"][0] | undefined;
    for (const one of known) if (one[0] <= line && (one[3] <= indent || one[0] === line)) found = one;
    return found ?? known.find((one) => one[0] > line && one[3] === 0); // a loop's value in LLVM stands before its definition
  }

  hover(layer: string, line: number, event: MouseEvent): void {
    const row = event.currentTarget as HTMLElement;
    const written = this.store.text(layer)?.lines.at(line) ?? "";
    const word = wordAt(row, written, event);
    const key = this.store.key(layer);
    const found = word && this.definition(key, line, written, word);
    const doc = (word && this.words.get(key)?.view.docs[word]) ?? "";
    if (!word || (!found && !doc)) return this.tips.show(null);
    const told = found ? [found[2], say.frame.definedIn(found[0] + 1)] : [doc];
    this.tips.show({ ...beside(row, event.clientX, event.clientY), title: word, lines: told });
  }

  /** What the operators and instructions of a line mean, each once: what hovering tells, for those without a pointer. */
  explained(layer: string, line: number): [word: string, doc: string][] {
    const docs = this.words.get(this.store.key(layer))?.view.docs ?? {};
    const written = (this.store.text(layer)?.lines.at(line) ?? "").slice(0, LONG_LINE);
    return [...new Set(written.match(WORD))].flatMap((word) => (Object.hasOwn(docs, word) ? [[word, docs[word]!]] : []));
  }

  /** Follow the value whose name was clicked; nothing where there is none. */
  follow(layer: string, line: number, event: MouseEvent): void {
    const written = this.store.text(layer)?.lines.at(line) ?? "";
    const name = wordAt(event.currentTarget as HTMLElement, written, event);
    const key = this.store.key(layer);
    const found = name ? this.definition(key, line, written, name) : undefined;
    const register = name !== null && name.startsWith("%");
    this.followed = name && (found || register) ? { key, name, line: found?.[0] ?? -1 } : null;
  }

  // --- folding ---

  folds(layer: string, line: number): number {
    return this.words.get(this.store.key(layer))?.folds.get(line) ?? 0;
  }

  isFolded(layer: string, line: number): boolean {
    return this.folded.get(this.store.key(layer))?.has(line) ?? false;
  }

  turnFold(layer: string, line: number): void {
    const key = this.store.key(layer);
    if (!this.folds(layer, line)) return;
    const now = new Set(this.folded.get(key));
    if (!now.delete(line)) now.add(line);
    this.store.set(() => { this.folded.set(key, now); this.shownLines.delete(key); });
  }

  /** Fold what is in the outermost region, or open all. */
  turnAll(layer: string): void {
    const key = this.store.key(layer);
    const words = this.words.get(key);
    if (!words) return;
    const some = (this.folded.get(key)?.size ?? 0) > 0;
    const [first, count] = words.view.folds;
    const total = this.store.text(layer)?.lines.total ?? 0;
    const inner = [...words.folds.keys()].filter((line) => line !== first || count! < 0.9 * total); // what holds nearly all stays open
    this.store.set(() => { this.folded.set(key, new Set(some ? [] : inner)); this.shownLines.delete(key); });
  }

  /** The lines that are left of `base` (null: of all) when folded ones are taken out. */
  without(layer: string, base: number[] | null, total: number): number[] | null {
    const key = this.store.key(layer);
    const folded = this.folded.get(key);
    if (!folded || folded.size === 0) return base;
    const known = this.shownLines.get(key);
    if (known && known.base === base) return known.lines;
    const hidden = new Uint8Array(total);
    for (const line of folded) hidden.fill(1, line + 1, line + 1 + this.folds(layer, line));
    const lines = (base ?? Array.from({ length: total }, (_, i) => i)).filter((line) => !hidden[line]);
    this.shownLines.set(key, { base, lines });
    return lines;
  }

  /** Open what hides a line. */
  private uncover(layer: string, line: number): void {
    const key = this.store.key(layer);
    const folded = this.folded.get(key);
    if (!folded) return;
    const left = [...folded].filter((first) => !(first < line && line <= first + this.folds(layer, first)));
    this.folded.set(key, new Set(left));
    this.shownLines.delete(key);
  }

  // --- finding ---

  openFind(at: 0 | 1): void {
    this.store.set(() => { this.store.focused = at; this.finds[at] ??= { key: this.keyIn(at), text: "", lines: [], count: 0, at: -1, problem: "" }; });
  }

  /** The key of the text that a pane shows. */
  private keyIn(at: 0 | 1): string {
    return this.store.key(this.store.panes[at].layer);
  }

  /** A pane that shows another text by now seeks in that one, and stays where it is. */
  findAgain(): void {
    for (const at of [0, 1] as const) {
      const find = this.finds[at];
      if (find && this.store.panes[at].mode === "text" && find.key !== this.keyIn(at)) void this.find(at, find.text, false);
    }
  }

  closeFind(at: 0 | 1): void {
    this.store.set(() => { this.finds[at] = null; this.store.acted++; });
  }

  async find(at: 0 | 1, text: string, go = true): Promise<void> {
    const { layer } = this.store.panes[at];
    const key = this.keyIn(at);
    this.finds[at] = { key, text, lines: [], count: 0, at: -1, problem: "" };
    const asked = () => this.finds[at]?.text === text && this.finds[at].key === key && this.keyIn(at) === key; // else nothing is sought any more
    try {
      const view = (await this.ask("find", { layer, kernel: this.store.kernel, text }, `find ${at}`)).view as { lines: number[]; count: number };
      if (!asked()) return;
      this.store.set(() => (this.finds[at] = { key, text, ...view, at: -1, problem: "" }));
      if (go) this.step(at, 1);
    } catch (error) {
      if (error instanceof Overtaken || !asked()) return;
      const problem = (error as { view?: { message: string; expected: string } }).view;
      this.store.set(() => (this.finds[at] = { key, text, lines: [], count: 0, at: -1, problem: problem ? `${problem.message}: ${problem.expected}` : say.frame.notSearched }));
    }
  }

  /** The next place found, or the one before. */
  step(at: 0 | 1, by: number): void {
    const [find, pane] = [this.finds[at], this.store.panes[at]];
    if (!find || find.lines.length === 0 || find.key !== this.keyIn(at)) return;
    this.store.set(() => {
      find.at = (Math.max(find.at, by < 0 ? 0 : -1) + by + find.lines.length) % find.lines.length;
      const line = find.lines[find.at]!;
      this.uncover(pane.layer, line);
      this.reveal(pane, line);
    });
  }

  private reveal(pane: Pane, line: number): void {
    const shown = this.store.text(pane.layer);
    if (shown && !this.store.everyLine && hides(shown.hidden, line)) this.store.everyLine = true;
    pane.active = line;
    pane.goal = { line };
  }

  // --- drawing ---

  marks(at: 0 | 1, line: number, text: string): Mark[] {
    const { layer } = this.store.panes[at];
    const key = this.store.key(layer);
    const found: Mark[] = [];
    const followed = this.followed;
    if (followed && followed.key === key && text.length <= LONG_LINE) {
      for (const match of text.matchAll(WORD)) {
        if (match[0] !== followed.name) continue;
        const definition = this.definition(key, line, text, followed.name);
        if ((definition?.[0] ?? -1) !== followed.line) continue;
        found.push([match.index, match.index + match[0].length, followed.line === line ? "wb-def" : "wb-use"]);
      }
    }
    const find = this.finds[at];
    if (find?.key === key && find.text && find.lines.includes(line)) {
      const pattern = find.text.length > 2 && find.text.startsWith("/") && find.text.endsWith("/");
      const start = pattern ? -1 : text.toLowerCase().indexOf(find.text.toLowerCase());
      found.push(start < 0 ? [0, text.length, "wb-hit"] : [start, start + find.text.length, "wb-hit"]);
    }
    return found.sort((one, other) => one[0] - other[0]);
  }
}

function hides(stretches: number[], line: number): boolean {
  for (let i = 0; i < stretches.length; i += 2) if (stretches[i]! <= line && line < stretches[i]! + stretches[i + 1]!) return true;
  return false;
}

/** The word of a row's text under the pointer. */
function wordAt(row: HTMLElement, text: string, event: MouseEvent): string | null {
  const line = row.querySelector(".wb-line");
  const place = document.caretPositionFromPoint?.(event.clientX, event.clientY);
  const [node, within] = place ? [place.offsetNode, place.offset] : (() => {
    const range = document.caretRangeFromPoint?.(event.clientX, event.clientY);
    return range ? [range.startContainer, range.startOffset] as const : [null, 0] as const;
  })();
  if (!line || !node || !line.contains(node) || text.length > LONG_LINE) return null;
  const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  let offset = 0;
  for (let at = walker.nextNode(); at && at !== node; at = walker.nextNode()) offset += at.textContent!.length;
  offset += within;
  for (const match of text.matchAll(WORD)) if (match.index <= offset && offset <= match.index + match[0].length) return match[0];
  return null;
}

/** The tokens of a line, cut where marks begin and end. */
export function pieces(line: string, language: string, marks: Mark[]): [kind: string, text: string][] {
  const found: [string, string][] = [];
  let at = 0;
  for (const [kind, text] of tokens(line, language) as Token[]) {
    const cuts = [0, text.length];
    for (const [start, stop] of marks) for (const cut of [start - at, stop - at]) if (cut > 0 && cut < text.length) cuts.push(cut);
    cuts.sort((one, other) => one - other);
    for (let i = 0; i + 1 < cuts.length; i++) {
      const [low, high] = [cuts[i]!, cuts[i + 1]!];
      if (high <= low) continue;
      const inside = marks.filter(([start, stop]) => start <= at + low && at + high <= stop).map(([, , mark]) => mark);
      found.push([[kind ? `wb-t-${kind}` : "", ...inside].filter(Boolean).join(" "), text.slice(low, high)]);
    }
    at += text.length;
  }
  return found;
}
