// The ladder of what is selected, layer by layer.
import { html, plural } from "./parts";
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
