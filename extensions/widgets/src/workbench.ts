// The state of the screen: what its two panes show, what is selected, what has been fetched.
import { ChecksStore } from "./checks";
import { watched } from "./changes";
import { add, type Compared } from "./compare";
import { Extras, type ExtraName } from "./extras";
import { Lines, PAGE as DIFF_PAGE, Shown as ShownDifference, type Row } from "./diff";
import { GraphTools, type CallView } from "./graph_tools";
import { LensStore } from "./lens_store";
import { Links, NONE, lineCount, meets, type Classes } from "./links";
import { PipelineStore } from "./pipeline";
import { Reading } from "./reading";
import type { Remarks } from "./remarks";
import { ScheduleStore } from "./schedule";
import { goTo } from "./place";
import { BaseStore } from "./store";
import type { Chunk, ComparedView, FormulaView, GraphView, Host, KernelView, LayerView, LinkView, MeasureView, PaneView, PlaceView, WorkbenchView } from "./types";
import type { Range } from "./window";

const PAGE = 400;
export const GRAPHS = ["relay", "fused"];
const NATIVE = ["tir", "llvm", "asm"]; // layers of code that runs
export const OF_THE_MODEL = ["onnx", ...GRAPHS];

/**
 * How a pane shows its layer: drawn, as formulas, as text, what the selected step changed, the schedule's editor and tile lens,
 * LLVM's own passes, beside another branch.
 */
export type Mode = "graph" | "cards" | "text" | "changes" | "editor" | "lens" | "passes" | "compare";
export interface Shown {
  lines: Lines; language: string; call: string; hidden: number[]; visible: number[] | null; trips: Float64Array; most: number; hottest: number;
}
export interface Pane { layer: string; mode: Mode; active: number; goal: { line: number } | null }

export class WorkbenchStore extends BaseStore {
  view: WorkbenchView | null = null;
  kernels: KernelView[] = [];
  kernel = "";
  panes: [Pane, Pane] = [pane("fused", "graph"), pane("schedule", "text")];
  focused: 0 | 1 = 0;
  /** Whether lines of assembly and LLVM are shown that say nothing of what is computed. */
  everyLine = false;
  /** What is open below the panes, and beside them where the screen is narrow. */
  strip: "" | "python" | "checks" | "problem" | ExtraName = "";
  drawer: "" | "outline" | "inspector" = "";
  /** By branch and kernel. */
  measured = new Map<string, MeasureView>();
  /** The branch that panes compare with: the one shown before this one. */
  against = 0;
  measuring = false;
  /** What LLVM says of the kernel's loops, once asked for. */
  remarks: Remarks | null = null;
  /** Where the line that was clicked last comes from. */
  place: PlaceView | null = null;
  readonly steps: PipelineStore;
  readonly reading = new Reading(this, (op, args, channel) => this.connection.request(op, args, channel));
  readonly tools = new GraphTools(this, (op, args, channel) => this.connection.request(op, args, channel));
  readonly extras: Extras;
  selected: Classes = NONE;
  hovered: Classes = NONE;
  /** The groups that are open, by layer. */
  private openedIn = new Map<string, string[]>();
  waiting = "";
  private checking: ChecksStore | null = null;
  private begun = false;
  /** The place to go to first. */
  private at = "";
  private texts = new Map<string, Shown>();
  private graphs = new Map<string, GraphView>();
  private tables = new Map<string, Links>();
  private compared = new Map<string, Compared>();
  private weights = new Map<number, number>();
  private asked = new Set<string>();

  private editors = new Map<string, ScheduleStore>();
  private lenses = new Map<string, LensStore>();
  private stages = new Map<string, FormulaView[]>();
  private natives = new Map<string, PipelineStore>();

  private host: Host;

  constructor(given: Host) {
    super(given);
    this.host = watched(given, () => this.connection.onLost(true));
    const host = this.host;
    this.connection.onLost = (lost) => {
      this.set(() => (this.lost = lost));
      if (!lost) void this.open();
    };
    this.steps = new PipelineStore(within(host, "pipeline"), false);
    this.extras = new Extras(host, this);
    this.steps.onChosen = () => this.showStep();
    this.steps.onMoved = () => void this.open();
    this.steps.subscribe(() => this.set(() => {}));
    this.connection.onEvent = (name) => {
      if (name === "changed") void this.open();
      if (name === "select") this.showStep();
      if (name === "checks") void this.checks; // a cell has begun one: its badges are wanted
    };
    void this.open();
  }

  open = (): Promise<void> => this.attempt(async () => {
    const view = (await this.connection.request("open", {}, "open")).view as WorkbenchView;
    const names = view.layers.map((layer) => layer.name);
    this.texts.clear();
    this.graphs.clear();
    this.tables.clear();
    this.asked.clear();
    this.compared.clear();
    for (const native of this.natives.values()) native.close();
    this.natives.clear();
    this.stages.clear();
    this.reading.clear();
    this.tools.clear();
    this.place = this.remarks = null;
    this.kernels = [];
    if (this.view && this.view.branch !== view.branch) this.against = this.view.branch;
    void this.checking?.ask();
    this.set(() => {
      this.view = view;
      if (!this.begun) this.begin(view, names);
      for (const shown of this.panes) if (!names.includes(shown.layer)) shown.layer = this.instead(shown.layer, names);
      for (const shown of this.panes) if (!modes(shown.layer).includes(shown.mode)) shown.mode = "text";
    });
    if (this.at) goTo(this, this.at);
    else this.load();
    this.at = "";
  });

  /** What a new screen shows: a model's graph beside its slowest kernel, a loop program beside its assembly. */
  private begin(view: WorkbenchView, names: string[]): void {
    this.begun = true;
    const graph = ["fused", "relay"].find((name) => names.includes(name) && (name === "relay" || this.layer(name)?.state !== "not run"));
    if (view.start.editing) this.panes = [pane("schedule", "editor"), pane("tir", "text")];
    else this.panes = graph ? [pane(graph, "graph"), pane("schedule", "text")] : [pane("schedule", "text"), pane("asm", "text")];
    this.kernel = view.start.kernel;
    if (view.start.step) this.panes[0].mode = "changes"; // a cell has selected a step
    this.at = String(this.host.get("at") || view.start.at || "");
  }

  /** What is shown where the session has no such layer any more. */
  private instead(layer: string, names: string[]): string {
    return GRAPHS.includes(layer) && names.includes("relay") ? "relay" : "schedule";
  }

  layer(name: string): LayerView | undefined {
    return this.view?.layers.find((layer) => layer.name === name);
  }

  get links(): Links | undefined {
    return this.tables.get(this.kernel);
  }

  text(layer: string): Shown | undefined {
    return this.texts.get(this.key(layer));
  }

  graph(layer: string): GraphView | undefined {
    return this.graphs.get(`${this.tools.key(layer)} ${this.opened(layer).join(" ")}`);
  }

  openGroups(layer: string, groups: string[]): void {
    this.openedIn.set(this.tools.key(layer), groups);
  }

  opened(layer: string): string[] {
    return this.openedIn.get(this.tools.key(layer)) ?? [];
  }

  key(layer: string): string {
    return OF_THE_MODEL.includes(layer) ? layer : `${layer} ${this.kernel}`;
  }

  /** Fetch what the panes show; graphs first, since they are there already. */
  load(): void {
    for (const shown of this.panes) if (shown.mode === "graph") void this.loadGraph(shown.layer);
    void this.loadKernels().then(() => {
      for (const shown of this.panes) if (shown.mode === "graph") void this.loadGraph(shown.layer);
      for (const shown of this.panes) if (shown.mode === "text") void this.loadText(shown.layer);
      if (this.panes.some((shown) => shown.mode === "cards")) void this.loadFormulas();
      if (this.panes.some((shown) => shown.mode === "changes")) this.steps.wake();
      for (const shown of this.panes) if (shown.mode === "compare") void this.loadCompared(shown.layer);
      if (this.layer("onnx")) void this.loadText("onnx"); // the ladder names its nodes
      void this.loadLinks();
    });
  }

  private once(what: string, work: () => Promise<void>): Promise<void> {
    if (this.asked.has(what)) return Promise.resolve();
    this.asked.add(what);
    return this.attempt(work).finally(() => this.asked.delete(what));
  }

  private async loadKernels(): Promise<void> {
    if (this.kernels.length) return;
    await this.once("kernels", async () => {
      this.set(() => (this.waiting = "Lowering and scheduling the kernels …"));
      const view = (await this.connection.request("kernels").finally(() => this.set(() => (this.waiting = "")))).view as { kernels: KernelView[] };
      this.set(() => {
        this.kernels = view.kernels;
        this.weights.clear();
        if (!view.kernels.some((kernel) => kernel.name === this.kernel)) this.kernel = view.kernels[0]?.name ?? "";
      });
      await this.look();
    });
  }

  /** What has been computed meanwhile. */
  private async look(): Promise<void> {
    const view = (await this.connection.request("open", {}, "open")).view as WorkbenchView;
    this.set(() => (this.view = view));
    void this.steps.refresh();
  }

  private loadGraph(layer: string): Promise<void> {
    const opened = this.opened(layer);
    const [step, drawn] = [this.tools.step(layer), this.tools.key(layer)];
    const key = `${drawn} ${opened.join(" ")}`;
    const drawnNow = this.graphs.get(key);
    if (drawnNow && (drawnNow.linked || this.kernels.length === 0)) return Promise.resolve(); // linked once kernels are known
    return this.once(`graph ${key}`, async () => {
      const view = (await this.connection.request("graph", { layer, opened, step }, `graph ${layer}`)).view as GraphView;
      this.set(() => this.graphs.set(key, view));
      await this.tools.load(layer);
    });
  }

  /** Leave the graph as it is drawn: forget the layout that is on its way. */
  cancelLayout(layer: string): void {
    this.connection.cancel(`graph ${layer}`);
    this.set(() => { this.openedIn.set(this.tools.key(layer), this.tools.openInDrawn(layer)); this.acted++; });
  }

  reload(): void {
    this.load();
  }

  /** Zoom so that the whole graph of a pane is in sight. */
  fit(at: 0 | 1, inside: Element): void {
    const box = inside.closest(".wb-pane")?.querySelector(".wb-graph");
    const { graph } = this.tools.latest(this.panes[at].layer);
    if (box && graph) this.tools.zoomTo(at, Math.min((box.clientWidth - 16) / (graph.width + 12), (box.clientHeight - 16) / (graph.height + 12), 1));
  }

  /** Change an attribute of a call of a graph. */
  setAttribute = (call: CallView, name: string, text: string): Promise<void> => this.attempt(async () => {
    const chosen = this.tools.chosen;
    if (!chosen || this.changing) return;
    const args = { layer: chosen.layer, step: chosen.step, place: call.place, number: call.number, name, text };
    this.set(() => (this.changing = true));
    await this.connection.request("set_attribute", args, "change").finally(() => this.set(() => (this.changing = false)));
    await this.open();
  });

  /** Seconds of one run of the model that parts of it take, of kernels that were measured. */
  secondsOf(classes: Classes): number {
    let sum = 0;
    for (const kernel of this.kernels) {
      const measured = this.time(kernel.name);
      if (!measured || kernel.classes.length === 0) continue;
      const held = kernel.classes.filter((one) => classes.has(one)).length;
      sum += (measured.seconds * kernel.calls * held) / kernel.classes.length;
    }
    return sum;
  }

  private loadText(layer: string): Promise<void> {
    const key = this.key(layer);
    if (this.texts.has(key) || (!OF_THE_MODEL.includes(layer) && !this.kernel)) return Promise.resolve();
    return this.once(`text ${key}`, async () => {
      const view = (await this.connection.request("pane", { layer, kernel: this.kernel })).view as PaneView;
      const trips = spread(view.trips);
      const most = trips.reduce((one, other) => Math.max(one, other), 0);
      const { language, call, hidden, hottest } = view;
      void this.attempt(() => this.reading.load(layer));
      this.set(() => this.texts.set(key, { lines: new Lines(view.text), language, call, hidden, visible: null, trips, most, hottest }));
    });
  }

  /** The stages of the kernel shown. */
  get formulas(): FormulaView[] | undefined {
    return this.stages.get(this.kernel);
  }

  private loadFormulas(): Promise<void> {
    const kernel = this.kernel;
    if (!kernel || this.stages.has(kernel)) return Promise.resolve();
    return this.once(`formulas ${kernel}`, async () => {
      const view = (await this.connection.request("formulas", { kernel })).view as { stages: FormulaView[] };
      this.set(() => this.stages.set(kernel, view.stages));
    });
  }

  private loadLinks(): Promise<void> {
    const kernel = this.kernel;
    if (!kernel || this.tables.has(kernel)) return Promise.resolve();
    return this.once(`links ${kernel}`, async () => {
      const view = (await this.connection.request("links", { kernel })).view as LinkView;
      this.set(() => this.tables.set(kernel, new Links(view)));
    });
  }

  /** Lines came into sight: fetch those that are not here. */
  seen(layer: string, range: Range): void {
    const shown = this.text(layer);
    if (!shown) return;
    for (let start = Math.floor(range.first / PAGE) * PAGE; start < Math.min(range.end, shown.lines.total); start += PAGE) {
      if (shown.lines.at(start) !== undefined) continue;
      void this.once(`lines ${this.key(layer)} ${start}`, async () => {
        const chunk = (await this.connection.request("lines", { layer, kernel: this.kernel, start, count: PAGE })).view as Chunk;
        this.set(() => shown.lines.add(chunk.start, chunk.lines));
      });
    }
  }

  // --- what is done ---

  /** Show a layer in a pane: the focused one, or the other. */
  show(layer: string, other = false): void {
    if (!this.layer(layer)) return;
    const at = other ? 1 - this.focused : this.focused;
    this.set(() => {
      this.panes[at] = pane(layer, modes(layer)[0]!);
      this.toSelection(this.panes[at]!);
      this.acted++;
    });
    this.load();
  }

  /** How the focused pane shows its layer; the same again goes back to the first way. */
  turn(mode: Mode): void {
    const shown = this.panes[this.focused];
    if (!modes(shown.layer).includes(mode)) return;
    this.set(() => { shown.mode = shown.mode === mode ? modes(shown.layer)[0]! : mode; this.acted++; });
    this.load();
  }

  /** The schedule's editor; where a step's changes are shown, its text to edit. */
  edit(ofStep = this.panes[this.focused].mode === "changes"): void {
    if (ofStep) {
      this.showStep();
      return void this.steps.edit();
    }
    const at = this.panes[this.focused].layer === "schedule" ? this.focused : this.panes.findIndex((one) => one.layer === "schedule");
    if (at < 0 || !this.kernel) return;
    this.set(() => { this.focused = at as 0 | 1; });
    this.turn("editor");
  }

  /** What the selected step changed, in the pane that shows changes already, or in the focused one. */
  private showStep(): void {
    const at = this.panes.findIndex((shown) => shown.mode === "changes");
    this.set(() => { if (at < 0) this.panes[this.focused].mode = "changes"; });
    this.steps.wake();
  }

  /** The check of every step; asked for from the first look on. */
  get checks(): ChecksStore {
    if (!this.checking) {
      const made = (this.checking = new ChecksStore(this.host));
      made.onNews = () => this.steps.set(() => (this.steps.badges = new Map(made.view?.state === "none" ? [] : made.view?.badges.map((badge) => [badge.step, badge]))));
      made.onShow = (label, rewrite) => {
        const step = this.steps.view?.steps.find((one) => one.name === label);
        if (step) this.steps.select(step.id, rewrite);
      };
    }
    return this.checking;
  }

  /** Open the checks below the panes; where nothing has been checked yet, begin. */
  async verify(): Promise<void> {
    this.set(() => (this.strip = "checks"));
    await this.checks.ready;
    if (this.checks.view?.state === "none") await this.checks.start();
  }

  turnBack(what: "undo" | "redo"): void {
    if (this.view?.[what]) this.steps.turn(what);
  }

  /** Run the kernel on this machine, of the branch shown or of another. */
  measure = (branch = this.view?.branch ?? 0): Promise<void> => this.attempt(async () => {
    const kernel = this.kernel;
    if (!kernel || this.measuring) return;
    this.set(() => (this.measuring = true));
    const found = await this.connection.request("measure", { kernel, number: branch }).finally(() => this.set(() => (this.measuring = false)));
    this.set(() => this.measured.set(`${branch} ${kernel}`, found.view as MeasureView));
  });

  /** What LLVM says of the kernel's loops; again, and it closes. */
  askRemarks = (): Promise<void> => this.attempt(async () => {
    if (this.remarks?.kernel === this.kernel) return this.set(() => (this.remarks = null));
    const view = (await this.connection.request("remarks", { kernel: this.kernel }, "remarks")).view as Remarks;
    this.set(() => (this.remarks = view));
  });

  /** What was measured of a kernel of the branch shown. */
  time(kernel: string): MeasureView | undefined {
    return this.measured.get(`${this.view?.branch ?? 0} ${kernel}`);
  }

  /** A move of the kernel's schedule is being taken out. */
  changing = false;

  /** The kernel's schedule without one of its moves (from 1); the later ones are done again. */
  takeBack = (number: number): Promise<void> => this.attempt(async () => {
    if (this.changing) return;
    this.set(() => (this.changing = true));
    await this.connection.request("take_back", { kernel: this.kernel, number }, "change").finally(() => this.set(() => (this.changing = false)));
    await this.open();
    this.set(() => {
      if (this.panes.every((shown) => shown.mode !== "compare")) this.panes[this.focused].mode = "compare";
      this.acted++; // the button that was pressed is gone: the keys are the pane's
    });
    this.load();
  });

  /** Answer what is offered of the last time, or put away what was told. */
  changes = (what: "restore" | "discard" | "read"): Promise<void> => this.attempt(async () => {
    if (this.changing) return;
    this.set(() => (this.changing = true));
    await this.connection.request(`changes.${what}`, {}, "change").finally(() => this.set(() => (this.changing = false)));
    this.set(() => { this.acted++; });
    await this.open();
  });

  // --- branches ---

  goTo = (number: number): Promise<void> => this.attempt(async () => {
    await this.connection.request("branch", { number }, "change");
    this.set(() => { this.acted++; });
    await this.open();
  });

  compareWith(number: number): void {
    this.set(() => { this.against = number; this.compared.clear(); });
    this.load();
  }

  comparison(layer: string): Compared | undefined {
    return this.compared.get(this.key(layer));
  }

  measureBoth = async (): Promise<void> => {
    await this.measure(this.against);
    await this.measure();
  };

  private loadCompared(layer: string): Promise<void> {
    const key = this.key(layer);
    if (this.compared.has(key)) return Promise.resolve();
    return this.once(`compare ${key}`, async () => {
      const number = this.against;
      const kernel = OF_THE_MODEL.includes(layer) ? "" : this.kernel;
      const view = (await this.connection.request("compare", { layer, kernel, number })).view as ComparedView;
      if (number === this.against) this.set(() => this.compared.set(key, { view, shown: new ShownDifference(view), number }));
    });
  }

  /** Rows of a comparison came into sight: fetch the lines that are not here. */
  seenCompared(layer: string, rows: Row[]): void {
    const found = this.comparison(layer);
    if (!found) return;
    for (const [side, , start] of found.shown.missing(rows)) {
      void this.attempt(async () => {
        const args = { layer, kernel: found.view.kernel, start, count: DIFF_PAGE, number: found.number };
        const chunk = (await this.connection.request(side === "before" ? "beside" : "lines", args)).view as Chunk;
        this.set(() => add(found, side, chunk));
      });
    }
  }

  /** The numbers of the lines that a pane shows; null for all of them. */
  visible(layer: string): number[] | null {
    const shown = this.text(layer);
    if (!shown) return null;
    const base = this.everyLine || shown.hidden.length === 0 ? null : (shown.visible ??= others(shown.lines.total, shown.hidden));
    return this.reading.without(layer, base, shown.lines.total);
  }

  /** Fold or open what the line that keys speak of holds. */
  turnFold(): void {
    const { layer, mode, active } = this.panes[this.focused];
    if (mode === "text") this.reading.turnFold(layer, active);
  }

  /** The whole text of a layer. */
  async whole(layer: string): Promise<string> {
    return ((await this.connection.request("whole", { layer, kernel: this.kernel })).view as { text: string }).text;
  }

  /** The editor of the kernel's schedule: a screen in the screen, with commands of its own. */
  get editor(): ScheduleStore {
    let found = this.editors.get(this.kernel);
    if (!found) this.editors.set(this.kernel, (found = new ScheduleStore(within(this.host, "schedule", this.kernel))));
    return found;
  }

  /** The tile lens on the kernel's schedule, in the same way. */
  get lens(): LensStore {
    let found = this.lenses.get(this.kernel);
    if (!found) this.lenses.set(this.kernel, (found = new LensStore(within(this.host, "lens", this.kernel))));
    return found;
  }

  /** LLVM's passes on the kernel as it is now. */
  get native(): PipelineStore {
    let found = this.natives.get(this.kernel);
    if (!found) this.natives.set(this.kernel, (found = new PipelineStore(within(this.host, "llvm", this.kernel), true, false)));
    return found;
  }

  choose(kernel: string): void {
    this.set(() => { this.kernel = kernel; for (const one of this.panes) { one.active = 0; this.toSelection(one); } });
    this.load();
  }

  hover(classes: Classes): void {
    if (classes !== this.hovered) this.set(() => (this.hovered = classes));
  }

  /** Select parts of the model; the kernel that carries them out is shown, and the other pane goes there. */
  async select(classes: Classes, from: 0 | 1): Promise<void> {
    this.set(() => { this.selected = classes; this.focused = from; });
    void this.connection.request("select", { classes: [...classes] }, "select").catch(() => {});
    const holder = this.kernels.find((kernel) => kernel.name === this.kernel && meets(new Set(kernel.classes), classes))
      ?? this.kernels.find((kernel) => meets(new Set(kernel.classes), classes));
    if (holder && holder.name !== this.kernel) {
      this.set(() => (this.kernel = holder.name));
      this.load();
      await this.loadLinks();
    }
    this.set(() => this.toSelection(this.panes[1 - from]!));
  }

  /** A line was clicked: select what it holds, and ask where it comes from. */
  async selectLine(at: 0 | 1, line: number): Promise<void> {
    const { layer } = this.panes[at];
    const kernel = this.kernel;
    this.panes[at].active = line;
    const selecting = this.select(this.links?.on(layer, line) ?? NONE, at);
    if (NATIVE.includes(layer)) {
      await this.attempt(async () => {
        const view = (await this.connection.request("place", { layer, kernel, line: line + 1 }, "place")).view as PlaceView;
        if (kernel === this.kernel) this.set(() => (this.place = view));
      });
    } else if (this.place) this.set(() => (this.place = null));
    await selecting;
  }

  /** Go to the statement that most instructions are run for. */
  hottest(): void {
    const at = NATIVE.includes(this.panes[this.focused].layer) ? this.focused : this.panes.findIndex((one) => NATIVE.includes(one.layer));
    const shown = this.panes[at] && this.text(this.panes[at]!.layer);
    if (!shown || shown.hottest === 0) return;
    const hot = shown.hottest - 1;
    this.set(() => { this.focused = at as 0 | 1; this.panes[at]!.goal = { line: hot }; this.acted++; });
    void this.selectLine(at as 0 | 1, hot);
  }

  /** How much of the arithmetic parts of the model are, 0 to 1. */
  share(classes: Classes): number {
    if (this.weights.size === 0) {
      for (const kernel of this.kernels) {
        for (const one of kernel.classes) this.weights.set(one, (this.weights.get(one) ?? 0) + kernel.share / kernel.classes.length);
      }
    }
    let sum = 0;
    for (const one of classes) sum += this.weights.get(one) ?? 0;
    return sum;
  }

  /** The greatest share among the boxes of a graph. */
  mostShare(graph: GraphView): number {
    return Math.max(1e-9, ...graph.boxes.map((box) => (box.kind === "input" ? 0 : this.share(new Set(box.classes)))));
  }

  /** Bring the first selected line into sight. */
  private toSelection(shown: Pane): void {
    const first = this.links?.lit(shown.layer, this.selected)[0];
    if (first) shown.goal = { line: first[0] };
  }

  /** Open a group of the graph, or close it. */
  open_group(layer: string, id: string): void {
    const inside = (one: string) => one === id || one.startsWith(`${id}.`);
    const opened = this.opened(layer);
    this.set(() => this.openedIn.set(this.tools.key(layer), opened.includes(id) ? opened.filter((one) => !inside(one)) : [...opened, id]));
    this.load();
  }

  /** Move the line that keys speak of, and select what is on it. */
  move(by: number): void {
    const shown = this.panes[this.focused];
    const total = this.text(shown.layer)?.lines.total ?? 0;
    if (shown.mode !== "text" || total === 0) return;
    const lines = this.visible(shown.layer);
    const next = (lines ? placeOf(lines, shown.active) : shown.active) + by;
    const place = Math.min(Math.max(next, 0), (lines?.length ?? total) - 1);
    const line = lines ? lines[place]! : place;
    this.set(() => { shown.active = line; shown.goal = { line }; });
    void this.selectLine(this.focused, line);
  }

  /** How many lines of a layer are selected; of graphs that are drawn, nothing is counted. */
  lit(layer: string): number {
    return this.links ? lineCount(this.links.lit(layer, this.selected)) : 0;
  }
}

/** A host whose requests go to a part of the screen: "apply" is "schedule.apply", of a kernel. */
function within(host: Host, part: string, kernel?: string): Host {
  const send: Host["send"] = (content, callbacks, buffers) => {
    const message = content as { op: string; args?: Record<string, unknown> };
    host.send({ ...message, op: `${part}.${message.op}`, args: kernel === undefined ? (message.args ?? {}) : { ...message.args, kernel } }, callbacks, buffers);
  };
  return { get: (name) => host.get(name), send, on: (name, callback) => host.on(name, callback), off: (name, callback) => host.off(name, callback) };
}

function pane(layer: string, mode: Mode): Pane {
  return { layer, mode, active: 0, goal: null };
}

/** How a layer can be shown, the usual way first. */
export function modes(layer: string): Mode[] {
  if (GRAPHS.includes(layer)) return ["graph", "text", "changes", "compare"];
  if (layer === "schedule") return ["text", "editor", "lens", "changes", "compare"];
  if (layer === "te") return ["cards", "text", "changes", "compare"];
  if (layer === "llvm") return ["text", "passes", "changes", "compare"];
  return layer === "onnx" ? ["text"] : ["text", "changes", "compare"];
}

/** Runs [count, value, ...] as one value for each line. */
function spread(runs: number[]): Float64Array {
  let total = 0;
  for (let i = 0; i < runs.length; i += 2) total += runs[i]!;
  const found = new Float64Array(total);
  for (let i = 0, at = 0; i < runs.length; at += runs[i]!, i += 2) found.fill(runs[i + 1]!, at, at + runs[i]!);
  return found;
}

/** The numbers below `total` outside of stretches [first, count, ...]. */
function others(total: number, stretches: number[]): number[] {
  const found: number[] = [];
  let at = 0;
  for (let i = 0; i <= stretches.length; i += 2) {
    const first = stretches[i] ?? total;
    while (at < first) found.push(at++);
    at = first + (stretches[i + 1] ?? 0);
  }
  return found;
}

/** The place of a number in a sorted list, or of the next one after it. */
export function placeOf(sorted: number[], number: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
