// A text before and after, as rows of which those in sight are drawn: one column or two.
import { useMemo } from "preact/hooks";
import type { Row } from "./diff";
import { html } from "./parts";
import { say } from "./strings";
import { changedPart, marked } from "./text";
import { Window, type Range } from "./window";

interface Shape { rows: Row[]; split: boolean; language: string; open(row: AcrossRow): void; seen(rows: Row[]): void }
type TextRow = Row & { kind: "same" | "add" | "del" };
/** What opens or closes something, across both columns. */
export type AcrossRow = Row & { kind: "fold" | "kind" | "more" };
/** Two columns: what stands at the left and at the right. */
type Pair = AcrossRow | [TextRow | undefined, TextRow | undefined];

export function DiffPane({ rows, split, language, open, seen }: Shape) {
  const pairs = useMemo(() => (split ? paired(rows) : []), [rows, split]);
  const draw = (number: number) => split ? two(pairs[number]!, language, open) : one(rows[number]!, language, open);
  const total = split ? pairs.length : rows.length;
  const look = ({ first, end }: Range) =>
    seen(split ? pairs.slice(first, end).flatMap((pair) => (Array.isArray(pair) ? pair.filter((row) => row !== undefined) : [])) : rows.slice(first, end));
  return html`<div class=${`wb-diff ${split ? "wb-split" : ""}`}>
    <${Window} role="region" total=${total} label=${say.changes.beforeAndAfter} goal=${null} active=${-1} row=${draw}
      ticks=${[]} seen=${look} focused=${() => {}} />
  </div>`;
}

function one(row: Row, language: string, open: Shape["open"]) {
  if (!isText(row)) return across(row, open);
  return html`<div class=${`wb-row wb-${row.kind}`}>
    <span class="wb-no">${row.before >= 0 ? row.before + 1 : ""}</span>
    <span class="wb-no">${row.after >= 0 ? row.after + 1 : ""}</span>
    <span class="wb-sign">${SIGNS[row.kind]}</span>${line(row, language)}
  </div>`;
}

const isText = (row: Row): row is TextRow => "text" in row;

const SIGNS = { add: "+", del: "−", same: "" };

/** What was taken out beside what was put in, run by run. */
function paired(rows: Row[]): Pair[] {
  const found: Pair[] = [];
  for (let i = 0; i < rows.length; ) {
    const row = rows[i]!;
    if (!isText(row)) found.push(row);
    else if (row.kind === "same") found.push([row, row]);
    if (!isText(row) || row.kind === "same") {
      i++;
      continue;
    }
    const removed = run(rows, i, "del");
    const added = run(rows, i + removed.length, "add");
    for (let j = 0; j < Math.max(removed.length, added.length); j++) found.push([removed[j], added[j]]);
    i += removed.length + added.length;
  }
  return found;
}

function run(all: Row[], start: number, kind: "add" | "del"): TextRow[] {
  let stop = start;
  while (all[stop]?.kind === kind) stop++;
  return all.slice(start, stop) as TextRow[];
}

function two(pair: Pair, language: string, open: Shape["open"]) {
  if (!Array.isArray(pair)) return across(pair, open);
  const [old, now] = pair;
  return html`<div class="wb-row">${half(old, old?.before ?? -1, language)}${half(now, now?.after ?? -1, language)}</div>`;
}

function half(row: TextRow | undefined, number: number, language: string) {
  if (!row) return html`<span class="wb-half wb-none"></span>`;
  return html`<span class=${`wb-half wb-${row.kind}`} title=${row.text}>
    <span class="wb-no">${number >= 0 ? number + 1 : ""}</span><span class="wb-sign">${SIGNS[row.kind]}</span>${line(row, language)}</span>`;
}

function line(row: TextRow, language: string) {
  const text = row.text ?? "…";
  const [start, stop] = row.pair === undefined ? [0, 0] : changedPart(text, row.pair);
  const words = marked(text, language, start, stop).map(([[kind, word], inside]) =>
    kind || inside ? html`<span class=${`${kind ? `wb-t-${kind}` : ""} ${inside ? "wb-mark" : ""}`}>${word}</span>` : word);
  if (row.kind === "add") return html`<ins class="wb-line">${words}</ins>`;
  if (row.kind === "del") return html`<del class="wb-line">${words}</del>`;
  return html`<span class="wb-line">${words}</span>`;
}

function across(row: AcrossRow, open: Shape["open"]) {
  if (row.kind === "fold") return html`<button class="wb-fold" onClick=${() => open(row)}>⋯ ${say.changes.unchanged(row.count)}</button>`;
  if (row.kind === "more") {
    const text = row.index < 0 ? say.changes.kindsLeftOut(row.count) : row.here ? say.changes.moreLines(row.count) : say.changes.linesInWhole(row.count);
    return html`<button class="wb-fold" disabled=${!row.here} onClick=${() => open(row)}>⋯ ${text}</button>`;
  }
  return html`<button class="wb-kind" aria-expanded=${row.open} title=${row.title} onClick=${() => open(row)}>
    <span aria-hidden="true">${row.open ? "▾" : "▸"}</span> <span class="wb-kind-title">${row.title}</span>
    <span class="wb-muted">${say.changes.lines(row.size)}</span></button>`;
}
