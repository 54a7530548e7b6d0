// What the program would be without each pass of its graph: asked one pass after the other, shown as the answers come.
import { Problem, html, milliseconds } from "./parts";
import { BaseStore, useStore } from "./store";
import type { Host } from "./types";

interface Figures { operators: number; kernels: number; bytes: number | null; cycles: number | null; seconds: number | null }
interface Without { step: string; figures: Figures | null; problem: string }
type Column = keyof Figures;

const COLUMNS: [Column, string][] = [
  ["operators", "Operators"], ["kernels", "Kernels"], ["bytes", "Bytes moved"], ["cycles", "Cycles, estimated"], ["seconds", "Time, measured"],
];

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
    this.connection.onEvent = (name) => { if (name === "changed") this.forget(); };
  }

  private forget(): void {
    this.cancel();
    this.set(() => { this.base = null; this.rows.clear(); });
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
    return this.attempt(async () => {
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
  const columns = COLUMNS.filter(([name]) => name !== "seconds" || store.measured);
  const most = new Map(columns.map(([name]) => [name, Math.max(1e-12, ...[...rows.values()].map((row) => Math.abs(apart(row, base, name) ?? 0)))]));
  return html`<div class="wb-values" role="group" aria-label="Ablation" aria-busy=${store.running}>
    <div class="wb-values-head">
      ${store.running ? html`<button class="wb-button" onClick=${store.cancel}>Cancel</button>`
        : html`<button class="wb-button" title="Leave each pass out in turn; time is estimated by the cost model" onClick=${() => void store.start(false)}>What does each pass do?</button>
          <button class="wb-button" title="The same, with every variant compiled and run" onClick=${() => void store.start(true)}>Measure it too</button>`}
      <span class="wb-muted" role="status">${base ? `${rows.size} of ${passes.length} passes${store.running ? " …" : ""}` : store.running ? "…" : ""}</span>
    </div>
    ${store.problem && html`<${Problem} error=${store.problem} />`}
    ${base ? html`<div class="wb-values-body" tabindex="0" role="region" aria-label="What the passes do"><table class="wb-table" aria-label="The program without each pass">
      <thead><tr><th scope="col">Without</th>${columns.map(([, title]) => html`<th scope="col">${title}</th>`)}</tr></thead>
      <tbody><tr><th scope="row">nothing</th>${columns.map(([name]) => html`<td>${told(base[name], name)}</td>`)}</tr>
      ${ordered(passes.filter((step) => rows.has(step)), rows, base).map((step) => html`<tr><th scope="row">${step}</th>${cells(rows.get(step)!, base, columns, most)}</tr>`)}</tbody></table></div>`
      : html`<p class="wb-muted">The program without each pass of its graph in turn: what it changes in operators, kernels, bytes moved and time.</p>`}
  </div>`;
}

/** Passes without which there is no program first, then those that change most by the estimate; else as they run. */
function ordered(steps: string[], rows: Map<string, Without>, base: Figures): string[] {
  const weight = (step: string) => (rows.get(step)!.figures ? Math.abs(apart(rows.get(step)!, base, "cycles") ?? 0) : Infinity);
  return steps.sort((one, other) => (weight(one) === weight(other) ? 0 : weight(other) - weight(one)));
}

function cells(row: Without, base: Figures, columns: [Column, string][], most: Map<Column, number>) {
  if (!row.figures) return html`<td colspan=${columns.length}>${row.problem}</td>`;
  return columns.map(([name]) => {
    const by = apart(row, base, name);
    if (by === null) return html`<td>not known</td>`;
    if (by === 0) return html`<td class="wb-muted">same</td>`;
    return html`<td>${by > 0 ? "+" : "−"}${told(Math.abs(by), name)} <span class="wb-bar wb-ablated" aria-hidden="true" style=${{ width: `${Math.round((48 * Math.abs(by)) / most.get(name)!)}px` }}></span></td>`;
  });
}

function apart(row: Without, base: Figures | null, name: Column): number | null {
  const [now, then] = [row.figures?.[name] ?? null, base?.[name] ?? null];
  return now === null || then === null ? null : now - then;
}

function told(value: number | null, name: Column): string {
  if (value === null) return "not known";
  return name === "seconds" ? milliseconds(1e3 * value) : value.toLocaleString("en");
}
