// A graph in words, as a tree of groups, calls and operators; what a step changed, as lists of statements.
import { useEffect, useMemo, useState } from "preact/hooks";
import { onKeys } from "./keys";
import { html } from "./parts";
import { say } from "./strings";
import { Window, placeIn } from "./window";
import type { WorkbenchStore } from "./workbench";

export interface TreeItem {
  id: string; level: number; kind: "group" | "call" | "operator"; title: string; name: string; inputs: number; shape: string; changed: string[]; classes: number[];
}
export interface TreeView { items: TreeItem[]; linked: boolean }
export interface Spoken { step: string; summary: string; added: string[]; removed: string[]; changed: string[]; counts: Record<"added" | "removed" | "changed", number> }

/** "nn.conv2d v3, inputs 2, output 1×64×56×56 float32, changed by FuseOps" */
export function words(item: TreeItem): string {
  if (item.kind === "group") return say.graph.boxGroup(item.title);
  return say.graph.itemWords(`${item.title} ${item.name}`.trim(), item.inputs, item.shape, item.changed.join(", "));
}

export function TreePane({ store, at }: { store: WorkbenchStore; at: 0 | 1 }) {
  const { layer } = store.panes[at];
  const tools = store.tools;
  const [opened, open] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState("");
  const all = tools.tree(layer) ?? [];
  const items = useMemo(() => visible(all, opened), [all, opened]);
  const places = useMemo(() => placesAmongSiblings(items), [items]);
  const here = Math.max(0, items.findIndex((item) => item.id === active));
  const goal = useMemo(() => (active ? { line: here } : null), [active]);
  if (all.length === 0) return html`<div class="wb-wait">…</div>`;
  const has = (item: TreeItem) => (all[all.indexOf(item) + 1]?.level ?? 0) > item.level;
  const turn = (item: TreeItem, on: boolean) => {
    const next = new Set(opened);
    if (on) next.add(item.id); else next.delete(item.id);
    open(next);
  };
  const go = (to: number) => setActive(items[Math.min(Math.max(to, 0), items.length - 1)]!.id);
  const choose = (item: TreeItem) => {
    setActive(item.id);
    tools.pick(layer, item.id, at, "tree");
  };
  const keys = onKeys({
    ArrowDown: () => go(here + 1), ArrowUp: () => go(here - 1), Home: () => go(0), End: () => go(items.length - 1),
    ArrowRight: () => { const item = items[here]!; if (!has(item)) return; if (opened.has(item.id)) go(here + 1); else turn(item, true); },
    ArrowLeft: () => {
      const item = items[here]!;
      if (opened.has(item.id)) return turn(item, false);
      const above = items.slice(0, here).map((one) => one.level).lastIndexOf(item.level - 1);
      if (above >= 0) go(above);
    },
    Enter: () => choose(items[here]!), " ": () => choose(items[here]!),
  }, false);
  const row = (number: number, id: string) => {
    const item = items[number]!;
    return html`<div key=${item.id} id=${id} role="treeitem" aria-level=${item.level} ...${placeIn(...places[number]!)} aria-selected=${tools.chosen?.layer === layer && tools.chosen.id === item.id}
      aria-expanded=${has(item) ? opened.has(item.id) : undefined} class=${`wb-word ${number === here ? "wb-active" : ""}`} style=${{ paddingLeft: `${12 * item.level}px` }}
      onClick=${() => { choose(item); if (has(item)) turn(item, !opened.has(item.id)); }}><span aria-hidden="true">${has(item) ? (opened.has(item.id) ? "▾ " : "▸ ") : ""}</span>${words(item)}</div>`;
  };
  return html`<div class="wb-words"><${Window} role="tree" label=${say.graph.inWords} total=${items.length} goal=${goal} active=${here} row=${row} keys=${keys} /></div>`;
}

/** Of each item how many it has on its level under the same one, itself too, and which of them (from 0) it is. */
function placesAmongSiblings(items: TreeItem[]): [total: number, number: number][] {
  const found: [number, number][] = [];
  const open: number[][] = []; // by level, the items under the one that is open now
  const close = (level: number) => {
    for (const siblings of open.splice(level)) siblings?.forEach((item, i) => (found[item] = [siblings.length, i]));
  };
  items.forEach((item, number) => {
    close(item.level + 1);
    (open[item.level] ??= []).push(number);
  });
  close(0);
  return found;
}

/** The items of which everything around is open. */
function visible(all: TreeItem[], opened: ReadonlySet<string>): TreeItem[] {
  const found: TreeItem[] = [];
  let closed = Infinity;
  for (const item of all) {
    if (item.level > closed) continue;
    closed = opened.has(item.id) ? Infinity : item.level;
    found.push(item);
  }
  return found;
}

const LISTS = ["added", "removed", "changed"] as const;

/** What the selected step changed: said when it is selected, and as lists to walk through. */
export function SpokenChanges({ store }: { store: WorkbenchStore }) {
  const step = store.steps.summary;
  const agreed = store.steps.view?.plan === store.view?.plan; // else one of the two is still of the program before
  const wanted = agreed && step && !step.pending && !step.error && !step.left_out ? step.name : "";
  useEffect(() => { if (wanted) void store.speak(wanted); }, [wanted, store.view]);
  const found = store.tools.spoken?.step === wanted ? store.tools.spoken : null;
  const some = found ? LISTS.filter((list) => found[list].length > 0) : [];
  const counts = (what: "Count" | "Spoken") => some.map((list) => say.graph[`${list}${what}`](found!.counts[list])).join(", ");
  return html`<div class="wb-hidden" role="status" aria-label=${say.graph.stepChanged}>${found && say.graph.stepChangedSpoken(found.summary, counts("Spoken"))}</div>
    ${some.length > 0 && html`<details class="wb-spoken"><summary>${say.graph.asLists(counts("Count"))}</summary>
      ${some.map((list) => html`<div class="wb-heading">${say.graph[list]}</div><ul aria-label=${say.graph[list]}>${found![list].map((line) => html`<li><code>${line}</code></li>`)}</ul>
        ${found!.counts[list] > found![list].length && html`<p class="wb-muted">${say.graph.more(found!.counts[list] - found![list].length)}</p>`}`)}</details>`}`;
}
