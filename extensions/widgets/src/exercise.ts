// The exercise that a schedule is an answer to: its checks as they hold now, hints, handing in.
import { useEffect } from "preact/hooks";
import { Problem, html } from "./parts";
import { BaseStore, useStore } from "./store";
import { say } from "./strings";

interface ExerciseView {
  id: string; title: string; goal: string; shapes: Record<string, number>; points: number; total: number; passed: boolean;
  checks: { name: string; points: number; passed: boolean; reason: string }[]; refused: string; hints: string[]; more: boolean; written: string;
}

export class ExerciseStore extends BaseStore {
  view: ExerciseView | null = null;
  private begun = false;

  ask = (op = "open"): Promise<void> => this.attempt(async () => {
    this.begun = true;
    this.set(() => (this.problem = null));
    const view = (await this.connection.request(`exercise.${op}`)).view as ExerciseView;
    this.set(() => (this.view = view));
  });

  /** The schedule may have moved. */
  follow(): void {
    if (this.begun) void this.ask();
  }
}

/** A text with what stands between backticks as code. */
function words(text: string) {
  return text.split("`").map((part, i) => (i % 2 ? html`<code>${part}</code>` : part));
}

export function ExercisePane({ store }: { store: ExerciseStore }) {
  useStore(store);
  useEffect(() => void store.ask(), [store]);
  const { view } = store;
  if (!view) return html`<div class="wb-wait">${store.problem ? html`<${Problem} error=${store.problem} />` : "…"}</div>`;
  return html`<div class="wb-values wb-exercise" role="group" aria-label=${say.exercise.name(view.id)}>
    <div class="wb-values-head"><strong>${view.id} ${view.title}</strong>
      <span role="status" class=${view.passed ? "wb-passed" : ""}>${view.passed ? say.exercise.solved(view.points, view.total) : say.exercise.notSolved(view.points, view.total)}</span>
      <span class="wb-space"></span>
      <button class="wb-button" disabled=${!view.more} title=${say.exercise.hintHelp} onClick=${() => void store.ask("hint")}>${say.exercise.hint}</button>
      <button class="wb-button wb-primary" title=${say.exercise.submitHelp} onClick=${() => void store.ask("submit")}>${say.exercise.submit}</button></div>
    ${store.problem && html`<${Problem} error=${store.problem} />`}
    <p>${words(view.goal)} <span class="wb-muted">${Object.entries(view.shapes).map(([name, extent]) => `${name} = ${extent}`).join(", ")}</span></p>
    ${view.refused && html`<p class="wb-bad">${view.refused}</p>`}
    <ul aria-label=${say.exercise.checks} class="wb-checklist">${view.checks.map((check) => html`<li class=${check.passed ? "wb-passed" : ""}>
      <span aria-hidden="true">${check.passed ? "✓" : "✗"}</span><span class="wb-hidden">${check.passed ? say.exercise.holds : say.exercise.holdsNot}</span>
      <span>${words(check.name)}</span> <span class="wb-muted">${check.points ? say.exercise.points(check.points) : say.exercise.must}${!check.passed && check.reason ? `: ${check.reason}` : ""}</span></li>`)}</ul>
    ${view.hints.length > 0 && html`<ol aria-label=${say.exercise.hints}>${view.hints.map((hint) => html`<li><span class="wb-hint">${words(hint)}</span></li>`)}</ol>`}
    ${view.written && html`<p role="status">${say.exercise.written(view.written)}</p>`}
  </div>`;
}
