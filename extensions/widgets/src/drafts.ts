// Texts that were changed and not applied: the browser keeps them, by notebook and program, whatever becomes of kernel and page.

/** A text that was changed and not applied, and the program's text that it began from. */
export interface Draft { base: string; text: string }

const PREFIX = "workbench-drafts ";
/** Programs whose drafts are kept, the latest. */
const MOST = 20;
const PAUSE = 300; // milliseconds without a key stroke

interface Kept { at: number; drafts: [string, Draft][] }

type Changed = Map<string, Draft | null>;

/** Drafts by step and function (`draftKey`); nothing but "Discard" throws them away. */
export class Drafts {
  private drafts = new Map<string, Draft>();
  private key = "";
  /** By program: what was changed and is not written down, null for what is gone; other views write theirs. */
  private readonly typed = new Map<string, Changed>([["", new Map()]]);
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
    this.typed.get(this.key)!.set(key, draft);
    if (!draft) return this.keep();
    clearTimeout(this.timer);
    this.timer = setTimeout(this.keep, PAUSE);
    addEventListener("pagehide", this.keep);
  }

  /** Whether there is one of a step, or of one function after it. */
  has(step: string, name: string): boolean {
    return [...this.drafts.keys()].map(parsed).some((key) => key[0] === step && (!name || key[1] === name));
  }

  /** Another program is shown: its drafts. */
  of(key: string): void {
    if (key === this.key) return;
    this.keep();
    if (!this.typed.has(key)) this.typed.set(key, new Map(this.key ? [] : this.typed.get("")));
    this.key = key;
    const kept = stored(key);
    this.found = [...new Set([...kept.keys()].map((one) => parsed(one)[0]!))];
    this.drafts = this.with(kept);
  }

  /** Write down what was typed last. */
  keep = (): void => {
    clearTimeout(this.timer);
    removeEventListener("pagehide", this.keep);
    const typed = this.typed.get(this.key)!;
    if (typed.size === 0 || !this.key) return;
    const drafts = this.with(stored(this.key));
    try {
      if (drafts.size === 0) localStorage.removeItem(PREFIX + this.key);
      else localStorage.setItem(PREFIX + this.key, JSON.stringify({ at: Date.now(), drafts: [...drafts] } satisfies Kept));
      typed.clear();
      const keys = Object.keys(localStorage).filter((one) => one.startsWith(PREFIX));
      const latest = keys.sort((one, other) => (read(other)?.at ?? 0) - (read(one)?.at ?? 0));
      for (const old of latest.slice(MOST)) localStorage.removeItem(old);
    } catch { /* no storage here, or none left: they live as long as the page */ }
  };

  /** Drafts with what was changed since. */
  private with(drafts: Map<string, Draft>): Map<string, Draft> {
    for (const [key, draft] of this.typed.get(this.key)!) {
      if (draft) drafts.set(key, draft);
      else drafts.delete(key);
    }
    return drafts;
  }
}

function stored(key: string): Map<string, Draft> {
  return new Map(read(PREFIX + key)?.drafts);
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
