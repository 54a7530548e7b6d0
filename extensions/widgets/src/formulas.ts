// The stages of a kernel before it is scheduled, as cards: a formula each, and who reads whom.
import { NONE, meets } from "./links";
import { Problem, html } from "./parts";
import { say } from "./strings";
import { tokens } from "./text";
import type { FormulaView } from "./types";
import type { WorkbenchStore } from "./workbench";

export function FormulaPane({ store, at }: { store: WorkbenchStore; at: 0 | 1 }) {
  const [stages, refused] = [store.formulas, store.refusal("te")];
  if (refused) return html`<${Problem} error=${refused} />`;
  if (!stages) return html`<div class="wb-wait">${store.waiting || "…"}</div>`;
  const names = new Set(stages.map((stage) => stage.name));
  return html`<ol class="wb-cards" aria-label=${say.graph.stages} tabindex="0">${stages.map((stage, i) => html`
    ${i > 0 && html`<li class="wb-arrow" aria-hidden="true">${stages[i - 1]!.read_by.includes(stage.name) ? "↓" : ""}</li>`}
    <${Card} key=${stage.name} store=${store} at=${at} stage=${stage} names=${names} />`)}</ol>`;
}

function Card({ store, at, stage, names }: { store: WorkbenchStore; at: 0 | 1; stage: FormulaView; names: Set<string> }) {
  const classes = stage.line < 0 ? NONE : store.links?.on("te", stage.line) ?? NONE;
  const lit = meets(classes, store.selected);
  const further = stage.read_by.filter((name) => names.has(name));
  const select = () => { // the button's clicks come here too; who marks a piece of the formula to copy it, selects nothing
    if (stage.line >= 0 && !getSelection()?.toString()) void store.selectLine(at, stage.line);
  };
  return html`<li class=${`wb-card ${stage.line < 0 ? "" : "wb-card-selects"} ${lit ? "wb-lit" : ""} ${meets(classes, store.hovered) ? "wb-near" : ""}`}
      onMouseEnter=${() => store.hover(classes)} onMouseLeave=${() => store.hover(NONE)} onClick=${select}>
    <button class="wb-card-head" aria-pressed=${lit} title=${say.graph.stageHelp} disabled=${stage.line < 0}><strong>${stage.name}</strong>
      <span class="wb-muted">${[stage.shape, stage.tag].filter(Boolean).join(" · ")}</span></button>
    <code class="wb-formula">${coloured(stage.target)} <span class="wb-muted">=</span> ${stage.over && html`<span class="wb-sum">${stage.over}</span> `}${coloured(stage.formula)}</code>
    <span class="wb-muted wb-card-foot">${stageReads(stage, further)}</span>
  </li>`;
}

function stageReads(stage: FormulaView, further: string[]): string {
  const names = stage.reads.join(", ");
  return further.length ? say.graph.stageReadsReadBy(names, further.join(", ")) : say.graph.stageReads(names);
}

function coloured(said: string) {
  return tokens(said, "python").map(([kind, word]) => (kind ? html`<span class=${`wb-t-${kind}`}>${word}</span>` : word));
}
