// The badges of a background check: what is known of each step, and what is wrong in the wrong ones.
import { BaseStore } from "./store";
import type { ErrorView, Host } from "./types";

export interface TensorView {
  place: string; element: string; found: string; expected: string; ulp: string; wrong: number; size: number; note: string;
}
export interface BadgeView {
  step: string; group: string; verdict: string; glyph: string; text: string; note: string; milliseconds: number;
  tensor: TensorView | null; since: string; suspects: string[];
}
export interface NarrowedView {
  step: string; kind: string; rule: string; source: string; number: number; count: number; error: string; why: string;
  before: string[]; after: string[]; text: string; tensor: TensorView | null;
}
export interface ChecksView {
  state: string; title: string; badges: BadgeView[]; known: number; first_wrong: string; narrowed: NarrowedView[];
  narrowing: string; saving: string; saved: string; error: ErrorView | null; inputs: string; number: number;
}

/** How often a page asks by itself while something runs, should an announcement be lost. */
const ASK_MS = 400;

export class ChecksStore extends BaseStore {
  view: ChecksView | null = null;
  selected = "";
  /** What was known at first is here. */
  readonly ready: Promise<void>;
  private asking = false;
  private again = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Called when there is something new, and when a person wants to see a step or a rewrite of it. */
  onNews: () => void = () => {};
  onShow: ((step: string, rewrite: number | null) => void) | null = null;

  constructor(host: Host) {
    super(host);
    this.connection.onEvent = (name) => { if (name === "changed") this.set(() => { this.generation++; this.problem = null; }); if (name === "checks" || name === "inputs") void this.ask(); };
    this.ready = this.ask();
  }

  get running(): boolean {
    const view = this.view;
    return view !== null && (view.state === "running" || view.narrowing !== "" || view.saving !== "");
  }

  get badge(): BadgeView | undefined {
    return this.view?.badges.find((badge) => badge.step === this.selected);
  }

  get narrowed(): NarrowedView | undefined {
    return this.view?.narrowed.find((found) => found.step === this.selected);
  }

  /** Ask what is known; while an answer is on its way, once more afterwards. */
  ask = async (): Promise<void> => {
    if (this.asking) {
      this.again = true;
      return;
    }
    this.asking = true;
    await this.attempt(async () => this.show((await this.connection.request("checks.state")).view));
    this.asking = false;
    if (this.again) {
      this.again = false;
      void this.ask();
    }
  };

  start = (): Promise<void> => this.command("checks.start", {});
  cancel = (): Promise<void> => this.command("checks.cancel", {});
  narrow = (step: string): Promise<void> => this.command("checks.narrow", { step });
  save = (step: string): Promise<void> => this.command("checks.save_test", { step });

  private command = (op: string, args: Record<string, unknown>): Promise<void> => this.ofShown(async () => {
    this.set(() => (this.problem = null));
    this.show((await this.connection.request(op, args)).view);
  });

  private show(view: unknown): void {
    const next = view as ChecksView;
    const first = this.view?.first_wrong ?? "";
    this.set(() => {
      if (this.selected && !next.badges.some((badge) => badge.step === this.selected)) this.selected = ""; // another program
      this.view = next;
      // The first wrong step is opened when it becomes known, unless the person looks at another one.
      if (next.first_wrong && next.first_wrong !== first && (!this.selected || this.selected === first)) this.selected = next.first_wrong;
    });
    this.onNews();
    clearTimeout(this.timer);
    const open = next.state !== "none" && next.badges.some((badge) => badge.verdict === "waiting" || badge.verdict === "running"); // also just after a cancel
    if (this.running || open) this.timer = setTimeout(() => this.connection.whenDrawn("checks", () => void this.ask()), ASK_MS);
  }

  select(step: string): void {
    this.set(() => (this.selected = step));
  }

  walk(by: number): void {
    const all = this.view?.badges ?? [];
    const here = all.findIndex((badge) => badge.step === this.selected);
    const next = all[Math.min(Math.max(here + by, 0), all.length - 1)];
    if (next) this.set(() => (this.selected = next.step));
  }
}
