// The screen of layers: the spine, two panes beside each other, and the ladder of what is selected.
import { useLayoutEffect, useRef } from "preact/hooks";
import { GRAPHS, type LayersStore, type Pane } from "./layers";
import { NONE, meets, type Classes } from "./links";
import { onKeys } from "./keys";
import { Keys, Problem, html, plural } from "./parts";
import { ScheduleScreen } from "./schedule";
import { useStore } from "./store";
import { tokens } from "./text";
import type { GraphBox, GraphView, LayerView } from "./types";
import { Window, idOf } from "./window";

const KEY_ROWS: [string, string][] = [
  ["1 – 8", "a layer, in the focused pane"],
  ["w", "the other pane"],
  ["↑ ↓", "line by line, selecting"],
  ["g", "graph or text"],
  ["e", "edit the schedule, or see its text"],
  ["?", "this sheet"],
  ["Esc", "back to the notebook"],
];

export function LayersScreen({ store }: { store: LayersStore }) {
  useStore(store);
  const names = store.view?.layers.map((layer) => layer.name) ?? [];
  const numbered = Object.fromEntries(names.map((name, i) => [String(i + 1), () => store.show(name)]));
  const keys = onKeys({
    ...numbered,
    w: () => store.set(() => { store.focused = store.focused === 0 ? 1 : 0; store.acted++; }),
    g: () => store.turn(),
    e: () => store.edit(),
    ArrowUp: () => store.move(-1),
    ArrowDown: () => store.move(1),
    "?": () => store.set(() => (store.help = !store.help)),
  });
  return html`<div class="wb wb-layers" data-lm-suppress-shortcuts="true" role="group" aria-label="Layers" onKeyDown=${keys}>
    <${Spine} store=${store} />
    ${store.problem && html`<${Problem} error=${store.problem} close=${() => store.set(() => (store.problem = null))} />`}
    <div class="wb-columns">
      <${PaneView} store=${store} at=${0} /><${PaneView} store=${store} at=${1} /><${Ladder} store=${store} />
    </div>
    ${store.help && html`<${Keys} rows=${KEY_ROWS} close=${() => store.set(() => (store.help = false))} />`}
  </div>`;
}

function Spine({ store }: { store: LayersStore }) {
  return html`<header class="wb-head wb-spine">
    <span class="wb-title">${store.view?.title ?? ""}</span>
    <nav class="wb-chips" aria-label="Layers of the program">
      ${store.view?.layers.map((layer, i) => html`<${Chip} store=${store} layer=${layer} number=${i + 1} />`)}
    </nav>
    ${store.busy && html`<span class="wb-busy" role="status">kernel busy</span>`}
    <span class="wb-space"></span>
    <label class="wb-muted wb-kernel">kernel <select class="wb-select" value=${store.kernel} disabled=${store.kernels.length === 0}
      onChange=${(event: Event) => store.choose((event.target as HTMLSelectElement).value)}>
      ${store.kernels.map((kernel) => html`<option value=${kernel.name}>${kernel.name}</option>`)}
    </select></label>
    <button class="wb-button" aria-label="Keys" title="Keys (?)" onClick=${() => store.set(() => (store.help = !store.help))}>?</button>
  </header>`;
}

function Chip({ store, layer, number }: { store: LayersStore; layer: LayerView; number: number }) {
  const at = store.panes.findIndex((pane) => pane.layer === layer.name);
  const lit = store.lit(layer.name);
  const counted = layer.count === null ? "" : ` ${layer.count}`;
  const title = `${layer.title}: ${layer.count === null ? "" : `${layer.count} ${layer.unit}, `}${layer.state}${layer.note ? ` at ${layer.note}` : ""} (${number}; Shift: in the other pane)`;
  return html`<button class=${`wb-chip wb-chip-${layer.state.replace(" ", "-")}`} title=${title} aria-pressed=${at >= 0}
    onClick=${(event: MouseEvent) => store.show(layer.name, event.shiftKey)}>
    <span aria-hidden="true">${layer.glyph}</span> ${layer.title}<span class="wb-muted">${counted}</span>
    ${at >= 0 && html`<sub aria-label=${`in pane ${"AB"[at]}`}>${"AB"[at]}</sub>`}
    ${lit > 0 && html`<span class="wb-lit-count" aria-label=${`${plural(lit, "line")} selected`}>${lit}</span>`}
  </button>`;
}

function PaneView({ store, at }: { store: LayersStore; at: 0 | 1 }) {
  const pane = store.panes[at];
  const title = store.layer(pane.layer)?.title ?? "";
  const label = `${title}, pane ${"AB"[at]}`;
  const box = useRef<HTMLElement>(null);
  const seen = useRef(store.acted);
  useLayoutEffect(() => { // after an action the keys are the focused pane's, also while it has nothing to show yet
    const root = box.current;
    const acted = store.acted !== seen.current;
    seen.current = store.acted;
    if (store.focused !== at || !root || !(acted || document.activeElement === root)) return;
    (root.querySelector<HTMLElement>("[role=listbox], .wb-graph") ?? root).focus({ preventScroll: true });
  });
  return html`<section class=${`wb-pane ${store.focused === at ? "wb-focused" : ""}`} aria-label=${label} tabindex="-1" ref=${box}>
    <div class="wb-pane-head">
      <strong>${title}</strong>
      ${GRAPHS.includes(pane.layer) && html`<button class="wb-button" aria-pressed=${pane.graph} title="Graph or text (g)"
        onClick=${() => { store.set(() => (store.focused = at)); store.turn(); }}>Graph</button>`}
      ${pane.layer === "schedule" && html`<button class="wb-button" aria-pressed=${pane.editing} title="Edit the schedule (e)"
        disabled=${!store.kernel} onClick=${() => { store.set(() => (store.focused = at)); store.edit(); }}>Edit</button>`}
      <code class="wb-call" title="The same in Python">${store.text(pane.layer)?.call ?? ""}</code>
    </div>
    ${pane.editing ? html`<${ScheduleScreen} key=${store.kernel} store=${store.editor} />`
      : pane.graph ? html`<${GraphPane} store=${store} at=${at} />` : html`<${TextPane} store=${store} at=${at} pane=${pane} label=${label} />`}
  </section>`;
}

function TextPane({ store, at, pane, label }: { store: LayersStore; at: 0 | 1; pane: Pane; label: string }) {
  const shown = store.text(pane.layer);
  if (!shown) return html`<div class="wb-wait">${store.waiting || "…"}</div>`;
  const links = store.links;
  const row = (number: number) => {
    const classes = links?.on(pane.layer, number) ?? NONE;
    const lit = meets(classes, store.selected);
    const near = meets(classes, store.hovered);
    const line = shown.lines.at(number) ?? "";
    return html`<div key=${number} id=${`${idOf(label)}-${number}`} role="option" aria-selected=${lit}
        class=${`wb-text-row ${lit ? "wb-lit" : ""} ${near ? "wb-near" : ""} ${number === pane.active && store.focused === at ? "wb-active" : ""}`}
        onMouseEnter=${() => store.hover(classes)} onMouseLeave=${() => store.hover(NONE)}
        onClick=${() => { pane.active = number; void store.select(classes, at); }}>
      <span class="wb-no">${number + 1}</span><span class="wb-line">${coloured(line, shown.language)}</span>
    </div>`;
  };
  return html`<${Window} total=${shown.lines.total} label=${label} goal=${pane.goal} active=${pane.active} row=${row}
    ticks=${links?.lit(pane.layer, store.selected) ?? []} seen=${(range: { first: number; end: number }) => store.seen(pane.layer, range)}
    focused=${() => store.focused !== at && store.set(() => (store.focused = at))} />`;
}

function coloured(line: string, language: string) {
  return tokens(line, language).map(([kind, text]) => (kind ? html`<span class=${`wb-t-${kind}`}>${text}</span>` : text));
}

function GraphPane({ store, at }: { store: LayersStore; at: 0 | 1 }) {
  const graph = store.graph(store.panes[at].layer);
  if (!graph) return html`<div class="wb-wait">…</div>`;
  return html`<div class="wb-graph" role="group" aria-label="Graph" tabindex="0"
    onFocus=${() => store.focused !== at && store.set(() => (store.focused = at))}><${Drawing} store=${store} at=${at} graph=${graph} /></div>`;
}

function Drawing({ store, at, graph }: { store: LayersStore; at: 0 | 1; graph: GraphView }) {
  const around = 6;
  const [width, height] = [graph.width + 2 * around, graph.height + 2 * around];
  return html`<svg width=${width} height=${height} viewBox=${`${-around} ${-around} ${width} ${height}`}>
    ${graph.frames.map((frame) => html`<g class="wb-frame">
      <rect x=${frame.x} y=${frame.y} width=${frame.width} height=${frame.height} rx="6" />
      <text x=${frame.x + 8} y=${frame.y + 14} role="button" tabindex="0" onClick=${() => store.open_group(frame.id)}
        onKeyDown=${onEnter(() => store.open_group(frame.id))}>− ${frame.title}</text></g>`)}
    ${graph.edges.map((edge) => html`<g class="wb-edge"><path d=${curve(edge.points)} /><path class="wb-tip" d=${tip(edge.points)} />
      <text x=${edge.x} y=${edge.y + 3}>${edge.label}</text></g>`)}
    ${graph.boxes.map((box) => html`<${Box} key=${box.id} store=${store} at=${at} box=${box} />`)}
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

function Box({ store, at, box }: { store: LayersStore; at: 0 | 1; box: GraphBox }) {
  const classes: Classes = new Set(box.classes);
  const lit = meets(classes, store.selected);
  const near = meets(classes, store.hovered);
  const height = 13;
  const top = box.y - ((box.lines.length - 1) * height) / 2 + 4;
  const open = () => box.kind === "group" && store.open_group(box.id);
  const select = () => box.kind !== "input" && void store.select(classes, at);
  const words = box.kind === "group" ? `group ${box.lines.join(" ")}` : box.lines.join(", ");
  return html`<g class=${`wb-box wb-box-${box.kind} ${lit ? "wb-lit" : ""} ${near ? "wb-near" : ""}`} role="button" tabindex="0"
      aria-label=${words} aria-pressed=${lit} onClick=${select} onDblClick=${open}
      onKeyDown=${(event: KeyboardEvent) => (event.key === "o" ? (event.stopPropagation(), open()) : onEnter(select)(event))}
      onMouseEnter=${() => store.hover(classes)} onMouseLeave=${() => store.hover(NONE)}>
    <rect x=${box.x - box.width / 2} y=${box.y - box.height / 2} width=${box.width} height=${box.height}
      rx=${box.kind === "input" ? box.height / 2 : 6} />
    ${box.lines.map((line, i) => html`<text x=${box.x} y=${top + i * height}>${line}</text>`)}
  </g>`;
}

/** What is selected, layer by layer; each row leads to its lines. */
function Ladder({ store }: { store: LayersStore }) {
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

function told(store: LayersStore, layer: string, count: number): string {
  const stretches = store.links?.lit(layer, store.selected) ?? [];
  const shown = store.text(layer);
  if (layer === "onnx" && shown) {
    const lines = stretches.flatMap(([first, end]) => Array.from({ length: end - first }, (_, i) => shown.lines.at(first + i) ?? ""));
    return lines.slice(0, 3).join(" → ") + (lines.length > 3 ? " …" : "");
  }
  const [first, end] = [stretches[0]![0] + 1, stretches.at(-1)![1]];
  return `${plural(count, "line")}, ${first}${end > first ? `–${end}` : ""}`;
}
