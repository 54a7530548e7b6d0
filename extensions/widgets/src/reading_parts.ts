// The parts of a text pane that help to read it: the bar to find a text, the buttons to fold and copy.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { asking, html } from "./parts";
import { say } from "./strings";
import { focusHere } from "./views";
import type { WorkbenchStore } from "./workbench";

export function ReadingButtons({ store, at }: { store: WorkbenchStore; at: 0 | 1 }) {
  const { layer } = store.panes[at];
  const [copied, setCopied] = useState("");
  const copy = async () => {
    const text = await store.whole(layer);
    if (text !== undefined) setCopied((await toClipboard(text)) ? say.frame.copied : say.frame.notCopied);
  };
  const focus = () => { store.focused = at; };
  const program = store.programText(at);
  const edit = program && store.steps.hasDraft(program.step, store.functionOf(layer)) ? say.frame.editTextDraft : say.frame.editText;
  return html`<span class="wb-group">
    ${store.text(layer)?.step && store.steps.view?.editable && html`<button class="wb-button" ...${asking(store, say.frame.editTextHelp, () => store.editText(at))}>${edit}</button>`}
    <button class="wb-button" title=${say.frame.findHelp} aria-expanded=${store.reading.finds[at] !== null}
      onClick=${() => (store.reading.finds[at] ? store.reading.closeFind(at) : store.reading.openFind(at))}>${say.frame.find}</button>
    <button class="wb-button" title=${say.frame.foldHelp} onClick=${() => { focus(); store.turnFold(); }}>${say.frame.fold}</button>
    <button class="wb-button" title=${say.frame.foldAllHelp} onClick=${() => store.reading.turnAll(layer)}>${say.frame.foldAll}</button>
    <button class="wb-button" ...${asking(store, say.frame.copyHelp, () => void copy())} onBlur=${() => setCopied("")}>${say.common.copy}</button>
    ${copied && html`<span class="wb-muted" role="status">${copied}</span>`}
  </span>`;
}

export function FindBar({ store, at }: { store: WorkbenchStore; at: 0 | 1 }) {
  const find = store.reading.finds[at];
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => focusHere(field.current), [find !== null]);
  if (!find) return null;
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter") store.reading.step(at, event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") store.reading.closeFind(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const told = find.problem || (find.text === "" ? "" : find.count === 0 ? say.frame.nowhere : say.frame.foundLines(find.at + 1, find.count));
  return html`<div class="wb-find" role="search">
    <input class="wb-field" type="text" aria-label=${say.frame.findField} placeholder=${say.frame.findExample} value=${find.text} ref=${field}
      onInput=${(event: Event) => void store.reading.find(at, (event.target as HTMLInputElement).value)} onKeyDown=${keys} />
    <button class="wb-button" aria-label=${say.frame.previousPlace} title=${say.frame.previousPlaceHelp} onClick=${() => store.reading.step(at, -1)}>↑</button>
    <button class="wb-button" aria-label=${say.frame.nextPlace} title=${say.frame.nextPlaceHelp} onClick=${() => store.reading.step(at, 1)}>↓</button>
    <span class="wb-muted" role="status">${told}</span>
    <button class="wb-icon" aria-label=${say.frame.closeSearch} onClick=${() => store.reading.closeFind(at)}>×</button>
  </div>`;
}

/** Into the clipboard, by the page's own command where the newer one is not allowed. */
async function toClipboard(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch { /* not allowed here: the older way */ }
  }
  const before = document.activeElement as HTMLElement | null;
  const field = document.createElement("textarea");
  field.value = text;
  field.style.position = "fixed";
  field.style.opacity = "0";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  before?.focus({ preventScroll: true });
  return done;
}
