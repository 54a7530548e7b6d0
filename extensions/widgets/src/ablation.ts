// What the program would be without each pass of its graph: asked one pass after the other, shown as the answers come.
import { Problem, html, milliseconds } from "./parts";
import { BaseStore, useStore } from "./store";
import { say } from "./strings";
import type { Host } from "./types";

interface Spread { seconds: number; least: number; greatest: number }
interface Figures { operators: number; kernels: number; bytes: number | null; cycles: number | null; time: Spread | null }
interface Without { step: string; figures: Figures | null; problem: string; same_code: boolean; slower: Spread | null }
type Column = keyof Figures;

const COLUMNS: Column[] = ["operators", "kernels", "bytes", "cycles", "time"];

export class AblationStore extends BaseStore {
  passes: string[] = [];
  base: Figures | null = null;
  rows = new Map<string, Without>();
  running = false;
  measured = false;
  /** Grows when what is asked for is no longer wanted. */
  private turn = 0;

  constructor(host: Host) {
    super(host);
    this.connection.onEvent = (name) => { if (name === "changed" || name === "inputs") this.forget(); };
  }

  private forget(): void {
    this.cancel();
    this.generation++;
    this.set(() => { this.base = this.problem = null; this.rows.clear(); });
  }

  cancel = (): void => {
    this.turn++;
    this.connection.cancel("ablation");
    this.set(() => (this.running = false));
  };

  start = (measured: boolean): Promise<void> => {
    this.forget();
    const turn = this.turn;
    const ask = async (op: string, args: Record<string, unknown>) => (await this.connection.request(op, { ...args, measured }, "ablation")).view;
    this.set(() => { this.running = true; this.measured = measured; this.problem = null; });
    return this.ofShown(async () => {
      const begun = (await ask("ablation.begin", {})) as { passes: string[]; base: Figures };
      this.set(() => { this.passes = begun.passes; this.base = begun.base; });
      for (const step of begun.passes) {
        if (turn !== this.turn) return;
        const row = (await ask("ablation.without", { pass: step })) as Without;
        if (turn === this.turn) this.set(() => this.rows.set(step, row));
      }
    }).finally(() => { if (turn === this.turn) this.set(() => (this.running = false)); });
  };
}

export function AblationPane({ store }: { store: AblationStore }) {
  useStore(store);
  const { base, rows, passes } = store;
  const columns = COLUMNS.filter((name) => name !== "time" || store.measured);
  const most = new Map(columns.map((name) => [name, Math.max(1e-12, ...[...rows.values()].map((row) => Math.abs(apart(row, base, name) ?? 0)))]));
  return html`<div class="wb-values" role="group" aria-label=${say.checks.ablation} aria-busy=${store.running}>
    <div class="wb-values-head">
      ${store.running ? html`<button class="wb-button" onClick=${store.cancel}>${say.common.cancel}</button>`
        : html`<button class="wb-button" title=${say.checks.leaveEachOutHelp} onClick=${() => void store.start(false)}>${say.checks.leaveEachOut}</button>
          <button class="wb-button" title=${say.checks.measureEachHelp} onClick=${() => void store.start(true)}>${say.checks.measureEach}</button>`}
      <span class="wb-muted" role="status">${base ? say.checks.passesDone(rows.size, passes.length, store.running) : store.running ? "…" : ""}</span>
    </div>
    ${store.problem && html`<${Problem} error=${store.problem} />`}
    ${base ? html`<div class="wb-values-body" tabindex="0" role="region" aria-label=${say.checks.passesEffect}><table class="wb-table" aria-label=${say.checks.withoutEach}>
      <thead><tr><th scope="col">${say.checks.without}</th>${columns.map((name) => html`<th scope="col">${say.checks.columns[name]}</th>`)}</tr></thead>
      <tbody><tr><th scope="row">${say.checks.nothingLeftOut}</th>${columns.map((name) => html`<td>${told(base[name])}</td>`)}</tr>
      ${ordered(passes.filter((step) => rows.has(step)), rows, base).map((step) => html`<tr><th scope="row">${step}</th>${cells(rows.get(step)!, base, columns, most)}</tr>`)}</tbody></table></div>`
      : html`<p class="wb-muted">${say.checks.ablationHelp}</p>`}
  </div>`;
}

/** Passes without which there is no program first, then those that change most by the estimate; else as they run. */
function ordered(steps: string[], rows: Map<string, Without>, base: Figures): string[] {
  const weight = (step: string) => (rows.get(step)!.figures ? Math.abs(apart(rows.get(step)!, base, "cycles") ?? 0) : Infinity);
  return steps.sort((one, other) => (weight(one) === weight(other) ? 0 : weight(other) - weight(one)));
}

function cells(row: Without, base: Figures, columns: Column[], most: Map<Column, number>) {
  if (!row.figures) return html`<td colspan=${columns.length}>${row.problem}</td>`;
  return columns.map((name) => {
    if (name === "time" && row.same_code) return html`<td class="wb-muted" title=${say.checks.sameCodeHelp}>${say.checks.sameCode}</td>`;
    if (name === "time" && row.slower && !clear(row.slower))
      return html`<td class="wb-muted" title=${say.checks.alternating}>${say.checks.noneSeen} ${range(row.slower)}</td>`;
    const by = apart(row, base, name);
    if (by === null) return html`<td>${say.checks.notKnown}</td>`;
    if (by === 0) return html`<td class="wb-muted">${say.checks.same}</td>`;
    const style = { width: `${Math.round((48 * Math.abs(by)) / most.get(name)!)}px` };
    return html`<td title=${name === "time" ? say.checks.alternating : undefined}>${signed(by, name)} ${name === "time" ? html`<span class="wb-muted">${range(row.slower!)}</span> ` : ""}
      <span class=${`wb-bar wb-ablated wb-ablated-${by > 0 ? "more" : "less"}`} aria-hidden="true" style=${style}></span></td>`;
  });
}

/** What a figure is more without the pass; of times what alternating runs say, nothing where they are on both sides of zero. */
function apart(row: Without, base: Figures | null, name: Column): number | null {
  if (name === "time") return row.slower && clear(row.slower) ? row.slower.seconds : null;
  const [now, then] = [row.figures?.[name] ?? null, base?.[name] ?? null];
  return now === null || then === null ? null : now - then;
}

const clear = (spread: Spread): boolean => spread.least > 0 || spread.greatest < 0;

const signed = (value: number, name: Column): string => `${value > 0 ? "+" : value < 0 ? "−" : ""}${name === "time" ? milliseconds(1e3 * Math.abs(value)) : say.common.number(Math.abs(value))}`;

const range = (spread: Spread): string => say.checks.range(signed(spread.least, "time"), signed(spread.greatest, "time"));

function told(value: number | Spread | null): unknown {
  if (value === null) return say.checks.notKnown;
  if (typeof value === "number") return say.common.number(value);
  return html`${milliseconds(1e3 * value.seconds)} <span class="wb-muted" title=${say.checks.spreadHelp}>${say.checks.range(milliseconds(1e3 * value.least), milliseconds(1e3 * value.greatest))}</span>`;
}
