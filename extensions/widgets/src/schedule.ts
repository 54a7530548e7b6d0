// The schedule editor: the loop tree, the primitives with the reasons against them, forms, the code, undo and redo.
import { useEffect, useRef } from "preact/hooks";
import { onKeys } from "./keys";
import { Form, startValues } from "./form";
import type { Mark } from "./links";
import { Refusal, besideSchedule, type Reply } from "./connection";
import { Keys, Problem, asking, html, reveal, useIds, type Ids } from "./parts";
import { Badges, CodeDraft, HistoryTree, More, OptionButtons, PreviewPanel, Roofline, dragging } from "./schedule_more";
import { BaseStore, useFocus, useStore } from "./store";
import { say } from "./strings";
import { tokens } from "./text";
import { Witness, rankOf } from "./witness";
import type { Host, PrimitiveView, ReasonsView, ScheduleView, SuggestionsView, TreeNode } from "./types";

export class ScheduleStore extends BaseStore {
  /** In a recording with whether the way under the roofline was recorded too. */
  view: ScheduleView & { roofline?: boolean } | null = null;
  selected = "";
  /** The primitive whose form is open. */
  chosen = "";
  values: Record<string, unknown> = {};
  /** What could be done in place of a refused primitive, once asked for. */
  ways: SuggestionsView | null = null;
  filter = "";
  working = false;
  /** A screen around this one: how it marks a box, what it does where the person has chosen one, and where boxes change. */
  around: { mark(box: string): Mark; chosen(): void; drawn(): void } | null = null;
  readonly more = new More(this);
  /** Whether the schedule has moved while a command was under way. */
  private behind = false;
  private turns: Promise<void> = Promise.resolve();
  /** Of which program and target what is drawn is. */
  private beside = "";
  /** Reasons and arguments by node, asked for when a node is selected; void with the next state. */
  private judged = new Map<string, ReasonsView>();

  constructor(host: Host) {
    super(host);
    this.connection.onEvent = (name) => {
      if (name !== "changed") return;
      if (this.working) this.behind = true;
      else void this.open();
    };
    void this.open();
  }

  /** Whether the problem that is shown is that there is no schedule. */
  private unopened = false;

  get nodes(): TreeNode[] {
    const found: TreeNode[] = [];
    const waiting = [...(this.view?.tree ?? [])].reverse();
    for (let node = waiting.pop(); node; node = waiting.pop()) {
      found.push(node);
      waiting.push(...[...node.children].reverse());
    }
    return found;
  }

  get node(): TreeNode | undefined {
    return this.nodes.find((node) => node.id === this.selected);
  }

  /** Look again.  In the state that is drawn already, forms, answers and what is wrong stay: a refused move was tried. */
  open = (): Promise<void> => this.newest(this.attempt(async () => {
    const answer = await this.connection.request("open", {}, "open").catch((error) => {
      this.unopened ||= error instanceof Refusal && error.view.code !== "E-UI-STALE";
      throw error;
    });
    const view = answer.view as ScheduleView;
    if (this.unopened) this.set(() => { [this.unopened, this.problem] = [false, null]; }); // it was why there was none
    if (view.state !== this.view?.state) return this.show(answer);
    const other = this.beside !== besideSchedule(answer);
    this.beside = besideSchedule(answer);
    this.set(() => {
      this.view = view;
      this.judged.clear();
      if (other) { this.ways = null; this.more.forget(true); } // ranks and times are of the code before
    });
    this.around?.drawn();
    void this.judge();
  }));

  private show(reply: Reply): void {
    this.generation++;
    this.beside = besideSchedule(reply);
    this.set(() => {
      const [before, chosen, known] = [this.view, this.node, new Set(this.nodes.map((node) => node.key))];
      this.view = reply.view as ScheduleView;
      if (this.problem?.code !== "E-UI-STALE") this.problem = null; // that one says why the picture is another
      this.chosen = "";
      this.ways = null;
      this.more.follow(before?.code, this.view.code);
      this.judged.clear();
      this.selected = before ? (chosen && follow(chosen, this.nodes, known)?.id) ?? "" : (this.nodes.find((node) => node.kind === "loop") ?? this.nodes[0])?.id ?? "";
      this.more.forget(true);
    });
    void this.judge();
    this.around?.drawn();
  }

  /** Why a primitive does not apply to the selected node: null if it does, undefined while that is asked. */
  reasonAgainst(primitive: PrimitiveView, node: TreeNode): string | null | undefined {
    const found = this.judged.get(node.id)?.reasons;
    if (!found) return undefined;
    const reason = found[primitive.name];
    return reason === undefined ? say.schedule.notFor(node.kind) : reason;
  }

  /** The reasons of the selected node, where they were asked for. */
  get reasonsHere(): Record<string, string | null> | undefined {
    return this.judged.get(this.selected)?.reasons;
  }

  /** A recording without the reasons of this kernel. */
  unrecorded = false;

  private judge = (): Promise<void> => this.ofShown(async () => {
    const [view, node] = [this.view, this.selected];
    if (!view || !node || this.judged.has(node)) return;
    const reply = await this.connection.request("reasons", { selection: node }, "reasons").catch((error: unknown) => { if (!this.recorded) throw error; return null; });
    if (!reply) return this.set(() => (this.unrecorded = true));
    const reasons = reply.view as ReasonsView;
    if (this.view === view) this.set(() => this.judged.set(node, reasons));
  });

  /** The person chooses a box, or (`led`) it is chosen since the thing was selected elsewhere. */
  select(id: string, led = false): void {
    this.set(() => {
      if (id !== this.selected) {
        [this.chosen, this.ways] = ["", null];
        this.more.forget(false);
      }
      this.selected = id;
      this.problem = null;
    });
    void this.judge();
    if (!led) this.around?.chosen();
  }

  /** Open a primitive's form, or close it; one that has none is applied, and again where that failed. */
  choose(primitive: PrimitiveView): void {
    const asks = primitive.parameters.some((parameter) => parameter.kind !== "selection");
    this.set(() => {
      this.problem = null;
      this.chosen = asks && this.chosen === primitive.name ? "" : primitive.name;
      this.more.preview = null;
      this.values = { ...startValues(primitive, this.nodes), ...this.judged.get(this.selected)?.arguments[primitive.name] };
    });
    if (!asks) void this.apply(primitive);
  }

  apply = (primitive: PrimitiveView): Promise<void> =>
    this.command("apply", { primitive: primitive.name, selection: this.selected, arguments: this.values });
  undo = (): Promise<void> => this.turn("undo", "can_undo");
  redo = (): Promise<void> => this.turn("redo", "can_redo");

  /** One after another, however fast they are asked for. */
  private turn(what: "undo" | "redo", can: "can_undo" | "can_redo"): Promise<void> {
    const { denials } = this;
    return (this.turns = this.turns.then(() => denials === this.denials && this.view?.[can] && !this.recorded ? this.command(what, {}) : undefined));
  }

  /** Why a primitive is refused at the selected node, at length, and what is legal instead; again, and it closes. */
  ask = (primitive: string): Promise<void> => {
    if (this.ways?.primitive === primitive) {
      this.set(() => (this.ways = null));
      return Promise.resolve();
    }
    return this.ofShown(async () => {
      const [view, selection] = [this.view, this.selected];
      const ways = (await this.connection.request("ways", { primitive, selection }, "ways")).view as SuggestionsView;
      if (this.view === view && this.selected === selection) this.set(() => (this.ways = ways));
    });
  };
  accept = (ways: SuggestionsView, number: number): Promise<void> =>
    this.command("accept", { primitive: ways.primitive, selection: ways.selection, number });
  force = (ways: SuggestionsView): Promise<void> =>
    this.command("force", { primitive: ways.primitive, selection: ways.selection });
  switchTo = (branch: number): Promise<void> => this.command("switch", { branch });

  /** Ask about the state shown, or of its box that is selected; the answer is void where that has changed meanwhile. */
  query(op: string, args: Record<string, unknown>, take: (view: unknown) => void): Promise<void> {
    const [view, selection] = [this.view, this.selected];
    return this.ofShown(async () => {
      const reply = await this.connection.request(op, args, op);
      const same = !("selection" in args) || this.selected === selection;
      if (same && this.view === view && this.beside === besideSchedule(reply)) this.set(() => take(reply.view));
    });
  }

  async command(op: string, args: Record<string, unknown>): Promise<void> {
    if (this.working) return;
    this.behind = false;
    this.set(() => { this.working = true; this.problem = null; });
    await this.attempt(async () => {
      const seen = this.view?.state ?? "";
      this.show(await this.connection.request(op, { ...args, seen }, "command", seen));
      this.acted++;
      if (this.more.draft === args["code"]) this.more.draft = null; // what was typed meanwhile stays
      else if (op === "replay") this.more.base = this.view!.code; // on what was replayed
      this.behind = false; // the answer shows what this command itself has moved
    });
    this.set(() => (this.working = false));
    if (this.behind) await this.open();
  }

  /** Along the tree as it is drawn, or to the box around, or into the first box inside. */
  walk(direction: "next" | "previous" | "out" | "in"): void {
    const all = this.nodes;
    const here = all.findIndex((node) => node.id === this.selected);
    const target = {
      next: all[here + 1],
      previous: all[here - 1],
      out: all.find((node) => node.children.some((child) => child.id === this.selected)),
      in: all[here]?.children[0],
    }[direction];
    if (target) this.select(target.id);
  }
}

/**
 * The box that was chosen, in another state: the same block or variable, what it became, one of its name made again, or
 * what it was made of.  One of its name that was there before (`known`) is another nest's.
 */
function follow(chosen: TreeNode, nodes: TreeNode[], known: Set<string>): TreeNode | undefined {
  if (chosen.kind !== "loop") return nodes.find((node) => node.id === chosen.id);
  const loops = nodes.filter((node) => node.kind === "loop");
  const again = (node: TreeNode) => !known.has(node.key) && node.name === chosen.name && String(node.made_of) === String(chosen.made_of);
  return loops.find((node) => node.key === chosen.key) ?? loops.find((node) => node.made_of.includes(chosen.key))
    ?? loops.find(again) ?? loops.find((node) => chosen.made_of.includes(node.key));
}

export function ScheduleScreen({ store }: { store: ScheduleStore }) {
  useStore(store);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => { // what was refused leaves the list less room: the form that is to be mended stays in sight
    if (store.problem) reveal(root.current?.querySelector(".wb-primitives"), root.current?.querySelector(".wb-form"));
  }, [store.problem]);
  const keys = onKeys({
    ArrowUp: () => store.walk("previous"),
    ArrowDown: () => store.walk("next"),
    ArrowLeft: () => store.walk("out"),
    ArrowRight: () => store.walk("in"),
    "/": () => root.current?.querySelector<HTMLInputElement>(".wb-filter")?.focus(),
    "mod+z": () => void store.undo(),
    "mod+shift+z": () => void store.redo(),
    "?": () => store.set(() => (store.help = !store.help)),
  });
  return html`<div class="wb wb-schedule" data-lm-suppress-shortcuts="true" role="group" aria-label=${say.schedule.editor}
      aria-busy=${store.working} onKeyDown=${keys} ref=${root}>
    <${Header} store=${store} />
    ${store.problem && html`<${Problem} error=${store.problem} close=${() => store.set(() => (store.problem = null))} />`}
    ${store.view?.edited && html`<div class="wb-remarks wb-doc" role="note">${store.view.edited}</div>`}
    <${Roofline} store=${store} />
    <div class="wb-columns"><${Tree} store=${store} /><${Primitives} store=${store} /></div>
    <${HistoryTree} store=${store} />
    <${Code} store=${store} />
    ${store.help && html`<${Keys} rows=${say.schedule.keyRows} close=${() => store.set(() => (store.help = false))} />`}
  </div>`;
}

function Header({ store }: { store: ScheduleStore }) {
  const view = store.view;
  const loops = store.nodes.filter((node) => node.kind === "loop").length;
  return html`<header class="wb-head">
    <span class="wb-title">${view?.name || say.schedule.title}</span>
    <span class="wb-muted">${view && view.history.length > 0 ? say.schedule.loopsAtStep(loops, view.position, view.history.length) : say.schedule.loops(loops)}</span>
    ${(store.busy || store.working) && html`<span class="wb-busy" role="status">${store.busy ? say.common.kernelBusy : say.schedule.applying}</span>`}
    ${view && /\bunsafe=True\b/.test(view.code) && html`<span class="wb-chip wb-chip-bad" role="status"
      title=${say.schedule.unsafeHelp}>${say.schedule.unsafe}</span>`}
    <span class="wb-space"></span>
    ${view && view.branches.length > 1 && html`<select class="wb-select" aria-label=${say.frame.branch} title=${say.frame.branch} disabled=${store.working || store.recorded}
      value=${String(view.branch)} onChange=${(event: Event) => void store.switchTo(Number((event.target as HTMLSelectElement).value))}>
      ${view.branches.map((story, number) => html`<option value=${String(number)}>${`${number}: ${story}`}</option>`)}</select>`}
    <span class="wb-group">
      <button class="wb-button" title=${say.schedule.undoHelp} disabled=${!view?.can_undo || store.recorded} onClick=${store.undo}>${say.changes.undo}</button>
      <button class="wb-button" title=${say.schedule.redoHelp} disabled=${!view?.can_redo || store.recorded} onClick=${store.redo}>${say.changes.redo}</button>
    </span>
    <button class="wb-button" aria-expanded=${store.more.history !== null}
      ...${asking(store, say.schedule.treeButtonHelp, () => store.more.history ? store.set(() => (store.more.history = null)) : void store.more.look())}>${say.schedule.treeButton}</button>
    <button class="wb-button" aria-expanded=${store.more.roofline !== null}
      ...${asking(store, say.schedule.rooflineHelp, () => store.more.roofline === null ? void store.more.roof() : store.set(() => (store.more.roofline = null)), view?.roofline)}>${say.schedule.roofline}</button>
    <button class="wb-button" aria-label=${say.common.keys} title=${say.common.keysHelp} onClick=${() => store.set(() => (store.help = !store.help))}>?</button>
  </header>`;
}

const SIGNS: Record<string, string> = { parallel: "∥", vectorized: "⇶", unrolled: "↻", thread: "▦", serial: "" };

function Tree({ store }: { store: ScheduleStore }) {
  const tree = useRef<HTMLDivElement>(null);
  const ids = useIds();
  useFocus(store, tree);
  useEffect(() => {
    reveal(tree.current, tree.current?.querySelector("[aria-selected=true] > .wb-box-head"));
  }, [store.selected]);
  return html`<div class="wb-tree" role="tree" aria-label=${say.schedule.tree} tabindex="0" ref=${tree}
      aria-activedescendant=${store.selected ? ids(`node-${store.selected}`) : undefined}>
    ${(store.view?.tree ?? []).map((node) => html`<${Box} key=${node.id} node=${node} store=${store} ids=${ids} />`)}
  </div>`;
}

function Box({ node, store, ids }: { node: TreeNode; store: ScheduleStore; ids: Ids }) {
  const blamed = store.problem?.nodes.includes(node.id) ?? false;
  const kind = node.kind === "loop" ? node.loop_kind : node.kind;
  const choose = (event: Event) => {
    event.stopPropagation();
    store.select(node.id);
  };
  return html`<div id=${ids(`node-${node.id}`)} class=${`wb-box wb-k-${kind} ${blamed ? "wb-blamed" : ""} ${["", "wb-around", "wb-lit"][store.around?.mark(node.id) ?? 0]}`} role="treeitem"
      aria-selected=${node.id === store.selected} aria-expanded=${node.children.length > 0 ? true : undefined} onClick=${choose}>
    <div ...${dragging(store, node)}>
      ${node.kind === "loop" ? html`<span class="wb-iter">${node.name}</span>` : html`<span class="wb-block-name">${node.name}</span>`}
      ${node.extent && html`<span class="wb-extent">${node.extent}</span>`}
      ${node.kind === "loop" && node.loop_kind !== "serial" && html`<span class="wb-chip">
        <span aria-hidden="true">${SIGNS[node.loop_kind] ?? ""}</span> ${node.loop_kind}</span>`}
      ${node.reduction && html`<span class="wb-chip wb-chip-sum"><span aria-hidden="true">Σ</span> ${say.schedule.reduction}</span>`}
      ${node.detail && html`<code class="wb-detail-text">${node.detail}</code>`}
    </div>
    ${node.children.length > 0 && html`<div class="wb-inside" role="group">
      ${node.children.map((child) => html`<${Box} key=${child.id} node=${child} store=${store} ids=${ids} />`)}</div>`}
  </div>`;
}

function Primitives({ store }: { store: ScheduleStore }) {
  const node = store.node;
  const ids = useIds();
  const wanted = store.filter.trim().toLowerCase();
  const all = (store.view?.primitives ?? []).filter((primitive) => primitive.name.toLowerCase().includes(wanted));
  const judged = node ? all.map((primitive) => ({ primitive, reason: store.reasonAgainst(primitive, node) })) : [];
  const waiting = judged.some(({ reason }) => reason === undefined);
  const enabled = judged.filter(({ reason }) => reason === null);
  const disabled = judged.filter(({ reason }) => typeof reason === "string");
  return html`<section class="wb-panel" aria-label=${say.schedule.primitives}>
    <div class="wb-panel-head">
      <span>${node ? html`${say.schedule.forKind(node.kind)} <code class="wb-iter">${node.name}</code>` : say.schedule.select}</span>
      <input class="wb-filter" type="search" placeholder=${say.schedule.filterExample} aria-label=${say.schedule.filter} value=${store.filter}
        onKeyDown=${(event: KeyboardEvent) => { if (event.key === "Enter" && enabled.length === 1) store.choose(enabled[0]!.primitive); }}
        onInput=${(event: Event) => store.set(() => (store.filter = (event.target as HTMLInputElement).value))} />
    </div>
    <${OptionButtons} store=${store} names=${enabled.map(({ primitive }) => primitive.name)} />
    <div class="wb-primitives" aria-busy=${waiting && !store.unrecorded}>
      ${all.length === 0 && wanted && html`<div class="wb-wait" role="status">${say.schedule.noPrimitive(store.filter.trim())}</div>`}
      ${waiting && html`<div class="wb-wait">${store.unrecorded ? say.common.recorded : store.lost ? say.schedule.lostBefore : say.schedule.looking}</div>`}
      ${groups(enabled.map(({ primitive }) => primitive)).map(([category, members]) => html`<div role="group" aria-label=${category} key=${category}>
        ${category && html`<div class="wb-heading">${category}</div>`}
        ${members.map((primitive) => html`<${Primitive} key=${primitive.name} primitive=${primitive} store=${store} />`)}</div>`)}
      ${disabled.length > 0 && html`<div class="wb-heading">${say.schedule.notHere}</div>`}
      ${disabled.map(({ primitive, reason }) => html`<div class="wb-primitive wb-off" key=${primitive.name}>
        <button aria-disabled="true" aria-describedby=${ids(`why-${primitive.name}`)}>${primitive.name}</button>
        <span id=${ids(`why-${primitive.name}`)} class="wb-reason">${reason}
          ${node && primitive.name in (store.reasonsHere ?? {}) && html` <button class="wb-link" aria-expanded=${store.ways?.primitive === primitive.name}
            aria-label=${say.schedule.whatOf(primitive.name)} ...${asking(store, say.schedule.whatOf(primitive.name), () => void store.ask(primitive.name))}>${say.schedule.what}</button>`}</span>
        ${store.ways?.primitive === primitive.name && html`<${Ways} ways=${store.ways} store=${store} />`}</div>`)}
    </div>
  </section>`;
}

/** A refusal at length, the legal ways on, and the way past the refusal. */
function Ways({ ways, store }: { ways: SuggestionsView; store: ScheduleStore }) {
  return html`<div class="wb-ways" role="group" aria-label=${say.schedule.insteadOf(ways.primitive)}>
    ${ways.error && html`<dl class="wb-bindings">
      ${ways.error.found && html`<dt>${say.common.errorFields.found}</dt><dd>${ways.error.found}</dd>`}
      ${ways.error.where && html`<dt>${say.common.errorFields.where}</dt><dd>${ways.error.where}</dd>`}</dl>`}
    ${ways.witness && html`<${Witness} found=${ways.witness} view=${store.view} />`}
    ${ways.suggestions.map((way, number) => html`<div class="wb-way" key=${number}>
      <button class="wb-button" disabled=${store.working} onClick=${() => void store.accept(ways, number)}>${say.schedule.use}</button>
      <span>${way.text}</span><span class="wb-rank">${rankOf(way)}</span><pre class="wb-doc">${whole(way.code)}</pre></div>`)}
    ${ways.suggestions.length === 0 && html`<div class="wb-muted">${say.schedule.noWay}</div>`}
    ${ways.forcible && html`<div class="wb-way"><button class="wb-button wb-danger" disabled=${store.working}
      onClick=${() => void store.force(ways)}>${say.schedule.force}</button>
      <span class="wb-muted">${say.schedule.forceMeans}</span></div>`}
  </div>`;
}

/** Code whose lines break at spaces only. */
function whole(code: string) {
  return code.split(/(\s+)/).map((part) => (part.trim() ? html`<span class="wb-whole">${part}</span>` : part));
}

/** By category, in the order of the table. */
function groups(primitives: PrimitiveView[]): [string, PrimitiveView[]][] {
  const found = new Map<string, PrimitiveView[]>();
  for (const primitive of primitives) found.set(primitive.category, [...(found.get(primitive.category) ?? []), primitive]);
  return [...found];
}

function Primitive({ primitive, store }: { primitive: PrimitiveView; store: ScheduleStore }) {
  const open = store.chosen === primitive.name;
  const [first, ...rest] = primitive.doc.split("\n\n");
  return html`<div class=${`wb-primitive ${open ? "wb-open" : ""}`}>
    <button aria-expanded=${open} onClick=${() => store.choose(primitive)}>${primitive.name}</button><${Badges} store=${store} name=${primitive.name} />
    <span class="wb-doc">${first}</span>
    ${open && html`<${Form} primitive=${primitive} nodes=${store.nodes} values=${store.values} busy=${store.working}
      change=${(name: string, value: unknown) => store.set(() => (store.values = { ...store.values, [name]: value }))}
      extent=${Number(store.node?.extent)} preview=${() => void store.more.show(primitive)} apply=${() => store.apply(primitive)} />`}
    ${open && html`<${PreviewPanel} store=${store} />`}
    ${open && rest.length > 0 && html`<pre class="wb-doc wb-sketch" tabindex="0">${rest.join("\n\n")}</pre>`}
  </div>`;
}

function Code({ store }: { store: ScheduleStore }) {
  const view = store.view;
  const python = useRef<HTMLPreElement>(null);
  useEffect(() => { if (python.current) python.current.scrollTop = python.current.scrollHeight; }, [view?.code]); // the last move is in sight
  if (!view) return null;
  const lines = view.code.replace(/\n$/, "").split("\n");
  const script = view.script.chunks.flatMap((chunk) => chunk.lines);
  return html`<div class="wb-bottom">
    <section aria-label=${say.schedule.pythonLabel}><div class="wb-heading">${say.schedule.python} <button class="wb-link" aria-label=${say.schedule.editLabel}
        ...${asking(store, say.schedule.editHelp, () => store.set(() => store.more.edit(view.code)))}>${say.schedule.edit}</button></div>
      ${store.more.draft !== null
        ? html`<${CodeDraft} store=${store} text=${view.code} />`
        : html`<pre class="wb-code" tabindex="0" ref=${python}>${lines.map((line, i) => html`<${CodeLine} text=${line} last=${i === lines.length - 1 && view.position > 0} />`)}</pre>`}</section>
    <section aria-label=${say.schedule.programLabel}><div class="wb-heading">${say.schedule.program}</div>
      <pre class="wb-code" tabindex="0">${script.map((line) => html`<${CodeLine} text=${line} last=${false} />`)}</pre></section>
  </div>`;
}

function CodeLine({ text, last }: { text: string; last: boolean }) {
  const words = tokens(text, "python").map(([kind, word]) => (kind ? html`<span class=${`wb-t-${kind}`}>${word}</span>` : word));
  const unsafe = /\bunsafe=True\b/.test(text) ? "wb-unsafe" : "";
  return html`<span class=${`wb-code-line ${last ? "wb-last" : ""} ${unsafe}`}>${words}${"\n"}</span>`;
}
