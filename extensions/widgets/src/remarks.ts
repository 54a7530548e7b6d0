// Why LLVM did not vectorise a loop: its own remarks, each with the line of the loop program.
import { asking, html } from "./parts";
import { say } from "./strings";
import type { WorkbenchStore } from "./workbench";

export interface Remarks { kernel: string; remarks: [line: number, message: string][] }

export function RemarksButton({ store }: { store: WorkbenchStore }) {
  return html`<button class="wb-button" aria-expanded=${store.remarks !== null} disabled=${!store.kernel}
    ...${asking(store, say.reasons.remarksHelp, () => void store.askRemarks())}>${say.reasons.remarks}</button>`;
}

export function RemarksPanel({ store }: { store: WorkbenchStore }) {
  const found = store.remarks;
  if (!found || found.kernel !== store.kernel) return null;
  return html`<section class="wb-remarks" tabindex="0" aria-label=${say.reasons.remarksLabel}><div class="wb-heading">${say.reasons.remarksOn(found.kernel)}</div>
    ${found.remarks.length === 0 ? html`<p class="wb-muted">${say.reasons.remarksNone}</p>`
      : html`<ul>${found.remarks.map(([line, message]) => html`<li>${line > 0 && html`<code>${say.reasons.remarkLine(line)}</code> `}${message}</li>`)}</ul>`}
    <p class="wb-muted">${say.reasons.remarksVectors}</p></section>`;
}
