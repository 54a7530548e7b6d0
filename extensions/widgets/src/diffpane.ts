// A text before and after, as rows: one column or two.
import type { Lines, Row } from "./diff";
import { html, plural } from "./parts";
import { changedPart, marked } from "./text";

interface Shape { rows: Row[]; split: boolean; language: string; before: Lines; after: Lines; open(row: Row & { kind: "fold" }): void }

export function DiffPane({ rows, split, language, open }: Shape) {
  const body = split ? splitRows(rows, language, open) : rows.map((row) => unified(row, language, open));
  return html`<div class=${`wb-diff ${split ? "wb-split" : ""}`} role="region" aria-label="The program before and after" tabindex="0">
    <div class="wb-rows">${body}</div>
  </div>`;
}

function unified(row: Row, language: string, open: Shape["open"]) {
  if (row.kind === "fold") return fold(row, open);
  if (row.kind === "cut") return cut(row.count);
  const sign = row.kind === "add" ? "+" : row.kind === "del" ? "−" : "";
  return html`<div class=${`wb-row wb-${row.kind}`}>
    <span class="wb-no">${row.before >= 0 ? row.before + 1 : ""}</span>
    <span class="wb-no">${row.after >= 0 ? row.after + 1 : ""}</span>
    <span class="wb-sign">${sign}</span>${line(row, language)}
  </div>`;
}

function splitRows(all: Row[], language: string, open: Shape["open"]) {
  const result: unknown[] = [];
  let i = 0;
  while (i < all.length) {
    const row = all[i]!;
    if (row.kind === "fold") result.push(fold(row, open));
    else if (row.kind === "cut") result.push(cut(row.count));
    if (row.kind === "fold" || row.kind === "cut") {
      i++;
      continue;
    }
    if (row.kind === "same") {
      result.push(html`<div class="wb-row wb-same">${half(row, row.before, language)}${half(row, row.after, language)}</div>`);
      i++;
      continue;
    }
    const removed = run(all, i, "del");
    const added = run(all, i + removed.length, "add");
    for (let j = 0; j < Math.max(removed.length, added.length); j++) {
      const [old, now] = [removed[j], added[j]];
      result.push(html`<div class="wb-row">
        ${half(old, old?.before ?? -1, language)}${half(now, now?.after ?? -1, language)}</div>`);
    }
    i += removed.length + added.length;
  }
  return result;
}

type TextRow = Row & { kind: "same" | "add" | "del" };

function run(all: Row[], start: number, kind: "add" | "del"): TextRow[] {
  let stop = start;
  while (stop < all.length && all[stop]!.kind === kind) stop++;
  return all.slice(start, stop) as TextRow[];
}

function half(row: TextRow | undefined, number: number, language: string) {
  if (!row) return html`<span class="wb-half wb-none"></span>`;
  const sign = row.kind === "add" ? "+" : row.kind === "del" ? "−" : "";
  return html`<span class=${`wb-half wb-${row.kind}`}>
    <span class="wb-no">${number + 1}</span><span class="wb-sign">${sign}</span>${line(row, language)}</span>`;
}

function line(row: TextRow, language: string) {
  const [start, stop] = row.pair === undefined ? [0, 0] : changedPart(row.text, row.pair);
  const words = marked(row.text, language, start, stop).map(([[kind, text], inside]) =>
    kind || inside ? html`<span class=${`${kind ? `wb-t-${kind}` : ""} ${inside ? "wb-mark" : ""}`}>${text}</span>` : text);
  if (row.kind === "add") return html`<ins class="wb-line">${words}</ins>`;
  if (row.kind === "del") return html`<del class="wb-line">${words}</del>`;
  return html`<span class="wb-line">${words}</span>`;
}

function fold(row: Row & { kind: "fold" }, open: Shape["open"]) {
  return html`<button class="wb-fold" onClick=${() => open(row)}>⋯ ${plural(row.count, "unchanged line")}</button>`;
}

function cut(count: number) {
  return html`<div class="wb-fold">${plural(count, "more row")} not drawn: look at a smaller part</div>`;
}
