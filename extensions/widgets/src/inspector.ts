// The ladder of what is selected, layer by layer.
import { Calls } from "./graph_parts";
import { asking, html } from "./parts";
import { say } from "./strings";
import type { LayerView, PlaceView } from "./types";
import type { WorkbenchStore } from "./workbench";

/** What is selected, layer by layer; each row leads to its lines. */
export function Ladder({ store }: { store: WorkbenchStore }) {
  const box = store.selectedBox;
  const names = store.namesSelected.filter((name) => name !== box?.name);
  return html`<aside class="wb-ladder" aria-label=${say.frame_a.selection}>
    ${store.awaits() ? html`<div class="wb-wait">…</div>` : store.selected.size === 0 && !box ? html`<p class="wb-muted">${say.frame_a.selectionHelp}</p>` : html`
      <div class="wb-ladder-names" role="heading" aria-level="3">${box && html`<span>${say.frame_a.box(box.kind)} <code>${box.name}</code></span>`}${names.map((name) => html`<code class=${box ? "wb-muted" : ""}>${name}</code>`)}</div>
      ${store.selected.size === 0 && html`<p class="wb-muted">${say.frame_a.boxNowhere}</p>`}
      <${Holders} store=${store} />
      <dl>${store.view?.layers.map((layer) => {
        const lit = store.lit(layer.name);
        return html`<dt><button class="wb-link" disabled=${lit === 0} onClick=${() => store.show(layer.name, true)}>${layer.title}</button></dt>
          <dd>${lit > 0 ? told(store, layer.name, lit) : untold(store, layer)}</dd>`;
      })}</dl>`}
    ${store.view?.no_onnx && html`<p class="wb-muted">${store.view.no_onnx}</p>`}
    <${Calls} store=${store} />
    <${Explained} store=${store} />
    ${store.place && html`<${Place} store=${store} place=${store.place} />`}
  </aside>`;
}

/** Why no line of a layer is counted: a step failed there or before it, its links are on their way, or it has none. */
function untold(store: WorkbenchStore, { name, state, note }: LayerView): string {
  if (store.links?.has(name)) return say.frame_a.noLine;
  if (state === "failed") return say.frame_a.failedAt(note);
  const ran = state === "ran" || state === "changed";
  if (!ran && store.view?.layers.some((layer) => layer.state === "failed")) return state;
  return store.links || store.linking ? "…" : say.frame_a.noLine;
}

/** Where the kernel shown is not all that carries out what is selected: whose lines are counted, and the others. */
function Holders({ store }: { store: WorkbenchStore }) {
  const all = store.holders;
  const at = all.indexOf(store.kernel);
  if (all.length < (at < 0 ? 1 : 2)) return null;
  const step = (by: number) => void store.showHolder(all.at((Math.max(at, by < 0 ? 0 : -1) + by) % all.length)!);
  return html`<p class="wb-holders" role="group" aria-label=${say.frame_a.holders}>
    <button class="wb-icon" aria-label=${say.frame_a.previousHolder} title=${say.frame_a.previousHolder} onClick=${() => step(-1)}>‹</button>
    <span role="status" title=${at < 0 ? "" : say.frame_a.holdersHelp}>${at < 0 ? say.frame_a.notInKernel : say.frame_a.holderOf(at + 1, all.length)}</span>
    <button class="wb-icon" aria-label=${say.frame_a.nextHolder} title=${say.frame_a.nextHolder} onClick=${() => step(1)}>›</button>
    <code title=${store.kernel}>${store.kernel}</code></p>`;
}

function told(store: WorkbenchStore, layer: string, count: number): string {
  const stretches = store.stretches(layer);
  const shown = store.text(layer);
  if (layer === "onnx" && shown) {
    const numbers = stretches.flatMap(([first, end]) => Array.from({ length: end - first }, (_, i) => first + i));
    const computing = numbers.filter((number) => !shown.constant.includes(number)); // nodes on weights alone say little of what it does
    const lines = (computing.length > 0 ? computing : numbers).map((number) => shown.lines.at(number) ?? "");
    return lines.slice(0, 3).join(" → ") + (lines.length > 3 ? " …" : "");
  }
  const [first, end] = [stretches[0]![0] + 1, stretches.at(-1)![1]];
  return say.frame_a.lines(count, first, end);
}

/** The line that was clicked: the loops around it, the moves of the schedule that made them, how often it runs. */
function Place({ store, place }: { store: WorkbenchStore; place: PlaceView }) {
  const title = store.layer(place.layer)?.title ?? place.layer;
  return html`<section class="wb-place" aria-label=${say.frame_a.line}>
    <div class="wb-heading">${say.frame_a.lineOf(title, place.line)}</div>
    <p>${place.trips > 0 ? say.frame_a.runs(place.trips) : say.frame_a.runsUnknown}
      ${place.how !== "line" && html` <span class="wb-muted">${say.frame_a.placeFoundBy(place.how)}</span>`}</p>
    ${place.loops.length > 0 && html`<ul aria-label=${say.frame_a.loops}>${place.loops.map((loop) => html`<li><code>${loop.name}</code> × ${loop.extent}
      ${loop.kind !== "serial" && html` <span class="wb-muted">${loop.kind}</span>`}
      ${loop.moves.length > 0 && html` <span class="wb-muted">${say.frame_a.loopBy(loop.moves.map((number) => `${place.moves.find((move) => move.number === number)?.name ?? "?"} ${number}`).join(", "))}</span>`}</li>`)}</ul>`}
    ${place.moves.length > 0 && html`<div class="wb-heading">${say.frame_a.madeLoops}</div>
      <ul aria-label=${say.frame_a.moves}>${place.moves.map((move) => html`<li><span class="wb-no">${move.number}</span> <code title=${move.code}>${move.name}</code>
        <button class="wb-link" disabled=${store.changing} aria-label=${say.frame_a.takeBackMove(move.name, move.number)}
          ...${asking(store, say.frame_a.takeBackHelp, () => void store.takeBack(move))}>${say.frame_a.takeBack}</button></li>`)}</ul>`}
  </section>`;
}

/** The words of the line that the keys are at, explained. */
function Explained({ store }: { store: WorkbenchStore }) {
  const pane = store.panes[store.focused];
  const found = pane.mode === "text" && pane.active >= 0 ? store.reading.explained(pane.layer, pane.active) : [];
  return found.length > 0 && html`<section class="wb-place" aria-label=${say.frame_a.explained}><div class="wb-heading">${say.frame_a.explainedIn(pane.active + 1)}</div>
    <ul>${found.map(([word, doc]) => html`<li><code>${word}</code> ${doc}</li>`)}</ul></section>`;
}
