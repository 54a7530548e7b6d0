// What is said of the changes that are kept: without a kernel, after a restart, after a replay.
import { html, plural } from "./parts";
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
      <strong>${plural(offer.count, "change")} of the last time ${offer.count === 1 ? "is" : "are"} kept</strong>
      <span class="wb-muted">${offer.when}${offer.note ? `; ${offer.note}` : ""}</span>
      <details class="wb-offered"><summary>which</summary><pre class="wb-code" tabindex="0">${offer.calls.join("\n")}</pre></details>
      <span class="wb-space"></span>
      <button class="wb-button" disabled=${store.changing} onClick=${() => void store.changes("restore")}>${store.changing ? "Restoring …" : "Restore"}</button>
      <button class="wb-button" disabled=${store.changing} onClick=${() => void store.changes("discard")}>Discard</button>
    <//>`}
    ${told.restored !== undefined && html`<${Banner}>
      <span>${restored(told)}</span>
      ${told.left! > 0 && html`<ul class="wb-refused">${told.refused!.map((line) => html`<li>${line}</li>`)}</ul>`}
      <span class="wb-space"></span>
      <button class="wb-icon" aria-label="Close the message" title="Close" onClick=${() => void store.changes("read")}>×</button>
    <//>`}
    ${trouble && html`<${Banner}><span>Changes of this screen cannot be kept: ${trouble}. They are lost when the kernel ends.</span><//>`}`;
}

function Banner({ children }: { children?: unknown }) {
  return html`<div class="wb-banner" role="status">${children}</div>`;
}

function nothingAnswers(changes: ChangesView | undefined): string {
  const count = changes?.count ?? 0;
  const kept = count === 0 ? "what is shown stays readable" : `your ${plural(count, "change")} ${count === 1 ? "is" : "are"} kept`;
  return `No kernel: run the cell to go on; ${kept}.`;
}

function restored(told: ChangesView["told"]): string {
  const done = `${plural(told.restored ?? 0, "change")} restored.`;
  if (told.left) return `${done} ${plural(told.left, "step")} could not be done again; the rest is:`;
  return told.exact ? done : `${done} What came out is another program than the last time: the model or a pass has changed.`;
}
