// One run of the model, call by call: a click on a call selects its part of the model in every layer.
import { Drawn, Problem, html } from "./parts";
import { BaseStore, useStore } from "./store";
import { say } from "./strings";
import { number } from "./strings/common";
import type { Host } from "./types";
import { ChoiceList } from "./window";

export interface CallRow {
  number: number; kernel: string; label: string; gives: string; seconds: number; classes: number[];
  operations: number; moved: number;
}
interface RunView { rows: CallRow[]; seconds: number; runs: number; inputs: string; whole: number; empty: number }

export class RunStore extends BaseStore {
  found: RunView | null = null;
  /** The same run by a peer, as Python tells it. */
  peer: { markup: string } | null = null;
  running = false;
  slowestFirst = false;
  chosen = -1;

  constructor(host: Host) {
    super(host);
    this.connection.onEvent = (name) => { if (name === "changed" || name === "inputs") this.set(() => { this.generation++; this.found = this.peer = this.problem = null; this.chosen = -1; }); };
  }

  private ask = (op: string, take: (view: unknown) => void): Promise<void> => this.ofShown(async (same) => {
    this.set(() => { this.running = true; this.problem = null; });
    const { view } = await this.connection.request(op).finally(() => this.set(() => (this.running = false)));
    if (same()) this.set(() => take(view)); // a cell may have changed the program meanwhile
  });
  run = (): Promise<void> => this.ask("run.profile", (view) => (this.found = view as RunView));
  against = (): Promise<void> => this.ask("run.against", (view) => (this.peer = view as RunStore["peer"]));

  get rows(): CallRow[] {
    const rows = [...(this.found?.rows ?? [])];
    return this.slowestFirst ? rows.sort((one, other) => other.seconds - one.seconds) : rows;
  }
}

export function RunPane({ store, select }: { store: RunStore; select: (row: CallRow) => void }) {
  useStore(store);
  const rows = store.rows;
  const most = Math.max(1e-12, ...rows.map((row) => row.seconds));
  const choose = (row: CallRow) => { store.set(() => (store.chosen = row.number)); select(row); };
  const draw = (row: CallRow) => html`<span class="wb-muted">${row.number}</span><span class="wb-name">${row.kernel}</span><span>${micro(row.seconds)}</span>
    ${rates(row, store.found!.seconds).map((text) => html`<span class="wb-muted wb-rate">${text}</span>`)}
    <span class="wb-bar" aria-hidden="true" style=${{ width: `${Math.round((110 * row.seconds) / most)}px` }}></span>`;
  return html`<div class="wb-values" role="group" aria-label=${say.values.runLabel} aria-busy=${store.running}>
    <div class="wb-values-head">
      <button class="wb-button" disabled=${store.running} onClick=${store.run}>${store.running ? say.values.running : say.values.run}</button>
      <button class="wb-button" disabled=${store.running} onClick=${store.against}>${say.values.against}</button>
      ${store.found && html`<label><input type="checkbox" checked=${store.slowestFirst} onChange=${() => store.set(() => (store.slowestFirst = !store.slowestFirst))} /> ${say.values.slowestFirst}</label>
        <span role="status" title=${say.values.callsHelp}>${say.values.summary(store.found.rows.length, micro(store.found.seconds), store.found.runs, store.found.inputs, micro(store.found.empty), micro(store.found.whole))}</span>`}
    </div>
    ${store.problem && html`<${Problem} error=${store.problem} />`}
    <div class="wb-runs">${store.peer && html`<div class="wb-beside" tabindex="0" role="region" aria-label=${say.values.against}><${Drawn} ...${store.peer} /></div>`}
    ${store.found ? html`<div class="wb-tensors wb-calls"><${ChoiceList} label=${say.values.calls} items=${rows} chosen=${rows.findIndex((row) => row.number === store.chosen)}
      choose=${choose} title=${(row: CallRow) => say.values.callHelp(row.kernel, row.gives)} draw=${draw} /></div>` : !store.peer && html`<p class="wb-muted">${say.values.runEmpty}</p>`}</div>
  </div>`;
}

/** Share of the time of all calls, billions of operations and bytes a second; nothing where that is not known. */
function rates(row: CallRow, seconds: number): string[] {
  const each = (amount: number, told: (rate: string) => string) => (amount && row.seconds ? told(digits(amount / row.seconds / 1e9)) : "");
  return [seconds ? say.values.ofTime((100 * row.seconds / seconds).toFixed(1)) : "", each(row.operations, say.values.operationRate), each(row.moved, say.values.byteRate)];
}

/** Three digits; none behind the point from 100 on. */
function digits(value: number): string {
  return value < 99.95 ? value.toPrecision(3) : number(Math.round(value));
}

function micro(seconds: number): string {
  return seconds >= 1e-3 ? say.common.milliseconds((seconds * 1e3).toPrecision(3)) : say.common.microseconds((seconds * 1e6).toPrecision(3));
}
