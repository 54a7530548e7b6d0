// The stepper: the list of steps, and of the selected one its difference, its rewrites or its text to edit.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { DiffPane } from "./diffpane";
import { EditPane, Failure, PassChooser, StepButtons, UndoButtons } from "./edits";
import { onKeys } from "./keys";
import { Keys, Problem, html, milliseconds, reveal, useIds } from "./parts";
import type { PipelineStore } from "./pipeline";
import { useFocus, useStore } from "./store";
import { say } from "./strings";
import type { RewriteView, StepSummary } from "./types";

export function PipelineScreen({ store }: { store: PipelineStore }) {
  useStore(store);
  const keys = onKeys({
    ArrowLeft: () => store.moveRewrite(-1),
    ArrowRight: () => store.moveRewrite(1),
    ArrowUp: () => store.move(-1),
    ArrowDown: () => store.move(1),
    "[": () => store.move(-1),
    "]": () => store.move(1),
    e: () => void store.edit(),
    x: () => void (store.view?.editable && store.leaveOut()),
    a: () => void store.choosePass(),
    "mod+z": () => store.turn("undo"),
    "mod+shift+z": () => store.turn("redo"),
    c: () => store.set(() => (store.onlyChanged = !store.onlyChanged)),
    d: () => store.set(() => (store.split = !store.split)),
    k: store.turnKinds,
    "?": () => store.set(() => (store.help = !store.help)),
  });
  return html`<div class="wb wb-pipeline" data-lm-suppress-shortcuts="true" role="group" aria-label=${say.steps.stepper}
      onKeyDown=${keys}>
    <${Header} store=${store} />
    <div class="wb-columns"><${StepList} store=${store} /><${Detail} store=${store} /></div>
    ${store.help && html`<${Keys} rows=${say.steps.keyRows} close=${() => store.set(() => (store.help = false))} />`}
  </div>`;
}

function Header({ store }: { store: PipelineStore }) {
  const steps = (store.view?.steps ?? []).filter((step) => !step.left_out);
  const total = steps.reduce((sum, step) => sum + step.milliseconds, 0);
  const changed = steps.filter((step) => step.changed).length;
  const waiting = steps.filter((step) => step.pending).length;
  return html`<header class="wb-head">
    <span class="wb-title">${store.view?.title || say.steps.pipeline}</span>
    <span class="wb-muted">${say.steps.summary(steps.length, changed, waiting, milliseconds(total))}</span>
    ${store.busy && html`<span class="wb-busy" role="status">${say.common.kernelBusy}</span>`}
    <span class="wb-space"></span>
    ${store.view?.call && html`<code class="wb-call" title=${say.steps.lastCallHelp}>${store.view.call}</code>`}
    <${UndoButtons} store=${store} />
    <button class="wb-button" aria-pressed=${store.onlyChanged} title=${say.steps.onlyChangedHelp}
      onClick=${() => store.set(() => (store.onlyChanged = !store.onlyChanged))}>${say.steps.onlyChanged}</button>
    <button class="wb-button" aria-pressed=${store.split} title=${say.steps.columnsHelp}
      onClick=${() => store.set(() => (store.split = !store.split))}>${say.steps.columns}</button>
    <span class="wb-group">
      <button class="wb-button" aria-label=${say.steps.previous} title=${say.steps.previousHelp} onClick=${() => store.move(-1)}>↑</button>
      <button class="wb-button" aria-label=${say.steps.next} title=${say.steps.nextHelp} onClick=${() => store.move(1)}>↓</button>
    </span>
    <button class="wb-button" aria-label=${say.common.keys} title=${say.common.keysHelp} onClick=${() => store.set(() => (store.help = !store.help))}>?</button>
  </header>`;
}

export function StepList({ store }: { store: PipelineStore }) {
  const list = useRef<HTMLDivElement>(null);
  const ids = useIds();
  useFocus(store, list);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [store.selected, store.onlyChanged]);
  const slowest = Math.max(1e-6, ...(store.view?.steps ?? []).map((step) => step.milliseconds));
  let heading = "";
  const items = store.steps_shown.map((step) => {
    const title = [say.steps.kinds[step.kind] ?? step.kind, step.group].filter(Boolean).join(" · ");
    const opens = title !== heading;
    heading = title;
    return html`${opens && html`<div class="wb-heading" role="presentation">${title}</div>`}
      <${Item} key=${step.id} id=${ids(step.id)} step=${step} store=${store} share=${step.milliseconds / slowest} />`;
  });
  return html`<div class="wb-steps"><${Search} store=${store} list=${list} />
    <div class="wb-list" role="listbox" aria-label=${say.steps.list} tabindex="0" ref=${list}
    aria-activedescendant=${store.selected ? ids(store.selected) : undefined}>${items}</div></div>`;
}

/** One field that keeps the steps whose name, or the name of a rule that fired in them, has a word in it. */
function Search({ store, list }: { store: PipelineStore; list: { current: HTMLElement | null } }) {
  const found = store.steps_shown;
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Escape" && event.key !== "Enter") return;
    event.stopPropagation();
    event.preventDefault();
    if (event.key === "Escape") store.set(() => (store.sought = ""));
    else if (found[0]) store.select(found[0].id);
    list.current?.focus({ preventScroll: true });
  };
  const rewrites = found.reduce((sum, step) => sum + store.hits(step), 0);
  return html`<div class="wb-find" role="search">
    <input class="wb-field" type="text" aria-label=${say.steps.find} placeholder=${say.steps.findExample} title=${say.steps.findHelp}
      spellcheck=${false} value=${store.sought} onKeyDown=${keys}
      onInput=${(event: Event) => store.set(() => (store.sought = (event.target as HTMLInputElement).value))} />
    ${store.verdicts && !store.sought && html`<button class="wb-link" title=${say.steps.verifyHelp} onClick=${() => void store.verify()}>${say.steps.verify}</button>`}
    ${store.sought.trim() && html`<span class="wb-muted" role="status">${say.steps.found(found.length, store.view?.steps.length ?? 0, rewrites)}</span>`}
  </div>`;
}

/** What the verifier says of a step. */
function Verdict({ store, id }: { store: PipelineStore; id: string }) {
  const found = store.verdicts?.get(id);
  if (!found || store.summary?.error) return null;
  if (found.count === 0) return html`<span class="wb-chip" title=${say.steps.verified(found.functions)}>✓ ${say.steps.wellFormed}</span>`;
  return html`<details class="wb-ill" open><summary>✗ ${say.steps.illFormedBy(found.count)}</summary><ul>${found.problems.map((one) => html`<li>${one}</li>`)}</ul></details>`;
}

function Item({ step, store, share, id }: { step: StepSummary; store: PipelineStore; share: number; id: string }) {
  const delta = step.ops_after - step.ops_before;
  const badge = step.left_out ? undefined : store.badges.get(step.name);
  const verdict = step.error ? undefined : store.verdicts?.get(step.id); // of a step that failed, it is the program before
  const state = step.left_out ? "left-out" : step.pending ? "pending" : step.error ? "error" : step.changed ? "changed" : "same";
  const words = { "left-out": say.steps.leftOut, pending: step.note === say.steps.notRunYet ? step.note : say.steps.inPart, error: say.steps.failed, changed: say.steps.changedProgram, same: say.steps.changedNothing }[state];
  return html`<div id=${id} class=${`wb-item wb-is-${state}`} role="option" title=${step.note ? `${step.name}: ${step.note}` : step.name}
      aria-selected=${step.id === store.selected} onClick=${() => store.select(step.id)}>
    <span class="wb-dot" aria-hidden="true"></span>
    <span class="wb-name">${step.left_out ? html`<s>${step.name}</s>` : step.name}</span><span class="wb-hidden"> (${words})</span>
    ${!step.left_out && store.hasDraft(step.name) && html`<span class="wb-draft" title=${say.steps.draftHelp}>●<span class="wb-hidden"> ${say.steps.draft}</span></span>`}
    ${badge && html`<span class=${`wb-check-mark wb-v-${badge.verdict.replace(" ", "-")}`} title=${say.steps.checkedHelp(badge.verdict)}><span class="wb-glyph" aria-hidden="true">${badge.glyph}</span><span class="wb-hidden"> ${say.steps.checked(badge.verdict)}</span></span>`}
    ${verdict && html`<span class=${verdict.count ? "wb-bad" : "wb-muted"} title=${verdict.count ? verdict.problems[0] : say.steps.wellFormed}><span aria-hidden="true">${verdict.count ? "✗" : "✓"}</span><span class="wb-hidden"> ${verdict.count ? say.steps.illFormed : say.steps.wellFormed}</span></span>`}
    ${delta !== 0 && html`<span class="wb-delta">${delta > 0 ? "+" : "−"}${Math.abs(delta)}<span class="wb-hidden"> ${say.steps.operations}</span></span>`}
    ${step.left_out ? html`<span class="wb-time" aria-hidden="true">${words}</span>` : html`<span class="wb-time">${step.pending ? (words === say.steps.inPart ? "◐" : "") : step.milliseconds === 0 ? "" : milliseconds(step.milliseconds)}</span>
    <span class="wb-bar" aria-hidden="true" style=${{ width: `${Math.round(share * 52)}px` }}></span>`}
  </div>`;
}

/** The selected step and what it changed; `made`: what is shown in the place of a difference, with its Python. */
export function Detail({ store, made, call }: { store: PipelineStore; made?: unknown; call?: string }) {
  const { summary, step, rewrite } = store;
  const kinds = store.kinds;
  const target = kinds === undefined ? undefined : kinds ?? (store.rewriteIndex === null ? step?.shown : rewrite?.shown);
  const editing = store.editing?.place ? null : store.editing;
  const box = useRef<HTMLElement>(null);
  useLayoutEffect(() => { // a rewrite that was chosen elsewhere: where there is little room, its difference is what is in sight
    const own = box.current?.querySelector(".wb-rewrites");
    if (store.rewriteIndex !== null && own && !own.contains(document.activeElement)) reveal(box.current, box.current?.querySelector(".wb-diff"));
  }, [store.selected, store.rewriteIndex, target]);
  return html`<section class="wb-detail" aria-label=${say.steps.selected} ref=${box}>
    ${summary && html`<div class="wb-step-head">
      <span class="wb-step-name">${summary.name}</span>
      <span class="wb-muted">${facts(summary)}</span>
      ${store.hasKinds && !store.editing && html`<button class="wb-button" aria-pressed=${kinds !== null} title=${say.changes.byKindHelp}
        onClick=${store.turnKinds}>${say.changes.byKind}</button>`}
      <${StepButtons} store=${store} />
      <${Verdict} store=${store} id=${summary.id} />
      ${(made ? call : step?.call) && html`<code class="wb-call" title=${say.common.samePython}>${made ? call : step!.call}</code>`}
    </div>`}
    ${store.problem && html`<${Problem} error=${store.problem} close=${() => store.set(() => (store.problem = null))} />`}
    ${summary?.error && html`<${Failure} store=${store} error=${summary.error} />`}
    <${PassChooser} store=${store} />
    ${!editing && (summary?.rewrite_count ?? 0) > 0 && html`<${Rewrites} store=${store} count=${summary!.rewrite_count} />`}
    ${editing
      ? html`<${EditPane} store=${store} editing=${editing} />`
      : made ? made
      : target
      ? html`<${DiffPane} key=${`${store.selected}/${store.rewriteIndex}/${kinds !== null}`} rows=${target.rows} split=${store.split} language=${step?.language ?? "python"} seen=${store.seen}
          open=${store.unfold} />`
      : html`<div class="wb-wait">${store.view && !summary ? say.steps.none : summary?.left_out ? say.steps.leftOutHere : store.computing ? say.steps.computing : "…"}</div>`}
  </section>`;
}

function facts(step: StepSummary): string {
  if (step.pending || step.left_out) return step.note;
  const ops = step.ops_before === step.ops_after ? say.steps.ops(step.ops_after) : say.steps.opsChanged(step.ops_before, step.ops_after);
  const parts = [step.functions ? say.steps.inFunctions(ops, step.functions) : ops, step.milliseconds === 0 ? "" : milliseconds(step.milliseconds)]; // of some steps no time is known
  if (step.rewrite_count) parts.splice(1, 0, say.steps.rewrites(step.rewrite_count));
  if (!step.changed && !step.error) parts.unshift(say.steps.changedNothing);
  return [...parts, step.note].filter(Boolean).join(" · ");
}

function Rewrites({ store, count }: { store: PipelineStore; count: number }) {
  const index = store.rewriteIndex;
  const rule = index === null ? undefined : (store.rewrite?.rewrite ?? store.step?.rewrites[index]);
  const go = (value: number) => store.select(store.selected, value < 0 ? null : value);
  return html`<div class="wb-rewrites">
    <div class="wb-scrub">
      <button class="wb-button" aria-label=${say.steps.previousRewrite} title=${say.steps.previousRewriteHelp} disabled=${index === null}
        onClick=${() => store.moveRewrite(-1)}>←</button>
      <input type="range" min="-1" max=${count - 1} value=${index ?? -1} aria-label=${say.steps.rewrite}
        aria-valuetext=${index === null ? say.steps.wholeStep : say.steps.rewriteOf(index + 1, count)}
        onInput=${(event: Event) => go(Number((event.target as HTMLInputElement).value))} />
      <button class="wb-button" aria-label=${say.steps.nextRewrite} title=${say.steps.nextRewriteHelp} disabled=${index === count - 1}
        onClick=${() => store.moveRewrite(1)}>→</button>
      <span class="wb-count" aria-live="polite">${index === null ? say.steps.wholeStepOf(count) : say.steps.rewriteOf(index + 1, count)}</span>
    </div>
    ${rule && html`<div class="wb-rule">
      <span class="wb-rule-name">${rule.rule}</span>
      <span class="wb-source">${rule.source}</span>
      ${rule.where && html`<span class="wb-muted">${say.steps.at(rule.where)}</span>`}
      <span class="wb-muted">${milliseconds(rule.microseconds / 1000)}</span>
    </div>`}
    ${rule && store.rewrite && html`<${Why} view=${store.rewrite} />`}
  </div>`;
}

function Why({ view }: { view: RewriteView }) {
  if (!view.why && view.bindings.length === 0 && !view.rule_text) return null;
  return html`<div class="wb-why">
    ${view.why && html`<div>${view.why}</div>`}
    ${view.bindings.length > 0 && html`<dl class="wb-bindings">
      ${view.bindings.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`}
    ${view.rule_text && html`<details><summary>${say.steps.rule}</summary><pre>${view.rule_text}</pre></details>`}
  </div>`;
}
