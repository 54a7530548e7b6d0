// The tile lens: arrays coloured by what caches hold, edges of tiles to drag, loops with their footprints.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { onKeys } from "./keys";
import { directionOf, drawArray, gridOf, palette, sideOf, type Grid } from "./lens_draw";
import type { Frame, LensStore } from "./lens_store";
import { strideOf } from "./lens";
import { LensMorePanel } from "./lens_more";
import { Keys, Problem, html } from "./parts";
import { useStore } from "./store";
import { say } from "./strings";

export function LensScreen({ store }: { store: LensStore }) {
  useStore(store);
  const frame = store.frame;
  const root = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(1000);
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    watcher.observe(root.current!);
    return () => watcher.disconnect();
  }, []);
  const side = sideOf(width, frame?.nest.view.arrays.length ?? 1);
  const choose = (by: number) => store.set(() => (store.level = Math.min(Math.max(store.level + by, 0), (store.view?.loops.length ?? 1) - 1)));
  const keys = onKeys({
    ",": () => store.go(store.visit - 1), ".": () => store.go(store.visit + 1), p: () => store.play(!store.playing),
    ArrowUp: () => choose(-1), ArrowDown: () => choose(1), "?": () => store.set(() => (store.help = !store.help)),
  });
  return html`<div class="wb wb-lens" data-lm-suppress-shortcuts="true" role="group" aria-label=${say.lens.title} ref=${root} onKeyDown=${keys}>
    <${Head} store=${store} frame=${frame} />
    ${store.problem && html`<${Problem} error=${store.problem} close=${() => store.set(() => (store.problem = null))} />`}
    ${frame ? html`<div class="wb-lens-body">
        <div class="wb-lens-arrays">${frame.nest.view.arrays.map((array, which) => html`<${Picture} key=${array.name} store=${store} frame=${frame} which=${which} side=${side} />`)}</div>
        <${Legend} frame=${frame} />
        <${Tiles} store=${store} frame=${frame} />
        <${Loops} store=${store} frame=${frame} />
        <${LensMorePanel} store=${store} />
      </div>` : !store.problem && html`<div class="wb-wait">…</div>`}
    ${frame && html`<${Result} store=${store} />`}
    ${store.help && html`<${Keys} rows=${say.lens.keyRows} close=${() => store.set(() => (store.help = false))} />`}
  </div>`;
}

function Head({ store, frame }: { store: LensStore; frame: Frame | null }) {
  const blocks = store.view?.blocks ?? [];
  const total = frame?.total ?? 1;
  const stands = frame ? frame.nest.loops.map((loop, at) => `${loop.name} ${frame.now[at]}`).join(", ") : "";
  return html`<header class="wb-head wb-lens-head">
    ${blocks.length > 1 ? html`<select class="wb-select" aria-label=${say.lens.block} value=${store.view!.block}
        onChange=${(event: Event) => void store.open((event.target as HTMLSelectElement).value)}>
        ${blocks.map(([name, why]) => html`<option value=${name} disabled=${why !== ""} title=${why}>${why ? say.lens.blockRefused(name, why) : name}</option>`)}</select>`
      : html`<span class="wb-title">${store.view?.block ?? ""}</span>`}
    <button class="wb-button" aria-pressed=${store.playing} title=${say.lens.playHelp} onClick=${() => store.play(!store.playing)}>${store.playing ? say.lens.stop : say.lens.play}</button>
    <select class="wb-select" aria-label=${say.lens.pace} value=${store.pace} onChange=${(event: Event) => store.set(() => (store.pace = (event.target as HTMLSelectElement).value as LensStore["pace"]))}>
      <option value="whole">${say.lens.paceWhole}</option><option value="visit">${say.lens.paceByVisit}</option></select>
    <span class="wb-lens-visits"><button class="wb-icon" aria-label=${say.lens.visitBack} title=${say.lens.visitBackHelp} onClick=${() => store.go(store.visit - 1)}>‹</button>
    <input type="range" class="wb-lens-scrub" min="0" max=${total - 1} value=${store.visit} aria-label=${say.lens.visit} aria-valuetext=${say.lens.visitValue(store.visit + 1, total, stands)}
      onInput=${(event: Event) => store.go(Number((event.target as HTMLInputElement).value))} />
    <button class="wb-icon" aria-label=${say.lens.visitOn} title=${say.lens.visitOnHelp} onClick=${() => store.go(store.visit + 1)}>›</button></span>
    <span class="wb-count" title=${stands}>${say.lens.visitOf(store.visit + 1, total)}</span>
    ${store.busy && html`<span class="wb-busy" role="status">${say.common.kernelBusy}</span>`}
    <span class="wb-space"></span>
    <button class="wb-button" aria-label=${say.common.keys} title=${say.common.keysHelp} onClick=${() => store.set(() => (store.help = !store.help))}>?</button>
  </header>`;
}

function isDark(element: Element): boolean {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d")!;
  context.fillStyle = getComputedStyle(element.closest(".wb") ?? element).color;
  context.fillRect(0, 0, 1, 1);
  const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
  return red! + green! + blue! > 384; // the text is pale
}

function Picture({ store, frame, which, side }: { store: LensStore; frame: Frame; which: number; side: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const dark = useRef<boolean | null>(null);
  const array = frame.nest.view.arrays[which]!;
  const grid = gridOf(array, side);
  useLayoutEffect(() => {
    if (!canvas.current) return;
    if (!store.draft && !store.playing) dark.current = null; // the theme may have changed meanwhile
    dark.current ??= isDark(canvas.current);
    drawArray(canvas.current, frame, which, grid, dark.current);
  });
  const [width, height] = [grid.columns * grid.cell, grid.rows * grid.high];
  const touched = frame.here[which]!.map((element) => placeOf(element, array.shape)).join(" ");
  const stores = frame.nest.view.accesses.some((access) => access.array === which && access.store);
  return html`<figure class="wb-lens-array" style=${{ maxWidth: `${side + 24}px` }}>
    <figcaption><code>${array.name}</code> <span class="wb-muted">${say.lens.nowAt(array.shape.join(" × "), stores, touched)}</span></figcaption>
    <div class="wb-lens-canvas" style=${{ width: `${width}px`, height: `${height}px` }}>
      <canvas ref=${canvas} style=${{ width: `${width}px`, height: `${height}px` }} role="img"
        aria-label=${say.lens.picture(array.name, touched, heldWords(frame, which))}></canvas>
      ${edgesOf(frame, which, grid).map((edge) => html`<${Edge} key=${`${edge.split}.${edge.part}.${edge.across}`} store=${store} ...${edge} />`)}
    </div>
  </figure>`;
}

function placeOf(element: number, shape: number[]): string {
  const found: number[] = [];
  for (const extent of [...shape].reverse()) {
    found.unshift(element % extent);
    element = Math.floor(element / extent);
  }
  return `[${found.join(", ")}]`;
}

/** The caches by name, with what comes before and after them. */
function places(frame: Frame): string[] {
  return [say.lens.neverTouched, ...frame.nest.view.caches.map((cache) => cache.name), say.lens.backInMemory];
}

function heldWords(frame: Frame, which: number): string {
  const names = places(frame);
  const counts = names.map(() => 0);
  for (const place of frame.held.classes[which]!) counts[place]!++;
  return names.map((name, place) => say.lens.linesIn(counts[place]!, name)).join(", ");
}

interface EdgeAt { split: number; part: number; across: boolean; cells: number; pixels: number; name: string }

/** The factors that can be changed: (split, part). */
export function editable(frame: Frame): [number, number][] {
  return frame.nest.view.splits.flatMap((split, number) => split.step === 0 ? []
    : split.factors.map((factor, part): [number, number] | null => (factor !== null && part > 0 ? [number, part] : null)).filter((one) => one !== null));
}

/** The edges of tiles that can be seen in an array's picture. */
function edgesOf(frame: Frame, which: number, grid: Grid): EdgeAt[] {
  const { view } = frame.nest;
  const access = view.accesses.find((one) => one.array === which)!;
  return editable(frame).flatMap(([split, part]) => {
    const term = view.splits[split]!.parts[part]!;
    const { root, stride } = strideOf(frame.nest, term);
    const axis = view.axes.findIndex((one) => one.term === root);
    const direction = axis < 0 ? null : directionOf(view.arrays[which]!, grid, access, axis);
    if (!direction) return [];
    const pixels = direction.cells * stride * (direction.across ? grid.cell : grid.high);
    return [{ split, part, across: direction.across, cells: direction.cells, pixels, name: view.terms[term]!.name }];
  });
}

/** The edge of the first tile: dragged with the pointer or moved with the arrow keys, the page follows at once. */
function Edge({ store, split, part, across, pixels, name }: { store: LensStore } & EdgeAt) {
  const factor = store.factor(split, part);
  const grip = useRef<{ at: number; factor: number } | null>(null);
  const at = `${factor * pixels}px`;
  const where = (event: PointerEvent) => (across ? event.clientX : event.clientY);
  return html`<div class=${`wb-edge-line ${across ? "wb-edge-across" : "wb-edge-down"} ${store.draft?.split === split && store.draft.part === part ? "wb-edge-drafted" : ""}`}
    style=${across ? { left: at } : { top: at }} role="slider" tabindex="0" aria-label=${say.lens.edge(name)} aria-orientation=${across ? "horizontal" : "vertical"}
    aria-valuemin="1" aria-valuemax=${store.most(split)} aria-valuenow=${factor} aria-valuetext=${edgeWords(store, split, factor)} title=${say.lens.edgeHelp(name, factor)}
    onPointerDown=${(event: PointerEvent) => {
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
      grip.current = { at: where(event), factor };
    }}
    onPointerMove=${(event: PointerEvent) => grip.current && store.drag(split, part, grip.current.factor + (where(event) - grip.current.at) / pixels)}
    onPointerUp=${() => { if (grip.current) { grip.current = null; void store.release(); } }}
    onPointerCancel=${() => { grip.current = null; store.cancel(); }}
    onKeyDown=${edgeKeys(store, split, part)}><span aria-hidden="true"></span></div>`;
}

function edgeWords(store: LensStore, split: number, factor: number): string {
  const most = store.most(split);
  return say.lens.edgeValue(factor, most, most % factor, store.draft !== null);
}

/** The keyboard twin of a drag. */
function edgeKeys(store: LensStore, split: number, part: number) {
  return (event: KeyboardEvent): void => {
    const by = (step: number) => () => store.drag(split, part, store.factor(split, part) + step);
    const table: Record<string, () => void> = {
      ArrowLeft: by(-1), ArrowUp: by(-1), ArrowRight: by(1), ArrowDown: by(1),
      PageUp: () => store.divisor(split, part, 1), PageDown: () => store.divisor(split, part, -1),
      Home: () => store.drag(split, part, 1), End: () => store.drag(split, part, store.most(split)),
      Enter: () => void store.release(),
    };
    if (store.draft) table["Escape"] = () => store.cancel();
    const action = table[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };
}

function Legend({ frame }: { frame: Frame }) {
  const box = useRef<HTMLDivElement>(null);
  const dark = useRef(false);
  useLayoutEffect(() => {
    if (!box.current) return;
    dark.current = isDark(box.current);
    const colours = palette(dark.current, frame.nest.view.caches.length);
    box.current.querySelectorAll<HTMLElement>("i").forEach((swatch, place) => (swatch.style.background = colours[place]!));
  });
  const counts = frame.held.counts;
  return html`<div class="wb-lens-legend" ref=${box} aria-label=${say.lens.colours}>
    ${places(frame).map((name, place) => html`<span><i></i> ${name} <span class="wb-count">${say.common.number(counts[place]!)}</span></span>`)}
    <span class="wb-muted" title=${say.lens.coloursHelp}>${say.lens.coloursRule(frame.nest.view.caches[0]?.line ?? 64)}</span>
  </div>`;
}

function Tiles({ store, frame }: { store: LensStore; frame: Frame }) {
  const { view } = frame.nest;
  const found = editable(frame);
  if (found.length === 0) return html`<p class="wb-muted wb-lens-none">${say.lens.noTile}</p>`;
  return html`<div class="wb-lens-tiles" role="group" aria-label=${say.lens.tiles}>${found.map(([number, part]) => {
    const split = view.splits[number]!;
    const term = split.parts[part]!;
    const [factor, most] = [store.factor(number, part), store.most(number)];
    const changed = store.draft?.split === number && store.draft.part === part;
    return html`<label class=${changed ? "wb-draft" : ""}><code>${view.terms[term]!.name}</code>
      <input type="range" min="1" max=${most} value=${factor} aria-label=${say.lens.factor(view.terms[term]!.name)} aria-valuetext=${edgeWords(store, number, factor)}
        onInput=${(event: Event) => store.drag(number, part, Number((event.target as HTMLInputElement).value))}
        onPointerUp=${() => void store.release()} onKeyDown=${edgeKeys(store, number, part)} />
      <span class="wb-count">${say.lens.factorOf(factor, most, most % factor)}</span></label>`;
  })}</div>`;
}

function Loops({ store, frame }: { store: LensStore; frame: Frame }) {
  const { view, loops } = frame.nest;
  const largest = Math.max(...view.caches.map((cache) => cache.size), ...frame.bytes.map(sum));
  const width = (bytes: number) => `${(94 * Math.log2(Math.max(bytes, 1))) / Math.log2(largest)}%`;
  return html`<table class="wb-lens-loops"><thead><tr><th scope="col">${say.lens.loop}</th><th scope="col">${say.lens.times}</th><th scope="col">${say.lens.touches}</th>
      <th scope="col" class="wb-lens-scale">${view.caches.map((cache) => html`<span style=${{ left: width(cache.size) }}>${cache.name}</span>`)}</th><th scope="col">${say.lens.fits}</th></tr></thead>
    <tbody>${loops.map((loop, at) => {
      const all = sum(frame.bytes[at]!);
      const fits = view.caches.find((cache) => all <= cache.size)?.name ?? say.lens.memory;
      return html`<tr class=${at === store.level ? "wb-chosen" : ""} onClick=${() => store.set(() => (store.level = at))}>
        <th scope="row"><button class="wb-loop-name" aria-pressed=${at === store.level} style=${{ paddingLeft: `${at * 10}px` }}>${loop.name}</button>
          ${loop.kind !== "serial" && html` <span class="wb-muted">${say.lens.loopKinds[loop.kind] ?? loop.kind}</span>`}</th>
        <td>${loop.extent}</td>
        <td class="wb-muted">${view.arrays.map((array, which) => `${array.name} ${say.lens.bytes(frame.bytes[at]![which]!)}`).join(" + ")}</td>
        <td class="wb-lens-scale">${view.caches.map((cache) => html`<i style=${{ left: width(cache.size) }}></i>`)}<b style=${{ width: width(all) }}></b></td>
        <td>${say.lens.fitsIn(fits, all)}</td></tr>`;
    })}</tbody></table>
    ${view.notes.length > 0 && html`<p class="wb-muted wb-lens-none">${view.notes.join("; ")}.</p>`}`;
}

function sum(numbers: number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/** What running the schedule has shown, and the way back to the tile before. */
function Result({ store }: { store: LensStore }) {
  const found = store.measured?.view;
  const before = store.previous?.view;
  const faster = found?.milliseconds && before?.milliseconds ? before.milliseconds / found.milliseconds : 0;
  return html`<footer class="wb-lens-result" role="status">
    <button class="wb-button" disabled=${store.measuring || store.working} onClick=${() => void store.measure()}>${say.common.measure}</button>
    ${store.back && html`<button class="wb-button" disabled=${store.working} onClick=${() => void store.goBack()}>${say.lens.backTo(store.back.label)}</button>`}
    <span>${store.draft ? say.lens.drafted : store.working ? say.lens.applying : store.measuring ? say.lens.running : found
      ? html`<strong>${found.milliseconds === null ? say.lens.noTime(found.why_not) : found.text}</strong>${faster > 0 && html` <span>(${comparison(faster)})</span>`}
          <span class="wb-muted"> ${found.why_no_misses || say.lens.missesOf(found.misses, found.accesses)}</span>`
      : say.common.notMeasured}</span>
  </footer>`;
}

/** Two measurements of the same program on a machine that does other things too differ by as much. */
const CLEARLY = 1.5;

function comparison(faster: number): string {
  if (faster > 1 / CLEARLY && faster < CLEARLY) return say.lens.noClearDifference;
  return faster >= 1 ? say.lens.asFast(faster) : say.lens.asSlow(1 / faster);
}
