// The stepper: the list of steps, and of the selected one its difference, its rewrites or its text to edit.
import { useEffect, useRef } from "preact/hooks";
import { DiffPane } from "./diffpane";
import { EditPane, PassChooser, StepButtons, UndoButtons } from "./edits";
import { onKeys } from "./keys";
import { Keys, Problem, html, milliseconds, plural } from "./parts";
import type { PipelineStore } from "./pipeline";
import { useFocus, useStore } from "./store";
import type { RewriteView, StepSummary } from "./types";

const KIND_NAMES: Record<string, string> = {
  import: "Import", relay: "Relay", te: "Tensor expressions", schedule: "Schedule", tune: "Tuning", tir: "Loops (TIR)",
  codegen: "Code", run: "Run", edit: "Edits by hand",
};

const KEY_ROWS: [string, string][] = [
  ["← →", "previous, next rewrite inside the step"],
  ["[ ]", "previous, next step"],
  ["↑ ↓", "move in the list of steps"],
  ["e", "edit the program after this step"],
  ["x", "run without this step"],
  ["a", "add a pass after this step"],
  ["Ctrl-Z Ctrl-Shift-Z", "undo, redo a change"],
  ["c", "only steps that changed the program"],
  ["d", "one column or two"],
  ["?", "this sheet"],
  ["Esc", "back to the notebook"],
];

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
    "?": () => store.set(() => (store.help = !store.help)),
  });
  return html`<div class="wb wb-pipeline" data-lm-suppress-shortcuts="true" role="group" aria-label="Pipeline stepper"
      onKeyDown=${keys}>
    <${Header} store=${store} />
    <div class="wb-columns"><${StepList} store=${store} /><${Detail} store=${store} /></div>
    ${store.help && html`<${Keys} rows=${KEY_ROWS} close=${() => store.set(() => (store.help = false))} />`}
  </div>`;
}

function Header({ store }: { store: PipelineStore }) {
  const steps = store.view?.steps ?? [];
  const total = steps.reduce((sum, step) => sum + step.milliseconds, 0);
  const changed = steps.filter((step) => step.changed).length;
  const waiting = steps.filter((step) => step.pending).length;
  return html`<header class="wb-head">
    <span class="wb-title">${store.view?.title || "Pipeline"}</span>
    <span class="wb-muted">${plural(steps.length, "step")} · ${changed} changed the program${waiting ? ` · ${waiting} not run yet` : ""} · ${milliseconds(total)}</span>
    ${store.busy && html`<span class="wb-busy" role="status">kernel busy</span>`}
    <span class="wb-space"></span>
    ${store.view?.call && html`<code class="wb-call" title="The last change in Python">${store.view.call}</code>`}
    <${UndoButtons} store=${store} />
    <button class="wb-button" aria-pressed=${store.onlyChanged} title="Only steps that changed the program (c)"
      onClick=${() => store.set(() => (store.onlyChanged = !store.onlyChanged))}>Only changed</button>
    <button class="wb-button" aria-pressed=${store.split} title="One column or two (d)"
      onClick=${() => store.set(() => (store.split = !store.split))}>Side by side</button>
    <span class="wb-group">
      <button class="wb-button" aria-label="Previous step" title="Previous step ([)" onClick=${() => store.move(-1)}>↑</button>
      <button class="wb-button" aria-label="Next step" title="Next step (])" onClick=${() => store.move(1)}>↓</button>
    </span>
    <button class="wb-button" aria-label="Keys" title="Keys (?)" onClick=${() => store.set(() => (store.help = !store.help))}>?</button>
  </header>`;
}

export function StepList({ store }: { store: PipelineStore }) {
  const list = useRef<HTMLDivElement>(null);
  useFocus(store, list);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [store.selected, store.onlyChanged]);
  const slowest = Math.max(1e-6, ...(store.view?.steps ?? []).map((step) => step.milliseconds));
  let heading = "";
  const items = store.steps_shown.map((step) => {
    const title = [KIND_NAMES[step.kind] ?? step.kind, step.group].filter(Boolean).join(" · ");
    const opens = title !== heading;
    heading = title;
    return html`${opens && html`<div class="wb-heading" role="presentation">${title}</div>`}
      <${Item} key=${step.id} step=${step} store=${store} share=${step.milliseconds / slowest} />`;
  });
  return html`<div class="wb-steps"><${Search} store=${store} list=${list} />
    <div class="wb-list" role="listbox" aria-label="Steps" tabindex="0" ref=${list}
    aria-activedescendant=${store.selected ? itemId(store.selected) : undefined}>${items}</div></div>`;
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
    <input class="wb-field" type="text" aria-label="Find steps" placeholder="pass or rule" title="Find passes and rewrites by name (Esc clears)"
      spellcheck=${false} value=${store.sought} onKeyDown=${keys}
      onInput=${(event: Event) => store.set(() => (store.sought = (event.target as HTMLInputElement).value))} />
    ${store.verdicts && !store.sought && html`<button class="wb-link" title="Ask the verifier whether the program after every step is well-formed" onClick=${() => void store.verify()}>Verify</button>`}
    ${store.sought.trim() && html`<span class="wb-muted" role="status">${found.length} of ${plural(store.view?.steps.length ?? 0, "step")}${rewrites ? `, ${plural(rewrites, "rewrite")}` : ""}</span>`}
  </div>`;
}

/** What the verifier says of a step. */
function Verdict({ store, id }: { store: PipelineStore; id: string }) {
  const found = store.verdicts?.get(id);
  if (!found || store.summary?.error) return null;
  if (found.count === 0) return html`<span class="wb-chip" title=${`The verifier looked at ${plural(found.functions, "function")}`}>✓ well-formed</span>`;
  return html`<details class="wb-ill" open><summary>✗ ill-formed: ${plural(found.count, "problem")}</summary><ul>${found.problems.map((one) => html`<li>${one}</li>`)}</ul></details>`;
}

const itemId = (id: string) => `wb-step-${id}`;

function Item({ step, store, share }: { step: StepSummary; store: PipelineStore; share: number }) {
  const delta = step.ops_after - step.ops_before;
  const badge = store.badges.get(step.name);
  const verdict = store.verdicts?.get(step.id);
  const state = step.pending ? "pending" : step.error ? "error" : step.changed ? "changed" : "same";
  const words = { pending: "not run yet", error: "failed", changed: "changed the program", same: "changed nothing" }[state];
  return html`<div id=${itemId(step.id)} class=${`wb-item wb-is-${state}`} role="option" title=${step.note || step.name}
      aria-selected=${step.id === store.selected} onClick=${() => store.select(step.id)}>
    <span class="wb-dot" aria-hidden="true"></span>
    <span class="wb-name">${step.name}</span><span class="wb-hidden"> (${words})</span>
    ${store.hasDraft(step.name) && html`<span class="wb-draft" title="A changed text that was not applied (e opens it)">●<span class="wb-hidden"> draft</span></span>`}
    ${badge && html`<span class=${`wb-check-mark wb-v-${badge.verdict.replace(" ", "-")}`} title=${`Checked: ${badge.verdict}`}><span class="wb-glyph" aria-hidden="true">${badge.glyph}</span><span class="wb-hidden"> checked: ${badge.verdict}</span></span>`}
    ${verdict && html`<span class=${verdict.count ? "wb-bad" : "wb-muted"} title=${verdict.count ? verdict.problems[0] : "well-formed"}><span aria-hidden="true">${verdict.count ? "✗" : "✓"}</span><span class="wb-hidden"> ${verdict.count ? "ill-formed" : "well-formed"}</span></span>`}
    ${delta !== 0 && html`<span class="wb-delta">${delta > 0 ? "+" : "−"}${Math.abs(delta)}<span class="wb-hidden"> operations</span></span>`}
    <span class="wb-time">${step.pending || step.milliseconds === 0 ? "" : milliseconds(step.milliseconds)}</span>
    <span class="wb-bar" aria-hidden="true" style=${{ width: `${Math.round(share * 52)}px` }}></span>
  </div>`;
}

export function Detail({ store }: { store: PipelineStore }) {
  const { summary, step, rewrite } = store;
  const target = store.rewriteIndex === null ? step?.shown : rewrite?.shown;
  return html`<section class="wb-detail" aria-label="The selected step">
    ${summary && html`<div class="wb-step-head">
      <span class="wb-step-name">${summary.name}</span>
      <span class="wb-muted">${facts(summary)}</span>
      <${StepButtons} store=${store} />
      <${Verdict} store=${store} id=${summary.id} />
      ${step?.call && html`<code class="wb-call" title="The same in Python">${step.call}</code>`}
    </div>`}
    ${store.problem && html`<${Problem} error=${store.problem} close=${() => store.set(() => (store.problem = null))} />`}
    ${summary?.error && html`<${Problem} error=${summary.error} />`}
    <${PassChooser} store=${store} />
    ${!store.editing && (summary?.rewrite_count ?? 0) > 0 && html`<${Rewrites} store=${store} count=${summary!.rewrite_count} />`}
    ${store.editing
      ? html`<${EditPane} store=${store} editing=${store.editing} />`
      : target
      ? html`<${DiffPane} key=${`${store.selected}/${store.rewriteIndex}`} rows=${target.rows} split=${store.split} language=${step?.language ?? "python"} seen=${store.seen}
          open=${store.unfold} />`
      : html`<div class="wb-wait">${store.view && !summary ? "No steps." : store.computing ? "Running this step and those before it …" : "…"}</div>`}
  </section>`;
}

function facts(step: StepSummary): string {
  if (step.pending) return step.note;
  const ops = step.ops_before === step.ops_after ? plural(step.ops_after, "op") : `${step.ops_before} → ${step.ops_after} ops`;
  const parts = [ops, step.milliseconds === 0 ? "" : milliseconds(step.milliseconds)]; // of some steps no time is known
  if (step.rewrite_count) parts.splice(1, 0, plural(step.rewrite_count, "rewrite"));
  if (!step.changed && !step.error) parts.unshift("changed nothing");
  return [...parts, step.note].filter(Boolean).join(" · ");
}

function Rewrites({ store, count }: { store: PipelineStore; count: number }) {
  const index = store.rewriteIndex;
  const rule = index === null ? undefined : (store.rewrite?.rewrite ?? store.step?.rewrites[index]);
  const go = (value: number) => store.select(store.selected, value < 0 ? null : value);
  return html`<div class="wb-rewrites">
    <div class="wb-scrub">
      <button class="wb-button" aria-label="Previous rewrite" title="Previous rewrite (←)" disabled=${index === null}
        onClick=${() => store.moveRewrite(-1)}>←</button>
      <input type="range" min="-1" max=${count - 1} value=${index ?? -1} aria-label="Rewrite"
        aria-valuetext=${index === null ? "the whole step" : `rewrite ${index + 1} of ${count}`}
        onInput=${(event: Event) => go(Number((event.target as HTMLInputElement).value))} />
      <button class="wb-button" aria-label="Next rewrite" title="Next rewrite (→)" disabled=${index === count - 1}
        onClick=${() => store.moveRewrite(1)}>→</button>
      <span class="wb-count" aria-live="polite">${index === null ? `whole step · ${plural(count, "rewrite")}` : `rewrite ${index + 1} of ${count}`}</span>
    </div>
    ${rule && html`<div class="wb-rule">
      <span class="wb-rule-name">${rule.rule}</span>
      <span class="wb-source">${rule.source}</span>
      ${rule.where && html`<span class="wb-muted">at ${rule.where}</span>`}
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
    ${view.rule_text && html`<details><summary>The rule</summary><pre>${view.rule_text}</pre></details>`}
  </div>`;
}
