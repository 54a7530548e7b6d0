// Why LLVM did not vectorise a loop: its own remarks, each with the line of the loop program.
import { asking, html } from "./parts";
import { say } from "./strings";
import type { WorkbenchStore } from "./workbench";

export interface Remarks { kernel: string; remarks: Remark[] }

/** `lanes`: of a loop or statement that the schedule has vectorised. */
type Remark = [line: number, message: string, lanes: boolean];

export function RemarksButton({ store }: { store: WorkbenchStore }) {
  return html`<button class="wb-button" aria-expanded=${store.remarks !== null} disabled=${!store.kernel}
    ...${asking(store, say.reasons.remarksHelp, () => void store.askRemarks())}>${say.reasons.remarks}</button>`;
}

export function RemarksPanel({ store }: { store: WorkbenchStore }) {
  const found = store.remarks;
  if (!found || found.kernel !== store.kernel) return null;
  const open = found.remarks.filter(([, , lanes]) => !lanes), lanes = found.remarks.filter(([, , lanes]) => lanes);
  return html`<section class="wb-remarks" tabindex="0" aria-label=${say.reasons.remarksLabel}><div class="wb-heading">${say.reasons.remarksOn(found.kernel)}</div>
    ${open.length === 0 ? html`<p class="wb-muted">${lanes.length ? say.reasons.remarksNoneOpen : say.reasons.remarksNone}</p>`
      : html`<${List} remarks=${open} />`}
    ${lanes.length > 0 && html`<p>${say.reasons.remarksLanes}</p><${List} remarks=${lanes} />`}
    <p class="wb-muted">${say.reasons.remarksVectors}</p></section>`;
}

function List({ remarks }: { remarks: Remark[] }) {
  return html`<ul>${remarks.map(([line, message]) => html`<li>${line > 0 && html`<code>${say.reasons.remarkLine(line)}</code> `}${message}</li>`)}</ul>`;
}
