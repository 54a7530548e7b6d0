// The state of the stepper: which steps there are, what each changed, and the rewrites inside it.
import type { BadgeView } from "./checks";
import { NoAnswer, Refusal } from "./connection";
import { PAGE, Shown, type Row } from "./diff";
import type { AcrossRow } from "./diffpane";
import { Drafts } from "./drafts";
import type { Editing, TextPlace } from "./edits";
import { startValues } from "./form";
import { Kinds, MANY, type DifferenceView } from "./kinds";
import { BaseStore } from "./store";
import { say } from "./strings";
import type { Chunk, ErrorView, Host, PipelineView, PrimitiveView, RewriteView, SourceView, StepSummary, StepView, VerdictView } from "./types";

const AHEAD = 20;
export class PipelineStore extends BaseStore {
  view: PipelineView | null = null;
  selected = "";
  rewriteIndex: number | null = null;
  onlyChanged = false;
  /** What the list is searched for: a part of a step's name or of the name of a rule that fired in it. */
  sought = "";
  split = false;
  /** Whether changes are shown by kind; null: where they are many. */
  private byKind: boolean | null = null;
  /** A step that was not known is being computed. */
  computing = false;
  /** Counts the steps that were fetched: one that was overtaken says nothing of the next. */
  private fetches = 0;
  /** What is known of steps by a check, by name. */
  badges = new Map<string, BadgeView>();
  editing: Editing | null = null;
  readonly drafts = new Drafts();
  /** The passes to choose from, while one is being added. */
  adding: string[] | null = null;
  /** The options of a pass that is put in (`adds`), or of the selected step's; no form: it has none. */
  form: { form: PrimitiveView | null; adds: boolean; values: Record<string, unknown> } | null = null;
  /** What the verifier says of steps, by id; null: nobody asks it. */
  verdicts: Map<string, VerdictView> | null = null;
  private turns: Promise<void> = Promise.resolve();
  private steps = new Map<string, StepView & { shown: Shown }>();
  private rewrites = new Map<string, RewriteView & { shown: Shown }>();
  /** The kinds of changes of steps; null: none were recorded with the step. */
  private kindsOf = new Map<string, Kinds | null>();

  /** Called when a person has chosen a step. */
  onChosen: () => void = () => {};
  /** Called when the kernel shows another session after a command of this page. */
  onMoved: () => void = () => {};

  /** Asleep, it knows the list of steps and asks for none of them; not following, it stays with the program it has. */
  constructor(host: Host, private awake = true, follows = true) {
    super(host);
    if (follows) this.connection.onEvent = (name, args) => {
      if (name === "changed") void this.open();
      if (name === "select") void this.settled.then(() => this.select(String(args["step"]), (args["rewrite"] as number | null) ?? null, false));
    };
    void this.open();
  }

  /** The list of steps as it is now: computing something has made further ones known.  Another program is opened. */
  refresh = (): Promise<void> => this.attempt(async () => {
    const view = (await this.connection.request("open", {}, "list")).view as PipelineView;
    if (view.plan !== this.view?.plan) return this.open();
    const known = new Set(view.steps.map((step) => step.id));
    if (known.has(this.selected)) this.set(() => (this.view = view));
  });

  get steps_shown(): StepSummary[] {
    const all = this.view?.steps ?? [];
    if (this.sought.trim()) return all.filter((step) => this.hits(step) > 0 || step.name.toLowerCase().includes(this.sought.trim().toLowerCase()));
    return this.onlyChanged ? all.filter((step) => step.changed || step.error || step.pending || step.left_out || step.id === this.selected) : all;
  }

  /** The rewrites of a step whose rule has the sought word in its name. */
  hits(step: StepSummary): number {
    const word = this.sought.trim().toLowerCase();
    return (step.rules ?? []).reduce((sum, [rule, times]) => sum + (rule.toLowerCase().includes(word) ? times : 0), 0);
  }

  get summary(): StepSummary | undefined {
    return this.view?.steps.find((step) => step.id === this.selected);
  }

  get step(): (StepView & { shown: Shown }) | undefined {
    return this.steps.get(this.selected);
  }

  /** Whether the selected step's changes can be told by kind: it changed a program of the same language. */
  get hasKinds(): boolean {
    return this.rewriteIndex === null && this.step !== undefined && this.step.hunks.length > 0 && this.step.before.total > 0;
  }

  /** The kinds of changes of the selected step where they are what is shown; undefined while they are on their way. */
  get kinds(): Kinds | null | undefined {
    return this.hasKinds && this.toldByKind(this.selected) ? this.kindsOf.get(this.selected) : null;
  }

  /** Whether a step that is here is shown by kind: its changes are many, or a person wished it. */
  private toldByKind(id: string): boolean {
    const step = this.steps.get(id);
    if (!step || step.before.total === 0) return false;
    return this.byKind ?? step.hunks.reduce((sum, hunk) => sum + hunk.before_count + hunk.after_count, 0) > MANY;
  }

  private async askKinds(id: string, channel: string): Promise<void> {
    if (this.kindsOf.has(id) || !this.toldByKind(id)) return;
    const { generation } = this;
    const kinds = await this.connection.request("kinds", { step: id }, channel).then(({ view }) => new Kinds(view as DifferenceView))
      .catch((error: unknown) => { if (!this.recorded) throw error; return null; });
    if (generation === this.generation) this.set(() => this.kindsOf.set(id, kinds));
  }

  /** By kind, or the whole text. */
  turnKinds = (): void => {
    if (!this.hasKinds) return;
    this.set(() => (this.byKind = this.kinds === null));
    void this.load();
  };

  get rewrite(): (RewriteView & { shown: Shown }) | undefined {
    return this.rewriteIndex === null ? undefined : this.rewrites.get(`${this.selected}/${this.rewriteIndex}`);
  }

  open = (): Promise<void> => this.newest(this.attempt(async () => {
    const reply = await this.connection.request("open", {}, "open");
    const view = reply.view as PipelineView;
    const known = new Set(view.steps.map((step) => step.id));
    this.generation++;
    this.losses = null;
    this.steps.clear();
    this.rewrites.clear();
    this.kindsOf.clear();
    this.verdicts?.clear();
    const before = this.view?.steps ?? [];
    this.set(() => (this.view = view));
    const wished = [this.selected, view.selected.step].find((id) => known.has(id));
    const first = view.steps.find((step) => step.changed) ?? view.steps[0];
    const rewrite = wished && wished === view.selected.step ? view.selected.rewrite : null;
    if (wished ?? first) this.select(wished ?? first!.id, rewrite, false);
    await this.follow(before);
  }));

  select(id: string, rewrite: number | null = null, tell = true): void {
    if (!this.view?.steps.some((step) => step.id === id)) return;
    this.set(() => {
      this.selected = id;
      this.rewriteIndex = rewrite;
      this.problem = this.adding = this.form = null;
      if (this.editing?.source.step !== id && !this.editing?.place) this.editing = null; // what a cell does elsewhere closes no editor
    });
    void this.load();
    if (tell) this.onChosen();
    if (tell) void this.connection.request("select", { step: id, rewrite }, "select").catch(() => {});
  }

  /** From now on the selected step is fetched. */
  wake(): void {
    if (this.awake) return;
    this.awake = true;
    void this.load();
  }

  private load = (): Promise<void> => this.ofShown(async () => {
    if (!this.awake || !this.selected || this.summary?.left_out) return; // of what does not run nothing is known
    const [id, generation] = [this.selected, this.generation];
    if (!this.steps.has(id)) {
      const turn = ++this.fetches;
      this.set(() => (this.computing = this.summary?.pending ?? false));
      const reply = await this.connection.request("step", { step: id }, "step").finally(() => { if (turn === this.fetches) this.set(() => (this.computing = false)); });
      this.keep(reply.view as StepView, generation);
      if (reply.state !== this.view?.state) {
        // Computing this step made others known too; what has been fetched stays true.
        await this.refresh(); // which others ask for too: overtaken by them, this goes on
        if (generation !== this.generation) return;
      }
    }
    if (this.rewriteIndex === null) await this.askKinds(id, "kinds");
    void this.verify([id]);
    const index = this.rewriteIndex;
    if (index !== null && !this.rewrites.has(`${id}/${index}`)) {
      const reply = await this.connection.request("rewrite", { step: id, index }, "rewrite");
      const view = reply.view as RewriteView;
      if (generation === this.generation) this.set(() => this.rewrites.set(`${id}/${index}`, { ...view, shown: new Shown(view) }));
    }
    await this.prefetch();
  });

  /** Ask the verifier of steps that have run, one after another. */
  verify = async (ids = this.view?.steps.filter((step) => !step.pending && !step.left_out).map((step) => step.id) ?? []): Promise<void> => {
    const { generation } = this;
    for (const id of ids) await this.ofShown(async () => {
      if (!this.verdicts || this.verdicts.has(id) || generation !== this.generation) return;
      const view = (await this.connection.request("verify", { step: id }, `verify ${id}`)).view as VerdictView;
      if (generation === this.generation) this.set(() => this.verdicts!.set(id, view));
    });
  };

  private keep(view: StepView, generation: number): void {
    if (generation !== this.generation) return; // an answer about a state that is no longer shown
    this.set(() => this.steps.set(view.id, { ...view, shown: new Shown(view) }));
  }

  /** The neighbours come quietly, so that stepping needs no round trip. */
  private async prefetch(): Promise<void> {
    const list = this.steps_shown.filter((step) => (!step.pending && !step.left_out) || step.id === this.selected).map((step) => step.id);
    const here = list.indexOf(this.selected);
    const near = list
      .map((id, i) => ({ id, far: Math.abs(i - here) }))
      .filter(({ id, far }) => far <= AHEAD && !this.steps.has(id))
      .sort((one, other) => one.far - other.far)
      .map(({ id }) => id);
    const { generation } = this;
    if (near.length) {
      const reply = await this.connection.request("steps", { steps: near }, "prefetch");
      for (const view of (reply.view as { steps: StepView[] }).steps) this.keep(view, generation);
    }
    for (const id of [list[here + 1], list[here - 1]]) if (id) await this.askKinds(id, "ahead");
  }

  move(by: number): void {
    const list = this.steps_shown;
    const next = list[list.findIndex((step) => step.id === this.selected) + by];
    if (next) this.select(next.id);
  }

  /** The next or previous rewrite; before the first one stands the whole step. */
  moveRewrite(by: number): void {
    const count = this.summary?.rewrite_count ?? 0; // the step itself may still be on its way
    const now = this.rewriteIndex ?? -1;
    const next = Math.min(Math.max(now + by, -1), count - 1);
    if (next !== now) this.select(this.selected, next < 0 ? null : next);
  }

  /** Open the text of a function after the selected step; a text that was left unapplied goes on. */
  edit = (name = ""): Promise<void> => this.ofShown(async () => {
    if (this.canChange) await this.openText(this.selected, name);
  });

  /** The same after a step that is not selected, in the place of the text that a pane shows. */
  editAt = (label: string, name: string, place: TextPlace): Promise<void> => this.ofShown(async () => {
    const step = this.view?.steps.find((one) => one.name === label && !one.left_out);
    if (step && this.view?.editable) await this.openText(step.id, name, place);
  });

  private async openText(step: string, name: string, place?: TextPlace): Promise<void> {
    const source = (await this.connection.request("source", { step, function: name }, "source")).view as SourceView;
    const label = this.view?.steps.find(({ id }) => id === source.step)?.name ?? source.step;
    const draft = this.drafts.get(draftKey(label, source));
    const begun = draft?.text ?? source.text;
    const base = draft?.base ?? source.text;
    const outdated = base !== source.text;
    this.set(() => { this.editing = { source, label, seen: this.seenPlan, begun, now: begun, base, outdated, refused: null, place }; this.adding = this.problem = null; });
  }

  /**
   * What is edited is of the program that is shown now: after the same step, or where that is gone after the one before it.
   * What was typed stays; nothing can be applied where there is no such text any more.
   */
  private async follow(before: StepSummary[]): Promise<void> {
    const { editing, generation, view } = this;
    if (!editing) return;
    const earlier = before.slice(0, before.findIndex(({ id }) => id === editing.source.step) + 1).reverse();
    const steps = [editing.label, ...earlier.map(({ name }) => name)].map((name) => view!.steps.find((one) => one.name === name && !one.left_out));
    const step = steps.find(Boolean);
    const source = !step || step.id === editing.source.step ? step && editing.source
      : await this.connection.request("source", { step: step.id, function: editing.source.function }).then((reply) => reply.view as SourceView, (error) => {
        if (!(error instanceof Refusal) || error instanceof NoAnswer) throw error;
      });
    const now = this.editing;
    if (!now || now.source !== editing.source || generation !== this.generation) return;
    const { text } = now.source;
    const typed = now.now !== text;
    if (!source && !typed) return this.set(() => (this.editing = null));
    this.set(() => {
      if (!source || !step) {
        const gone: ErrorView = { code: "E-UI-PLACE", message: say.changes.placeGone(now.label, now.source.function), where: "", found: "", expected: "", fix: say.changes.placeGoneFix, kept: say.changes.placeGoneKept, nodes: [] };
        return (this.editing = { ...now, begun: now.now, gone: true, refused: gone });
      }
      const next = { ...now, source, label: step.name, seen: this.seenPlan };
      if (source === now.source && !now.gone) return (this.editing = next);
      if (typed && step.name !== now.label) {
        this.drafts.put(draftKey(now.label, now.source), null);
        this.drafts.put(draftKey(step.name, source), { base: now.base, text: now.now });
      }
      const fresh = typed ? {} : { begun: source.text, now: source.text, base: source.text };
      this.editing = { ...next, ...fresh, gone: false, refused: null, outdated: typed && now.base !== source.text };
    });
  }

  /** Whether a step, or one function after it, has a text that was changed and not applied. */
  hasDraft(step: string, name = ""): boolean {
    return this.drafts.has(step, name);
  }

  /** What stands in the editor now. */
  typed(text: string): void {
    const editing = this.editing;
    if (!editing) return;
    const key = draftKey(editing.label, editing.source);
    this.set(() => {
      editing.now = text;
      this.drafts.put(key, text === editing.source.text ? null : { base: editing.base, text });
    });
  }

  /** Leave the editor; what was typed stays as a draft. */
  closeEditor = (): void => this.set(() => { this.editing = null; this.acted++; this.drafts.keep(); });

  discard = (): void => {
    if (this.editing) this.drafts.put(draftKey(this.editing.label, this.editing.source), null);
    this.closeEditor();
  };

  /** Hand an edited text to the kernel; a refusal stays with the text, and what is typed meanwhile is a draft. */
  apply = (text: string): Promise<void> => this.alone(async () => {
    const editing = this.editing;
    if (!editing || editing.gone || text === editing.source.text) return;
    const args = { step: editing.source.step, function: editing.source.function, text, seen: editing.seen };
    const reply = await this.connection.request("edit", args, "change").catch((error) => {
      if (error instanceof NoAnswer) return { view: { refused: error.view } };
      throw error;
    });
    const view = reply.view as { refused?: ErrorView; step?: string };
    if (view.refused) {
      const open = this.editing?.source === editing.source ? this.editing : null; // it may have been closed meanwhile
      this.set(() => open ? (this.editing = { ...open, refused: view.refused! }) : (this.problem = view.refused!));
      return;
    }
    if (editing.now === text) this.drafts.put(draftKey(editing.label, editing.source), null);
    await this.moveTo(view.step ?? "");
  });

  /** Whether the selected step has a text to edit and can be followed by another pass: what is left out does not run. */
  private get canChange(): boolean {
    return this.view?.editable === true && !this.summary?.left_out;
  }

  /** Run without the selected step; with it again where it is left out. */
  leaveOut = (): Promise<void> => this.change(this.summary?.left_out ? "switch_on" : "without", { step: this.selected });

  /** The error of the first step that failed; those after it have the same. */
  get failure(): ErrorView | null {
    return this.view?.steps.find((step) => step.error)?.error ?? null;
  }

  /** What `rebase` would drop: place, part and reason; null until it is here. */
  losses: { rows: [string, string, string][]; more: number } | null = null;
  loadLosses = (): Promise<void> => this.attempt(async () => {
    const losses = (await this.connection.request("losses", {}, "losses")).view as PipelineStore["losses"];
    this.set(() => (this.losses = losses));
  });

  /** Go on without the parts of edits that do not apply any more. */
  rebase = (): Promise<void> => this.change("rebase", {});

  /** Put a pass in after the selected step; one with options asks for them first. */
  addPass = (name: string): Promise<void> => {
    const step = this.selected; // another one may be selected meanwhile
    return this.ofShown(async () => {
      if (!(await this.askOptions(name))) await this.change("insert", { step, name });
    });
  };

  /** The form of the options of the selected step's pass, or of one to be put in; whether there are any. */
  askOptions = async (name = ""): Promise<boolean> => {
    const step = this.selected;
    const form = (await this.connection.request("pass_form", { step, name }, "source")).view as PrimitiveView;
    if (step !== this.selected) return form.parameters.length > 0;
    if (form.parameters.length) this.set(() => { this.form = { form, adds: name !== "", values: startValues(form, []) }; this.adding = null; });
    return form.parameters.length > 0;
  };

  showOptions = (): Promise<void> => this.ofShown(async () => {
    const step = this.selected;
    if (!(await this.askOptions()) && step === this.selected) this.set(() => { this.form = { form: null, adds: false, values: {} }; this.adding = null; });
  });

  /** Do what the form says. */
  applyOptions = (): Promise<void> => {
    const { form, adds, values } = this.form!;
    return adds ? this.change("insert", { step: this.selected, name: form!.name, values }) : this.change("options", { step: this.selected, values });
  };

  /** Undo or redo, one after another however fast they are asked for: each is refused that has not seen the last. */
  turn(what: "undo" | "redo"): void {
    const { denials } = this;
    this.turns = this.turns.then(() => this.opening).then(() => this.changing).then(() => denials === this.denials && this.view?.[what] ? this.change(what, {}) : undefined);
  }

  choosePass = (): Promise<void> => this.ofShown(async () => {
    if (!this.canChange) return;
    const step = this.selected;
    const source = (await this.connection.request("source", { step }, "source")).view as SourceView;
    if (step === this.selected) this.set(() => { this.adding = this.adding ? null : source.passes; this.form = null; });
  });

  /** The plan that this page shows: a change of another one is refused. */
  private get seenPlan(): string {
    return this.view?.plan ?? "";
  }

  protected override async catchUp(): Promise<void> {
    this.onMoved();
    await this.open();
  }

  /** The change that is under way, until what it made is drawn. */
  private changing: Promise<void> | null = null;

  /** One change at a time: pressed again before the first one is drawn, an action was not meant for what that makes. */
  private alone(work: () => Promise<void>): Promise<void> {
    return this.changing ?? (this.changing = this.attempt(work).finally(() => (this.changing = null)));
  }

  private change(op: string, args: Record<string, unknown>): Promise<void> {
    return this.alone(async () => {
      const view = (await this.connection.request(op, { ...args, seen: this.seenPlan }, "change")).view as { step: string };
      await this.moveTo(view.step);
    });
  }

  /** Another session is shown now: draw it, with a step of it selected. */
  private async moveTo(step: string): Promise<void> {
    this.set(() => { this.selected = step; this.editing = this.adding = this.form = null; this.acted++; });
    this.onMoved();
    await this.open();
  }

  /** Open a fold: show its next lines; open or close a kind of changes. */
  unfold = (row: AcrossRow): void => {
    if (row.kind !== "fold") return this.set(() => this.kindsOf.get(this.selected)?.turn(row.index, row.kind === "more"));
    const target = this.rewrite?.shown ?? this.step?.shown;
    if (target) this.set(() => target.open(row.after, Math.min(row.count, PAGE)));
  };

  /** Rows came into sight: fetch the lines that are not here. */
  seen = (rows: Row[]): void => {
    const target = this.rewrite?.shown ?? this.step?.shown;
    if (!target || this.rewriteIndex !== null || this.kinds) return;
    target.missing(rows, (side, start) => this.ofShown(async () => {
      const chunk = (await this.connection.request("text", { step: this.selected, side, start, count: PAGE })).view as Chunk;
      this.set(() => target.add(side, chunk));
    }));
  };
}

const draftKey = (label: string, source: SourceView): string => JSON.stringify([label, source.function]);
