// Below the tile lens, on request: a cache of chosen size, reuse distances, lifetimes of buffers, the iteration space.
import { html } from "./parts";
import type { LensStore } from "./lens_store";
import { say } from "./strings";

type What = "simulate" | "reuse" | "lifetimes" | "iterations";
interface Simulated { rows: [string, number, number][]; cold: number; sets: number }
interface Reused { rows: [string, number][]; accesses: number; line: number }
interface Lifetimes { stages: string[]; rows: { name: string; bytes: number; parameter: boolean; first: number; last: number }[]; alive: number[] }
interface Iterations {
  block: string; axes: [string, string]; names: string[]; clipped: boolean; fixed: Record<string, number>;
  points: [number, number, number, number][]; arrows: [number, number, number, number, string][];
}

export class LensMore {
  open: What | "" = "";
  found: unknown = null;
  cache = { KB: 32, line: 64, ways: 8 };

  constructor(private store: LensStore) {}

  turn(what: What): void {
    this.store.set(() => { this.open = this.open === what ? "" : what; this.found = null; });
    if (this.open) void this.ask();
  }

  /** Again for another state of the schedule, or other settings. */
  ask = (axes?: [string, string]): Promise<void> => {
    const what = this.open;
    if (!what) return Promise.resolve();
    if (this.store.problem?.code !== "E-UI-STALE") this.store.set(() => (this.store.problem = null)); // an earlier question's refusal
    const { KB, line, ways } = this.cache;
    const args = { simulate: { size: Math.round(KB * 1024), line, ways }, reuse: { line }, lifetimes: {},
      iterations: { block: this.store.view?.block ?? "", axes: axes ?? null } }[what];
    const before = this.found;
    return this.store.query(what, args, (view) => { if (this.open === what) this.found = view; })
      .then(() => { if (this.store.problem && this.found === before) this.store.set(() => (this.found = null)); }); // it was of another state
  };
}

const ALL: What[] = ["simulate", "reuse", "lifetimes", "iterations"];

export function LensMorePanel({ store }: { store: LensStore }) {
  const more = store.more;
  return html`<section class="wb-lens-more" aria-label=${say.lens.more}>
    <div class="wb-group">${ALL.map((what) => html`<button class="wb-button" aria-expanded=${more.open === what} onClick=${() => more.turn(what)}>${say.lens.moreTitles[what]}</button>`)}</div>
    ${more.open === "simulate" && html`<${CacheForm} store=${store} />`}
    ${more.open && (more.found === null ? !store.problem && html`<div class="wb-wait">…</div>`
      : more.open === "simulate" ? html`<${Misses} found=${more.found as Simulated} />`
      : more.open === "reuse" ? html`<${Reuse} found=${more.found as Reused} />`
      : more.open === "lifetimes" ? html`<${Lives} found=${more.found as Lifetimes} />`
      : html`<${Space} store=${store} found=${more.found as Iterations} />`)}
  </section>`;
}

function CacheForm({ store }: { store: LensStore }) {
  const more = store.more;
  const field = (name: "KB" | "line" | "ways") => html`<label>${say.lens.cacheFields[name]} <input type="number" min="1" step="1" title=${say.lens.cacheFieldsHelp[name]} value=${more.cache[name]}
    onInput=${(event: Event) => (more.cache[name] = Number((event.target as HTMLInputElement).value))} /></label>`;
  return html`<form class="wb-lens-cache" aria-label=${say.lens.cache} onSubmit=${(event: Event) => { event.preventDefault(); void more.ask(); }} onKeyDown=${(event: KeyboardEvent) => event.stopPropagation()}>
    ${field("KB")} ${field("line")} ${field("ways")}
    <button class="wb-button wb-primary" type="submit">${say.lens.run}</button></form>`;
}

function Misses({ found }: { found: Simulated }) {
  return html`<table aria-label=${say.lens.simulated}><thead><tr><th scope="col">${say.lens.buffer}</th><th scope="col">${say.lens.accesses}</th><th scope="col">${say.lens.misses}</th></tr></thead>
    <tbody>${found.rows.map(([name, accesses, misses]) => html`<tr><th scope="row">${name}</th><td>${say.common.number(accesses)}</td><td>${say.common.number(misses)}</td></tr>`)}</tbody></table>
    <p class="wb-muted">${say.lens.simulatedHelp(found.sets, found.cold)}</p>`;
}

function Reuse({ found }: { found: Reused }) {
  const most = Math.max(...found.rows.map(([, count]) => count), 1);
  return html`<table aria-label=${say.lens.moreTitles.reuse}><thead><tr><th scope="col">${say.lens.reuse(found.line)}</th><th scope="col">${say.lens.accesses}</th><th scope="col"></th></tr></thead>
    <tbody>${found.rows.map(([title, count]) => html`<tr><th scope="row">${title}</th><td>${say.common.number(count)}</td>
      <td><span class="wb-bar" style=${{ width: `${(160 * count) / most}px` }}></span></td></tr>`)}</tbody></table>
    <p class="wb-muted">${say.lens.reuseHelp}</p>`;
}

function Lives({ found }: { found: Lifetimes }) {
  return html`<table aria-label=${say.lens.moreTitles.lifetimes}><thead><tr><th scope="col">${say.lens.buffer}</th><th scope="col">${say.lens.bytesColumn}</th><th scope="col">${say.lens.lives}</th>
      ${found.stages.map((stage) => html`<th scope="col" class="wb-stage">${stage}</th>`)}</tr></thead>
    <tbody>${found.rows.map((row) => html`<tr><th scope="row">${row.name}</th><td>${row.bytes === 0 ? say.lens.sizeNotConstant : say.lens.bytes(row.bytes)}</td>
      <td>${row.parameter ? say.lens.livesAsParameter : say.lens.livesFromTo(found.stages[row.first]!, found.stages[row.last]!)}</td>
      ${found.stages.map((_, at) => html`<td class=${at >= row.first && at <= row.last ? "wb-alive" : ""}></td>`)}</tr>`)}
      <tr><th scope="row">${say.lens.aliveBuffers}</th><td></td><td></td>${found.alive.map((count) => html`<td>${say.lens.bytes(count)}</td>`)}</tr></tbody></table>`;
}

const CELL = 22;

function Space({ store, found }: { store: LensStore; found: Iterations }) {
  const places = (which: 0 | 1) => new Map([...new Set(found.points.map((point) => point[which]))].sort((a, b) => a - b).map((value, i) => [value, 50 + i * CELL]));
  const [across, down] = [places(0), places(1)];
  const at = (x: number, y: number): [number, number] => [across.get(x)!, down.get(y)! - 20];
  const choose = (which: 0 | 1) => (event: Event) => {
    const axes: [string, string] = [...found.axes];
    axes[which] = (event.target as HTMLSelectElement).value;
    void store.more.ask(axes);
  };
  const chooser = (which: 0 | 1, title: string) => html`<label>${title} <select class="wb-select" aria-label=${title} value=${found.axes[which]} onChange=${choose(which)}>
    ${found.names.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>`;
  const [width, height] = [60 + across.size * CELL, 40 + down.size * CELL];
  return html`<div class="wb-lens-cache">${chooser(0, say.lens.across)} ${chooser(1, say.lens.down)}
      ${found.clipped && html`<span class="wb-muted">${say.lens.clipped(across.size, down.size)}</span>`}
      <span class="wb-muted">${say.lens.iterationsHelp}</span></div>
    <svg class="wb-it" role="img" aria-label=${say.lens.iterations(found.block, ...found.axes)} width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`}>
      ${found.arrows.map(([x, y, u, v, kind]) => {
        if (!across.has(x) || !across.has(u) || !down.has(y) || !down.has(v)) return null;
        const [[a, b], [c, d]] = [at(x, y), at(u, v)];
        return html`<path class=${`wb-it-arrow wb-it-${kind}`} d=${`M${a} ${b}L${c} ${d}`}><title>${kind}</title></path>`;
      })}
      ${found.points.map(([x, y, order, tile]) => {
        const [a, b] = at(x, y);
        return html`<g class=${`wb-it-point ${tile % 2 ? "wb-it-odd" : ""}`}><rect x=${a - 9} y=${b - 8} width="18" height="16" rx="3" /><text x=${a} y=${b + 3}>${order}</text></g>`;
      })}</svg>`;
}
