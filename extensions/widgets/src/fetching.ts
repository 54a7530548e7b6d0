// What has been fetched for the screen's panes, and what is asked for when they show something else.
import type { Compared } from "./compare";
import { Lines, PAGE as DIFF_PAGE, Shown as ShownDifference, type Row } from "./diff";
import type { GraphTools } from "./graph_tools";
import { Links, NONE, type Classes } from "./links";
import { follow, Origins, type Carried } from "./origins";
import type { PipelineStore } from "./pipeline";
import type { Reading } from "./reading";
import { Refusal } from "./connection";
import { BaseStore } from "./store";
import { say } from "./strings";
import type { Chunk, ComparedView, ErrorView, FormulaView, GraphView, KernelView, LayerView, LinkView, PaneView, WorkbenchView } from "./types";
import type { Range } from "./window";
import { COMPILED, OF_THE_MODEL, others, pane, spread, type Pane, type Shown } from "./workbench_panes";

const PAGE = 400;
/** Milliseconds without a change after which a kernel is compiled for its links. */
const REST = 700;

export abstract class Fetching extends BaseStore {
  view: WorkbenchView | null = null;
  kernels: KernelView[] = [];
  kernel = "";
  /** Which parts of a model the numbers of classes stand for. */
  numbering: string | null = null;
  private origins = new Origins();
  /** By kernel, what it does of the imported graph, in the kernel's words. */
  private does: Record<string, number[]> = {};
  /** The kernel that was shown of the program before. */
  private carried: Carried | null = null;
  panes: [Pane, Pane] = [pane("fused", "graph"), pane("schedule", "text")];
  focused: 0 | 1 = 0;
  /** Whether lines of assembly and LLVM are shown that say nothing of what is computed. */
  everyLine = false;
  /** The branch that panes compare with: the one shown before this one, or the one that the person chose. */
  against = 0;
  /** Whether the person chose it: then it stays, and "gone" once it was of another program. */
  choice: "" | "made" | "gone" = "";
  /** The focused pane has the whole width. */
  alone = false;
  waiting = "";
  abstract readonly steps: PipelineStore;
  abstract readonly reading: Reading;
  abstract readonly tools: GraphTools;
  /** The groups that are open, by layer. */
  protected openedIn = new Map<string, string[]>();
  protected texts = new Map<string, Shown>();
  protected graphs = new Map<string, GraphView>();
  protected tables = new Map<string, Links>();
  protected compared = new Map<string, Compared>();
  /** By branch and kernel, the kernel of that branch that does the same; empty if none does. */
  protected counterparts = new Map<string, string>();
  protected asked = new Set<string>();
  /** What cannot be shown of this program, and why: by text, and "kernels". */
  private refusals = new Map<string, ErrorView>();
  protected stages = new Map<string, FormulaView[]>();
  /** The program was changed a moment ago: compiling it for the links of machine code would hold up the next move. */
  private moving = false;
  private rest: ReturnType<typeof setTimeout> | undefined;

  /** The program has changed: what was fetched is not its any more. */
  protected forget(): void {
    this.generation++;
    this.moving = this.view !== null;
    clearTimeout(this.rest);
    this.asked = new Set();
    this.refusals.clear();
    this.texts.clear();
    this.graphs.clear();
    this.tables.clear();
    this.unlinked.clear();
    this.compared.clear();
    this.counterparts.clear();
    this.stages.clear();
    const shown = this.kernels.find(({ name }) => name === this.kernel);
    if (shown) this.carried = { name: shown.name, did: this.does[shown.name] ?? [], holds: shown.classes.some((number) => this.selected.has(number)) };
    this.kernels = [];
  }

  /** Another program is shown than the one that the last ones were made of: nothing of it is found again. */
  protected forgetOrigins(): void {
    this.origins = new Origins();
    this.carried = null;
  }

  override close(): void {
    clearTimeout(this.rest);
    super.close();
  }

  abstract selected: Classes;
  /** Links have come, or cannot be had: what was clicked before is selected now, or is not. */
  abstract linked(): void;
  /** Kernels whose links were asked for and refused. */
  protected unlinked = new Set<string>();
  /** Bring what a pane is to begin with into sight. */
  protected abstract toBegin(shown: Pane): void;
  /** Select what was selected in the program before, or what is left of it. */
  protected abstract reselect(classes: Classes): void;

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

  hasKernel(kernel: string): boolean {
    return this.kernels.some(({ name }) => name === kernel);
  }

  /** Whether the program shown can be asked of a layer: until its kernels are here, the one shown is of the program before. */
  private asksOf(layer: string): boolean {
    return OF_THE_MODEL.includes(layer) || this.hasKernel(this.kernel);
  }

  key(layer: string): string {
    return OF_THE_MODEL.includes(layer) ? layer : `${layer} ${this.kernel}`;
  }

  /** Why a layer has no text. */
  refusal(layer: string): ErrorView | undefined {
    return this.refusals.get(this.key(layer)) ?? (OF_THE_MODEL.includes(layer) ? undefined : this.refusals.get("kernels"));
  }

  /** Keep a refusal for the panes, and see which step it was; other failures are thrown on. */
  private async refused(what: string, error: unknown): Promise<void> {
    if (!(error instanceof Refusal) || this.recorded || error.view.code === "E-UI-STALE") throw error;
    const { generation } = this;
    await this.opening;
    if (generation !== this.generation) return;
    this.set(() => this.refusals.set(what, error.view));
    await this.look();
    if (this.panes.every(({ layer }) => this.refusal(layer) === undefined)) throw error; // no pane tells it
  }

  /** Whether a pane shows its layer's text: as such, or as what code generation made of the kernel. */
  reads({ layer, mode }: Pane): boolean {
    const step = this.steps.summary;
    if (mode !== "changes" || step?.kind !== "codegen") return mode === "text";
    return COMPILED.includes(layer) && !step.error && !step.left_out;
  }

  /** Fetch what the panes show; graphs first, since they are there already. */
  load(): void {
    for (const shown of this.panes) if (shown.mode === "graph") void this.loadGraph(shown.layer);
    for (const shown of this.panes) if (shown.mode === "tree") void this.once(`tree ${this.tools.key(shown.layer)}`, () => this.tools.loadTree(shown.layer));
    void this.loadKernels().then(() => {
      if (this.refusals.has("kernels")) this.linked();
      for (const shown of this.panes) if (shown.mode === "tree") void this.once(`tree ${this.tools.key(shown.layer)}`, () => this.tools.loadTree(shown.layer));
      for (const shown of this.panes) if (shown.mode === "graph") void this.loadGraph(shown.layer);
      for (const shown of this.panes) if (this.reads(shown)) void this.loadText(shown.layer);
      if (this.panes.some((shown) => shown.mode === "cards")) void this.loadFormulas();
      if (this.panes.some((shown) => shown.mode === "changes")) this.steps.wake();
      for (const shown of this.panes) if (shown.mode === "compare") void this.loadCompared(shown.layer).then(() => this.loadCounterpart());
      if (this.layer("onnx")) void this.loadText("onnx"); // the ladder names its nodes
      void this.loadLinks();
      this.reading.findAgain();
    });
  }

  protected once(what: string, work: (same: () => boolean) => Promise<void>): Promise<void> {
    const { asked } = this;
    if (asked.has(what)) return Promise.resolve();
    asked.add(what);
    return this.ofShown(work).finally(() => asked.delete(what));
  }

  protected async loadKernels(): Promise<void> {
    if (this.kernels.length || this.refusals.has("kernels")) return;
    await this.once("kernels", async (same) => {
      this.set(() => (this.waiting = say.frame_a.lowering));
      const before = this.carried?.name === this.kernel ? this.carried : null;
      const answer = await this.connection.request("kernels", before ? { before: before.name, did: before.did } : {}).catch((error) => this.refused("kernels", error)).finally(() => { if (same()) this.set(() => (this.waiting = "")); });
      if (!answer) return;
      const view = answer.view as { kernels: KernelView[]; numbering: string; origins?: number[][]; does?: Record<string, number[]>; order?: string[] };
      const origins = new Origins(view.origins);
      if ((this.numbering ?? view.numbering) !== view.numbering) { // numbers of classes are those of a program
        this.reselect(this.selected.size ? origins.within(this.origins.of(this.selected)) : NONE);
      }
      [this.numbering, this.origins] = [view.numbering, origins];
      this.set(() => {
        const kept = before?.name === this.kernel; // else another one was chosen meanwhile
        this.kernels = view.kernels;
        this.does = view.does ?? {};
        this.kernel = follow(view.kernels, kept ? view.order ?? [] : [], this.kernel, kept && before!.holds, this.selected); // a name that is kept may be another kernel's
      });
      this.tools.findAgain();
      await this.look();
    });
  }

  /** Draw what the kernel shows now. */
  abstract readonly open: () => Promise<void>;

  /** What has been computed meanwhile.  Another program is opened: what is here is of the one before. */
  protected async look(): Promise<void> {
    const view = (await this.connection.request("open", {}, "look")).view as WorkbenchView;
    if (view.plan !== this.view?.plan) return this.open();
    this.set(() => (this.view = view));
    void this.steps.refresh();
  }

  protected loadGraph(layer: string): Promise<void> {
    const opened = this.opened(layer);
    const [step, drawn] = [this.tools.step(layer), this.tools.key(layer)];
    const key = `${drawn} ${opened.join(" ")}`;
    const drawnNow = this.graphs.get(key);
    if (drawnNow && (drawnNow.linked || this.kernels.length === 0)) return Promise.resolve(); // linked once kernels are known
    if (this.refusals.has(drawn)) return Promise.resolve();
    return this.once(`graph ${key}`, async () => {
      const answer = await this.connection.request("graph", { layer, opened, step }, `graph ${layer}`).catch((error) => {
        if (step) throw error; // the layer's own graph can still be chosen
        return this.refused(drawn, error);
      });
      if (!answer) return;
      const view = answer.view as GraphView;
      this.set(() => this.graphs.set(key, view));
      if (view.linked) this.linked();
    }).then(() => this.once(`calls ${drawn}`, () => this.tools.load(layer))).then(() => this.tools.findAgain());
  }

  /** Leave the graph as it is drawn: forget the layout that is on its way. */
  cancelLayout(layer: string): void {
    this.connection.cancel(`graph ${layer}`);
    this.set(() => { this.openedIn.set(this.tools.key(layer), this.tools.openInDrawn(layer)); this.acted++; });
  }

  reload(): void {
    this.load();
  }
  protected loadText(layer: string): Promise<void> {
    const key = this.key(layer);
    if (this.texts.has(key) && !this.recorded) return this.once(`words ${key}`, () => this.reading.load(layer)); // their answer may not have come
    if (this.texts.has(key) || this.refusals.has(key) || !this.asksOf(layer)) return Promise.resolve();
    return this.once(`text ${key}`, async () => {
      const answer = await this.connection.request("pane", { layer, kernel: this.kernel }).catch((error) => this.refused(key, error));
      if (!answer) return;
      const view = answer.view as PaneView;
      const trips = spread(view.trips);
      const most = trips.reduce((one, other) => Math.max(one, other), 0);
      const { language, call, hidden, hottest, step } = view;
      const constant = view.constant;
      void this.once(`words ${key}`, () => this.reading.load(layer));
      this.ran(layer);
      this.set(() => {
        this.texts.set(key, { lines: new Lines(view.text), language, call, hidden, constant, visible: null, trips, most, hottest, step });
        for (const shown of this.panes) if (shown.layer === layer && COMPILED.includes(layer) && shown.active === 0) this.toBegin(shown);
      });
    });
  }

  /** The stages of the kernel shown. */
  get formulas(): FormulaView[] | undefined {
    return this.stages.get(this.kernel);
  }

  protected loadFormulas(): Promise<void> {
    const kernel = this.kernel;
    if (!this.hasKernel(kernel) || this.stages.has(kernel)) return Promise.resolve();
    return this.once(`formulas ${kernel}`, async () => {
      const view = (await this.connection.request("formulas", { kernel })).view as { stages: FormulaView[] };
      this.set(() => this.stages.set(kernel, view.stages));
    });
  }

  protected loadLinks(): Promise<void> {
    const kernel = this.kernel;
    const native = !this.moving || this.panes.some((shown) => COMPILED.includes(shown.layer));
    const known = this.tables.get(kernel);
    if (!this.hasKernel(kernel) || known?.native || (known && !native)) return Promise.resolve();
    return this.once(`links ${kernel} ${native}`, async () => {
      try {
        const view = (await this.connection.request("links", native ? { kernel } : { kernel, native })).view as LinkView;
        this.unlinked.delete(kernel);
        this.set(() => { if (native || !this.tables.has(kernel)) this.tables.set(kernel, new Links(view)); });
      } catch (error) {
        this.unlinked.add(kernel);
        throw error;
      } finally {
        this.linked();
      }
      if (!native) this.linkAtRest();
      else this.ran("asm");
    });
  }

  /** What was asked for has run steps, or a part of one: chips and steps say so. */
  protected ran(layer: string): void {
    if (["not run", "in part"].includes(this.layer(layer)?.state ?? "")) void this.ofShown(() => this.look());
  }

  /** Link machine code too, once nothing has changed for a while. */
  private linkAtRest(): void {
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.connection.whenDrawn("links", () => { this.moving = false; void this.loadLinks(); }), REST);
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

  comparison(layer: string): Compared | undefined {
    return this.compared.get(this.key(layer));
  }
  protected loadCompared(layer: string): Promise<void> {
    const key = this.key(layer);
    if (this.compared.has(key) || !this.asksOf(layer)) return Promise.resolve();
    return this.once(`compare ${this.against} ${key}`, async () => {
      const number = this.against;
      const kernel = OF_THE_MODEL.includes(layer) ? "" : this.kernel;
      const view = (await this.connection.request("compare", { layer, kernel, number })).view as ComparedView;
      if (number === this.against) this.set(() => this.compared.set(key, { view, shown: new ShownDifference(view), number }));
    });
  }

  /** The kernel of the branch compared with that does what the one shown does; empty if none does. */
  get counterpart(): string | undefined {
    return this.counterparts.get(`${this.against} ${this.kernel}`);
  }
  private loadCounterpart(): Promise<void> {
    const [number, kernel] = [this.against, this.kernel];
    const key = `${number} ${kernel}`;
    if (!this.hasKernel(kernel) || this.counterparts.has(key)) return Promise.resolve();
    return this.once(`counterpart ${key}`, async () => {
      const { beside } = (await this.connection.request("counterpart", { number, kernel })).view as { beside: string };
      this.set(() => this.counterparts.set(key, beside));
    });
  }

  /** Rows of a comparison came into sight: fetch the lines that are not here. */
  seenCompared(layer: string, rows: Row[]): void {
    const found = this.comparison(layer);
    if (!found) return;
    found.shown.missing(rows, (side, start) => this.ofShown(async () => {
      const kernel = side === "before" ? found.view.beside : found.view.kernel;
      const args = { layer, kernel, start, count: DIFF_PAGE, number: found.number };
      const chunk = (await this.connection.request(side === "before" ? "beside" : "lines", args)).view as Chunk;
      this.set(() => found.shown.add(side, chunk));
    }));
  }

  /** The numbers of the lines that a pane shows; null for all of them. */
  visible(layer: string): number[] | null {
    const shown = this.text(layer);
    if (!shown) return null;
    const base = this.everyLine || shown.hidden.length === 0 ? null : (shown.visible ??= others(shown.lines.total, shown.hidden));
    return this.reading.without(layer, base, shown.lines.total);
  }
  /** The whole text of a layer. */
  async whole(layer: string): Promise<string | undefined> {
    let text: string | undefined;
    await this.ofShown(async () => {
      ({ text } = (await this.connection.request("whole", { layer, kernel: this.kernel })).view as { text: string });
    });
    return text;
  }
  /** Open a group of the graph, or close it. */
  open_group(layer: string, id: string): void {
    const inside = (one: string) => one === id || one.startsWith(`${id}.`);
    const opened = this.opened(layer);
    this.set(() => this.openedIn.set(this.tools.key(layer), opened.includes(id) ? opened.filter((one) => !inside(one)) : [...opened, id]));
    this.load();
  }
}
