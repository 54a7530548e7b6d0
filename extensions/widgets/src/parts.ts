// Small parts that both screens are made of.
import { h } from "preact";
import { useState } from "preact/hooks";
import htm from "htm";
import type { BaseStore } from "./store";
import { say } from "./strings";
import type { ErrorView } from "./types";

export { plural } from "./strings/common";

export const html = htm.bind(h);

/** What Python drew (well-formed: SVG, tables), as elements of our own: its texts stay texts. */
export function Drawn({ markup }: { markup: string }) {
  const made = (one: Node): unknown => one instanceof Element
    ? h(one.tagName, Object.fromEntries([...one.attributes].map(({ name, value }) => [name, value])), ...([...one.childNodes].map(made) as string[]))
    : one.textContent;
  return made(new DOMParser().parseFromString(markup, "image/svg+xml").documentElement);
}

let lists = 0;

/** Ids of a list's rows, which no other list of the page has: a screen may be in several views, and others beside it. */
export function useIds(): Ids {
  const [list] = useState(() => ++lists);
  return (name) => `wb${list}-${name}`;
}
export type Ids = (name: string | number) => string;

/** The title and the action of a button that asks the kernel; in a recording without its answer (`played`) it says why not. */
export function asking(store: BaseStore, title: string, onClick: (event: Event) => void, played?: boolean) {
  return store.recorded && !played ? { title: say.common.recorded, "aria-disabled": "true", "data-recorded": "" } : { title, onClick };
}

export function milliseconds(time: number): string {
  if (time >= 1000) return say.common.seconds((time / 1000).toFixed(2));
  if (time >= 10) return say.common.milliseconds(time.toFixed(0));
  return time >= 0.1 ? say.common.milliseconds(time.toFixed(1)) : say.common.microseconds((time * 1000).toFixed(0));
}

export function Problem({ error, close }: { error: ErrorView; close?: () => void }) {
  const fields = (["where", "found", "expected", "fix", "kept"] as const).filter((name) => error[name]);
  return html`<div class="wb-problem" role="alert">
    <div class="wb-problem-head">
      <span class="wb-code">${error.code}</span><span>${error.message}</span>
      ${close && html`<button class="wb-icon" aria-label=${say.common.closeMessage} title=${say.common.close} onClick=${close}>×</button>`}
    </div>
    <dl>${fields.map((name) => html`<dt>${say.common.errorFields[name]}</dt><dd>${error[name]}</dd>`)}</dl>
  </div>`;
}

/** The sheet of keys: every key has a button too. */
export function Keys({ rows, close }: { rows: [string, string][]; close: () => void }) {
  return html`<div class="wb-sheet" role="dialog" aria-label=${say.common.keys}>
    <div class="wb-sheet-head"><strong>${say.common.keys}</strong>
      <button class="wb-icon" aria-label=${say.common.close} onClick=${close}>×</button></div>
    <dl>${rows.map(([keys, what]) => html`<dt>${keys.split(" ").map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${what}</dd>`)}</dl>
  </div>`;
}

/** Scroll a list up or down until a part is in sight; deep boxes are wide, and sideways their names would go out of it. */
export function reveal(list: Element | null | undefined, part: Element | null | undefined): void {
  if (!list || !part) return;
  const [outer, inner] = [list.getBoundingClientRect(), part.getBoundingClientRect()];
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom;
}
