// The pipeline stepper: which steps there are, what each changed, and the rewrites inside it.
import { useEffect, useRef } from "preact/hooks";
import { Lines, PAGE, rows, type Row } from "./diff";
import { DiffPane } from "./diffpane";
import { EditPane, PassChooser, StepButtons, UndoButtons, type Draft, type Editing } from "./edits";
import { onKeys } from "./keys";
import { Keys, Problem, html, milliseconds, plural } from "./parts";
import { BaseStore, useFocus, useStore } from "./store";
import type { Chunk, ErrorView, Host, Hunk, PipelineView, RewriteView, SourceView, StepSummary, StepView } from "./types";

const AHEAD = 20;
const KIND_NAMES: Record<string, string> = {
  import: "Import", relay: "Relay", te: "Tensor expressions", schedule: "Schedule", tune: "Tuning", tir: "Loops (TIR)",
  codegen: "Code", run: "Run", edit: "Edits by hand",
};

/** A text before and after with what is needed to draw it. */
interface Shown { before: Lines; after: Lines; hunks: Hunk[]; opened: Set<number> }

function shown(view: { before: StepView["before"]; after: StepView["after"]; hunks: Hunk[] }): Shown {
  return { before: new Lines(view.before), after: new Lines(view.after), hunks: view.hunks, opened: new Set() };
}

export class PipelineStore extends BaseStore {
  view: PipelineView | null = null;
  selected = "";
  rewriteIndex: number | null = null;
  onlyChanged = false;
  split = false;
  /** A step that was not known is being computed. */
  computing = false;
  editing: Editing | null = null;
  /** Texts that were changed and not applied, by step and function; nothing but "Discard" throws them away. */
  private drafts = new Map<string, Draft>();
  /** The passes to choose from, while one is being added. */
  adding: string[] | null = null;
  private generation = 0;
  private steps = new Map<string, StepView & { shown: Shown }>();
  private rewrites = new Map<string, RewriteView & { shown: Shown }>();

  constructor(host: Host) {
    super(host);
    this.connection.onEvent = (name, args) => {
      if (name === "changed") void this.open();
      if (name === "select") this.select(String(args["step"]), (args["rewrite"] as number | null) ?? null, false);
    };
    void this.open();
  }

  get steps_shown(): StepSummary[] {
    const all = this.view?.steps ?? [];
    return this.onlyChanged ? all.filter((step) => step.changed || step.error || step.pending || step.id === this.selected) : all;
  }

  get summary(): StepSummary | undefined {
    return this.view?.steps.find((step) => step.id === this.selected);
  }

  get step(): (StepView & { shown: Shown }) | undefined {
    return this.steps.get(this.selected);
  }

  get rewrite(): (RewriteView & { shown: Shown }) | undefined {
    return this.rewriteIndex === null ? undefined : this.rewrites.get(`${this.selected}/${this.rewriteIndex}`);
  }

  open = (): Promise<void> => this.attempt(async () => {
    const reply = await this.connection.request("open", {}, "open");
    const view = reply.view as PipelineView;
    const known = new Set(view.steps.map((step) => step.id));
    this.generation++;
    this.steps.clear();
    this.rewrites.clear();
    this.set(() => (this.view = view));
    const wished = [this.selected, view.selected.step].find((id) => known.has(id));
    const first = view.steps.find((step) => step.changed) ?? view.steps[0];
    const rewrite = wished && wished === view.selected.step ? view.selected.rewrite : null;
    if (wished ?? first) this.select(wished ?? first!.id, rewrite, false);
  });

  select(id: string, rewrite: number | null = null, tell = true): void {
    if (!this.view?.steps.some((step) => step.id === id)) return;
    this.set(() => {
      this.selected = id;
      this.rewriteIndex = rewrite;
      this.problem = this.adding = null;
      if (this.editing?.source.step !== id) this.editing = null; // what a cell does elsewhere closes no editor
    });
    void this.load();
    if (tell) void this.connection.request("select", { step: id, rewrite }, "select").catch(() => {});
  }

  private load = (): Promise<void> => this.attempt(async () => {
    const [id, generation] = [this.selected, this.generation];
    if (!this.steps.has(id)) {
      this.set(() => (this.computing = this.summary?.pending ?? false));
      const reply = await this.connection.request("step", { step: id }, "step").finally(() => this.set(() => (this.computing = false)));
      this.keep(reply.view as StepView, generation);
      if (reply.state !== this.view?.state) {
        // Computing this step made others known too; what has been fetched stays true.
        const view = (await this.connection.request("open", {}, "open")).view as PipelineView;
        if (generation === this.generation) this.set(() => (this.view = view));
      }
    }
    const index = this.rewriteIndex;
    if (index !== null && !this.rewrites.has(`${id}/${index}`)) {
      const reply = await this.connection.request("rewrite", { step: id, index }, "rewrite");
      const view = reply.view as RewriteView;
      if (generation === this.generation) this.set(() => this.rewrites.set(`${id}/${index}`, { ...view, shown: shown(view) }));
    }
    await this.prefetch();
  });

  private keep(view: StepView, generation: number): void {
    if (generation !== this.generation) return; // an answer about a state that is no longer shown
    this.set(() => this.steps.set(view.id, { ...view, shown: shown(view) }));
  }

  /** The neighbours come quietly, so that stepping needs no round trip. */
  private async prefetch(): Promise<void> {
    const list = this.steps_shown.filter((step) => !step.pending || step.id === this.selected).map((step) => step.id);
    const here = list.indexOf(this.selected);
    const near = list
      .map((id, i) => ({ id, far: Math.abs(i - here) }))
      .filter(({ id, far }) => far <= AHEAD && !this.steps.has(id))
      .sort((one, other) => one.far - other.far)
      .map(({ id }) => id);
    if (near.length === 0) return;
    const generation = this.generation;
    const reply = await this.connection.request("steps", { steps: near }, "prefetch");
    for (const view of (reply.view as { steps: StepView[] }).steps) this.keep(view, generation);
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
  edit = (name = ""): Promise<void> => this.attempt(async () => {
    if (!this.view?.editable) return;
    const source = (await this.connection.request("source", { step: this.selected, function: name }, "source")).view as SourceView;
    const draft = this.drafts.get(this.draftKey(source));
    const begun = draft?.text ?? source.text;
    const base = draft?.base ?? source.text;
    const outdated = base !== source.text;
    this.set(() => { this.editing = { source, begun, now: begun, base, outdated, refused: null }; this.adding = this.problem = null; });
  });

  private draftKey(source: SourceView): string {
    const name = this.view?.steps.find((step) => step.id === source.step)?.name ?? source.step;
    return JSON.stringify([name, source.function]);
  }

  /** Whether a step has a text that was changed and not applied. */
  hasDraft(step: string): boolean {
    return [...this.drafts.keys()].some((key) => (JSON.parse(key) as string[])[0] === step);
  }

  /** What stands in the editor now. */
  typed(text: string): void {
    const editing = this.editing;
    if (!editing) return;
    const key = this.draftKey(editing.source);
    this.set(() => {
      editing.now = text;
      if (text === editing.source.text) this.drafts.delete(key);
      else this.drafts.set(key, { base: editing.base, text });
    });
  }

  /** Leave the editor; what was typed stays as a draft. */
  closeEditor = (): void => this.set(() => { this.editing = null; this.acted++; });

  discard = (): void => {
    if (this.editing) this.drafts.delete(this.draftKey(this.editing.source));
    this.closeEditor();
  };

  /** Hand an edited text to the kernel; a refusal stays with the text. */
  apply = (text: string): Promise<void> => this.attempt(async () => {
    const editing = this.editing;
    if (!editing || text === editing.source.text) return;
    const args = { step: editing.source.step, function: editing.source.function, text };
    const view = (await this.connection.request("edit", args, "change")).view as { refused?: ErrorView; step?: string };
    if (view.refused) {
      this.set(() => (this.editing = { ...editing, now: text, refused: view.refused! }));
      return;
    }
    this.drafts.delete(this.draftKey(editing.source));
    await this.moveTo(view.step ?? "");
  });

  leaveOut = (): Promise<void> => this.change("without", { step: this.selected });
  addPass = (name: string): Promise<void> => this.change("insert", { step: this.selected, name });

  turn(what: "undo" | "redo"): void {
    if (this.view?.[what]) void this.change(what, {});
  }

  choosePass = (): Promise<void> => this.attempt(async () => {
    if (!this.view?.editable) return;
    const source = (await this.connection.request("source", { step: this.selected }, "source")).view as SourceView;
    this.set(() => (this.adding = this.adding ? null : source.passes));
  });

  private change(op: string, args: Record<string, unknown>): Promise<void> {
    return this.attempt(async () => {
      const view = (await this.connection.request(op, args, "change")).view as { step: string };
      await this.moveTo(view.step);
    });
  }

  /** Another session is shown now: draw it, with a step of it selected. */
  private async moveTo(step: string): Promise<void> {
    this.set(() => { this.selected = step; this.editing = this.adding = null; this.acted++; });
    await this.open();
  }

  /** Open a fold: show its next lines, asking for those that are not here. */
  unfold = (row: Row & { kind: "fold" }): Promise<void> => this.attempt(async () => {
    const target = this.rewrite?.shown ?? this.step?.shown;
    if (!target) return;
    const count = Math.min(row.count, PAGE);
    const missing = [...Array(count).keys()].some((i) => target.after.at(row.after + i) === undefined);
    if (missing) {
      const args = { step: this.selected, side: "after", start: row.after, count };
      const chunk = (await this.connection.request("text", args)).view as Chunk;
      target.after.add(chunk.start, chunk.lines);
    }
    this.set(() => { for (let i = 0; i < count; i++) target.opened.add(row.after + i); });
  });
}

const KEY_ROWS: [string, string][] = [
  ["← →", "previous, next rewrite inside the step"],
  ["[ ]", "previous, next step"],
  ["↑ ↓", "move in the list of steps"],
  ["e", "edit the program after this step"],
  ["x", "run without this step"],
  ["a", "add a pass after this step"],
  ["Ctrl-Z Ctrl-Shift-Z", "undo, redo a change"],
  ["c", "only steps that changed the program"],
  ["d", "one column or two"],
  ["?", "this sheet"],
  ["Esc", "back to the notebook"],
];

export function PipelineScreen({ store }: { store: PipelineStore }) {
  useStore(store);
  const keys = onKeys({
    ArrowLeft: () => store.moveRewrite(-1),
    ArrowRight: () => store.moveRewrite(1),
    ArrowUp: () => store.move(-1),
    ArrowDown: () => store.move(1),
    "[": () => store.move(-1),
    "]": () => store.move(1),
    e: () => void store.edit(),
    x: () => void (store.view?.editable && store.leaveOut()),
    a: () => void store.choosePass(),
    "mod+z": () => store.turn("undo"),
    "mod+shift+z": () => store.turn("redo"),
    c: () => store.set(() => (store.onlyChanged = !store.onlyChanged)),
    d: () => store.set(() => (store.split = !store.split)),
    "?": () => store.set(() => (store.help = !store.help)),
  });
  return html`<div class="wb wb-pipeline" data-lm-suppress-shortcuts="true" role="group" aria-label="Pipeline stepper"
      onKeyDown=${keys}>
    <${Header} store=${store} />
    <div class="wb-columns"><${StepList} store=${store} /><${Detail} store=${store} /></div>
    ${store.help && html`<${Keys} rows=${KEY_ROWS} close=${() => store.set(() => (store.help = false))} />`}
  </div>`;
}

function Header({ store }: { store: PipelineStore }) {
  const steps = store.view?.steps ?? [];
  const total = steps.reduce((sum, step) => sum + step.milliseconds, 0);
  const changed = steps.filter((step) => step.changed).length;
  const waiting = steps.filter((step) => step.pending).length;
  return html`<header class="wb-head">
    <span class="wb-title">${store.view?.title || "Pipeline"}</span>
    <span class="wb-muted">${plural(steps.length, "step")} · ${changed} changed the program${waiting ? ` · ${waiting} not run yet` : ""} · ${milliseconds(total)}</span>
    ${store.busy && html`<span class="wb-busy" role="status">kernel busy</span>`}
    <span class="wb-space"></span>
    ${store.view?.call && html`<code class="wb-call" title="The last change in Python">${store.view.call}</code>`}
    <${UndoButtons} store=${store} />
    <button class="wb-button" aria-pressed=${store.onlyChanged} title="Only steps that changed the program (c)"
      onClick=${() => store.set(() => (store.onlyChanged = !store.onlyChanged))}>Only changed</button>
    <button class="wb-button" aria-pressed=${store.split} title="One column or two (d)"
      onClick=${() => store.set(() => (store.split = !store.split))}>Side by side</button>
    <span class="wb-group">
      <button class="wb-button" aria-label="Previous step" title="Previous step ([)" onClick=${() => store.move(-1)}>↑</button>
      <button class="wb-button" aria-label="Next step" title="Next step (])" onClick=${() => store.move(1)}>↓</button>
    </span>
    <button class="wb-button" aria-label="Keys" title="Keys (?)" onClick=${() => store.set(() => (store.help = !store.help))}>?</button>
  </header>`;
}

function StepList({ store }: { store: PipelineStore }) {
  const list = useRef<HTMLDivElement>(null);
  useFocus(store, list);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [store.selected, store.onlyChanged]);
  const slowest = Math.max(1e-6, ...(store.view?.steps ?? []).map((step) => step.milliseconds));
  let heading = "";
  const items = store.steps_shown.map((step) => {
    const title = [KIND_NAMES[step.kind] ?? step.kind, step.group].filter(Boolean).join(" · ");
    const opens = title !== heading;
    heading = title;
    return html`${opens && html`<div class="wb-heading" role="presentation">${title}</div>`}
      <${Item} key=${step.id} step=${step} store=${store} share=${step.milliseconds / slowest} />`;
  });
  return html`<div class="wb-list" role="listbox" aria-label="Steps" tabindex="0" ref=${list}
    aria-activedescendant=${store.selected ? itemId(store.selected) : undefined}>${items}</div>`;
}

const itemId = (id: string) => `wb-step-${id}`;

function Item({ step, store, share }: { step: StepSummary; store: PipelineStore; share: number }) {
  const delta = step.ops_after - step.ops_before;
  const state = step.pending ? "pending" : step.error ? "error" : step.changed ? "changed" : "same";
  const words = { pending: "not run yet", error: "failed", changed: "changed the program", same: "changed nothing" }[state];
  return html`<div id=${itemId(step.id)} class=${`wb-item wb-is-${state}`} role="option" title=${step.note || undefined}
      aria-selected=${step.id === store.selected} onClick=${() => store.select(step.id)}>
    <span class="wb-dot" aria-hidden="true"></span>
    <span class="wb-name">${step.name}</span><span class="wb-hidden"> (${words})</span>
    ${store.hasDraft(step.name) && html`<span class="wb-draft" title="A changed text that was not applied (e opens it)">●<span class="wb-hidden"> draft</span></span>`}
    ${delta !== 0 && html`<span class="wb-delta">${delta > 0 ? "+" : "−"}${Math.abs(delta)}<span class="wb-hidden"> operations</span></span>`}
    <span class="wb-time">${step.pending ? "" : milliseconds(step.milliseconds)}</span>
    <span class="wb-bar" aria-hidden="true" style=${{ width: `${Math.round(share * 100)}%` }}></span>
  </div>`;
}

function Detail({ store }: { store: PipelineStore }) {
  const { summary, step, rewrite } = store;
  const target = store.rewriteIndex === null ? step?.shown : rewrite?.shown;
  const drawn = target && rows(target.before, target.after, target.hunks, target.opened);
  return html`<section class="wb-detail" aria-label="The selected step">
    ${summary && html`<div class="wb-step-head">
      <span class="wb-step-name">${summary.name}</span>
      <span class="wb-muted">${facts(summary)}</span>
      <${StepButtons} store=${store} />
      ${step?.call && html`<code class="wb-call" title="The same in Python">${step.call}</code>`}
    </div>`}
    ${store.problem && html`<${Problem} error=${store.problem} close=${() => store.set(() => (store.problem = null))} />`}
    ${summary?.error && html`<${Problem} error=${summary.error} />`}
    <${PassChooser} store=${store} />
    ${!store.editing && (summary?.rewrite_count ?? 0) > 0 && html`<${Rewrites} store=${store} count=${summary!.rewrite_count} />`}
    ${store.editing
      ? html`<${EditPane} store=${store} editing=${store.editing} />`
      : drawn
      ? html`<${DiffPane} rows=${drawn} split=${store.split} language=${step?.language ?? "python"} before=${target.before}
          after=${target.after} open=${store.unfold} />`
      : html`<div class="wb-wait">${store.view && !summary ? "No steps." : store.computing ? "Running this step and those before it …" : "…"}</div>`}
  </section>`;
}

function facts(step: StepSummary): string {
  if (step.pending) return step.note;
  const ops = step.ops_before === step.ops_after ? plural(step.ops_after, "op") : `${step.ops_before} → ${step.ops_after} ops`;
  const parts = [ops, milliseconds(step.milliseconds)];
  if (step.rewrite_count) parts.splice(1, 0, plural(step.rewrite_count, "rewrite"));
  if (!step.changed && !step.error) parts.unshift("changed nothing");
  return [...parts, step.note].filter(Boolean).join(" · ");
}

function Rewrites({ store, count }: { store: PipelineStore; count: number }) {
  const index = store.rewriteIndex;
  const rule = index === null ? undefined : (store.rewrite?.rewrite ?? store.step?.rewrites[index]);
  const go = (value: number) => store.select(store.selected, value < 0 ? null : value);
  return html`<div class="wb-rewrites">
    <div class="wb-scrub">
      <button class="wb-button" aria-label="Previous rewrite" title="Previous rewrite (←)" disabled=${index === null}
        onClick=${() => store.moveRewrite(-1)}>←</button>
      <input type="range" min="-1" max=${count - 1} value=${index ?? -1} aria-label="Rewrite"
        aria-valuetext=${index === null ? "the whole step" : `rewrite ${index + 1} of ${count}`}
        onInput=${(event: Event) => go(Number((event.target as HTMLInputElement).value))} />
      <button class="wb-button" aria-label="Next rewrite" title="Next rewrite (→)" disabled=${index === count - 1}
        onClick=${() => store.moveRewrite(1)}>→</button>
      <span class="wb-count" aria-live="polite">${index === null ? `whole step · ${plural(count, "rewrite")}` : `rewrite ${index + 1} of ${count}`}</span>
    </div>
    ${rule && html`<div class="wb-rule">
      <span class="wb-rule-name">${rule.rule}</span>
      <span class="wb-source">${rule.source}</span>
      ${rule.where && html`<span class="wb-muted">at ${rule.where}</span>`}
      <span class="wb-muted">${milliseconds(rule.microseconds / 1000)}</span>
    </div>`}
    ${rule && store.rewrite && html`<${Why} view=${store.rewrite} />`}
  </div>`;
}

function Why({ view }: { view: RewriteView }) {
  if (!view.why && view.bindings.length === 0 && !view.rule_text) return null;
  return html`<div class="wb-why">
    ${view.why && html`<div>${view.why}</div>`}
    ${view.bindings.length > 0 && html`<dl class="wb-bindings">
      ${view.bindings.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`}
    ${view.rule_text && html`<details><summary>The rule</summary><pre>${view.rule_text}</pre></details>`}
  </div>`;
}
