// What a graph's drawing is asked for: zoom, a search by attributes, neighbours, numbers on boxes, the graph after a step.
import { NONE, meets, type Classes } from "./links";
import { say } from "./strings";
import type { GraphBox, GraphView } from "./types";
import type { Spoken, TreeItem, TreeView } from "./graph_tree";
import { callKey, type WhyNot } from "./why_not";
import type { WorkbenchStore } from "./workbench";

export type Fact = number | string | boolean;
export interface CallView { place: string; number: number; op: string; facts: Record<string, Fact>; doc: string; attributes: string[] }
export type Overlay = "share" | "flops" | "bytes" | "time" | "none";
export const OVERLAYS: Overlay[] = ["share", "flops", "bytes", "time", "none"];
type Ask = (op: string, args: Record<string, unknown>, channel?: string) => Promise<{ view: unknown }>;
type Test = (call: CallView) => boolean;

export class GraphTools {
  zoom: [number, number] = [1, 1];
  query: [string, string] = ["", ""];
  overlay: Overlay = "share";
  /** Whether all that leads to a box and away from it is lit, not only its neighbours. */
  far = false;
  /** By layer, the step whose graph is drawn; "" for the layer's own. */
  private stepOf = new Map<string, string>();
  /** The box under the pointer, and the one that was clicked last: layer and id. */
  over = "";
  chosen: { layer: string; step: string; id: string } | null = null;
  /** What the click on it was called. */
  private picked: string | null = null;
  /** The one of the program before, until it is found in this one. */
  private lost: typeof this.chosen = null;
  /** The calls of the chosen box whose attributes are shown. */
  readonly unfolded = new Set<string>();
  /** What is being typed into attributes of calls, by call and name. */
  readonly typed = new Map<string, string>();
  /** Why a pass left an operator of the chosen box as it is, once asked. */
  why: WhyNot | null = null;
  /** What a step changed, in words: of the last one that was asked for. */
  spoken: Spoken | null = null;
  private trees = new Map<string, TreeView>();
  /** A layout is on its way: the drawing of before stays until it is here. */
  private drawn = new Map<string, GraphView>();
  private openDrawn = new Map<string, string[]>();
  private calls = new Map<string, CallView[]>();
  /** By graph and box, what its calls do: arithmetic, and bytes written; "" is the whole graph. */
  private work = new Map<string, Map<string, { flops: number; out: number }>>();
  private tests = new Map<string, Test[] | string>();

  constructor(private store: WorkbenchStore, private ask: Ask) {}

  clear(): void {
    this.calls.clear();
    this.work.clear();
    this.drawn.clear();
    this.trees.clear();
    this.lost = this.chosen ?? this.lost;
    this.chosen = this.why = this.spoken = null;
  }

  /** Draw the layer's own graph where it was drawn after a step that is gone; whether there was such a one. */
  dropSteps(): boolean {
    const gone = [...this.stepOf].filter(([, step]) => step && !this.steps().includes(step));
    for (const [layer] of gone) this.stepOf.delete(layer);
    return gone.length > 0;
  }

  choose(layer: string, id: string): void {
    if (this.chosen?.layer !== layer || this.chosen.id !== id) { this.unfolded.clear(); this.typed.clear(); }
    this.chosen = { layer, step: this.step(layer), id };
    this.lost = null;
  }

  /** Something is selected, by a click of that name: the chosen box is inspected on if it was clicked, or holds a part of that. */
  keep(what: string, classes: Classes): void {
    const { chosen } = this;
    if (chosen && what !== this.picked && !meets(this.classesIn(chosen.layer, chosen.id, "graph") ?? NONE, classes)) this.chosen = null;
  }

  /** In another program the chosen box is the one of its place that holds what is selected, or the only one that does. */
  findAgain(): void {
    const lost = this.lost;
    const graph = lost && this.store.graph(lost.layer);
    if (!lost || !graph?.linked || this.store.kernels.length === 0) return;
    this.lost = null;
    if (this.chosen || lost.step !== this.step(lost.layer)) return;
    const meant = graph.boxes.filter((box) => box.kind !== "input" && meets(new Set(box.classes), this.store.selected));
    const found = meant.find((box) => box.id === lost.id) ?? (meant.length === 1 ? meant[0] : undefined);
    if (found) this.store.set(() => (this.chosen = { ...lost, id: found.id }));
  }

  turnCall(key: string, open: boolean): void {
    if (open) this.unfolded.add(key);
    else this.unfolded.delete(key);
  }

  steps(): string[] {
    return (this.store.steps.view?.steps ?? []).filter((step) => ["import", "relay", "edit"].includes(step.kind) && !step.left_out).map((step) => step.name);
  }

  step(layer: string): string {
    return this.stepOf.get(layer) ?? "";
  }

  key(layer: string): string {
    return this.step(layer) ? `${layer}@${this.step(layer)}` : layer;
  }

  showStep(layer: string, step: string): void {
    this.store.set(() => { this.stepOf.set(layer, step); this.chosen = this.lost = null; });
    this.store.linked();
    this.store.reload();
  }

  async load(layer: string): Promise<void> {
    const key = this.key(layer);
    if (this.calls.has(key)) return;
    const view = (await this.ask("calls", { layer, step: this.step(layer) })).view as { calls: CallView[] };
    this.store.set(() => { this.calls.set(key, view.calls); this.work.set(key, workOf(view.calls)); });
  }

  /** The graph to draw: the one asked for, else the one before it. */
  latest(layer: string): { graph: GraphView | undefined; waiting: boolean } {
    const now = this.store.graph(layer);
    if (now) {
      this.drawn.set(layer, now);
      this.openDrawn.set(layer, this.store.opened(layer));
    }
    return { graph: now ?? this.drawn.get(layer), waiting: !now };
  }

  /** The groups that are open in the drawing that is shown. */
  openInDrawn(layer: string): string[] {
    return this.openDrawn.get(layer) ?? [];
  }

  callsIn(layer: string, id: string): CallView[] {
    return (this.calls.get(this.key(layer)) ?? []).filter((call) => call.place === id || call.place.startsWith(`${id}.`));
  }

  /** Ask why a pass left an operator as it is; no pass: put the answer away. */
  async whyNot(call: CallView, pass: string): Promise<void> {
    if (!pass || !this.chosen) return this.store.set(() => (this.why = null));
    const { layer, step } = this.chosen;
    const view = (await this.ask("why_not", { layer, step, place: call.place, number: call.number, pass }, "why not")).view as WhyNot;
    this.store.set(() => (this.why = { ...view, call: callKey(call) }));
  }

  // --- in words ---

  /** The graph in words, once it is here. */
  tree(layer: string): TreeItem[] | undefined {
    return this.trees.get(this.key(layer))?.items;
  }

  /** What a box of a graph or of its tree stands for; nothing while that is not known. */
  classesIn(layer: string, id: string, form: "graph" | "tree"): Classes | undefined {
    const graph = form === "graph" ? this.latest(layer).graph : undefined;
    const view = graph ?? this.trees.get(this.key(layer));
    if (!view?.linked) return undefined;
    return new Set((graph?.boxes ?? this.tree(layer))?.find((one) => one.id === id)?.classes);
  }

  /** A box of a drawing, or of the tree, was clicked. */
  pick(layer: string, id: string, at: 0 | 1, form: "graph" | "tree"): void {
    this.choose(layer, form === "tree" ? id.split("#")[0]! : id);
    const key = this.key(layer); // another step's graph may be shown by the time that the links come
    const here = () => this.key(layer) === key;
    this.picked = this.named(layer, id, form);
    void this.store.selectKnown(this.picked, () => (here() ? this.classesIn(layer, id, form) : undefined),
      () => here() && this.store.refusal("schedule") === undefined, at);
  }

  /** What a box is called while its links are awaited. */
  named(layer: string, id: string, form: "graph" | "tree"): string {
    return `${form} ${this.key(layer)} ${id}`;
  }

  async loadTree(layer: string): Promise<void> {
    const [key, step] = [this.key(layer), this.step(layer)];
    const known = this.trees.get(key);
    if (known && (known.linked || this.store.kernels.length === 0)) return;
    const view = (await this.ask("tree", { layer, step }, `tree ${layer}`)).view as TreeView;
    this.store.set(() => this.trees.set(key, view));
    if (view.linked) this.store.linked();
    await this.load(layer);
  }

  async speak(step: string): Promise<void> {
    if (this.spoken?.step === step) return;
    const view = (await this.ask("spoken", { step }, "spoken")).view as Spoken;
    this.store.set(() => (this.spoken = view));
  }

  // --- zoom ---

  zoomTo(at: 0 | 1, zoom: number): void {
    this.store.set(() => (this.zoom[at] = Math.min(4, Math.max(0.1, zoom))));
  }

  // --- neighbours ---

  /** The boxes that those boxes read from and that read from them. */
  around(graph: GraphView, ids: Set<string>): { before: Set<string>; after: Set<string> } {
    const reach = (from: "source" | "target", to: "source" | "target") => {
      const found = new Set<string>();
      let front = [...ids];
      while (front.length) {
        const next = graph.edges.filter((edge) => front.includes(edge[from]) && !found.has(edge[to]) && !ids.has(edge[to])).map((edge) => edge[to]);
        for (const id of next) found.add(id);
        front = this.far ? [...new Set(next)] : [];
      }
      return found;
    };
    return { before: reach("target", "source"), after: reach("source", "target") };
  }

  /** The boxes whose neighbours are lit: the one under the pointer, else those selected. */
  centre(layer: string, graph: GraphView, selected: Classes): Set<string> {
    if (this.over.startsWith(`${layer} `)) return new Set([this.over.slice(layer.length + 1)]);
    if (this.chosen?.layer === layer) return new Set([this.chosen.id]);
    return new Set(graph.boxes.filter((box) => box.kind !== "input" && meets(new Set(box.classes), selected)).map((box) => box.id));
  }

  // --- search ---

  /** How many calls of each box the search finds; a text says why it cannot be read. */
  found(layer: string, at: 0 | 1, graph: GraphView): Map<string, number> | string {
    const tests = this.testsOf(this.query[at]);
    if (typeof tests === "string") return tests;
    const found = new Map<string, number>();
    if (tests.length === 0) return found;
    for (const box of graph.boxes) {
      const count = this.callsIn(layer, box.id).filter((call) => tests.every((test) => test(call))).length;
      if (count > 0) found.set(box.id, count);
    }
    return found;
  }

  private testsOf(query: string): Test[] | string {
    let found = this.tests.get(query);
    if (found === undefined) {
      if (this.tests.size > 200) this.tests.clear();
      this.tests.set(query, (found = readQuery(query)));
    }
    return found;
  }

  // --- numbers ---

  value(box: GraphBox, layer: string): number {
    if (box.kind === "input") return 0;
    if (this.overlay === "time") return this.store.secondsOf(new Set(box.classes));
    if (this.overlay === "none") return 0;
    const work = this.work.get(this.key(layer));
    const value = work?.get(box.id)?.[this.overlay === "bytes" ? "out" : "flops"] ?? 0;
    return this.overlay === "share" ? value / Math.max(1, work?.get("")?.flops ?? 1) : value;
  }

  told(value: number): string {
    if (this.overlay === "share") return say.graph.percent((100 * value).toFixed(value < 0.1 ? 1 : 0));
    if (this.overlay === "time") return value >= 1e-3 ? say.graph.milliseconds((1e3 * value).toFixed(2)) : say.graph.microseconds((1e6 * value).toFixed(0));
    return this.overlay === "bytes" ? say.graph.bytes(short(value)) : short(value);
  }
}

/** The work of each box: of its own calls, and of those in the boxes within it. */
function workOf(calls: CallView[]): Map<string, { flops: number; out: number }> {
  const found = new Map([["", { flops: 0, out: 0 }]]);
  for (const { place, facts } of calls) {
    const parts = place.split(".");
    for (let length = 0; length <= parts.length; length++) {
      const box = parts.slice(0, length).join(".");
      const sum = found.get(box) ?? { flops: 0, out: 0 };
      found.set(box, { flops: sum.flops + Number(facts["flops"] ?? 0), out: sum.out + Number(facts["out"] ?? 0) });
    }
  }
  return found;
}

export function short(value: number): string {
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]] as const) if (value >= size) return `${(value / size).toPrecision(3)} ${unit}`;
  return String(Math.round(value));
}

const UNITS: Record<string, number> = { "": 1, B: 1, k: 1e3, kB: 1e3, M: 1e6, MB: 1e6, G: 1e9, GB: 1e9 };
const OTHERS: Record<string, string> = { bytes: "out", op: "op" };

/** "op:conv2d channels>32 /pad.*1/" as tests that must all hold. */
export function readQuery(query: string): Test[] | string {
  const tests: Test[] = [];
  for (const term of query.match(/\/[^/]+\/|\S+/g) ?? []) {
    const pattern = /^\/(.+)\/$/.exec(term);
    if (pattern) {
      try {
        const regex = new RegExp(pattern[1]!, "i");
        tests.push((call) => regex.test(call.op) || Object.entries(call.facts).some(([name, value]) => regex.test(`${name}=${value}`)));
        continue;
      } catch {
        return say.graph.noPattern(term);
      }
    }
    const compared = /^([\w.]+)(>=|<=|>|<|=|:)(.+)$/.exec(term);
    if (!compared) {
      const word = term.toLowerCase();
      tests.push((call) => call.op.toLowerCase().includes(word) || Object.values(call.facts).some((value) => String(value).toLowerCase() === word));
      continue;
    }
    const [, key, sign, wanted] = compared as unknown as [string, string, string, string];
    const name = OTHERS[key] ?? key;
    const number = /^(-?[\d.]+(?:e[+-]?\d+)?)([kMG]?B?)$/.exec(wanted);
    const limit = number ? Number(number[1]) * (UNITS[number[2]!] ?? 1) : NaN;
    if (sign === ":" || (sign === "=" && Number.isNaN(limit))) {
      tests.push((call) => String(name === "op" ? call.op : call.facts[name] ?? "").toLowerCase().includes(wanted.toLowerCase()));
    } else if (Number.isNaN(limit)) {
      return say.graph.noNumber(wanted);
    } else {
      tests.push((call) => {
        const value = call.facts[name];
        if (typeof value !== "number") return false;
        return sign === ">" ? value > limit : sign === "<" ? value < limit : sign === ">=" ? value >= limit : sign === "<=" ? value <= limit : value === limit;
      });
    }
  }
  return tests;
}
