// The state of the tile lens: the nest, the factor that is being dragged, the visit looked at, what was measured.
import { atLevel, draftedFactors, elementOf, axisValues, footprints, maskOf, nestOf, visitAt, visits, type Draft, type Nest } from "./lens";
import { besideSchedule, type Reply } from "./connection";
import { held, lastVisits, type Held } from "./lens_cache";
import { LensMore } from "./lens_more";
import { BaseStore } from "./store";
import type { Host, LensView, MeasuredView } from "./types";

/** Everything that one picture shows. */
export interface Frame {
  nest: Nest;
  total: number;
  now: Int32Array;
  held: Held;
  /** By array: the elements that the chosen loop touches while it runs through once. */
  masks: Uint8Array[];
  /** By array: the elements that this visit touches. */
  here: number[][];
  bytes: number[][];
}

/** What was measured, and with which factors. */
export interface Measured { view: MeasuredView; state: string }

const FRAMES = 600;
const STEPS = 12;
/** Visits up to which a program is run without being asked to: a second at worst. */
const QUICK = 2 ** 27;

export class LensStore extends BaseStore {
  view: LensView | null = null;
  draft: Draft | null = null;
  /** The visit looked at, from 0. */
  visit = 0;
  /** The loop whose footprint is framed, from 0 for the outermost. */
  level = 0;
  playing = false;
  /** "visit": one visit a picture; "whole": all of them in ten seconds. */
  pace: "visit" | "whole" = "whole";
  working = false;
  measuring = false;
  measured: Measured | null = null;
  onMeasured: (view: MeasuredView) => void = () => {};
  previous: Measured | null = null;
  readonly more = new LensMore(this);
  /** The factors before the last release, to go back to. */
  back: { step: number; factors: (number | null)[]; label: string } | null = null;
  /** The animation that runs, and the measurement: an earlier one goes on to nothing. */
  private turns = 0;
  private running: Promise<void> = Promise.resolve();
  private made: { key: string; frame: Frame } | null = null;
  private behind = false;
  /** The last answer that was drawn: its `state` names the schedule's, and of which program and target that is. */
  private drawn: Reply | null = null;

  constructor(host: Host) {
    super(host);
    this.connection.onEvent = (name) => {
      if (name !== "changed") return;
      if (this.working) this.behind = true;
      else void this.open();
    };
    void this.open().then(() => { if (this.view && visits(nestOf(this.view)) <= QUICK) return this.measure(); });
  }

  open = (block?: string): Promise<void> => this.newest(this.attempt(async () => {
    const args = block === undefined ? {} : { block };
    const before = this.view?.state;
    this.show(await this.connection.request("open", args, "open"));
    if (this.view?.state !== before) this.set(() => (this.back = null)); // moved elsewhere: that way back leads somewhere else
  }));

  query(op: string, args: Record<string, unknown>, take: (view: unknown) => void): Promise<void> {
    return this.ofShown(async () => {
      const found = (await this.connection.request(op, args, "more")).view;
      this.set(() => take(found));
    });
  }

  private show(reply: Reply): void {
    const [view, before] = [reply.view as LensView, this.drawn];
    this.drawn = reply;
    const moved = this.view !== null && this.view.state !== view.state;
    const fresh = !this.view || this.view.block !== view.block || this.view.loops.length !== view.loops.length;
    this.set(() => {
      if (this.problem?.code !== "E-UI-STALE") this.problem = null; // that one says why the picture is another
      if (moved) { this.generation++; this.keepMeasured(); }
      if (before && besideSchedule(before) !== besideSchedule(reply)) this.measured = this.previous = null; // of another target, or program
      this.view = view;
      this.draft = null;
      if (!fresh) return;
      const nest = nestOf(view);
      this.visit = Math.floor(visits(nest) * 0.4);
      const inner = view.loops.findIndex(({ term }) => !view.splits.some((split) => split.parts[0] === term));
      this.level = Math.max(inner, 0);
    });
    if (moved) void this.more.ask();
  }

  private keepMeasured(): void {
    if (this.measured) [this.previous, this.measured] = [this.measured, null];
  }

  /** What is drawn now; computed in the page, by formulas. */
  get frame(): Frame | null {
    if (!this.view) return null;
    const { draft } = this;
    const key = `${this.view.state} ${this.view.block} ${draft ? `${draft.split}.${draft.part}=${draft.factor}` : ""} ${this.visit} ${this.level}`;
    if (this.made?.key === key) return this.made.frame;
    const nest = nestOf(this.view, draft);
    const total = visits(nest);
    const now = visitAt(nest, Math.min(this.visit, total - 1));
    const tile = atLevel(nest, this.level, now);
    const values = axisValues(nest, now);
    const here = this.view.arrays.map((_, array) => [...new Set(this.view!.accesses.filter((access) => access.array === array)
      .map((access) => elementOf(nest, access, values)))]);
    const frame = {
      nest, total, now, here, held: held(nest, lastVisits(nest, now)), bytes: footprints(nest),
      masks: this.view.arrays.map((_, array) => maskOf(nest, array, tile)),
    };
    this.made = { key, frame };
    return frame;
  }

  // --- the order of visits ---

  go(visit: number): void {
    const total = this.frame?.total ?? 1;
    this.set(() => (this.visit = Math.min(Math.max(Math.floor(visit), 0), total - 1)));
  }

  protected override unwatched(): void {
    this.play(false);
  }

  override close(): void {
    this.play(false);
    super.close();
  }

  play(on: boolean): void {
    if (on === this.playing) return;
    const mine = ++this.turns;
    this.set(() => (this.playing = on));
    if (!on) return;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const turn = (): void => {
      if (mine !== this.turns || !this.playing || !this.view) return;
      const total = this.frame?.total ?? 1;
      const by = calm ? total / STEPS : this.pace === "visit" ? 1 : total / FRAMES;
      this.go(this.visit + Math.max(1, Math.round(by)));
      if (this.visit >= total - 1) return this.set(() => (this.playing = false));
      if (calm) setTimeout(turn, 1000);
      else requestAnimationFrame(turn);
    };
    if (this.visit >= (this.frame?.total ?? 1) - 1) this.go(0);
    turn();
  }

  // --- tiles ---

  /** The factor that a part of a split has, dragged or not. */
  factor(split: number, part: number): number {
    return this.frame?.nest.extents[this.view!.splits[split]!.parts[part]!] ?? 1;
  }

  /** The largest factor that makes sense. */
  most(split: number): number {
    return this.view!.terms[this.view!.splits[split]!.term]!.extent;
  }

  drag(split: number, part: number, factor: number): void {
    const wanted = Math.min(Math.max(Math.round(factor), 1), this.most(split));
    const { draft } = this;
    if (this.working || (draft?.split === split && draft.part === part && draft.factor === wanted)) return;
    if (!draft && wanted === this.factor(split, part)) return;
    this.set(() => { this.draft = { split, part, factor: wanted }; this.problem = null; });
  }

  /** The next larger or smaller factor that divides. */
  divisor(split: number, part: number, by: 1 | -1): void {
    const [from, most] = [this.factor(split, part), this.most(split)];
    let factor = from + by;
    while (factor > 1 && factor < most && most % factor !== 0) factor += by;
    this.drag(split, part, factor);
  }

  cancel(): void {
    if (this.draft) this.set(() => (this.draft = null));
  }

  /** Make the dragged factor the schedule's, and then run it. */
  release = (): Promise<void> => {
    const [view, draft] = [this.view, this.draft];
    if (!view || !draft || this.working) return Promise.resolve();
    const split = view.splits[draft.split]!;
    const name = view.terms[split.parts[draft.part]!]!;
    if (draft.factor === name.extent) return Promise.resolve(this.cancel());
    return this.change(split.step, draftedFactors(view, draft), { step: split.step, factors: split.factors, label: `${name.name} = ${name.extent}` });
  };

  goBack = (): Promise<void> => {
    const { back } = this;
    return back ? this.change(back.step, back.factors, null) : Promise.resolve();
  };

  private async change(step: number, factors: (number | null)[], back: LensStore["back"]): Promise<void> {
    this.behind = false;
    this.set(() => { this.working = true; this.problem = null; });
    let done = false;
    await this.attempt(async () => {
      const seen = this.view?.state ?? "";
      this.show(await this.connection.request("release", { step, factors, seen }, "command", seen));
      this.back = back;
      this.behind = false; // the answer shows what this command itself has moved
      done = true;
    });
    this.set(() => { this.working = false; this.draft = null; });
    if (this.behind) await this.open();
    if (done) await this.measure();
  }

  /** Run the program on this machine, and count misses one by one. */
  measure = (): Promise<void> => {
    this.set(() => (this.measuring = true));
    const mine: Promise<void> = this.attempt(this.exact).then(() => {
      if (mine !== this.running) return this.running; // another one has overtaken it
      this.set(() => (this.measuring = false));
    });
    return (this.running = mine);
  };

  private exact = async (): Promise<void> => {
    const reply = await this.connection.request("exact", {}, "exact");
    if (reply.state !== this.drawn?.state) return;
    const view = reply.view as MeasuredView;
    this.set(() => (this.measured = { view, state: reply.state }));
    this.onMeasured(view);
  };
}
