// Values below the panes: outputs of two steps beside each other, the tensors of a graph, one of them looked into.
import { useEffect } from "preact/hooks";
import { Problem, html } from "./parts";
import { useStore } from "./store";
import { say } from "./strings";
import { shortly, type OutputsView, type TensorPicture, type TensorRow, type TensorStore } from "./tensors";
import { ChoiceList } from "./window";

export function TensorsPane({ store, select }: { store: TensorStore; select: (row: TensorRow) => void }) {
  useStore(store);
  useEffect(() => void store.begin(), [store, store.graphs.length]);
  const steps = (names: string[], value: string, label: string, chosen: (name: string) => void) => html`<select class="wb-select" aria-label=${label} value=${value}
    onChange=${(event: Event) => chosen((event.target as HTMLSelectElement).value)}>${names.map((name) => html`<option value=${name}>${name}</option>`)}</select>`;
  return html`<div class="wb-values" role="group" aria-label=${say.values.title} aria-busy=${store.working !== ""}>
    <div class="wb-values-head">
      <button class="wb-button" disabled=${store.working !== ""} title=${say.values.compareHelp} onClick=${store.compare}>${say.values.compare}</button>
      <span>${say.values.after} ${steps(store.runnable, store.before, say.values.runUpTo, (name) => store.set(() => (store.before = name)))}
        ${say.values.andAfter} ${steps(store.runnable, store.after, say.values.runAndUpTo, (name) => store.set(() => (store.after = name)))}</span>
      <span class="wb-space"></span>
      <button class="wb-button" disabled=${store.working !== "" || !store.step} title=${say.values.tensorsHelp} onClick=${() => void store.show(store.step)}>${say.values.tensors}</button>
      ${steps(store.graphs, store.step, say.values.graphStep, (name) => store.set(() => { store.step = name; store.list = null; store.picture = null; }))}
      <button class="wb-button" aria-pressed=${store.painted} disabled=${store.working !== ""} title=${say.values.errorsHelp} onClick=${store.paint}>${say.values.errors}</button>
      <span class="wb-muted" role="status">${store.working || (store.list ?? store.outputs ? say.values.inputs((store.list ?? store.outputs)!.inputs) : "")}</span>
    </div>
    ${store.problem && html`<${Problem} error=${store.problem} />`}
    <div class="wb-values-body">
      ${store.outputs && html`<${Outputs} view=${store.outputs} />`}
      ${store.list && html`<${List} store=${store} select=${select} />`}
      ${store.picture && html`<${Picture} store=${store} picture=${store.picture} />`}
      ${!store.outputs && !store.list && !store.working && html`<p class="wb-muted">${say.values.empty}</p>`}
    </div>
  </div>`;
}

function mark(right: boolean) {
  return html`<span class=${right ? "wb-right" : "wb-wrong"}><span aria-hidden="true">${right ? "✓" : "✗"}</span> ${right ? say.values.right : say.values.wrong}</span>`;
}

function Outputs({ view }: { view: OutputsView }) {
  const columns = say.values.columns;
  return html`<table class="wb-table" aria-label=${say.values.outputs(view.before, view.after)}>
    <caption>${say.values.outputs(view.before, view.after)}</caption>
    <thead><tr><th>${columns.output}</th><th>${columns.shape}</th><th></th><th>${columns.absolute}</th><th>${columns.relative}</th><th>${columns.ulp}</th><th>${columns.nans}</th><th>${columns.equal}</th></tr></thead>
    <tbody>${view.rows.map((row) => html`<tr><td><code>${row.name}</code></td><td>${row.shape.join("×")}</td><td>${mark(row.right)}</td>
      <td>${shortly(row.absolute)}</td><td>${shortly(row.relative)}</td><td>${row.ulp === null ? "" : Math.round(row.ulp).toLocaleString("en")}</td>
      <td>${row.nans.join(" → ")}</td><td>${say.values.equalOf(row.equal, row.size)}</td></tr>`)}</tbody></table>`;
}

function List({ store, select }: { store: TensorStore; select: (row: TensorRow) => void }) {
  const rows = store.list!.rows;
  const open = (row: TensorRow) => { select(row); void store.look(row.number); };
  const draw = (row: TensorRow) => html`<span class="wb-no">${row.number}</span><span class="wb-name">${row.name}</span><span class="wb-muted">${row.shape.join("×")}</span>
    <span>${row.part === null ? say.values.new : html`${mark(row.right)} ${shortly(row.absolute)}`}</span>`;
  return html`<div class="wb-tensors"><${ChoiceList} label=${say.values.tensorsOf(store.list!.step)} items=${rows} chosen=${store.picture?.number ?? -1}
    choose=${open} title=${(row: TensorRow) => (row.against ? say.values.standsFor(row.against) : say.values.newHelp)} draw=${draw} /></div>`;
}

function Picture({ store, picture }: { store: TensorStore; picture: TensorPicture }) {
  const leading = picture.shape.slice(0, -2);
  return html`<section class="wb-picture" aria-label=${say.values.tensor(picture.number)}>
    <div class="wb-heading">${picture.name} · ${picture.shape.join("×")} ${picture.dtype}</div>
    <div class="wb-picture-parts">
      <dl class="wb-bindings">${picture.facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
      <div><${Histogram} title=${say.values.values} spread=${say.values.valuesSpread} low=${picture.low} high=${picture.high} counts=${picture.counts} />
        ${picture.error_counts.length > 0 && html`<${Histogram} title=${say.values.absoluteError} spread=${say.values.absoluteErrorSpread} low=${picture.error_low} high=${picture.error_high} counts=${picture.error_counts} />`}</div>
      <div>
        ${leading.some((extent) => extent > 1) && html`<div class="wb-slice">${leading.map((extent, axis) => extent > 1 && html`<label>${say.values.axis(axis)}
          <input type="number" min="0" max=${extent - 1} value=${picture.index[axis]} aria-label=${say.values.axisIndex(axis, extent - 1)}
            onChange=${(event: Event) => void store.look(picture.number, picture.index.map((at, i) => (i === axis ? Number((event.target as HTMLInputElement).value) : at)))} /></label>`)}</div>`}
        <${HeatMap} picture=${picture} />
      </div>
    </div></section>`;
}

function Histogram({ title, spread, low, high, counts }: {
  title: string; spread: (low: string, high: string) => string; low: number; high: number; counts: number[];
}) {
  const [first, last] = [low.toPrecision(3), high.toPrecision(3)];
  const most = Math.max(1, ...counts);
  const [width, height] = [168, 42];
  const each = width / Math.max(1, counts.length);
  const from = (i: number) => low + ((high - low) * i) / counts.length;
  return html`<figure class="wb-histogram"><svg width=${width} height=${height} role="img" aria-label=${spread(first, last)}>
      ${counts.map((count, i) => html`<rect x=${i * each} width=${Math.max(1, each - 1)} y=${height - (height * count) / most} height=${(height * count) / most}>
        <title>${say.values.counted(count, from(i).toPrecision(3), from(i + 1).toPrecision(3))}</title></rect>`)}</svg>
    <figcaption class="wb-muted">${say.values.range(title, first, last)}</figcaption></figure>`;
}

/** The slice as coloured cells, dark for great; the numbers are in a table below the fold for those who read it. */
function HeatMap({ picture }: { picture: TensorPicture }) {
  const rows = picture.values;
  const columns = rows[0]?.length ?? 0;
  const numbers = rows.flat().filter((value): value is number => value !== null);
  const [low, high] = [numbers.reduce((a, b) => Math.min(a, b), Infinity), numbers.reduce((a, b) => Math.max(a, b), -Infinity)];
  const size = Math.max(2, Math.min(9, Math.floor(180 / Math.max(rows.length, 1)), Math.floor(300 / Math.max(columns, 1))));
  const paint = (canvas: HTMLCanvasElement | null) => {
    const pen = canvas?.getContext("2d");
    if (!pen) return;
    rows.forEach((row, y) => row.forEach((value, x) => {
      const share = value === null || high === low ? 0 : (value - low) / (high - low);
      // From pale yellow to dark blue: its lightness alone says the same.
      pen.fillStyle = value === null ? "#c62a4b" : `hsl(${60 + 180 * share} 60% ${92 - 70 * share}%)`;
      pen.fillRect(x * size, y * size, size, size);
    }));
  };
  const told = Number.isFinite(low) ? say.values.slice(rows.length, columns, low, high) : say.values.sliceEmpty(rows.length, columns);
  const index = [...picture.index, ":", ":"].slice(-picture.shape.length).join(", ");
  return html`<figure class="wb-histogram"><canvas width=${columns * size} height=${rows.length * size} role="img" aria-label=${told} ref=${paint}></canvas>
    <figcaption class="wb-muted">${picture.clipped ? say.values.sliceAtClipped(index) : say.values.sliceAt(index)}</figcaption>
    <details><summary>${say.values.numbers}</summary><table class="wb-table wb-numbers"><tbody>${rows.slice(0, 16).map((row) => html`<tr>${row.slice(0, 16).map((value) => html`<td>${value ?? say.values.noNumber}</td>`)}</tr>`)}</tbody></table></details></figure>`;
}
