// Why LLVM did not vectorise a loop: its own remarks, each with the line of the loop program.
import { asking, html } from "./parts";
import type { WorkbenchStore } from "./workbench";

export interface Remarks { kernel: string; remarks: [line: number, message: string][] }

export function RemarksButton({ store }: { store: WorkbenchStore }) {
  return html`<button class="wb-button" aria-expanded=${store.remarks !== null} disabled=${!store.kernel}
    ...${asking(store, "What LLVM's loop vectoriser says of this kernel at O3", () => void store.askRemarks())}>Remarks</button>`;
}

export function RemarksPanel({ store }: { store: WorkbenchStore }) {
  const found = store.remarks;
  if (!found || found.kernel !== store.kernel) return null;
  return html`<section class="wb-remarks" tabindex="0" aria-label="LLVM's remarks"><div class="wb-heading">LLVM's loop vectoriser at O3, on ${found.kernel}</div>
    ${found.remarks.length === 0 ? html`<p class="wb-muted">It says nothing: no loop is left that it looked at.</p>`
      : html`<ul>${found.remarks.map(([line, message]) => html`<li>${line > 0 && html`<code>loop program, line ${line}</code> `}${message}</li>`)}</ul>`}
    <p class="wb-muted">Vectors that the schedule made (vectorize) are vectors before LLVM sees them.</p></section>`;
}
