// A layer of another branch beside that of the session shown.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { PAGE, Shown, type Row } from "./diff";
import { DiffPane } from "./diffpane";
import { Problem, html } from "./parts";
import { say } from "./strings";
import type { ComparedView, MeasureView } from "./types";
import type { WorkbenchStore } from "./workbench";

export interface Compared { view: ComparedView; shown: Shown; number: number }

/** Pixels of a pane from which on both texts stand beside each other; the key for columns turns that round. */
const TWO_COLUMNS = 600;

/** Both times; the cycles too, where the model knows those of both. */
function told(found: (MeasureView | undefined)[]): string {
  const times = found.map((one) => one?.text.split(",")[0] ?? say.common.notMeasured).join(" → ");
  const [before, after] = found.map((one) => one?.cycles);
  return before && after ? `${times} · ${say.changes.cycles(before, after)}` : times;
}

export function ComparePane({ store, layer }: { store: WorkbenchStore; layer: string }) {
  const [found, refused] = [store.comparison(layer), store.refusal(layer)];
  const branches = store.view?.branches ?? [];
  const other = store.against;
  const beside = store.counterpart; // names are each program's own
  const times = ([[other, beside], [store.view?.branch ?? 0, store.kernel]] as const)
    .map(([branch, kernel]) => store.measured.get(`${branch} ${kernel}`));
  const box = useRef<HTMLDivElement>(null);
  const [roomy, setRoomy] = useState(false);
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setRoomy(entry!.contentRect.width >= TWO_COLUMNS));
    watcher.observe(box.current!);
    return () => watcher.disconnect();
  }, []);
  return html`<div class="wb-detail" ref=${box}>
    <div class="wb-edit-head">
      <label>${say.changes.before} <select class="wb-select" aria-label=${say.changes.branchBeside} value=${String(other)}
        onChange=${(event: Event) => store.compareWith(Number((event.target as HTMLSelectElement).value))}>
        ${branches.every(([number]) => number !== other) && html`<option value=${String(other)}>${other}</option>`}
        ${branches.map(([number, told]) => html`<option value=${String(number)}>${number}: ${told}</option>`)}</select></label>
      ${store.choice === "gone" && html`<span class="wb-muted">${say.changes.branchGone}</span>`}
      ${found && html`<span class="wb-muted">${say.changes.lessAndMore(found.view.removed, found.view.added)}</span>`}
      ${beside && beside !== store.kernel && html`<code class="wb-muted">${beside}</code>`}
      ${beside === "" && html`<span class="wb-muted">${say.changes.noKernelBeside}</span>`}
      <span class="wb-muted" role="status">${told(times)}</span>
      <button class="wb-button" disabled=${!store.kernel || beside === ""} aria-disabled=${store.measuring || beside === undefined}
        title=${beside === "" ? say.changes.noKernelBeside : say.changes.measureBothHelp} onClick=${() => void store.measureBoth()}>${say.changes.measureBoth}</button>
    </div>
    ${found ? html`<${DiffPane} key=${`${layer} ${found.number}`} rows=${found.shown.rows} split=${roomy !== store.steps.split} language=${found.view.language}
        seen=${(rows: Row[]) => store.seenCompared(layer, rows)}
        open=${(row: Row & { kind: "fold" }) => store.set(() => found.shown.open(row.after, Math.min(row.count, PAGE)))} />`
      : refused ? html`<${Problem} error=${refused} />` : html`<div class="wb-wait">…</div>`}
  </div>`;
}
