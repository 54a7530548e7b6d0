// A graph where Graphviz laid it out: boxes that select, groups that open.
import { GraphBar } from "./graph_parts";
import { short } from "./graph_tools";
import { NONE, meets, type Classes } from "./links";
import { Problem, html } from "./parts";
import { say } from "./strings";
import { grade, shortly } from "./tensors";
import { beside } from "./tip";
import type { GraphBox, GraphView } from "./types";
import type { WorkbenchStore } from "./workbench";

export function GraphPane({ store, at }: { store: WorkbenchStore; at: 0 | 1 }) {
  const { layer } = store.panes[at];
  const refused = store.tools.step(layer) === "" && store.refusal(layer);
  if (refused) return html`<${Problem} error=${refused} />`;
  const { graph, waiting } = store.tools.latest(layer);
  if (!graph) return html`<div class="wb-wait">…</div>`;
  const found = store.tools.found(layer, at, graph);
  return html`<${GraphBar} store=${store} at=${at} graph=${graph} found=${found} />
    ${waiting && html`<div class="wb-find" role="status">${say.graph.layingOut} <button class="wb-button" onClick=${() => store.cancelLayout(layer)}>${say.common.cancel}</button></div>`}
    <div class=${`wb-graph ${waiting ? "wb-old" : ""}`} role="group" aria-label=${say.graph.title} tabindex="0" onWheel=${(event: WheelEvent) => wheel(store, at, event)}
    onMouseDown=${drag} onFocus=${() => store.focused !== at && store.set(() => (store.focused = at))}><${Drawing} store=${store} at=${at} graph=${graph} found=${found} /></div>`;
}

/** Ctrl and the wheel: larger or smaller, what is under the pointer staying there. */
function wheel(store: WorkbenchStore, at: 0 | 1, event: WheelEvent): void {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  const box = event.currentTarget as HTMLElement;
  const [x, y] = [event.clientX - box.getBoundingClientRect().left, event.clientY - box.getBoundingClientRect().top];
  const before = store.tools.zoom[at];
  store.tools.zoomTo(at, before * Math.exp(-event.deltaY / 400));
  const factor = store.tools.zoom[at] / before;
  requestAnimationFrame(() => {
    box.scrollLeft = (box.scrollLeft + x) * factor - x;
    box.scrollTop = (box.scrollTop + y) * factor - y;
  });
}

/** The background is taken along with the pointer. */
function drag(event: MouseEvent): void {
  const box = event.currentTarget as HTMLElement;
  if (event.button !== 0 || (event.target as Element).closest(".wb-box, [role=button]")) return;
  const [left, top] = [box.scrollLeft + event.clientX, box.scrollTop + event.clientY];
  const move = (now: MouseEvent) => { box.scrollLeft = left - now.clientX; box.scrollTop = top - now.clientY; };
  const stop = () => { removeEventListener("mousemove", move); removeEventListener("mouseup", stop); };
  addEventListener("mousemove", move);
  addEventListener("mouseup", stop);
}

interface Shape { store: WorkbenchStore; at: 0 | 1; graph: GraphView; found: Map<string, number> | string }
interface Look { near: string; hits: number; value: number; most: number }

function Drawing({ store, at, graph, found }: Shape) {
  const { layer } = store.panes[at];
  const tools = store.tools;
  const around = 6;
  const [width, height] = [graph.width + 2 * around, graph.height + 2 * around];
  const zoom = tools.zoom[at];
  const centre = tools.centre(layer, graph, store.selected);
  const { before, after } = tools.around(graph, centre);
  const lit = (edge: GraphView["edges"][0]) => (centre.has(edge.target) || before.has(edge.target)) && before.has(edge.source) ? "wb-edge-in"
    : (centre.has(edge.source) || after.has(edge.source)) && after.has(edge.target) ? "wb-edge-out" : "";
  const values = new Map(graph.boxes.map((box) => [box.id, tools.value(box, layer)]));
  const most = Math.max(1e-12, ...values.values());
  const look = (box: GraphBox): Look => ({
    near: before.has(box.id) ? "wb-feeds" : after.has(box.id) ? "wb-fed" : "", hits: typeof found === "string" ? 0 : found.get(box.id) ?? 0,
    value: values.get(box.id) ?? 0, most,
  });
  return html`<svg width=${width * zoom} height=${height * zoom} viewBox=${`${-around} ${-around} ${width} ${height}`}>
    ${graph.frames.map((frame) => html`<g class="wb-frame">
      <rect x=${frame.x} y=${frame.y} width=${frame.width} height=${frame.height} rx="6" />
      <text x=${frame.x + 8} y=${frame.y + 14} role="button" tabindex="0" onClick=${() => store.open_group(layer, frame.id)}
        onKeyDown=${onEnter(() => store.open_group(layer, frame.id))}>− ${frame.title}</text></g>`)}
    ${graph.edges.map((edge) => html`<g class=${`wb-edge ${lit(edge)}`}><path d=${curve(edge.points)} /><path class="wb-tip" d=${tip(edge.points)} />
      <text x=${edge.x} y=${edge.y + 3}>${edge.label}</text></g>`)}
    ${graph.boxes.map((box) => html`<${Box} key=${box.id} store=${store} at=${at} box=${box} look=${look(box)} />`)}
  </svg>`;
}

function curve(points: [number, number][]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  return `M${first.join(" ")}C${rest.map((point) => point.join(" ")).join(" ")}`;
}

/** The head of an arrow at the end of a curve. */
function tip(points: [number, number][]): string {
  const end = points.at(-1);
  const before = end && [...points].reverse().find(([x, y]) => x !== end[0] || y !== end[1]);
  if (!end || !before) return "";
  const [dx, dy] = [end[0] - before[0], end[1] - before[1]];
  const length = Math.hypot(dx, dy);
  const [ux, uy] = [(dx / length) * 7, (dy / length) * 7];
  const [x, y] = [end[0] - ux, end[1] - uy];
  return `M${end[0]} ${end[1]}L${x - uy / 2} ${y + ux / 2}L${x + uy / 2} ${y - ux / 2}z`;
}

function onEnter(work: () => void) {
  return (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    work();
  };
}

function Box({ store, at, box, look }: { store: WorkbenchStore; at: 0 | 1; box: GraphBox; look: Look }) {
  const tools = store.tools;
  const { layer } = store.panes[at];
  const classes: Classes = new Set(box.classes);
  const lit = meets(classes, store.selected) || store.awaits(tools.named(layer, box.id, "graph"));
  const near = meets(classes, store.hovered);
  const number = look.value > 0 ? tools.told(look.value) : "";
  const error = box.kind === "input" ? null : store.extras.tensors.of(layer, box.id);
  const height = 13;
  const top = box.y - ((box.lines.length - 1) * height) / 2 + 4;
  const open = () => box.kind === "group" && store.open_group(layer, box.id);
  const select = () => (box.kind === "input" ? tools.choose(layer, box.id) : tools.pick(layer, box.id, at, "graph"));
  const words = box.kind === "group" ? say.graph.boxGroup(box.lines.join(" ")) : box.lines.join(", ");
  const wrong = error && (error.right ? say.graph.boxError : say.graph.boxErrorWrong)(shortly(error.absolute));
  const told = [words, wrong ?? "", look.value > 0 ? told_as(store, number) : "", look.hits ? say.graph.boxFound : "", box.changed ? say.graph.boxChanged(box.changed) : ""];
  const point = (event: MouseEvent) => {
    tools.over = `${layer} ${box.id}`;
    store.hover(classes);
    const calls = tools.callsIn(layer, box.id);
    if (calls.length) store.reading.tips.show({ ...beside(event.currentTarget as Element, event.clientX, event.clientY), title: box.lines.join(", "), lines: facts(calls) });
  };
  const leave = () => { tools.over = ""; store.set(() => (store.hovered = NONE)); store.reading.tips.show(null); };
  return html`<g class=${`wb-box wb-box-${box.kind} ${lit ? "wb-lit" : ""} ${near ? "wb-near" : ""} ${look.near} ${look.hits ? "wb-hit-box" : ""} ${box.changed ? "wb-changed-box" : ""} ${error ? `wb-error-${grade(error.part!)}` : ""}`}
      role="button" tabindex="0" data-box=${box.id} aria-label=${told.filter(Boolean).join(", ")} aria-pressed=${lit} onClick=${select} onDblClick=${open}
      onKeyDown=${(event: KeyboardEvent) => (event.key === "o" ? (event.stopPropagation(), open()) : onEnter(select)(event))}
      onMouseEnter=${point} onMouseLeave=${leave}>
    <rect x=${box.x - box.width / 2} y=${box.y - box.height / 2} width=${box.width} height=${box.height}
      rx=${box.kind === "input" ? box.height / 2 : 6} />
    ${look.value > 0 && html`<rect class="wb-share" x=${box.x - box.width / 2} y=${box.y + box.height / 2 - 4} height="4" rx="2"
      width=${Math.max(1, (box.width * look.value) / look.most)}><title>${told_as(store, number)}</title></rect>`}
    ${error && html`<text class="wb-error" x=${box.x + box.width / 2 + 4} y=${box.y + box.height / 2 - 2}>${error.right ? "" : "✗ "}${shortly(error.absolute)}</text>`}
    ${box.lines.map((line, i) => html`<text x=${box.x} y=${top + i * height}>${line}</text>`)}
    ${number && html`<text class="wb-number" x=${box.x - box.width / 2 + 3} y=${box.y - box.height / 2 - 3}>${number}</text>`}
  </g>`;
}

function told_as(store: WorkbenchStore, number: string): string {
  return say.graph.told[store.tools.overlay](number);
}

/** What is told of a box: the shape of its result, its operators with what they mean, its work. */
function facts(calls: ReturnType<WorkbenchStore["tools"]["callsIn"]>): string[] {
  const last = calls.at(-1)!;
  const work = calls.reduce((sum, call) => sum + Number(call.facts["flops"] ?? 0), 0);
  const shape = say.graph.boxFacts(`${last.facts["shape"] ?? "?"} ${last.facts["dtype"] ?? ""}`, short(Number(last.facts["out"] ?? 0)), short(work));
  const kinds = new Map(calls.map((call) => [call.op, call.doc]));
  return [shape, ...[...kinds].slice(0, 4).map(([op, doc]) => `${op}: ${doc}`), kinds.size > 4 ? "…" : ""];
}
