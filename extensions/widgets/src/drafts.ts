// Texts that were changed and not applied: the browser keeps them, by notebook and program, whatever becomes of kernel and page.

/** A text that was changed and not applied, and the program's text that it began from. */
export interface Draft { base: string; text: string }

const PREFIX = "workbench-drafts ";
/** Programs whose drafts are kept, the latest. */
const MOST = 20;
const PAUSE = 300; // milliseconds without a key stroke

interface Kept { at: number; drafts: [string, Draft][] }

/** Drafts by step and function (`draftKey`); nothing but "Discard" throws them away. */
export class Drafts {
  private drafts = new Map<string, Draft>();
  private key = "";
  /** Those that were changed since they were written down: other views of the program write theirs. */
  private readonly typed = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** The steps of drafts that an earlier page or kernel left, until it was said. */
  found: string[] = [];

  get(key: string): Draft | undefined {
    return this.drafts.get(key);
  }

  /** Keep a draft, or none any more. */
  put(key: string, draft: Draft | null): void {
    if (draft) this.drafts.set(key, draft);
    else if (!this.drafts.delete(key)) return;
    this.typed.add(key);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.keep(), PAUSE);
  }

  /** Whether there is one of a step, or of one function after it. */
  has(step: string, name: string): boolean {
    return [...this.drafts.keys()].map(parsed).some((key) => key[0] === step && (!name || key[1] === name));
  }

  /** Another program is shown: its drafts. */
  of(key: string): void {
    if (key === this.key) return;
    this.keep();
    const first = this.key === "";
    this.key = key;
    const kept = read(PREFIX + key)?.drafts ?? [];
    this.found = [...new Set(kept.map(([one]) => parsed(one)[0]!))];
    this.drafts = new Map(first ? [...kept, ...this.drafts] : kept);
  }

  /** Write down what was typed last. */
  keep(): void {
    clearTimeout(this.timer);
    if (this.typed.size === 0 || !this.key) return;
    const drafts = new Map(read(PREFIX + this.key)?.drafts ?? []);
    for (const key of this.typed) {
      const draft = this.drafts.get(key);
      if (draft) drafts.set(key, draft);
      else drafts.delete(key);
    }
    this.typed.clear();
    try {
      if (drafts.size === 0) return localStorage.removeItem(PREFIX + this.key);
      localStorage.setItem(PREFIX + this.key, JSON.stringify({ at: Date.now(), drafts: [...drafts] } satisfies Kept));
      const keys = Object.keys(localStorage).filter((one) => one.startsWith(PREFIX));
      const latest = keys.sort((one, other) => (read(other)?.at ?? 0) - (read(one)?.at ?? 0));
      for (const old of latest.slice(MOST)) localStorage.removeItem(old);
    } catch { /* no storage here, or none left: they live as long as the page */ }
  }
}

function parsed(key: string): string[] {
  return JSON.parse(key) as string[];
}

function read(name: string): Kept | null {
  try {
    const found = JSON.parse(localStorage.getItem(name) ?? "null") as Kept | null;
    return found && found.drafts.every(([key, draft]) => parsed(key).length === 2 && typeof draft.text === "string" && typeof draft.base === "string") ? found : null;
  } catch {
    return null;
  }
}
