// The pane of badges: a row for each step; below a wrong one its first wrong tensor, its first wrong rewrite, the test.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { BadgeView, ChecksStore, NarrowedView, TensorView } from "./checks";
import { onKeys } from "./keys";
import { Problem, html, reveal, useIds } from "./parts";
import { useStore } from "./store";
import { say } from "./strings";

/** Inside of a screen that has its own frame, or alone. */
export function ChecksPane({ store, inside = false }: { store: ChecksStore; inside?: boolean }) {
  useStore(store);
  const list = useRef<HTMLDivElement>(null);
  const ids = useIds();
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [store.selected]);
  const view = store.view;
  const keys = onKeys({ ArrowUp: () => store.walk(-1), ArrowDown: () => store.walk(1) });
  const wrong = view?.badges.filter((badge) => badge.verdict === "wrong" || badge.verdict === "failed").length ?? 0;
  return html`<div class=${inside ? "wb-checks wb-inside" : "wb wb-checks"} data-lm-suppress-shortcuts="true" role="group" aria-label=${say.checks.title} aria-busy=${store.running}
      onKeyDown=${inside ? undefined : keys}>
    <header class="wb-head">
      ${!inside && html`<span class="wb-title">${say.checks.title}</span>`}
      <span class="wb-muted" role="status">${view ? say.checks.progress(say.checks.states[view.state] ?? view.state, view.known, view.badges.length, wrong) : ""}</span>
      ${view?.inputs && html`<span class="wb-muted" title=${say.checks.inputsHelp}>${say.checks.inputs(view.inputs)}</span>`}
      <span class="wb-space"></span>
      ${view?.state === "running"
        ? html`<button class="wb-button" onClick=${store.cancel}>${say.common.cancel}</button>`
        : html`<button class="wb-button" disabled=${store.running} onClick=${store.start}>${view?.state === "none" ? say.checks.check : say.checks.again}</button>`}
    </header>
    ${(store.problem ?? view?.error) && html`<${Problem} error=${store.problem ?? view?.error} />`}
    <div class="wb-columns">
      <div class="wb-badges" role="listbox" aria-label=${say.checks.steps} tabindex="0" ref=${list}
          aria-activedescendant=${store.selected ? ids(store.selected) : undefined}>
        ${(view?.badges ?? []).map((badge, i, all) => html`
          ${badge.group && badge.group !== all[i - 1]?.group && html`<div class="wb-heading" role="presentation">${say.checks.groups[badge.group] ?? badge.group}</div>`}
          <${Row} key=${badge.step} id=${ids(badge.step)} badge=${badge} store=${store} />`)}
      </div>
      <${Detail} store=${store} />
    </div>
  </div>`;
}

const verdict = (badge: BadgeView) => (badge.since ? say.checks.wrongSince(badge.since) : say.checks.verdicts[badge.verdict] ?? badge.verdict);

function Row({ badge, store, id }: { badge: BadgeView; store: ChecksStore; id: string }) {
  return html`<div class=${`wb-badge wb-v-${badge.verdict.replace(" ", "-")}`} id=${id} role="option"
      aria-selected=${badge.step === store.selected} onClick=${() => store.select(badge.step)}>
    <span class="wb-glyph" aria-hidden="true">${badge.glyph}</span>
    <span class="wb-name">${badge.step}</span>
    <span class="wb-verdict">${verdict(badge)}</span>
    <span class="wb-muted">${badge.text}</span>
  </div>`;
}

function Detail({ store }: { store: ChecksStore }) {
  const badge = store.badge;
  const box = useRef<HTMLElement>(null);
  const answer = store.narrowed;
  useLayoutEffect(() => reveal(box.current, box.current?.querySelector(".wb-found")), [badge?.step, answer]);
  if (!badge) return html`<div class="wb-check-detail wb-muted">${store.view?.state === "done" && !store.view.first_wrong
    ? say.checks.everyStepRight : say.checks.choose}</div>`;
  const found = answer;
  const busy = store.view?.narrowing === badge.step;
  return html`<section class="wb-check-detail" aria-label=${say.checks.badge(badge.step)} ref=${box}>
    <h4>${badge.since ? say.checks.between(badge.since, badge.step) : say.checks.verdict(badge.step, verdict(badge))}
      ${store.onShow && html` <button class="wb-link" onClick=${() => store.onShow!(badge.step, null)}>${say.checks.whatChanged}</button>`}</h4>
    ${badge.note && html`<p>${badge.note}</p>`}
    ${store.onShow && badge.suspects.length > 0 && html`<p>${badge.suspects.map((step) => html`<button class="wb-link" onClick=${() => store.onShow!(step, null)}>${say.checks.suspect(step)}</button> `)}</p>`}
    ${badge.verdict === "wrong" && html`<p class="wb-check-actions">
      ${!found && html`<button class="wb-button wb-primary" disabled=${busy || store.running} onClick=${() => store.narrow(badge.step)}>
        ${busy ? say.checks.looking : say.checks.narrow}</button>`}
      <button class="wb-button" disabled=${store.running} onClick=${() => store.save(badge.step)}>${store.view?.saving === badge.step ? say.checks.writing : say.checks.save}</button>
      ${store.view?.saved && html`<span role="status">${say.checks.saved} <code>${store.view.saved}</code></span>`}</p>`}
    ${found && html`<${Found} found=${found} store=${store} />`}
    ${badge.tensor && html`<${Tensor} title=${say.checks.firstWrongTensor} tensor=${badge.tensor} />`}
  </section>`;
}

function Tensor({ title, tensor }: { title: string; tensor: TensorView }) {
  return html`<h5>${title}</h5><dl class="wb-bindings">
    <dt>${say.checks.madeBy}</dt><dd>${tensor.place}</dd>
    <dt>${say.checks.element}</dt><dd>${tensor.element}</dd>
    <dt>${say.checks.found}</dt><dd>${tensor.found}</dd>
    <dt>${say.checks.expected}</dt><dd>${say.checks.expectedValue(tensor.expected, tensor.ulp)}</dd>
    <dt>${say.checks.wrong}</dt><dd>${say.checks.wrongElements(tensor.wrong, tensor.size)}</dd>
    ${tensor.note && html`<dt>${say.checks.note}</dt><dd>${tensor.note}</dd>`}</dl>`;
}

function Found({ found, store }: { found: NarrowedView; store: ChecksStore }) {
  const lines = [...found.before.map((line) => ["wb-del", "−", line]), ...found.after.map((line) => ["wb-add", "+", line])];
  return html`<div class="wb-found" role="group" aria-label=${say.checks.whatIsWrong}>
    <h5>${found.text}</h5>
    <div><code class="wb-rule-name">${found.rule}</code> <span class="wb-source">${found.source}</span>
      ${store.onShow && found.kind === "rewrite" && html` <button class="wb-link" onClick=${() => store.onShow!(found.step, found.number)}>${say.checks.inProgram}</button>`}</div>
    ${found.why && html`<p>${found.why}</p>`}
    ${lines.length > 0 && html`<div class="wb-diff" tabindex="0" aria-label=${say.checks.beforeAndAfter}>${lines.map(([kind, sign, line]) =>
      html`<div class=${`wb-row ${kind}`}><span class="wb-sign">${sign}</span><span class="wb-line">${line}</span></div>`)}</div>`}
    <p class="wb-muted">${say.checks.difference(found.error)}</p>
  </div>`;
}
