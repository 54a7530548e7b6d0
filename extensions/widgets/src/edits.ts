// Changing a pipeline: a function's text after a step, the list of passes, undo and redo.
import { Editor } from "./editor";
import { Form } from "./form";
import { Problem, asking, html } from "./parts";
import type { PipelineStore } from "./pipeline";
import type { ErrorView, SourceView } from "./types";

/** A text that was changed and not applied, and the program's text that it began from. */
export interface Draft { base: string; text: string }

/** What is being edited: the program's text, the text that editing began with and as it stands, and why the kernel
 * refused it.  A draft is outdated where the program has changed since it was begun (its `base`). */
export interface Editing { source: SourceView; begun: string; now: string; base: string; outdated: boolean; refused: ErrorView | null }

export function EditPane({ store, editing }: { store: PipelineStore; editing: Editing }) {
  const { source, refused } = editing;
  const dirty = editing.now !== source.text;
  return html`<div class="wb-edit" role="group" aria-label="Edit the program">
    <div class="wb-edit-head">
      ${source.functions.length > 1 && html`<select class="wb-select" aria-label="Function" value=${source.function}
        onChange=${(event: Event) => store.edit((event.target as HTMLSelectElement).value)}>
        ${source.functions.map((name) => html`<option value=${name}>${name}</option>`)}</select>`}
      <button class="wb-button wb-primary" disabled=${!dirty} title="Check the text and go on from it (Ctrl-Enter)"
        onClick=${() => store.apply(editing.now)}>Apply</button>
      <button class="wb-button" title="Look at the step; a changed text is kept as a draft (Esc)" onClick=${store.closeEditor}>Close</button>
      ${dirty && html`<button class="wb-button" title="Throw the changes away" onClick=${store.discard}>Discard</button>`}
      <span class="wb-muted">${dirty ? "changed" : "not changed"}; the steps after this one run again</span>
      ${editing.outdated && html`<span class="wb-chip wb-chip-bad" role="status">begun on an earlier program: what changed there since is not in this text</span>`}
    </div>
    ${refused && html`<${Problem} error=${refused} />`}
    <${Editor} text=${editing.begun} refused=${refused} apply=${store.apply} close=${store.closeEditor}
      changed=${(text: string) => store.typed(text)} />
  </div>`;
}

/** The buttons of a step that can be changed. */
export function StepButtons({ store }: { store: PipelineStore }) {
  const { summary, view } = store;
  if (!view?.editable || !summary || summary.kind === "codegen" || store.editing) return null;
  const removable = !["import", "te", "schedule"].includes(summary.kind) || summary.kind === "edit";
  return html`<span class="wb-group wb-step-buttons">
    <button class="wb-button" ...${asking(store, "Edit the program after this step (e)", () => void store.edit())}>${store.hasDraft(summary.name) ? "Edit the draft" : "Edit"}</button>
    ${removable && html`<button class="wb-button" ...${asking(store, "Run without this step (x)", () => void store.leaveOut())}>Leave out</button>`}
    ${summary.kind !== "edit" && removable && html`<button class="wb-button" aria-expanded=${store.form !== null && !store.form.adds}
      ...${asking(store, "Change the options of this pass", () => store.form ? store.set(() => (store.form = null)) : void store.showOptions())}>Options</button>`}
    <button class="wb-button" aria-expanded=${store.adding !== null} ...${asking(store, "Run a pass after this step (a)", () => void store.choosePass())}>Add a pass</button>
  </span>`;
}

/** The passes that can be put in after the selected step. */
export function PassChooser({ store }: { store: PipelineStore }) {
  const asked = store.form;
  if (asked) {
    const change = (name: string, value: unknown) => store.set(() => (asked.values[name] = value));
    const form = asked.form;
    return html`<div class="wb-edit-head wb-pass-form">
      <span>${form === null ? `${store.summary?.name} has no options.` : asked.adds ? `After ${store.summary?.name}, run ${form.name}` : `Options of ${form.name}`}</span>
      ${form && html`<${Form} primitive=${form} nodes=${[]} values=${asked.values} busy=${false} change=${change} apply=${store.applyOptions} />`}
      <button class="wb-button" onClick=${() => store.set(() => (store.form = null))}>${form ? "Cancel" : "Close"}</button>
    </div>`;
  }
  if (store.adding === null) return null;
  const put = (event: Event) => {
    const name = (event.target as HTMLSelectElement).value;
    if (name) void store.addPass(name);
  };
  return html`<div class="wb-edit-head">
    <label>After ${store.summary?.name}, run <select class="wb-select" aria-label="Pass to add" onChange=${put}>
      <option value="">choose a pass …</option>
      ${store.adding.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>
    <button class="wb-button" onClick=${() => store.set(() => (store.adding = null))}>Cancel</button>
  </div>`;
}

export function UndoButtons({ store }: { store: PipelineStore }) {
  const view = store.view;
  if (!view?.editable) return null;
  return html`<span class="wb-group">
    <button class="wb-button" aria-label="Undo" title="Undo the last change (Ctrl-Z)" disabled=${!view.undo} onClick=${() => store.turn("undo")}>↶</button>
    <button class="wb-button" aria-label="Redo" title="Redo (Ctrl-Shift-Z)" disabled=${!view.redo} onClick=${() => store.turn("redo")}>↷</button>
  </span>`;
}
