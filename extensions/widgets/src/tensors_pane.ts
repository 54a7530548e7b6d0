// Values below the panes: outputs of two steps beside each other, the tensors of a graph, one of them looked into.
import { useEffect } from "preact/hooks";
import { Problem, html } from "./parts";
import { useStore } from "./store";
import { shortly, type OutputsView, type TensorPicture, type TensorRow, type TensorStore } from "./tensors";

export function TensorsPane({ store, select }: { store: TensorStore; select: (row: TensorRow) => void }) {
  useStore(store);
  useEffect(() => void store.begin(), [store, store.graphs.length]);
  const steps = (names: string[], value: string, label: string, chosen: (name: string) => void) => html`<select class="wb-select" aria-label=${label} value=${value}
    onChange=${(event: Event) => chosen((event.target as HTMLSelectElement).value)}>${names.map((name) => html`<option value=${name}>${name}</option>`)}</select>`;
  return html`<div class="wb-values" role="group" aria-label="Values" aria-busy=${store.working !== ""}>
    <div class="wb-values-head">
      <button class="wb-button" disabled=${store.working !== ""} title="The model's outputs after the two steps, beside each other" onClick=${store.compare}>Compare outputs</button>
      <span>after ${steps(store.runnable, store.before, "Run up to", (name) => store.set(() => (store.before = name)))}
        and after ${steps(store.runnable, store.after, "and up to", (name) => store.set(() => (store.after = name)))}</span>
      <span class="wb-space"></span>
      <button class="wb-button" disabled=${store.working !== "" || !store.step} title="What each call of the graph gives, and its error" onClick=${() => void store.show(store.step)}>Tensors of</button>
      ${steps(store.graphs, store.step, "Graph step", (name) => store.set(() => { store.step = name; store.list = null; store.picture = null; }))}
      <button class="wb-button" aria-pressed=${store.painted} disabled=${store.working !== ""} title="Write each tensor's error on its box" onClick=${store.paint}>Errors on the graph</button>
      <span class="wb-muted" role="status">${store.working || (store.list ?? store.outputs ? `on ${(store.list ?? store.outputs)!.inputs}` : "")}</span>
    </div>
    ${store.problem && html`<${Problem} error=${store.problem} />`}
    <div class="wb-values-body">
      ${store.outputs && html`<${Outputs} view=${store.outputs} />`}
      ${store.list && html`<${List} store=${store} select=${select} />`}
      ${store.picture && html`<${Picture} store=${store} picture=${store.picture} />`}
      ${!store.outputs && !store.list && !store.working && html`<p class="wb-muted">Run the model on ${"inputs"}: compare its outputs after two steps, or look into the tensors of a graph.</p>`}
    </div>
  </div>`;
}

function mark(right: boolean) {
  return html`<span class=${right ? "wb-right" : "wb-wrong"}><span aria-hidden="true">${right ? "✓" : "✗"}</span> ${right ? "right" : "wrong"}</span>`;
}

function Outputs({ view }: { view: OutputsView }) {
  return html`<table class="wb-table" aria-label=${`Outputs after ${view.before} and after ${view.after}`}>
    <caption>Outputs after ${view.before} and after ${view.after}</caption>
    <thead><tr><th>output</th><th>shape</th><th></th><th>max abs</th><th>max rel</th><th>ulp</th><th>NaN</th><th>equal</th></tr></thead>
    <tbody>${view.rows.map((row) => html`<tr><td><code>${row.name}</code></td><td>${row.shape.join("×")}</td><td>${mark(row.right)}</td>
      <td>${shortly(row.absolute)}</td><td>${shortly(row.relative)}</td><td>${row.ulp === null ? "" : Math.round(row.ulp).toLocaleString("en")}</td>
      <td>${row.nans.join(" → ")}</td><td>${row.equal.toLocaleString("en")} of ${row.size.toLocaleString("en")}</td></tr>`)}</tbody></table>`;
}

function List({ store, select }: { store: TensorStore; select: (row: TensorRow) => void }) {
  const rows = store.list!.rows;
  const open = (row: TensorRow) => { select(row); void store.look(row.number); };
  return html`<div class="wb-tensors" role="listbox" aria-label=${`Tensors of ${store.list!.step}`} tabindex="0"
      aria-activedescendant=${store.picture ? `wb-tensor-${store.picture.number}` : undefined}
      onKeyDown=${(event: KeyboardEvent) => {
        const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        event.stopPropagation();
        const next = rows[Math.min(Math.max((store.picture?.number ?? -1) + by, 0), rows.length - 1)];
        if (next) open(next);
      }}>
    ${rows.map((row) => html`<div class=${`wb-tensor ${row.right ? "" : "wb-tensor-wrong"}`} id=${`wb-tensor-${row.number}`} role="option"
      aria-selected=${store.picture?.number === row.number} onClick=${() => open(row)} title=${row.against ? `stands for ${row.against}` : "computed newly: nothing of the imported model to compare with"}>
      <span class="wb-no">${row.number}</span><span class="wb-name">${row.name}</span><span class="wb-muted">${row.shape.join("×")}</span>
      <span class="wb-tensor-error">${row.part === null ? "new" : html`${mark(row.right)} ${shortly(row.absolute)}`}</span></div>`)}</div>`;
}

function Picture({ store, picture }: { store: TensorStore; picture: TensorPicture }) {
  const leading = picture.shape.slice(0, -2);
  return html`<section class="wb-picture" aria-label=${`Tensor ${picture.number}`}>
    <div class="wb-heading">${picture.name} · ${picture.shape.join("×")} ${picture.dtype}</div>
    <div class="wb-picture-parts">
      <dl class="wb-bindings">${picture.facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
      <div><${Histogram} title="values" low=${picture.low} high=${picture.high} counts=${picture.counts} />
        ${picture.error_counts.length > 0 && html`<${Histogram} title="absolute error" low=${picture.error_low} high=${picture.error_high} counts=${picture.error_counts} />`}</div>
      <div>
        ${leading.some((extent) => extent > 1) && html`<div class="wb-slice">${leading.map((extent, axis) => extent > 1 && html`<label>axis ${axis}
          <input type="number" min="0" max=${extent - 1} value=${picture.index[axis]} aria-label=${`Index on axis ${axis}, 0 to ${extent - 1}`}
            onChange=${(event: Event) => void store.look(picture.number, picture.index.map((at, i) => (i === axis ? Number((event.target as HTMLInputElement).value) : at)))} /></label>`)}</div>`}
        <${HeatMap} picture=${picture} />
      </div>
    </div></section>`;
}

function Histogram({ title, low, high, counts }: { title: string; low: number; high: number; counts: number[] }) {
  const most = Math.max(1, ...counts);
  const [width, height] = [168, 42];
  const each = width / Math.max(1, counts.length);
  const from = (i: number) => low + ((high - low) * i) / counts.length;
  return html`<figure class="wb-histogram"><svg width=${width} height=${height} role="img" aria-label=${`How the ${title} are spread, ${low.toPrecision(3)} to ${high.toPrecision(3)}`}>
      ${counts.map((count, i) => html`<rect x=${i * each} width=${Math.max(1, each - 1)} y=${height - (height * count) / most} height=${(height * count) / most}>
        <title>${count.toLocaleString("en")} from ${from(i).toPrecision(3)} to ${from(i + 1).toPrecision(3)}</title></rect>`)}</svg>
    <figcaption class="wb-muted">${title}: ${low.toPrecision(3)} … ${high.toPrecision(3)}</figcaption></figure>`;
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
  const told = `rows ${rows.length}, columns ${columns}, ${Number.isFinite(low) ? `${low} (pale) to ${high} (dark)` : "no number"}`;
  return html`<figure class="wb-histogram"><canvas width=${columns * size} height=${rows.length * size} role="img" aria-label=${`Slice: ${told}`} ref=${paint}></canvas>
    <figcaption class="wb-muted">slice [${[...picture.index, ":", ":"].slice(-picture.shape.length).join(", ")}]${picture.clipped ? ", its first 64 rows and columns" : ""}</figcaption>
    <details><summary>Numbers</summary><table class="wb-table wb-numbers"><tbody>${rows.slice(0, 16).map((row) => html`<tr>${row.slice(0, 16).map((value) => html`<td>${value ?? "none"}</td>`)}</tr>`)}</tbody></table></details></figure>`;
}
