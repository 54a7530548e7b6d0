// The exercise that a schedule is an answer to: its checks as they hold now, hints, handing in.
import { useEffect } from "preact/hooks";
import { Problem, html } from "./parts";
import { BaseStore, useStore } from "./store";

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

export function ExercisePane({ store }: { store: ExerciseStore }) {
  useStore(store);
  useEffect(() => void store.ask(), [store]);
  const { view } = store;
  if (!view) return html`<div class="wb-wait">${store.problem ? html`<${Problem} error=${store.problem} />` : "…"}</div>`;
  return html`<div class="wb-values wb-exercise" role="group" aria-label=${`Exercise ${view.id}`}>
    <div class="wb-values-head"><strong>${view.id} ${view.title}</strong>
      <span role="status" class=${view.passed ? "wb-passed" : ""}>${view.passed ? "✓ solved" : "not solved yet"}: ${view.points} of ${view.total} points</span>
      <span class="wb-space"></span>
      <button class="wb-button" disabled=${!view.more} title="A hint for what fails first; each says more than the one before" onClick=${() => void store.ask("hint")}>Hint</button>
      <button class="wb-button wb-primary" title="Write the answer's file, which is what is graded" onClick=${() => void store.ask("submit")}>Submit</button></div>
    ${store.problem && html`<${Problem} error=${store.problem} />`}
    <p>${view.goal} <span class="wb-muted">${Object.entries(view.shapes).map(([name, extent]) => `${name} = ${extent}`).join(", ")}</span></p>
    ${view.refused && html`<p class="wb-bad">${view.refused}</p>`}
    <ul aria-label="Checks" class="wb-checklist">${view.checks.map((check) => html`<li class=${check.passed ? "wb-passed" : ""}>
      <span aria-hidden="true">${check.passed ? "✓" : "✗"}</span><span class="wb-hidden">${check.passed ? "holds: " : "does not hold: "}</span>
      <span>${check.name}</span> <span class="wb-muted">${check.points ? `${check.points} point${check.points > 1 ? "s" : ""}` : "a must"}${!check.passed && check.reason ? `: ${check.reason}` : ""}</span></li>`)}</ul>
    ${view.hints.length > 0 && html`<ol aria-label="Hints">${view.hints.map((hint) => html`<li><span class="wb-hint">${hint}</span></li>`)}</ol>`}
    ${view.written && html`<p role="status">Written to ${view.written}</p>`}
  </div>`;
}
