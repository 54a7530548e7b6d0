// The ladder of what is selected, layer by layer.
import { Calls } from "./graph_parts";
import { asking, html, plural } from "./parts";
import type { PlaceView } from "./types";
import type { WorkbenchStore } from "./workbench";

/** What is selected, layer by layer; each row leads to its lines. */
export function Ladder({ store }: { store: WorkbenchStore }) {
  const links = store.links;
  const names = links?.names(store.selected) ?? [];
  return html`<aside class="wb-ladder" aria-label="The selection">
    ${store.selected.size === 0 ? html`<p class="wb-muted">Click a box or a line: the same part of the model is lit in every layer.</p>` : html`
      <div class="wb-ladder-names">${names.map((name) => html`<code>${name}</code>`)}</div>
      <dl>${store.view?.layers.map((layer) => {
        const lit = store.lit(layer.name);
        return html`<dt><button class="wb-link" disabled=${lit === 0} onClick=${() => store.show(layer.name, true)}>${layer.title}</button></dt>
          <dd>${lit === 0 ? "no line" : told(store, layer.name, lit)}</dd>`;
      })}</dl>`}
    <${Calls} store=${store} />
    <${Explained} store=${store} />
    ${store.place && html`<${Place} store=${store} place=${store.place} />`}
  </aside>`;
}

function told(store: WorkbenchStore, layer: string, count: number): string {
  const stretches = store.links?.lit(layer, store.selected) ?? [];
  const shown = store.text(layer);
  if (layer === "onnx" && shown) {
    const lines = stretches.flatMap(([first, end]) => Array.from({ length: end - first }, (_, i) => shown.lines.at(first + i) ?? ""));
    return lines.slice(0, 3).join(" → ") + (lines.length > 3 ? " …" : "");
  }
  const [first, end] = [stretches[0]![0] + 1, stretches.at(-1)![1]];
  return `${plural(count, "line")}, ${first}${end > first ? `–${end}` : ""}`;
}

/** The line that was clicked: the loops around it, the moves of the schedule that made them, how often it runs. */
function Place({ store, place }: { store: WorkbenchStore; place: PlaceView }) {
  const title = store.layer(place.layer)?.title ?? place.layer;
  return html`<section class="wb-place" aria-label="The line">
    <div class="wb-heading">${title}, line ${place.line}</div>
    <p>${place.trips > 0 ? `Its statement runs ${place.trips.toLocaleString("en")} times a call.` : "How often it runs is not known."}
      ${place.how !== "line" && html` <span class="wb-muted">Place found by ${place.how}.</span>`}</p>
    ${place.loops.length > 0 && html`<ul aria-label="Loops around it">${place.loops.map((loop) => html`<li><code>${loop.name}</code> × ${loop.extent}
      ${loop.kind !== "serial" && html` <span class="wb-muted">${loop.kind}</span>`}
      ${loop.moves.length > 0 && html` <span class="wb-muted">by ${loop.moves.map((number) => `${place.moves.find((move) => move.number === number)?.name ?? "?"} ${number}`).join(", ")}</span>`}</li>`)}</ul>`}
    ${place.moves.length > 0 && html`<div class="wb-heading">Moves that made these loops</div>
      <ul aria-label="Moves">${place.moves.map((move) => html`<li><span class="wb-no">${move.number}</span> <code title=${move.code}>${move.name}</code>
        <button class="wb-link" disabled=${store.changing} aria-label=${`Take ${move.name} ${move.number} back`}
          ...${asking(store, "Without this move; the later ones are done again", () => void store.takeBack(move))}>take back</button></li>`)}</ul>`}
  </section>`;
}

/** The words of the line that the keys are at, explained. */
function Explained({ store }: { store: WorkbenchStore }) {
  const pane = store.panes[store.focused];
  const found = pane.mode === "text" && pane.active >= 0 ? store.reading.explained(pane.layer, pane.active) : [];
  return found.length > 0 && html`<section class="wb-place" aria-label="Words explained"><div class="wb-heading">Words of line ${pane.active + 1}</div>
    <ul>${found.map(([word, doc]) => html`<li><code>${word}</code> ${doc}</li>`)}</ul></section>`;
}
