// What can compute a kernel: the cheapest first, each to be chosen, then what does not fit and why.
import { useEffect } from "preact/hooks";
import { Problem, asking, html } from "./parts";
import { BaseStore, useStore } from "./store";
import { say } from "./strings";
import type { Host } from "./types";
import type { WorkbenchStore } from "./workbench";

type Numbers = [name: string, value: number][];
interface Candidate {
  name: string; about: string; taken: "" | "cost" | "hand" | "schedule"; cycles: number; times: number; config: Numbers; count: number;
  configs: [cycles: number, config: Numbers][]; refusal: string;
}
interface CandidatesView { kernel: string; workload: string; rows: Candidate[]; note: string }

const { candidates } = say;

export class CandidatesStore extends BaseStore {
  view: CandidatesView | null = null;
  /** The implementation whose configurations are listed. */
  opened = "";
  working = false;

  constructor(host: Host, private screen: WorkbenchStore) {
    super(host);
  }

  ask = (kernel: string): Promise<void> => this.attempt(async () => {
    const view = (await this.connection.request("candidates", { kernel }, "candidates")).view as CandidatesView;
    this.set(() => {
      this.view = view;
      if (this.problem?.code !== "E-UI-STALE") this.problem = null; // that one says why another program is shown
    });
  });

  protected override catchUp(): Promise<void> {
    return this.screen.open();
  }

  /** Go to the session in which it computes the kernel; without a name, the cheapest. */
  choose = (name = "", config: Numbers = []): Promise<void> => this.attempt(async () => {
    if (this.working) return;
    this.set(() => { this.working = true; this.problem = null; });
    const args = { kernel: this.view!.kernel, name, config: Object.fromEntries(config), seen: this.screen.view?.plan };
    await this.connection.request("candidates.choose", args, "change").finally(() => this.set(() => (this.working = false)));
    this.screen.set(() => { this.screen.acted++; });
    await this.screen.open();
  });
}

export function CandidatesPane({ store }: { store: WorkbenchStore }) {
  const own = store.candidates;
  const { kernel } = store;
  const known = store.hasKernel(kernel);
  useStore(own);
  useEffect(() => { if (known) void own.ask(kernel); }, [kernel, known, store.view?.plan]);
  const refused = store.refusal("schedule");
  const view = own.view?.kernel === kernel && !refused ? own.view : null;
  const rows = view?.rows ?? [];
  const unfit = rows.filter((row) => row.refusal);
  return html`<div class="wb-values wb-candidates" role="group" aria-label=${candidates.title} aria-busy=${own.working || !view}>
    ${own.problem && html`<${Problem} error=${own.problem} close=${() => own.set(() => (own.problem = null))} />`}
    ${refused && html`<${Problem} error=${refused} />`}
    ${view ? html`<p class="wb-muted">${view.note || html`<code>${view.workload}</code>`}
      ${rows.some((row) => row.taken === "hand" || row.taken === "schedule") && choice(own, candidates.again, "", [])}</p>` : !refused && !own.problem && html`<div class="wb-wait">…</div>`}
    ${rows.length > 0 && html`<div class="wb-values-body" tabindex="0" role="region" aria-label=${candidates.title}><table class="wb-table" aria-label=${candidates.title}>
      <thead><tr>${candidates.columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${rows.map((row) => !row.refusal && html`<${Fitting} store=${own} row=${row} />`)}</tbody></table>
    ${unfit.length > 0 && html`<table class="wb-table" aria-label=${candidates.unfit}>
      <thead><tr>${candidates.unfitColumns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${unfit.map((row) => html`<tr><th scope="row" title=${row.about}>${row.name}</th><td>${row.refusal}</td></tr>`)}</tbody></table>`}</div>`}
  </div>`;
}

const written = (config: Numbers): string => config.map((pair) => pair.join("=")).join(" ");

function choice(store: CandidatesStore, title: string, name: string, config: Numbers) {
  return html`<button class="wb-button" aria-label=${name ? candidates.chooseOne(name, written(config)) : title} aria-disabled=${store.working}
    ...${asking(store, "", () => void store.choose(name, config))}>${title}</button>`;
}

/** A row, and one for each of its configurations where they are opened. */
function Fitting({ store, row }: { store: CandidatesStore; row: Candidate }) {
  const [open, least] = [store.opened === row.name, row.cycles / row.times];
  const cells = (taken: boolean, asked: Numbers, cycles: number, config: Numbers, more: unknown) => html`
    <td>${taken ? state() : choice(store, candidates.choose, row.name, asked)}</td>
    <td>${candidates.cycles(cycles)}</td><td>${candidates.times(cycles / least)}</td><td><code>${written(config)}</code> ${more}</td>`;
  // A schedule by hand goes where something is chosen: what computes the kernel may be taken with its own.
  const state = () => html`${candidates.taken[row.taken]}${row.taken === "schedule" && html` ${choice(store, candidates.brings, row.name, row.config)}`}`;
  const more = row.configs.length > 0 && html`<button class="wb-link" aria-expanded=${open} aria-label=${candidates.configs(row.name, row.count)} title=${candidates.configs(row.name, row.count)}
    onClick=${() => store.set(() => (store.opened = open ? "" : row.name))}>${candidates.oneOf(row.count)} ${open ? "▾" : "▸"}</button>`;
  return html`<tr class=${row.taken && "wb-taken"}><th scope="row" title=${row.about}>${row.name}</th>${cells(row.taken !== "", [], row.cycles, row.config, more)}</tr>
    ${open && row.configs.map(([cycles, config]) => html`<tr class="wb-muted"><td></td>
      ${cells(row.taken !== "" && written(config) === written(row.config), config, cycles, config, "")}</tr>`)}`;
}
