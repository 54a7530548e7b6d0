// Why a pass left an operator as it is: its rules there, those that come far first, each with the clause that fails.
import type { CallView } from "./graph_tools";
import { html } from "./parts";
import { say } from "./strings";
import type { WorkbenchStore } from "./workbench";

type Line = [state: "holds" | "failed" | "not reached", text: string, found: string];
interface RuleTried { name: string; where: string; near: boolean; lines: Line[] }
export interface WhyNot { call: string; pass: string; node: string; note: string; rules: RuleTried[] }

const MARKS = { holds: "✓", failed: "✗", "not reached": "·" };

export const callKey = (call: CallView) => `${call.place} ${call.number}`;

export function WhyNotRow({ store, call }: { store: WorkbenchStore; call: CallView }) {
  const passes = (store.steps.view?.steps ?? []).filter((step) => step.kind === "relay" && !step.left_out).map((step) => step.name);
  const found = store.tools.why?.call === callKey(call) ? store.tools.why : null;
  const near = found?.rules.filter((rule) => rule.near) ?? [];
  const others = found?.rules.filter((rule) => !rule.near) ?? [];
  return html`<label class="wb-why-not">${say.reasons.whyNot} <select class="wb-select" aria-label=${say.reasons.whyNotLabel(call.op)} value=${found?.pass ?? ""}
      onChange=${(event: Event) => void store.askWhyNot(call, (event.target as HTMLSelectElement).value)}>
      <option value="">${say.reasons.choosePass}</option>${passes.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>
    ${found && html`<div class="wb-why-found" role="region" aria-label=${say.reasons.passAt(found.pass, call.op)}>
      ${found.note && html`<p>${found.note}</p>`}
      ${near.map((rule) => html`<${Tried} rule=${rule} />`)}
      ${others.length > 0 && html`<details open=${near.length === 0}><summary>${say.reasons.failAtOnce(others.length)}</summary>
        <ul aria-label=${say.reasons.failAtOnceLabel}>${others.map((rule) => html`<li><code>${rule.name}</code> <span class="wb-muted">${because(rule, found.node)}</span></li>`)}</ul></details>`}
    </div>`}`;
}

/** The clause that fails, with the value found where that is not the operator itself. */
function because(rule: RuleTried, node: string): string {
  const [, text, found] = rule.lines.find((line) => line[0] === "failed")!;
  return found === node ? text : say.reasons.foundInstead(text, found);
}

function Tried({ rule }: { rule: RuleTried }) {
  return html`<div class="wb-heading"><code class="wb-rule-name">${rule.name}</code> <span class="wb-source">${rule.where}</span></div>
    <ul aria-label=${say.reasons.rule(rule.name)}>${rule.lines.map(([state, text, found]) => html`<li class=${state === "not reached" ? "wb-muted" : ""}>
      <span aria-hidden="true">${MARKS[state]}</span><span class="wb-hidden">${say.reasons.states[state]}: </span> ${text}${found && html`${state === "failed" ? say.reasons.foundBefore : ":"} <code>${found}</code>`}</li>`)}</ul>`;
}
