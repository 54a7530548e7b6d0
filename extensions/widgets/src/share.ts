// Views that were given names, and what leads back to one: Python, a file that plays without a kernel, all that was done.
import { BaseStore, useStore } from "./store";
import { Problem, html } from "./parts";
import { say } from "./strings";
import { useEffect } from "preact/hooks";
import type { Host } from "./types";

interface Whole { names: string[]; rows: string[][]; apart: string[][]; number: number }

export class ShareStore extends BaseStore {
  views: [name: string, place: string][] = [];
  python = "";
  written = "";
  working = "";
  whole: Whole | null = null;

  constructor(host: Host, readonly place: () => string, readonly go: (place: string) => void) {
    super(host);
    this.connection.onEvent = (name) => { if (name === "changed" || name === "inputs") this.set(() => { this.generation++; this.python = ""; this.whole = this.problem = null; }); };
  }

  private run(what: string, work: (same: () => boolean) => Promise<void>): Promise<void> {
    this.set(() => { this.working = what; this.problem = null; this.written = ""; });
    return this.ofShown(work).finally(() => this.set(() => (this.working = "")));
  }

  private async asked(op: string, args: Record<string, unknown>): Promise<Record<string, unknown>> {
    return (await this.connection.request(op, args)).view as Record<string, unknown>;
  }

  private show(view: Record<string, unknown>): void {
    this.set(() => (this.views = view["views"] as [string, string][]));
  }

  list = (): Promise<void> => this.attempt(async () => this.show(await this.asked("views.list", {})));
  keep = (name: string): Promise<void> => this.run("", async () => this.show(await this.asked("views.keep", { name, place: this.place() })));
  remove = (name: string): Promise<void> => this.run("", async () => this.show(await this.asked("views.remove", { name })));

  code = (): Promise<void> => this.run("", async (same) => {
    const { text } = await this.asked("share.python", { place: this.place() });
    if (same()) this.set(() => (this.python = String(text)));
  });

  save = (op: "share.page" | "share.journal", name: string): Promise<void> => this.run(say.frame.writing, async () => {
    const { path, bytes } = await this.asked(op, { name, place: this.place() });
    this.set(() => (this.written = say.frame.written(String(path), Number(bytes))));
  });

  compare = (number: number): Promise<void> => this.run(say.values.runningBoth, async (same) => {
    const view = await this.asked("branches.whole", { number });
    if (same()) this.set(() => (this.whole = view as unknown as Whole));
  });
}

/** A field and the button that takes what was written in it. */
function Named({ label, button, initial, done, disabled }: { label: string; button: string; initial: string; done: (name: string) => void; disabled: boolean }) {
  const submit = (event: Event) => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements[0] as HTMLInputElement;
    if (field.value.trim()) done(field.value.trim());
  };
  return html`<form class="wb-named" onSubmit=${submit}><input class="wb-select" aria-label=${label} placeholder=${label} defaultValue=${initial} />
    <button class="wb-button" disabled=${disabled}>${button}</button></form>`;
}

export function ViewsPane({ store }: { store: ShareStore }) {
  useStore(store);
  useEffect(() => void store.list(), [store]);
  return html`<div class="wb-values" role="group" aria-label=${say.frame.views}>
    <${Named} label=${say.frame.viewName} button=${say.frame.keepView} initial="" disabled=${false} done=${(name: string) => void store.keep(name)} />
    ${store.problem && html`<${Problem} error=${store.problem} />`}
    <ul class="wb-views" aria-label=${say.frame.keptViews}>${store.views.map(([name, place]) => html`<li>
      <button class="wb-link" title=${place} onClick=${() => store.go(place)}>${name}</button>
      <button class="wb-icon" aria-label=${say.frame.removeView(name)} title=${say.frame.remove} onClick=${() => void store.remove(name)}>×</button></li>`)}</ul>
    ${store.views.length === 0 && html`<p class="wb-muted">${say.frame.noViewsBefore} <code>screen.views</code>.</p>`}
  </div>`;
}

export function SharePane({ store, title }: { store: ShareStore; title: string }) {
  useStore(store);
  const stem = title.replace(/\.\w+$/, "").replace(/[^\w.-]+/g, "_") || "model";
  const copy = () => void navigator.clipboard?.writeText(store.python).catch(() => {});
  return html`<div class="wb-values" role="group" aria-label=${say.frame.share}>
    <div class="wb-values-head">
      <button class="wb-button" title=${say.frame.pythonHereHelp} onClick=${store.code}>${say.frame.pythonHere}</button>
      <${Named} label=${say.frame.savePageName} button=${say.frame.savePage} initial=${`${stem}.html`} disabled=${store.working !== ""} done=${(name: string) => void store.save("share.page", name)} />
      <${Named} label=${say.frame.saveJournalName} button=${say.frame.saveJournal} initial=${`${stem}.json`} disabled=${store.working !== ""} done=${(name: string) => void store.save("share.journal", name)} />
      <span class="wb-muted" role="status">${store.working || store.written}</span>
    </div>
    ${store.problem && html`<${Problem} error=${store.problem} />`}
    ${store.python ? html`<div class="wb-shared"><pre class="wb-code" tabindex="0" aria-label=${say.frame.pythonHere}>${store.python}</pre><button class="wb-button" onClick=${copy}>${say.common.copy}</button></div>`
      : html`<p class="wb-muted">${say.frame.sharedBefore} <code>workbench replay</code>.</p>`}
  </div>`;
}

export function BranchesPane({ store, branches, here, against, choose }: { store: ShareStore; branches: [number, string][]; here: number; against: number; choose: (number: number) => void }) {
  useStore(store);
  const chosen = { current: against };
  const whole = store.whole;
  return html`<div class="wb-values" role="group" aria-label=${say.frame.branches}>
    <div class="wb-values-head">
      <label>${say.frame.branchBeside(here)} <select class="wb-select" aria-label=${say.frame.branchBesideField} ref=${(list: HTMLSelectElement | null) => { if (list) chosen.current = Number(list.value); }}
        onChange=${(event: Event) => choose(Number((event.target as HTMLSelectElement).value))}>${branches.filter(([number]) => number !== here).map(([number, told]) =>
          html`<option value=${String(number)} selected=${number === against}>${number}: ${told}</option>`)}</select></label>
      <button class="wb-button" disabled=${store.working !== "" || branches.length < 2} title=${say.frame.compareWholesHelp} onClick=${() => void store.compare(chosen.current)}>${say.frame.compareWholes}</button>
      <span class="wb-muted" role="status">${store.working || (branches.length < 2 ? say.frame.oneBranch : "")}</span>
    </div>
    ${store.problem && html`<${Problem} error=${store.problem} />`}
    ${whole && html`<div class="wb-values-body"><table class="wb-table" aria-label=${say.frame.branchesWhole}>
      <thead><tr><th></th>${whole.names.map((name) => html`<th>${name}</th>`)}</tr></thead>
      <tbody>${whole.rows.map(([name, ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table>
      <dl class="wb-bindings">${whole.apart.map(([name, told]) => html`<dt>${name}</dt><dd>${told}</dd>`)}</dl></div>`}
  </div>`;
}
