// Changing a pipeline: a function's text after a step, the list of passes, undo and redo.
import { useEffect } from "preact/hooks";
import { Editor } from "./editor";
import { Form } from "./form";
import { Problem, asking, html } from "./parts";
import type { PipelineStore } from "./pipeline";
import { say } from "./strings";
import type { ErrorView, SourceView } from "./types";

/** What is being edited: the program's text, the text that editing began with and as it stands, and why the kernel
 * refused it.  A draft is outdated where the program has changed since it was begun (its `base`). */
export interface Editing {
  source: SourceView; begun: string; now: string; base: string; outdated: boolean; refused: ErrorView | null;
  /** The name of its step, by which it is a draft; the steps it is applied to; whether the program has its place no more. */
  label: string; seen: string; gone?: boolean;
  /** Where a pane's text is edited in its place, and not what a step changed: the pane, its layer, the line to begin at. */
  place?: TextPlace;
}
export interface TextPlace { at: 0 | 1; layer: string; line: number }

export function EditPane({ store, editing }: { store: PipelineStore; editing: Editing }) {
  const { source, refused } = editing;
  const dirty = editing.now !== source.text;
  return html`<div class="wb-edit" role="group" aria-label=${say.changes.editProgram}>
    <div class="wb-edit-head">
      ${source.functions.length > 1 && !editing.place && html`<select class="wb-select" aria-label=${say.changes.function} value=${source.function}
        onChange=${(event: Event) => store.edit((event.target as HTMLSelectElement).value)}>
        ${source.functions.map((name) => html`<option value=${name}>${name}</option>`)}</select>`}
      <button class="wb-button wb-primary" disabled=${!dirty || editing.gone} title=${say.changes.applyHelp}
        onClick=${() => store.apply(editing.now)}>${say.common.apply}</button>
      <button class="wb-button" title=${say.changes.closeEditorHelp} onClick=${store.closeEditor}>${say.common.close}</button>
      ${dirty && html`<button class="wb-button" title=${say.changes.discardHelp} onClick=${store.discard}>${say.common.discard}</button>`}
      <span class="wb-muted">${dirty ? say.changes.changed : say.changes.notChanged}</span>
      ${editing.outdated && html`<span class="wb-chip wb-chip-bad" role="status">${say.changes.outdated}</span>`}
    </div>
    ${refused && html`<${Problem} error=${refused} />`}
    <${Editor} text=${editing.begun} line=${editing.place?.line ?? 0} refused=${refused} apply=${store.apply} close=${store.closeEditor}
      changed=${(text: string) => store.typed(text)} />
  </div>`;
}

/** The buttons of a step that can be changed. */
export function StepButtons({ store }: { store: PipelineStore }) {
  const { summary, view } = store;
  if (!view?.editable || !summary || summary.kind === "codegen" || (store.editing && !store.editing.place)) return null;
  if (summary.left_out) return html`<span class="wb-group wb-step-buttons">
    <button class="wb-button" ...${asking(store, say.changes.switchOnHelp, () => void store.leaveOut())}>${say.changes.switchOn}</button></span>`;
  const removable = !["import", "te", "schedule"].includes(summary.kind) || summary.kind === "edit";
  return html`<span class="wb-group wb-step-buttons">
    <button class="wb-button" ...${asking(store, say.changes.editHelp, () => void store.edit())}>${store.hasDraft(summary.name) ? say.changes.editDraft : say.changes.edit}</button>
    ${removable && html`<button class="wb-button" ...${asking(store, say.changes.leaveOutHelp, () => void store.leaveOut())}>${say.changes.leaveOut}</button>`}
    ${summary.kind !== "edit" && removable && html`<button class="wb-button" aria-expanded=${store.form !== null && !store.form.adds}
      ...${asking(store, say.changes.optionsHelp, () => store.form ? store.set(() => (store.form = null)) : void store.showOptions())}>${say.changes.options}</button>`}
    <button class="wb-button" aria-expanded=${store.adding !== null} ...${asking(store, say.changes.addPassHelp, () => void store.choosePass())}>${say.changes.addPass}</button>
  </span>`;
}

/** Why a step failed, and what can be done about it from here. */
export function Failure({ store, error }: { store: PipelineStore; error: ErrorView }) {
  return html`<${Problem} error=${error} />${error.code === "E-EDIT-REBASE" && store.view?.editable && html`<${Losses} store=${store} />`}`;
}

/** What does not apply of changes by hand, and why; then the button that drops it. */
function Losses({ store }: { store: PipelineStore }) {
  useEffect(() => void store.loadLosses(), [store.view]);
  const found = store.losses;
  return html`<div class="wb-losses">
    <button class="wb-button" ...${asking(store, say.changes.rebaseHelp, () => void store.rebase())}>${say.changes.rebase}</button>
    ${found ? html`<ul aria-label=${say.changes.losses}>${found.rows.map(([place, what, why]) => html`<li>${place}: <code>${what}</code>: ${why}</li>`)}
      ${found.more > 0 && html`<li>${say.changes.lossesMore(found.more)}</li>`}</ul>` : html`<div class="wb-wait">…</div>`}</div>`;
}

/** The passes that can be put in after the selected step. */
export function PassChooser({ store }: { store: PipelineStore }) {
  const asked = store.form;
  const step = store.summary?.name ?? "";
  if (asked) {
    const change = (name: string, value: unknown) => store.set(() => (asked.values[name] = value));
    const form = asked.form;
    return html`<div class="wb-edit-head wb-pass-form">
      <span>${form === null ? say.changes.noOptions(step) : asked.adds ? say.changes.afterRunPass(step, form.name) : say.changes.optionsOf(form.name)}</span>
      ${form && html`<${Form} primitive=${form} nodes=${[]} values=${asked.values} busy=${false} change=${change} apply=${store.applyOptions} />`}
      <button class="wb-button" onClick=${() => store.set(() => (store.form = null))}>${form ? say.common.cancel : say.common.close}</button>
    </div>`;
  }
  if (store.adding === null) return null;
  const put = (event: Event) => {
    const name = (event.target as HTMLSelectElement).value;
    if (name) void store.addPass(name);
  };
  return html`<div class="wb-edit-head">
    <label>${say.changes.afterRun(step)} <select class="wb-select" aria-label=${say.changes.passToAdd} onChange=${put}>
      <option value="">${say.changes.choosePass}</option>
      ${store.adding.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>
    <button class="wb-button" onClick=${() => store.set(() => (store.adding = null))}>${say.common.cancel}</button>
  </div>`;
}

export function UndoButtons({ store }: { store: PipelineStore }) {
  const view = store.view;
  if (!view?.editable) return null;
  return html`<span class="wb-group">
    <button class="wb-button" aria-label=${say.changes.undo} title=${say.changes.undoHelp} disabled=${!view.undo} onClick=${() => store.turn("undo")}>↶</button>
    <button class="wb-button" aria-label=${say.changes.redo} title=${say.changes.redoHelp} disabled=${!view.redo} onClick=${() => store.turn("redo")}>↷</button>
  </span>`;
}
