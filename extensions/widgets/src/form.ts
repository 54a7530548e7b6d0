// A form from a primitive's parameters: one field for each, by its kind.
import { useState } from "preact/hooks";
import { html } from "./parts";
import { Divisors } from "./schedule_more";
import { say } from "./strings";
import type { Parameter, PrimitiveView, TreeNode } from "./types";

type Change = (name: string, value: unknown) => void;

/** What the fields hold at first: the defaults, and the first choice where there is none. */
export function startValues(primitive: PrimitiveView, nodes: TreeNode[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const parameter of primitive.parameters) {
    if (parameter.kind === "selection") continue;
    const fallback = ["loop", "block", "choice", "buffer"].includes(parameter.kind) ? options(parameter, nodes)[0]?.[0] : null;
    values[parameter.name] = parameter.default ?? (parameter.kind === "boolean" ? false : fallback ?? null);
  }
  return values;
}

/** What can be chosen, as [value, label]. */
function options(parameter: Parameter, nodes: TreeNode[]): [string, string][] {
  const label = (node: TreeNode) => (node.extent ? `${node.name}  (${node.extent})` : node.name);
  const labels = new Map(nodes.map((node) => [node.id, label(node)]));
  if (parameter.choices.length > 0) return parameter.choices.map((choice) => [choice, labels.get(choice) ?? choice]);
  return nodes.filter((node) => node.kind === parameter.kind).map((node) => [node.id, label(node)]);
}

interface Shape {
  primitive: PrimitiveView; nodes: TreeNode[]; values: Record<string, unknown>; busy: boolean; change: Change; apply(): void;
  /** Of the loop that the form is for. */
  extent?: number; preview?: () => void;
}

export function Form({ primitive, nodes, values, busy, change, apply, extent, preview }: Shape) {
  const asked = primitive.parameters.filter((parameter) => parameter.kind !== "selection");
  const submit = (event: Event) => {
    event.preventDefault();
    apply();
  };
  return html`<form class="wb-form" onSubmit=${submit} aria-label=${say.changes.arguments(primitive.name)}>
    ${asked.map((parameter) => html`<label class="wb-field" key=${parameter.name}>
      <span class="wb-field-name">${parameter.name}</span>
      <${Field} parameter=${parameter} nodes=${nodes} value=${values[parameter.name]} change=${change} />
      ${parameter.kind === "integers" && parameter.name === "factors" && html`<${Divisors} extent=${extent} value=${values[parameter.name]} set=${(next: unknown) => change(parameter.name, next)} />`}
      ${parameter.doc && html`<span class="wb-muted">${parameter.doc}</span>`}
    </label>`)}
    <button class="wb-button wb-primary" type="submit" disabled=${busy}>${say.common.apply}</button>
    ${preview && html`<button class="wb-button" type="button" disabled=${busy} title=${say.changes.previewHelp} onClick=${preview}>${say.changes.preview}</button>`}
  </form>`;
}

function Field({ parameter, nodes, value, change }: { parameter: Parameter; nodes: TreeNode[]; value: unknown; change: Change }) {
  const set = (next: unknown) => change(parameter.name, next);
  const text = (event: Event) => (event.target as HTMLInputElement).value;
  switch (parameter.kind) {
    case "loop": case "block": case "buffer": case "choice":
      return html`<select value=${value} onChange=${(event: Event) => set(text(event))}>
        ${options(parameter, nodes).map(([choice, label]) => html`<option value=${choice}>${label}</option>`)}</select>`;
    case "loops":
      return html`<${Order} parameter=${parameter} nodes=${nodes} value=${(value as string[]) ?? []} set=${set} />`;
    case "integer": case "number":
      return html`<input type="number" step=${parameter.kind === "integer" ? 1 : "any"} value=${value ?? ""}
        onInput=${(event: Event) => set(text(event) === "" ? null : Number(text(event)))} />`;
    case "integers":
      return html`<${Integers} value=${value} set=${set} />`;
    case "boolean":
      return html`<input type="checkbox" checked=${value === true}
        onChange=${(event: Event) => set((event.target as HTMLInputElement).checked)} />`;
    default:
      return html`<input type="text" value=${value ?? ""} spellcheck=${false} onInput=${(event: Event) => set(text(event))} />`;
  }
}

/** The text stays as it is typed, whatever is drawn anew meanwhile, until the value is another than it says. */
function Integers({ value, set }: { value: unknown; set(next: unknown): void }) {
  const [typed, type] = useState("");
  const shown = showIntegers(value);
  const input = (event: Event) => {
    const text = (event.target as HTMLInputElement).value;
    type(text);
    set(readIntegers(text));
  };
  return html`<input type="text" value=${showIntegers(readIntegers(typed)) === shown ? typed : shown}
    placeholder=${say.changes.integersExample} spellcheck=${false} onInput=${input} />`;
}

/** Factors as a person writes them: "auto" stands for the one that is worked out. */
function showIntegers(value: unknown): string {
  return Array.isArray(value) ? value.map((item) => item ?? "auto").join(", ") : "";
}

function readIntegers(text: string): (number | null | string)[] {
  const words = text.split(/[\s,]+/).filter(Boolean);
  return words.map((word) => (/^(auto|none|\?|_)$/i.test(word) ? null : /^-?\d+$/.test(word) ? Number(word) : word));
}

/** The loops that stand directly in one another around and inside those given, outermost first. */
function chain(nodes: TreeNode[], given: string[]): string[] {
  const within = new Map(nodes.flatMap((node) => node.children.map((child) => [child.id, node] as const)));
  let node = nodes.find((other) => other.id === given[0]);
  if (!node) return given;
  for (let outer = within.get(node.id); outer?.kind === "loop" && outer.children.length === 1; outer = within.get(outer.id)) node = outer;
  const found: string[] = [];
  for (let at: TreeNode | undefined = node; at?.kind === "loop"; at = at.children.length === 1 ? at.children[0] : undefined) found.push(at.id);
  return given.every((id) => found.includes(id)) ? found : given;
}

/** Loops in an order that buttons change; others of the nest can be taken in. */
function Order({ nodes, value, set }: { parameter: Parameter; nodes: TreeNode[]; value: string[]; set(next: string[]): void }) {
  const names = new Map(nodes.map((node) => [node.id, node.name]));
  const others = chain(nodes, value).filter((id) => !value.includes(id));
  const swap = (i: number, j: number) => {
    const next = [...value];
    [next[i], next[j]] = [next[j]!, next[i]!];
    set(next);
  };
  return html`<span class="wb-order" role="list">${value.map((id, i) => html`<span class="wb-order-item" role="listitem" key=${id}>
    <button type="button" class="wb-icon" aria-label=${say.changes.moveOutwards(names.get(id) ?? id)} disabled=${i === 0}
      onClick=${() => swap(i, i - 1)}>‹</button>
    <code>${names.get(id) ?? id}</code>
    <button type="button" class="wb-icon" aria-label=${say.changes.moveInwards(names.get(id) ?? id)} disabled=${i === value.length - 1}
      onClick=${() => swap(i, i + 1)}>›</button>
    ${value.length > 1 && html`<button type="button" class="wb-icon" aria-label=${say.changes.leaveOutLoop(names.get(id) ?? id)}
      onClick=${() => set(value.filter((other) => other !== id))}>×</button>`}</span>`)}
    ${others.map((id) => html`<button type="button" class="wb-button" key=${id} aria-label=${say.changes.takeIn(names.get(id) ?? id)}
      onClick=${() => set([...value, id])}>+ ${names.get(id) ?? id}</button>`)}</span>`;
}
