// The one screen: the spine of layers, what the focused one consists of, two panes, the selection, the strip below.
import { Changes } from "./changes";
import { Ladder } from "./inspector";
import { onKeys } from "./keys";
import { Outline } from "./outline";
import { PaneView } from "./panes";
import { Keys, Problem, asking, html } from "./parts";
import { useStore } from "./store";
import { say } from "./strings";
import { Strip } from "./strip";
import { TargetButton } from "./target";
import { TipBox } from "./tip";
import type { LayerView } from "./types";
import { OF_THE_MODEL, type WorkbenchStore } from "./workbench";

export function WorkbenchScreen({ store }: { store: WorkbenchStore }) {
  useStore(store);
  const steps = store.steps;
  const names = store.view?.layers.map((layer) => layer.name) ?? [];
  const numbered = Object.fromEntries(names.map((name, i) => [String(i + 1), () => store.show(name)]));
  const table: Record<string, () => void> = {
    ...numbered,
    w: () => store.set(() => { store.focused = store.focused === 0 ? 1 : 0; store.acted++; }),
    o: () => store.turnAlone(),
    g: () => store.turn(store.panes[store.focused].layer === "te" ? "cards" : "graph"),
    i: () => store.turn("text"),
    d: () => store.turn("changes"),
    e: () => store.edit(changing(store)),
    b: () => store.turn("compare"),
    h: () => store.hottest(),
    t: () => store.turn("lens"),
    p: () => store.turn("candidates"),
    l: () => store.turn("passes"),
    m: () => void store.measure(),
    v: () => void store.verify(),
    x: () => { if (changing(store)) void steps.leaveOut(); },
    a: () => { if (changing(store)) void steps.choosePass(); },
    c: () => steps.set(() => (steps.onlyChanged = !steps.onlyChanged)),
    s: () => steps.set(() => (steps.split = !steps.split)),
    k: () => steps.turnKinds(),
    ".": () => store.set(() => (store.everyLine = !store.everyLine)),
    "[": () => steps.move(-1),
    "]": () => steps.move(1),
    ArrowLeft: () => { if (changing(store)) steps.moveRewrite(-1); },
    ArrowRight: () => { if (changing(store)) steps.moveRewrite(1); },
    "alt+ArrowLeft": () => store.extras.trail.move(-1),
    "alt+ArrowRight": () => store.extras.trail.move(1),
    ArrowUp: () => along(store, -1),
    ArrowDown: () => along(store, 1),
    z: () => store.turnFold(),
    "mod+f": () => findIn(store),
    "+": () => store.tools.zoomTo(store.focused, store.tools.zoom[store.focused] * 1.25),
    "-": () => store.tools.zoomTo(store.focused, store.tools.zoom[store.focused] / 1.25),
    f: () => { const pane = document.activeElement?.closest(".wb")?.querySelector(".wb-pane.wb-focused .wb-graph"); if (pane) store.fit(store.focused, pane); },
    "mod+z": () => store.turnBack("undo"),
    "mod+shift+z": () => store.turnBack("redo"),
    "?": () => store.set(() => (store.help = !store.help)),
  };
  if (store.recorded) for (const key of [..."mvtlbxa", "mod+z", "mod+shift+z"]) delete table[key];
  if (store.help) table["Escape"] = () => store.set(() => { store.help = false; store.acted++; });
  const keys = onKeys(table);
  return html`<div class=${`wb wb-workbench ${store.drawer ? `wb-with-${store.drawer}` : ""} ${store.panes[store.focused].mode === "editor" ? "wb-editing" : ""} ${store.alone ? "wb-alone" : ""}`} data-lm-suppress-shortcuts="true" role="group"
      tabindex="-1" aria-label=${say.frame.workbench} onKeyDown=${keys}>
    <${Spine} store=${store} />
    <${Changes} store=${store} />
    ${store.problem && html`<${Problem} error=${store.problem} close=${() => store.set(() => (store.problem = null))} />`}
    ${steps.problem && store.panes.every((pane) => pane.mode !== "changes") && html`<${Problem} error=${steps.problem} close=${() => steps.set(() => (steps.problem = null))} />`}
    <div class="wb-columns">
      <${Outline} store=${store} /><${PaneView} store=${store} at=${0} /><${PaneView} store=${store} at=${1} /><${Ladder} store=${store} />
    </div>
    <${Strip} store=${store} />
    <${TipBox} tips=${store.reading.tips} />
    ${store.help && html`<${Keys} rows=${say.frame.keyRows} close=${() => store.set(() => (store.help = false))} />`}
  </div>`;
}

/** The field that looks for something in the focused pane. */
function findIn(store: WorkbenchStore): void {
  const field = document.activeElement?.closest(".wb")?.querySelector<HTMLElement>(".wb-pane.wb-focused .wb-graph-bar input");
  if (field) field.focus();
  else store.reading.openFind(store.focused);
}

/** Whether keys speak of the selected step: its changes are in the focused pane, or the list of steps has the focus. */
function changing(store: WorkbenchStore): boolean {
  return store.panes[store.focused].mode === "changes" || document.activeElement?.getAttribute("aria-label") === say.steps.list;
}

/** Along what has the focus: the outline's list, or the lines of the pane. */
function along(store: WorkbenchStore, by: number): void {
  const list = document.activeElement?.closest(".wb-outline [role=listbox]");
  if (document.activeElement?.closest(".wb-checks")) return store.checks.walk(by);
  if (changing(store)) return store.steps.move(by);
  if (!list) return store.move(by);
  const at = store.kernels.findIndex((kernel) => kernel.name === store.kernel);
  const next = store.kernels[at + by];
  if (next) store.choose(next.name);
}

function Spine({ store }: { store: WorkbenchStore }) {
  const view = store.view;
  const measured = store.time(store.kernel);
  const drawer = (what: "outline" | "inspector") => store.set(() => (store.drawer = store.drawer === what ? "" : what));
  return html`<header class="wb-head wb-spine">
    <button class="wb-button wb-narrow" aria-expanded=${store.drawer === "outline"} aria-label=${say.frame.outline} title=${say.frame.outline} onClick=${() => drawer("outline")}>☰</button>
    <span class="wb-title" title=${view?.title}>${view?.title ?? ""}</span>
    ${store.steps.view && html`<${TargetButton} store=${store.target} target=${store.steps.view.target} />`}
    <nav class="wb-chips" aria-label=${say.frame.layers}>
      ${view?.layers.map((layer, i) => html`<${Chip} store=${store} layer=${layer} number=${i + 1} />`)}
    </nav>
    ${store.busy && html`<span class="wb-busy" role="status">${say.common.kernelBusy}</span>`}
    <span class="wb-space"></span>
    ${(view?.branches.length ?? 0) > 1 && html`<select class="wb-select wb-branch" aria-label=${say.frame.branch} title=${say.frame.branchesHelp} disabled=${store.recorded}
      value=${String(view!.branch)} onChange=${(event: Event) => void store.goTo(Number((event.target as HTMLSelectElement).value))}>
      ${view!.branches.map(([number, told]) => html`<option value=${String(number)}>${number}: ${told}</option>`)}</select>`}
    <span class="wb-group">
      <button class="wb-button" aria-label=${say.changes.undo} title=${say.changes.undoHelp} disabled=${!view?.undo || store.recorded} onClick=${() => store.turnBack("undo")}>↶</button>
      <button class="wb-button" aria-label=${say.changes.redo} title=${say.changes.redoHelp} disabled=${!view?.redo || store.recorded} onClick=${() => store.turnBack("redo")}>↷</button>
    </span>
    <button class="wb-button wb-run" disabled=${!store.kernel} aria-disabled=${store.measuring}
      ...${asking(store, measured ? say.frame.measuredKernelHelp(store.kernel, measured.text) : say.frame.measureHelp(store.kernel), () => void store.measure())}><span aria-hidden="true">▶</span> ${store.measuring ? say.frame.measuring : measured ? told(store, measured.text) : say.common.measure}</button>
    <button class="wb-button wb-narrow" aria-expanded=${store.drawer === "inspector"} aria-label=${say.frame.selection} title=${say.frame.selection} onClick=${() => drawer("inspector")}>≡</button>
    <button class="wb-button" aria-label=${say.common.keys} title=${say.common.keysHelp} onClick=${() => store.set(() => (store.help = !store.help))}>?</button>
  </header>`;
}

/** The figures of the kernel; where there are others, saying that they are one kernel's and not the model's. */
function told(store: WorkbenchStore, text: string): string {
  return store.kernels.length > 1 ? say.frame.measuredKernel(shortly(text)) : shortly(text);
}

/** "0.213 ms, 2.46 GFLOP/s: 2.1% of the peak ..." as "0.213 ms · 2.1% of peak". */
function shortly(text: string): string {
  const share = /([\d.]+%) of the peak/.exec(text);
  return [text.split(",")[0], share ? say.frame.peakShare(share[1]!) : ""].filter(Boolean).join(" · ");
}

function Chip({ store, layer, number }: { store: WorkbenchStore; layer: LayerView; number: number }) {
  const at = store.panes.findIndex((pane) => pane.layer === layer.name);
  const lit = store.lit(layer.name);
  const holders = OF_THE_MODEL.includes(layer.name) || lit === 0 ? [] : store.holders;
  const selected = say.frame.linesSelected(lit) + (holders.length > 1 ? say.frame.inHolder(holders.indexOf(store.kernel) + 1, holders.length) : "");
  const counted = layer.count === null ? "" : ` ${layer.count}`;
  const title = say.frame.layerHelp(layer.title, layer.count === null ? "" : `${layer.count} ${layer.unit}`, layer.state === "in part" ? say.frame.compiledHere : layer.state, layer.note, number, layer.count === null ? "" : say.frame.layerCounts[layer.unit] ?? "");
  return html`<button class=${`wb-chip wb-chip-${layer.state.replace(" ", "-")}`} title=${title} aria-pressed=${at >= 0}
    onClick=${(event: MouseEvent) => {
      const other = (event.currentTarget as Element).closest(".wb")!.querySelector(".wb-pane:not(.wb-focused)");
      const away = event.shiftKey && !other?.getClientRects().length; // one pane is shown: it is the other one from now on
      if (away) store.focused = store.focused === 0 ? 1 : 0;
      store.show(layer.name, event.shiftKey && !away);
    }}>
    <span aria-hidden="true">${layer.glyph}</span> ${layer.title}<span class="wb-muted">${counted}</span>
    ${at >= 0 && html`<sub aria-label=${say.frame.inPane("AB"[at]!)}>${"AB"[at]}</sub>`}
    ${lit > 0 && html`<span class="wb-lit-count" aria-label=${selected} title=${selected}>${lit}${holders.length > 1 ? "+" : ""}</span>`}
  </button>`;
}
