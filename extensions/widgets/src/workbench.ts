// The state of the screen: what its two panes show, its parts with commands of their own, and what is done on it.
import { CandidatesStore } from "./candidates";
import { ChecksStore } from "./checks";
import { watched } from "./changes";
import { Extras, TABS, type ExtraName } from "./extras";
import { GraphTools, type CallView } from "./graph_tools";
import { LensStore } from "./lens_store";
import { PipelineStore } from "./pipeline";
import { Reading } from "./reading";
import type { Remarks } from "./remarks";
import { ScheduleStore } from "./schedule";
import { TargetStore } from "./target";
import { TextEditing } from "./text_edits";
import { goTo } from "./place";
import type { Host, MeasuredView, MeasureView, WorkbenchView } from "./types";
import { COMPILED, GRAPHS, LOOPS, modes, pane, type Mode, type Pane } from "./workbench_panes";

export { COMPILED, GRAPHS, OF_THE_MODEL, modes, placeOf, type Mode, type Pane, type Shown } from "./workbench_panes";

export class WorkbenchStore extends TextEditing {
  /** What is open below the panes, and beside them where the screen is narrow. */
  strip: "" | "python" | "checks" | "problem" | ExtraName = "";
  drawer: "" | "outline" | "inspector" = "";
  measuring = false;
  /** What LLVM says of the kernel's loops, once asked for. */
  remarks: Remarks | null = null;
  readonly steps: PipelineStore;
  readonly reading = new Reading(this, (op, args, channel) => this.connection.request(op, args, channel));
  readonly tools = new GraphTools(this, (op, args, channel) => this.connection.request(op, args, channel));
  readonly extras: Extras;
  readonly target: TargetStore;
  readonly candidates: CandidatesStore;
  private checking: ChecksStore | null = null;
  private begun = false;
  private trouble: WorkbenchView["trouble"] = null;
  private going: Promise<void> = Promise.resolve();
  /** The place to go to first. */
  private at = "";

  private editors = new Map<string, ScheduleStore>();
  private lenses = new Map<string, LensStore>();
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
    this.steps.verdicts = new Map();
    this.extras = new Extras(host, this);
    this.steps.onChosen = () => this.showStep();
    this.steps.onMoved = () => void this.open();
    this.target = new TargetStore(host, () => this.steps.view?.plan ?? "", () => this.open());
    this.candidates = new CandidatesStore(host, this);
    this.steps.subscribe(() => {
      if (this.tools.dropSteps()) this.load();
      this.set(() => this.fitLayers());
    });
    this.connection.onEvent = (name, args) => {
      if (name === "changed") void this.open();
      if (name === "branches") void this.listBranches(); // a cell has made some
      if (name === "select") void this.steps.settled.then(() => this.showStep(String(args["step"])));
      if (name === "checks") void this.checks; // a cell has begun one: its badges are wanted
    };
    void this.open();
  }

  open = (): Promise<void> => this.newest(this.attempt(async () => {
    const view = (await this.connection.request("open", {}, "open")).view as WorkbenchView;
    const names = view.layers.map((layer) => layer.name);
    this.forget();
    if (this.view && this.view.subject !== view.subject) {
      this.forgetOrigins();
      this.measured.clear(); // another program, whose branches and kernels may be called the same
      for (const lens of this.lenses.values()) lens.measured = lens.previous = null;
      this.steps.editing = null; // what was typed is a draft
      this.against = 0;
      this.choice = this.choice && "gone";
    }
    for (const native of this.natives.values()) native.close();
    this.natives.clear();
    this.closeHidden(this.editors);
    this.closeHidden(this.lenses);
    this.reading.clear();
    this.tools.clear();
    this.place = this.remarks = null;
    this.python = "";
    if (this.view?.subject === view.subject && this.view.branch !== view.branch && this.choice !== "made") this.against = this.view.branch;
    void this.checking?.ask();
    this.extras.exercise.follow();
    this.set(() => {
      const another = this.view !== null && this.view.plan !== view.plan;
      if (another && this.problem?.code !== "E-UI-STALE") this.problem = null; // it was of the program before; that one says why another is shown
      this.view = view;
      if (TABS.some((tab) => tab.name === this.strip && !tab.shown(this))) this.strip = ""; // this program has no such tab
      if (view.changes) this.steps.drafts.of(view.changes.key);
      if (this.trouble && this.problem === this.trouble) this.problem = null; // it may have been taken back
      if (view.trouble) this.problem = view.trouble; // a cell's move that the session could not follow
      this.trouble = view.trouble;
      if (!this.begun) this.begin(view, names);
      for (const shown of this.panes) if (!names.includes(shown.layer)) shown.layer = this.instead(shown.layer, names);
      for (const shown of this.panes) if (!modes(shown.layer).includes(shown.mode)) shown.mode = "text";
    });
    if (!this.at || !goTo(this, this.at)) this.load();
    this.at = "";
  }));

  /** Kernels that are not looked at ask for nothing when the program changes; looked at again, theirs opens anew. */
  private closeHidden(parts: Map<string, ScheduleStore | LensStore>): void {
    for (const [kernel, part] of parts) {
      const written = part instanceof ScheduleStore && part.more.draft !== null;
      if (kernel === this.kernel || written) continue;
      part.close();
      parts.delete(kernel);
    }
  }

  /** What a new screen shows: a model's graph beside its slowest kernel, a loop program beside its assembly. */
  private begin(view: WorkbenchView, names: string[]): void {
    this.begun = true;
    if (view.exercise) this.strip = "exercise";
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

  protected override catchUp(): Promise<void> {
    return this.open();
  }

  /** Zoom so that the whole graph of a pane is in sight. */
  fit(at: 0 | 1, inside: Element): void {
    const box = inside.closest(".wb-pane")?.querySelector(".wb-graph");
    const { graph } = this.tools.latest(this.panes[at].layer);
    if (box && graph) this.tools.zoomTo(at, Math.min((box.clientWidth - 16) / (graph.width + 12), (box.clientHeight - 16) / (graph.height + 12), 1));
  }

  /** Change an attribute of a call of a graph; `refused` is called where that cannot be. */
  setAttribute = (call: CallView, name: string, text: string, refused: () => void): Promise<void> => this.attempt(async () => {
    const chosen = this.tools.chosen;
    if (!chosen || this.changing) return;
    const args = { layer: chosen.layer, step: chosen.step, place: call.place, number: call.number, name, text, seen: this.view?.plan };
    this.set(() => (this.changing = true));
    await this.connection.request("set_attribute", args, "change").catch((error) => {
      refused();
      throw error;
    }).finally(() => this.set(() => (this.changing = false)));
    await this.open();
  });

  speak = (step: string): Promise<void> => this.once(`spoken ${step}`, () => this.tools.speak(step));

  askWhyNot = (call: CallView, pass: string): Promise<void> => this.ofShown(() => this.tools.whyNot(call, pass));

  /** Show a layer in a pane: the focused one, or the other. */
  show(layer: string, other = false): void {
    if (!this.layer(layer)) return;
    const at = other ? 1 - this.focused : this.focused;
    this.set(() => {
      this.panes[at] = pane(layer, modes(layer)[0]!);
      this.toBegin(this.panes[at]!);
      this.acted++;
    });
    this.load();
  }

  /** How the focused pane shows its layer; the same again goes back to the first way. */
  turn(mode: Mode): void {
    const shown = this.panes[this.focused];
    if (!modes(shown.layer).includes(mode)) return;
    this.set(() => { shown.mode = shown.mode === mode ? modes(shown.layer)[0]! : mode; this.fitLayers(); this.acted++; });
    this.load();
  }

  /** The focused pane alone, or all that is beside it again. */
  turnAlone(): void {
    this.set(() => { this.alone = !this.alone; this.acted++; });
  }

  /** The schedule's editor; where a step's changes are shown, its text to edit, and so where a graph or loops are shown as text. */
  edit(ofStep = this.panes[this.focused].mode === "changes"): void {
    if (ofStep && this.recorded) return;
    if (ofStep) {
      this.showStep();
      return void this.steps.edit();
    }
    if (this.programText(this.focused)) return this.editText(this.focused);
    const at = this.panes[this.focused].layer === "schedule" ? this.focused : this.panes.findIndex((one) => one.layer === "schedule");
    if (at < 0 || !this.kernel) return;
    this.set(() => { this.focused = at as 0 | 1; });
    this.turn("editor");
  }

  /**
   * What the selected step changed: in the pane that shows changes already, else in one of the layers that the step is
   * of, best the focused one; never over a text that is being edited.
   */
  private showStep(step = this.steps.selected): void {
    const layers = this.layersOf(step);
    const fits = ({ layer }: Pane) => layers.includes(layer);
    const free = ([this.focused, 1 - this.focused] as (0 | 1)[]).filter((at) => !this.editingIn(at)).map((at) => this.panes[at]);
    const shown = this.panes.find(({ mode }) => mode === "changes") ?? free.find(fits) ?? free[0] ?? this.panes[this.focused];
    this.set(() => { shown.mode = "changes"; this.fitLayers(step); });
    this.steps.wake();
  }

  /** A pane that shows changes shows them as a layer that the step is of; machine code, as the text of the pane's kernel. */
  private fitLayers(step = this.steps.selected): void {
    if (!this.view || !this.steps.view?.steps.some(({ id }) => id === step)) return;
    const layers = this.layersOf(step);
    for (const shown of this.panes) {
      if (shown.mode !== "changes") continue;
      if (!layers.includes(shown.layer) || !modes(shown.layer).includes("changes")) Object.assign(shown, pane(layers[0]!, "changes"));
      if (this.reads(shown)) void this.loadText(shown.layer);
    }
  }

  /** The layers as which a step's changes are shown, the usual one first: before kernels are made, of the graph. */
  private layersOf(step: string): string[] {
    const steps = this.steps.view?.steps ?? [], lower = steps.findIndex(({ name }) => name === "Lower");
    const at = steps.findIndex(({ id }) => id === step);
    if (steps[at]?.kind === "codegen") return COMPILED;
    return (lower < 0 ? this.layer("relay") !== undefined : at < lower) ? [...GRAPHS, "onnx"] : LOOPS;
  }

  /** The check of every step; asked for from the first look on. */
  get checks(): ChecksStore {
    if (!this.checking) {
      const made = (this.checking = new ChecksStore(this.host));
      made.onNews = () => this.steps.set(() => (this.steps.badges = new Map(made.view?.state === "none" ? [] : made.view?.badges.map((badge) => [badge.step, badge]))));
      made.onShow = (label, rewrite) => {
        const step = this.steps.view?.steps.find((one) => one.name === label && !one.left_out);
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
    this.steps.turn(what);
  }

  /** One figure for the kernel, whoever measured it: the lens has. */
  private note = (kernel: string, found: MeasuredView): Promise<void> => this.attempt(async () => {
    if (found.milliseconds === null) return;
    await this.look(); // what was released is a branch of its own
    if (this.lenses.get(kernel)?.measured?.view !== found) return; // another program is shown by now
    const { text, rate, share } = found;
    this.set(() => this.measured.set(`${this.view?.branch ?? 0} ${kernel}`, { text, rate, share, seconds: found.milliseconds! / 1e3 }));
  });

  /** Run the kernel on this machine, of the branch shown or of another. */
  measure = (branch = this.view?.branch ?? 0, kernel = this.kernel): Promise<void> => this.ofShown(async () => {
    if (!kernel || this.measuring) return;
    const lens = branch === (this.view?.branch ?? 0) && this.panes.some((shown) => shown.mode === "lens") ? this.lenses.get(kernel) : undefined;
    const work = lens?.view ? lens.measure() : this.timed(branch, kernel);
    this.set(() => (this.measuring = true));
    await work.finally(() => this.set(() => (this.measuring = false)));
  });

  private timed = async (branch: number, kernel: string): Promise<void> => {
    const found = await this.connection.request("measure", { kernel, number: branch });
    this.set(() => this.measured.set(`${branch} ${kernel}`, found.view as MeasureView));
    this.ran("asm");
  };

  /** What LLVM says of the kernel's loops; again, and it closes. */
  askRemarks = (): Promise<void> => this.ofShown(async () => {
    if (this.remarks?.kernel === this.kernel) return this.set(() => (this.remarks = null));
    const view = (await this.connection.request("remarks", { kernel: this.kernel }, "remarks")).view as Remarks;
    this.set(() => (this.remarks = view));
  });

  /** The Python that makes the session shown; empty until it is here. */
  python = "";
  loadPython = (): Promise<void> => this.attempt(async () => {
    const { text } = (await this.connection.request("python", {}, "python")).view as { text: string };
    this.set(() => (this.python = text));
  });

  /** A move of the kernel's schedule is being taken out. */
  changing = false;

  /** The kernel's schedule without one of its moves (from 1); the later ones are done again. */
  takeBack = ({ number, code }: { number: number; code: string }): Promise<void> => this.attempt(async () => {
    if (this.changing) return;
    this.set(() => (this.changing = true));
    await this.connection.request("take_back", { kernel: this.kernel, number, code, seen: this.view?.plan }, "change").finally(() => this.set(() => (this.changing = false)));
    await this.open();
    this.set(() => {
      const shown = this.panes[this.focused];
      if (this.panes.every(({ mode }) => mode !== "compare") && modes(shown.layer).includes("compare")) shown.mode = "compare";
      this.acted++; // the button that was pressed is gone: the keys are the pane's
    });
    this.load();
  });

  /** Answer what is offered of an earlier time, or put away what was told. */
  changes = (what: "restore" | "discard" | "another" | "read"): Promise<void> => this.attempt(async () => {
    if (this.changing) return;
    this.set(() => (this.changing = true));
    await this.connection.request(`changes.${what}`, { seen: this.view?.plan }, "change").finally(() => this.set(() => (this.changing = false)));
    this.set(() => { this.acted++; });
    await this.open();
  });

  // --- branches ---

  private listBranches = (): Promise<void> => this.settled.then(() => this.attempt(async () => {
    const { branches } = (await this.connection.request("branches.list", {}, "branches")).view as Pick<WorkbenchView, "branches">;
    this.set(() => { if (this.view) this.view.branches = branches; }); // which of them is shown, is told when it is drawn
  }));

  /** One after another, however fast they are chosen: a number is of the program in which it was. */
  goTo = (number: number): Promise<void> => {
    const subject = this.view?.subject;
    return (this.going = this.going.then(() => this.settled).then(() => this.attempt(async () => {
      if (subject !== this.view?.subject) return;
      await this.connection.request("branch", { number, seen: this.view?.plan }, "change");
      this.set(() => { this.acted++; });
      await this.open();
    })));
  };

  compareWith(number: number): void {
    this.set(() => { this.against = number; this.choice = "made"; this.compared.clear(); });
    this.load();
  }

  measureBoth = async (): Promise<void> => {
    const beside = this.counterpart;
    if (!beside) return;
    await this.measure(this.against, beside);
    await this.measure();
  };

  /** Fold or open what the line that keys speak of holds. */
  turnFold(): void {
    const { layer, mode, active } = this.panes[this.focused];
    if (mode === "text") this.reading.turnFold(layer, active);
  }

  /** The editor of the kernel's schedule: a screen in the screen, with commands of its own. */
  get editor(): ScheduleStore {
    const kernel = this.kernel;
    let found = this.editors.get(kernel);
    if (!found) {
      this.editors.set(kernel, (found = new ScheduleStore(within(this.host, "schedule", kernel))));
      found.around = {
        mark: (box) => (kernel === this.kernel && this.links?.markBox(box, this.selected, this.box)) || 0,
        chosen: () => void this.selectBox(),
        drawn: () => this.follow(true),
      };
    }
    return found;
  }

  // --- the editor's boxes and the one selection ---

  protected override editorOf(kernel: string): ScheduleStore | undefined {
    return this.editors.get(kernel);
  }

  /** The tile lens on the kernel's schedule, in the same way. */
  get lens(): LensStore {
    let found = this.lenses.get(this.kernel);
    if (!found) {
      const kernel = this.kernel;
      this.lenses.set(kernel, (found = new LensStore(within(this.host, "lens", kernel))));
      found.onMeasured = (view) => void this.note(kernel, view);
    }
    return found;
  }

  /** LLVM's passes on the kernel as it is now. */
  get native(): PipelineStore {
    let found = this.natives.get(this.kernel);
    if (!found) this.natives.set(this.kernel, (found = new PipelineStore(within(this.host, "llvm", this.kernel), true, false)));
    return found;
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
