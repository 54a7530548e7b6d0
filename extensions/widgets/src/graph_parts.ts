// Above a graph: the step whose graph it is, a search, the numbers on boxes, zoom, its picture as a file.
import { useState } from "preact/hooks";
import { OVERLAYS, type CallView, type Overlay } from "./graph_tools";
import { html } from "./parts";
import { say } from "./strings";
import type { GraphView } from "./types";
import { WhyNotRow, callKey } from "./why_not";
import type { WorkbenchStore } from "./workbench";

interface Shape { store: WorkbenchStore; at: 0 | 1; graph: GraphView; found: Map<string, number> | string }

export function GraphBar({ store, at, graph, found }: Shape) {
  const tools = store.tools;
  const { layer } = store.panes[at];
  const [place, setPlace] = useState(-1);
  const boxes = typeof found === "string" ? [] : [...found.keys()];
  const go = (event: KeyboardEvent) => {
    if (event.key === "Escape") store.set(() => { tools.query[at] = ""; store.acted++; });
    else if (event.key === "Enter" && boxes.length) {
      const next = (place + (event.shiftKey ? -1 : 1) + boxes.length) % boxes.length;
      setPlace(next);
      const pane = (event.target as HTMLElement).closest(".wb-pane");
      [...pane?.querySelectorAll<SVGElement>(".wb-box") ?? []].find((box) => box.dataset["box"] === boxes[next])?.scrollIntoView({ block: "center", inline: "center" });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const count = typeof found === "string" ? 0 : [...found.values()].reduce((sum, one) => sum + one, 0);
  const told = typeof found === "string" ? found : tools.query[at] ? say.graph.foundIn(count, boxes.length) : "";
  const changed = graph.boxes.reduce((sum, box) => sum + box.changed, 0);
  const step = tools.step(layer);
  const nothing = tools.overlay === "time" && store.kernels.every(({ name }) => !store.time(name));
  return html`<div class="wb-find wb-graph-bar">
    <input class="wb-field" type="text" aria-label=${say.graph.find} placeholder=${say.graph.findExample} value=${tools.query[at]}
      title=${say.graph.findHelp}
      onInput=${(event: Event) => { setPlace(-1); store.set(() => (tools.query[at] = (event.target as HTMLInputElement).value)); }} onKeyDown=${go} />
    <span class="wb-muted" role="status">${told || (nothing ? say.graph.notMeasured : "") || (step ? say.graph.changedCalls(changed) : "")}</span>
    <select class="wb-select" aria-label=${say.graph.whichStep} title=${say.graph.whichStepHelp} value=${step}
      onChange=${(event: Event) => tools.showStep(layer, (event.target as HTMLSelectElement).value)}>
      <option value="">${layer === "fused" ? say.graph.afterAll : say.graph.beforeAll}</option>
      ${tools.steps().map((name) => html`<option value=${name}>${say.graph.after(name)}</option>`)}</select>
    <select class="wb-select" aria-label=${say.graph.numbers} value=${tools.overlay} onChange=${(event: Event) => store.set(() => (tools.overlay = (event.target as HTMLSelectElement).value as Overlay))}>
      ${OVERLAYS.map((name) => html`<option value=${name}>${say.graph.overlays[name]}</option>`)}</select>
    <button class="wb-button" aria-pressed=${tools.far} title=${say.graph.traceHelp}
      onClick=${() => store.set(() => (tools.far = !tools.far))}>${say.graph.trace}</button>
    <span class="wb-group" role="group" aria-label=${say.graph.zoom}>
      <button class="wb-button" aria-label=${say.graph.smaller} title=${say.graph.smallerHelp} onClick=${() => tools.zoomTo(at, tools.zoom[at] / 1.25)}>−</button>
      <button class="wb-button" aria-label=${say.graph.fit} title=${say.graph.fitHelp} onClick=${(event: Event) => store.fit(at, event.target as Element)}>${say.graph.percent(String(Math.round(100 * tools.zoom[at])))}</button>
      <button class="wb-button" aria-label=${say.graph.larger} title=${say.graph.largerHelp} onClick=${() => tools.zoomTo(at, tools.zoom[at] * 1.25)}>+</button>
    </span>
    <button class="wb-button" title=${say.graph.svgHelp} onClick=${(event: Event) => save(event.target as Element, `${store.view?.title ?? say.graph.drawing} ${tools.key(layer)}.svg`)}>${say.graph.svg}</button>
  </div>`;
}

const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "text-anchor", "opacity"];

/** The drawing with its colours written into it, as a file. */
function save(button: Element, name: string): void {
  const svg = button.closest(".wb-pane")?.querySelector<SVGSVGElement>(".wb-graph svg");
  if (!svg) return;
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [from, to] = [svg.querySelectorAll("*"), copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const property of KEPT) {
      const value = style.getPropertyValue(property);
      if (value && value !== "none" || property === "fill") to[i]!.setAttribute(property, value);
    }
  });
  copy.setAttribute("xmlns", copy.namespaceURI ?? "");
  const [, , width, height] = (svg.getAttribute("viewBox") ?? "0 0 0 0").split(" ");
  copy.setAttribute("width", width!);
  copy.setAttribute("height", height!);
  const address = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name.replace(/[^\w .@#-]/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** The calls in the chosen box: what they are, and their attributes to change. */
export function Calls({ store }: { store: WorkbenchStore }) {
  const chosen = store.tools.chosen;
  if (!chosen) return null;
  const calls = store.tools.callsIn(chosen.layer, chosen.id);
  if (calls.length === 0 || calls.length > 8) return null;
  return html`<section class="wb-place" aria-label=${say.graph.operators}>
    ${calls.map((call, at) => html`<${OneCall} key=${callKey(call)} store=${store} call=${call} at=${at} />`)}</section>`;
}

function OneCall({ store, call, at }: { store: WorkbenchStore; call: CallView; at: number }) {
  const key = callKey(call);
  const text = (event: Event) => (event.target as HTMLInputElement).value;
  const { typed } = store.tools; // what is typed stays until it is sent, also over the same call of the next program
  const field = (name: string) => `${at} ${call.op} ${name}`;
  const fact = (name: string) => String(call.facts[name] ?? "");
  const typing = (name: string) => (event: Event) => store.set(() => void (text(event) === fact(name) ? typed.delete(field(name)) : typed.set(field(name), text(event))));
  const send = (name: string) => (event: Event) => {
    const value = text(event);
    if (typed.delete(field(name))) void store.setAttribute(call, name, value, () => typed.set(field(name), value)); // what is refused can be mended
  };
  const entered = (name: string) => (event: KeyboardEvent) => void (event.key === "Enter" && send(name)(event)); // a field made anew knows of no change
  const turned = (event: Event) => store.tools.turnCall(key, (event.currentTarget as HTMLDetailsElement).open);
  return html`<details open=${store.tools.unfolded.has(key)} onToggle=${turned}><summary><code>${call.op}</code> <span class="wb-muted">${String(call.facts["shape"] ?? "")} ${String(call.facts["dtype"] ?? "")}</span></summary>
    <p class="wb-muted">${call.doc}</p>
    <dl class="wb-bindings">${call.attributes.map((name) => html`<dt>${name}</dt><dd><input class="wb-field" type="text" aria-label=${say.graph.argument(name, call.op)} title=${say.graph.argumentHelp}
      value=${typed.get(field(name)) ?? fact(name)} disabled=${store.changing} onInput=${typing(name)} onChange=${send(name)} onKeyDown=${entered(name)} /></dd>`)}</dl>
    <${WhyNotRow} store=${store} call=${call} />
  </details>`;
}
