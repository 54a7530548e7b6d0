// Changing a pipeline: a function's text after a step, the list of passes, undo and redo.
import { Editor } from "./editor";
import { Problem, html } from "./parts";
import type { PipelineStore } from "./pipeline";
import type { ErrorView, SourceView } from "./types";

/** What is being edited: the text as it came, the text as it stands, and why the kernel refused it. */
export interface Editing { source: SourceView; now: string; refused: ErrorView | null }

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
      <button class="wb-button" title="Leave the text as it was (Esc)" onClick=${store.closeEditor}>Cancel</button>
      <span class="wb-muted">${dirty ? "changed" : "not changed"}; the steps after this one run again</span>
    </div>
    ${refused && html`<${Problem} error=${refused} />`}
    <${Editor} text=${source.text} refused=${refused} apply=${store.apply} close=${store.closeEditor}
      changed=${(text: string) => store.set(() => (editing.now = text))} />
  </div>`;
}

/** The buttons of a step that can be changed. */
export function StepButtons({ store }: { store: PipelineStore }) {
  const { summary, view } = store;
  if (!view?.editable || !summary || summary.kind === "codegen" || store.editing) return null;
  const removable = !["import", "te", "schedule"].includes(summary.kind) || summary.kind === "edit";
  return html`<span class="wb-group wb-step-buttons">
    <button class="wb-button" title="Edit the program after this step (e)" onClick=${() => store.edit()}>Edit</button>
    ${removable && html`<button class="wb-button" title="Run without this step (x)" onClick=${store.leaveOut}>Leave out</button>`}
    <button class="wb-button" aria-expanded=${store.adding !== null} title="Run a pass after this step (a)"
      onClick=${() => store.choosePass()}>Add a pass</button>
  </span>`;
}

/** The passes that can be put in after the selected step. */
export function PassChooser({ store }: { store: PipelineStore }) {
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
