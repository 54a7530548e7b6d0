// A graph where Graphviz laid it out: boxes that select, groups that open.
import { NONE, meets, type Classes } from "./links";
import { html } from "./parts";
import { grade, shortly } from "./tensors";
import type { GraphBox, GraphView } from "./types";
import type { WorkbenchStore } from "./workbench";

export function GraphPane({ store, at }: { store: WorkbenchStore; at: 0 | 1 }) {
  const graph = store.graph(store.panes[at].layer);
  if (!graph) return html`<div class="wb-wait">…</div>`;
  return html`<div class="wb-graph" role="group" aria-label="Graph" tabindex="0"
    onFocus=${() => store.focused !== at && store.set(() => (store.focused = at))}><${Drawing} store=${store} at=${at} graph=${graph} /></div>`;
}

function Drawing({ store, at, graph }: { store: WorkbenchStore; at: 0 | 1; graph: GraphView }) {
  const around = 6;
  const [width, height] = [graph.width + 2 * around, graph.height + 2 * around];
  return html`<svg width=${width} height=${height} viewBox=${`${-around} ${-around} ${width} ${height}`}>
    ${graph.frames.map((frame) => html`<g class="wb-frame">
      <rect x=${frame.x} y=${frame.y} width=${frame.width} height=${frame.height} rx="6" />
      <text x=${frame.x + 8} y=${frame.y + 14} role="button" tabindex="0" onClick=${() => store.open_group(frame.id)}
        onKeyDown=${onEnter(() => store.open_group(frame.id))}>− ${frame.title}</text></g>`)}
    ${graph.edges.map((edge) => html`<g class="wb-edge"><path d=${curve(edge.points)} /><path class="wb-tip" d=${tip(edge.points)} />
      <text x=${edge.x} y=${edge.y + 3}>${edge.label}</text></g>`)}
    ${graph.boxes.map((box) => html`<${Box} key=${box.id} store=${store} at=${at} box=${box} graph=${graph} />`)}
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

function percent(share: number): string {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}

function Box({ store, at, box, graph }: { store: WorkbenchStore; at: 0 | 1; box: GraphBox; graph: GraphView }) {
  const classes: Classes = new Set(box.classes);
  const lit = meets(classes, store.selected);
  const near = meets(classes, store.hovered);
  const share = box.kind === "input" ? 0 : store.share(classes);
  const error = box.kind === "input" ? null : store.extras.tensors.of(store.panes[at].layer, box.id);
  const height = 13;
  const top = box.y - ((box.lines.length - 1) * height) / 2 + 4;
  const open = () => box.kind === "group" && store.open_group(box.id);
  const select = () => box.kind !== "input" && void store.select(classes, at);
  const words = box.kind === "group" ? `group ${box.lines.join(" ")}` : box.lines.join(", ");
  return html`<g class=${`wb-box wb-box-${box.kind} ${lit ? "wb-lit" : ""} ${near ? "wb-near" : ""} ${error ? `wb-error-${grade(error.part!)}` : ""}`} role="button" tabindex="0"
      aria-label=${[words, share > 0 && `${percent(share)} of the arithmetic`, error && `error ${shortly(error.absolute)}${error.right ? "" : ", wrong"}`].filter(Boolean).join(", ")} aria-pressed=${lit} onClick=${select} onDblClick=${open}
      onKeyDown=${(event: KeyboardEvent) => (event.key === "o" ? (event.stopPropagation(), open()) : onEnter(select)(event))}
      onMouseEnter=${() => store.hover(classes)} onMouseLeave=${() => store.hover(NONE)}>
    <rect x=${box.x - box.width / 2} y=${box.y - box.height / 2} width=${box.width} height=${box.height}
      rx=${box.kind === "input" ? box.height / 2 : 6} />
    ${share > 0 && html`<rect class="wb-share" x=${box.x - box.width / 2} y=${box.y + box.height / 2 - 4} height="4" rx="2"
      width=${Math.max(1, (box.width * share) / store.mostShare(graph))}><title>${percent(share)} of the arithmetic</title></rect>`}
    ${error && html`<text class="wb-error" x=${box.x + box.width / 2 + 4} y=${box.y + box.height / 2 - 2}>${error.right ? "" : "✗ "}${shortly(error.absolute)}</text>`}
    ${box.lines.map((line, i) => html`<text x=${box.x} y=${top + i * height}>${line}</text>`)}
  </g>`;
}
