// The pane of badges: a row for each step; below a wrong one its first wrong tensor, its first wrong rewrite, the test.
import { useEffect, useRef } from "preact/hooks";
import type { BadgeView, ChecksStore, NarrowedView, TensorView } from "./checks";
import { onKeys } from "./keys";
import { Problem, html, plural } from "./parts";
import { useStore } from "./store";

const TITLES: Record<string, string> = { graph: "Graph", loops: "Loops", native: "Native code" };
const WORDS: Record<string, string> = {
  waiting: "waiting", running: "being computed", right: "right", same: "changes nothing", carried: "keeps an earlier error",
  covered: "covered by native code", wrong: "wrong", failed: "failed", "not checked": "not checked",
};

/** Inside of a screen that has its own frame, or alone. */
export function ChecksPane({ store, inside = false }: { store: ChecksStore; inside?: boolean }) {
  useStore(store);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [store.selected]);
  const view = store.view;
  const keys = onKeys({ ArrowUp: () => store.walk(-1), ArrowDown: () => store.walk(1) });
  const wrong = view?.badges.filter((badge) => badge.verdict === "wrong" || badge.verdict === "failed").length ?? 0;
  return html`<div class=${inside ? "wb-checks wb-inside" : "wb wb-checks"} data-lm-suppress-shortcuts="true" role="group" aria-label="Checks" aria-busy=${store.running}
      onKeyDown=${inside ? undefined : keys}>
    <header class="wb-head">
      ${!inside && html`<span class="wb-title">Checks</span>`}
      <span class="wb-muted" role="status">${view ? `${told(view.state)} · ${view.known} of ${plural(view.badges.length, "step")}${wrong ? ` · ${wrong} wrong` : ""}` : ""}</span>
      ${view?.inputs && html`<span class="wb-muted" title="screen.inputs = {…} in a cell gives others">on ${view.inputs}</span>`}
      <span class="wb-space"></span>
      ${view?.state === "running"
        ? html`<button class="wb-button" onClick=${store.cancel}>Cancel</button>`
        : html`<button class="wb-button" disabled=${store.running} onClick=${store.start}>${view?.state === "none" ? "Check" : "Check again"}</button>`}
    </header>
    ${(store.problem ?? view?.error) && html`<${Problem} error=${store.problem ?? view?.error} />`}
    <div class="wb-columns">
      <div class="wb-badges" role="listbox" aria-label="Steps" tabindex="0" ref=${list}
          aria-activedescendant=${store.selected ? rowId(store.selected) : undefined}>
        ${(view?.badges ?? []).map((badge, i, all) => html`
          ${badge.group && badge.group !== all[i - 1]?.group && html`<div class="wb-heading" role="presentation">${TITLES[badge.group] ?? badge.group}</div>`}
          <${Row} key=${badge.step} badge=${badge} store=${store} />`)}
      </div>
      <${Detail} store=${store} />
    </div>
  </div>`;
}

const rowId = (step: string) => `wb-check-${step}`;

function told(state: string): string {
  return { none: "not checked yet", running: "checking", done: "checked", cancelled: "cancelled", failed: "the check failed" }[state] ?? state;
}

function Row({ badge, store }: { badge: BadgeView; store: ChecksStore }) {
  return html`<div class=${`wb-badge wb-v-${badge.verdict.replace(" ", "-")}`} id=${rowId(badge.step)} role="option"
      aria-selected=${badge.step === store.selected} onClick=${() => store.select(badge.step)}>
    <span class="wb-glyph" aria-hidden="true">${badge.glyph}</span>
    <span class="wb-name">${badge.step}</span>
    <span class="wb-verdict">${WORDS[badge.verdict] ?? badge.verdict}</span>
    <span class="wb-muted">${badge.text}</span>
  </div>`;
}

function Detail({ store }: { store: ChecksStore }) {
  const badge = store.badge;
  if (!badge) return html`<div class="wb-check-detail wb-muted">${store.view?.state === "done" && !store.view.first_wrong
    ? "Every step computes what the imported model does." : "Choose a step."}</div>`;
  const found = store.narrowed;
  const busy = store.view?.narrowing === badge.step;
  return html`<section class="wb-check-detail" aria-label=${`Check of ${badge.step}`}>
    <h4>${badge.step}: ${WORDS[badge.verdict] ?? badge.verdict}
      ${store.onShow && html` <button class="wb-link" onClick=${() => store.onShow!(badge.step, null)}>what it changed</button>`}</h4>
    ${badge.note && html`<p>${badge.note}</p>`}
    ${badge.tensor && html`<${Tensor} title="First wrong tensor" tensor=${badge.tensor} />`}
    ${badge.verdict === "wrong" && html`<p class="wb-check-actions">
      ${!found && html`<button class="wb-button wb-primary" disabled=${busy || store.running} onClick=${() => store.narrow(badge.step)}>
        ${busy ? "Looking …" : "Find the first wrong rewrite"}</button>`}
      <button class="wb-button" disabled=${store.running} onClick=${() => store.save(badge.step)}>${store.view?.saving === badge.step ? "Writing …" : "Save the test"}</button>
      ${store.view?.saved && html`<span role="status">written: <code>${store.view.saved}</code></span>`}</p>`}
    ${found && html`<${Found} found=${found} store=${store} />`}
  </section>`;
}

function Tensor({ title, tensor }: { title: string; tensor: TensorView }) {
  return html`<h5>${title}</h5><dl class="wb-bindings">
    <dt>made by</dt><dd>${tensor.place}</dd>
    <dt>element</dt><dd>${tensor.element}</dd>
    <dt>found</dt><dd>${tensor.found}</dd>
    <dt>expected</dt><dd>${tensor.expected}${tensor.ulp && ` (${tensor.ulp} units in the last place away)`}</dd>
    <dt>wrong</dt><dd>${tensor.wrong.toLocaleString("en")} of ${plural(tensor.size, "element")}</dd>
    ${tensor.note && html`<dt>note</dt><dd>${tensor.note}</dd>`}</dl>`;
}

function Found({ found, store }: { found: NarrowedView; store: ChecksStore }) {
  const lines = [...found.before.map((line) => ["wb-del", "−", line]), ...found.after.map((line) => ["wb-add", "+", line])];
  return html`<div class="wb-found" role="group" aria-label="What is wrong">
    <h5>${found.text}</h5>
    <div><code class="wb-rule-name">${found.rule}</code> <span class="wb-source">${found.source}</span>
      ${store.onShow && found.kind === "rewrite" && html` <button class="wb-link" onClick=${() => store.onShow!(found.step, found.number)}>in the program</button>`}</div>
    ${found.why && html`<p>${found.why}</p>`}
    ${lines.length > 0 && html`<div class="wb-diff" tabindex="0" aria-label="Before and after">${lines.map(([kind, sign, line]) =>
      html`<div class=${`wb-row ${kind}`}><span class="wb-sign">${sign}</span><span class="wb-line">${line}</span></div>`)}</div>`}
    <p class="wb-muted">It makes a difference of ${found.error}.</p>
  </div>`;
}
