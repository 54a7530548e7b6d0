// Beside the schedule editor: what an option would do before it is done, its rank and time, dragging, the tree of schedules.
import { Drawn, asking, html } from "./parts";
import type { ScheduleStore } from "./schedule";
import { say } from "./strings";
import type { PrimitiveView, TreeNode } from "./types";

interface Preview { primitive: string; tree: TreeNode[]; fresh: string[]; code: string }
interface Rank { rank: number; of: number; gains: boolean }
interface Time { seconds: number | null; rate: number; text: string }
interface State { number: number; parent: number; name: string; code: string; rate: number }

/** What was asked of one state of the schedule and one box; void with the next. */
export class More {
  preview: Preview | null = null;
  ranks: Record<string, Rank> | null = null;
  times = new Map<string, Time>();
  /** The primitive that is being timed. */
  timing = "";
  /** The box that is held, and for each loop null or why it cannot be dropped there. */
  held = "";
  targets: Record<string, string | null> | null = null;
  history: { states: State[]; here: number } | null = null;
  /** The path under the roofline, as Python draws it; empty until it comes, null while it is not shown. */
  roofline: string | null = null;
  /** The edited text of the code; null while it is not edited. */
  draft: string | null = null;
  /** The code that the draft was begun with. */
  base = "";
  private stop = 0;

  constructor(private store: ScheduleStore) {}

  edit(code: string): void {
    this.draft = this.base = code;
  }

  /** Another state has this code: a draft that nobody has touched is of it. */
  follow(before: string | undefined, now: string): void {
    if (this.draft !== null && this.draft === before) this.edit(now);
  }

  /** Another state, or another box. */
  forget(state: boolean): void {
    this.preview = this.ranks = this.targets = null;
    this.held = this.timing = "";
    this.times.clear();
    this.stop++;
    if (state && this.history) void this.look();
    if (state && this.roofline !== null) void this.roof();
  }

  show = async (primitive: PrimitiveView): Promise<void> => {
    const args = { primitive: primitive.name, selection: this.store.selected, arguments: this.store.values };
    await this.store.query("preview", args, (view) => (this.preview = { ...(view as Preview), primitive: primitive.name }));
  };

  rank = (): Promise<void> => this.store.query("ranks", { selection: this.store.selected }, (view) => (this.ranks = (view as { ranks: Record<string, Rank> }).ranks));

  /** One after the other, so that the kernel can do something else between. */
  time = async (names: string[]): Promise<void> => {
    const turn = ++this.stop;
    for (const primitive of names) {
      if (turn !== this.stop) return;
      this.store.set(() => (this.timing = primitive));
      await this.store.query("time", { primitive, selection: this.store.selected }, (view) => { if (turn === this.stop) this.times.set(primitive, view as Time); });
    }
    if (turn === this.stop) this.store.set(() => (this.timing = ""));
  };

  pick(id: string): void {
    this.store.set(() => { this.held = id; this.targets = null; });
    void this.store.query("targets", { selection: id }, (view) => { if (this.held === id) this.targets = (view as { targets: Record<string, string | null> }).targets; });
  }

  put(onto: string): void {
    const held = this.held;
    this.store.set(() => { this.held = ""; this.targets = null; });
    if (held && held !== onto) void this.store.command("drop", { selection: held, onto });
  }

  look = (): Promise<void> => this.store.query("tree", {}, (view) => (this.history = view as More["history"]));
  roof = (): Promise<void> => {
    this.store.set(() => (this.roofline ??= ""));
    return this.store.query("roofline", {}, (view) => { if (this.roofline !== null) this.roofline = (view as { svg: string }).svg; });
  };
  measure = (): Promise<void> => this.store.query("time_here", {}, (view) => (this.history = view as More["history"]));
}

/** What makes a box one that can be held and dropped upon. */
export function dragging(store: ScheduleStore, node: TreeNode): Record<string, unknown> {
  const more = store.more;
  const over = node.kind === "loop" && more.held !== "" && more.held !== node.id;
  const reason = over ? more.targets?.[node.id] : undefined;
  return {
    draggable: true,
    title: reason ?? undefined,
    class: `wb-box-head ${more.held === node.id ? "wb-held" : ""} ${reason === null ? "wb-drop-legal" : typeof reason === "string" ? "wb-drop-refused" : ""}`,
    onDragStart: (event: DragEvent) => {
      event.stopPropagation();
      event.dataTransfer?.setData("text/plain", node.name);
      more.pick(node.id);
    },
    onDragOver: (event: DragEvent) => { if (over) event.preventDefault(); },
    onDrop: (event: DragEvent) => { event.preventDefault(); event.stopPropagation(); more.put(node.id); },
    onDragEnd: () => store.set(() => { more.held = ""; more.targets = null; }),
  };
}

/** Beside a primitive's name: its rank by the model and its measured time, where they were asked for. */
export function Badges({ store, name }: { store: ScheduleStore; name: string }) {
  const [rank, time] = [store.more.ranks?.[name], store.more.times.get(name)];
  const told = !rank ? "" : rank.rank === 0 ? say.schedule.notModelled : say.schedule.ranked(rank.rank, rank.of, rank.gains);
  return html`${told && html`<span class="wb-rank" title=${say.schedule.rankedHelp}>${told}</span>`}
    ${time && html`<span class="wb-rank wb-timed" title=${time.text}>${time.seconds === null ? say.schedule.noTime : time.text.split(":")[0]}</span>`}
    ${store.more.timing === name && html`<span class="wb-rank">${say.schedule.running}</span>`}`;
}

export function OptionButtons({ store, names }: { store: ScheduleStore; names: string[] }) {
  const more = store.more;
  return html`<div class="wb-options" role="group" aria-label=${say.schedule.compareOptions}>
    <button class="wb-button" disabled=${names.length === 0} ...${asking(store, say.schedule.rankHelp, () => void more.rank())}>${say.schedule.rank}</button>
    <button class="wb-button" disabled=${names.length === 0 || more.timing !== ""} ...${asking(store, say.schedule.timeEachHelp, () => void more.time(names))}>${say.schedule.timeEach}</button>
  </div>`;
}

/** The factors that divide the loop, as buttons. */
export function Divisors({ extent, value, set }: { extent: number; value: unknown; set(next: unknown): void }) {
  if (!(extent > 1)) return null;
  const found = Array.from({ length: Math.min(extent, 4096) }, (_, i) => i + 1).filter((one) => one > 1 && one < extent && extent % one === 0);
  const shown = found.length > 10 ? found.slice(0, 10) : found;
  const now = Array.isArray(value) ? value.at(-1) : null;
  return html`<span class="wb-group" role="group" aria-label=${say.schedule.divisors}>${shown.map((one) => html`
    <button type="button" class="wb-button" aria-pressed=${now === one} onClick=${() => set([null, one])}>${one}</button>`)}</span>`;
}

export function PreviewPanel({ store }: { store: ScheduleStore }) {
  const found = store.more.preview;
  if (!found) return null;
  const box = (node: TreeNode): unknown => html`<li class=${found.fresh.includes(node.name) ? "wb-fresh" : ""}>
    <code>${node.name}</code> ${node.extent} ${node.kind === "loop" && node.loop_kind !== "serial" ? node.loop_kind : ""}${found.fresh.includes(node.name) ? html` <span class="wb-muted">${say.schedule.fresh}</span>` : ""}
    ${node.children.length > 0 && html`<ul>${node.children.map(box)}</ul>`}</li>`;
  return html`<div class="wb-preview" role="group" aria-label=${say.schedule.previewOf(found.primitive)}>
    <div class="wb-heading">${say.schedule.preview}</div><ul>${found.tree.map(box)}</ul><pre class="wb-doc">${found.code}</pre></div>`;
}

/** The tree of schedules: each state with its move and its rate; a click goes there. */
export function HistoryTree({ store }: { store: ScheduleStore }) {
  const more = store.more;
  if (!more.history) return null;
  const { states, here } = more.history;
  const below = (parent: number): unknown => {
    const own = states.filter((state) => state.parent === parent);
    return own.length > 0 && html`<ul>${own.map((state) => html`<li>
      <button class="wb-link" aria-current=${state.number === here ? "step" : undefined} aria-label=${say.schedule.go(state.name, state.number)} title=${state.code} disabled=${store.working}
        onClick=${() => void store.command("go", { number: state.number })}>${state.number === here ? "● " : ""}${state.name}</button>
      ${state.rate > 0 && html` <span class="wb-chip wb-badge">${say.schedule.rate((state.rate / 1e9).toPrecision(3))}</span>`}
      ${below(state.number)}</li>`)}</ul>`;
  };
  return html`<section class="wb-history" aria-label=${say.schedule.history}><div class="wb-heading">${say.schedule.history}
    <button class="wb-button" ...${asking(store, say.schedule.measureThisHelp, () => void more.measure())}>${say.schedule.measureThis}</button></div>${below(-1)}</section>`;
}

/** How the steps so far moved the program under the roofline. */
export function Roofline({ store: { more } }: { store: ScheduleStore }) {
  return more.roofline !== null && html`<section class="wb-roof" aria-label=${say.schedule.roofline}>${more.roofline && html`<${Drawn} markup=${more.roofline} />`}</section>`;
}

/** The code as a text to edit; Ctrl-Enter replays it. */
export function CodeDraft({ store, text }: { store: ScheduleStore; text: string }) {
  const more = store.more;
  const run = () => void store.command("replay", { code: more.draft ?? text });
  return html`<div class="wb-draft-code"><textarea class="wb-code" aria-label=${say.schedule.draft} rows=${text.split("\n").length} spellcheck=${false} value=${more.draft ?? text}
      onInput=${(event: Event) => store.set(() => (more.draft = (event.target as HTMLTextAreaElement).value))}
      onKeyDown=${(event: KeyboardEvent) => {
        event.stopPropagation();
        if (event.key === "Escape") (event.currentTarget as Element).closest(".wb-schedule")?.querySelector<HTMLElement>("[role=tree]")?.focus(); // the text is kept
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); }
      }}></textarea>
    <div><button class="wb-button wb-primary" disabled=${store.working} title=${say.schedule.replayHelp} onClick=${run}>${say.schedule.replay}</button>
      <button class="wb-button" onClick=${() => store.set(() => (more.draft = null))}>${say.common.close}</button>
      ${more.base !== text && html`<span class="wb-chip wb-chip-bad" role="status">${say.changes.outdated}</span>`}</div></div>`;
}
