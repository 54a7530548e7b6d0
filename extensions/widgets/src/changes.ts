// What is said of the changes that are kept: without a kernel, after a restart, after a replay.
import { html } from "./parts";
import { say } from "./strings";
import type { ChangesView, Host } from "./types";
import type { WorkbenchStore } from "./workbench";

/** A host that tells when sending fails, whichever part of the screen sends. */
export function watched(host: Host, onLost: () => void): Host {
  const send: Host["send"] = (content, callbacks, buffers) => {
    try {
      host.send(content, callbacks, buffers);
    } catch (error) {
      onLost();
      throw error;
    }
  };
  return { get: (name) => host.get(name), send, on: (name, callback) => host.on(name, callback), off: (name, callback) => host.off(name, callback) };
}

export function Changes({ store }: { store: WorkbenchStore }) {
  const changes = store.view?.changes;
  if (store.lost) return html`<${Banner}>${nothingAnswers(changes)}<//>`;
  if (!changes) return null;
  const { offer, told, trouble } = changes;
  return html`${offer && html`<${Banner} store=${store}>
      <strong>${offer.halted === "refused" ? say.changes.notRestored(offer.count) : say.changes.offered(offer.count, offer.number, offer.of)}</strong>
      <span class="wb-muted">${offer.when}${offer.note ? `; ${offer.note}` : ""}</span>
      <details class="wb-offered"><summary>${say.changes.offeredWhich}</summary><pre class="wb-code" tabindex="0">${offer.calls.join("\n")}</pre></details>
      <span class="wb-space"></span>
      <button class="wb-button" disabled=${store.changing} onClick=${() => void store.changes("restore")}>${store.changing ? say.changes.restoring : say.changes.restore}</button>
      ${offer.of > 1 && !offer.halted && html`<button class="wb-button" disabled=${store.changing} title=${say.changes.anotherHelp} onClick=${() => void store.changes("another")}>${say.changes.another}</button>`}
      <button class="wb-button" disabled=${store.changing} title=${offer.number < offer.of && !offer.halted ? say.changes.discardOfferHelp : ""} onClick=${() => void store.changes("discard")}>${say.common.discard}</button>
    <//>`}
    ${told.restored !== undefined && html`<${Banner}>
      <span>${restored(told)}</span>
      ${told.left! > 0 && html`<ul class="wb-refused">${told.refused!.map((line) => html`<li>${line}</li>`)}</ul>`}
      ${told.waits && html`<span>${say.changes.waits(told.waits)}</span>`}
      <span class="wb-space"></span>
      <button class="wb-icon" aria-label=${say.common.closeMessage} title=${say.common.close} disabled=${store.changing} onClick=${() => void store.changes("read")}>×</button>
    <//>`}
    ${store.steps.drafts.found.length > 0 && html`<${Banner}>
      <span>${say.changes.draftsKept(store.steps.drafts.found)}</span>
      <span class="wb-space"></span>
      <button class="wb-icon" aria-label=${say.common.closeMessage} title=${say.common.close} onClick=${() => store.set(() => (store.steps.drafts.found = []))}>×</button>
    <//>`}
    ${trouble && html`<${Banner}><span>${say.changes.lost(trouble)}</span><//>`}`;
}

function Banner({ children }: { children?: unknown }) {
  return html`<div class="wb-banner" role="status">${children}</div>`;
}

function nothingAnswers(changes: ChangesView | undefined): string {
  const count = changes?.count ?? 0;
  return count === 0 ? say.changes.noKernel : say.changes.noKernelKept(count);
}

function restored(told: ChangesView["told"]): string {
  const count = told.restored ?? 0;
  if (told.left) return say.changes.restoredInPart(count, told.left);
  return told.exact || told.waits ? say.changes.restored(count) : say.changes.restoredOtherwise(count);
}
