// Where one is on the screen, as one line of text: what panes show, the kernel, the step, what is selected.  Back and
// forward go along the places one has been at; a place opens the same view again, in this page or another one.
import type { Classes } from "./links";
import type { Mode, Pane, WorkbenchStore } from "./workbench";

/** How long nothing may change before one is said to be somewhere, in milliseconds. */
const STAY_MS = 120;
const MOST = 100;
const MODES: Mode[] = ["graph", "tree", "cards", "text", "changes", "editor", "lens", "candidates", "passes", "compare"];

export interface Place {
  panes: [Pane, Pane]; focused: 0 | 1; kernel: string; opened: [layer: string, groups: string[]][]; step: string; rewrite: number | null; selected: number[]; of: string;
}

/** The place of a screen: "A=fused.graph&B=asm.text.41&kernel=...&select=3-5&of=...": numbers of that numbering. */
export function placeText(store: WorkbenchStore): string {
  const parts = new URLSearchParams();
  store.panes.forEach((pane, at) => parts.set("AB"[at]!, `${pane.layer}.${pane.mode}${pane.mode === "text" && pane.active > 0 ? `.${pane.active + 1}` : ""}`));
  parts.set("in", "AB"[store.focused]!);
  if (store.kernel) parts.set("kernel", store.kernel);
  const opened = store.panes.filter((pane) => pane.mode === "graph").map((pane) => pane.layer).filter((layer) => store.opened(layer).length);
  if (opened.length) parts.set("opened", [...new Set(opened)].map((layer) => `${layer}:${store.opened(layer).join(",")}`).join(";"));
  const step = store.steps.summary;
  if (step && store.panes.some((pane) => pane.mode === "changes")) {
    parts.set("step", step.name);
    if (store.steps.rewriteIndex !== null) parts.set("rewrite", String(store.steps.rewriteIndex + 1));
  }
  if (store.selected.size) {
    parts.set("select", ranges([...store.selected].sort((a, b) => a - b)));
    if (store.numbering) parts.set("of", store.numbering);
  }
  return parts.toString();
}

/** The place that a text says; null where it says none. */
export function placeOfText(text: string): Place | null {
  const parts = new URLSearchParams(text.replace(/^#/, ""));
  const panes = ["A", "B"].map((name): Pane | null => {
    const [layer, mode, line] = (parts.get(name) ?? "").split(".");
    if (!layer || !MODES.includes(mode as Mode)) return null;
    const active = Math.max(0, (Number(line) || 1) - 1);
    return { layer, mode: mode as Mode, active, goal: line ? { line: active } : null };
  });
  if (!panes[0] || !panes[1]) return null;
  const rewrite = Number(parts.get("rewrite"));
  return {
    panes: [panes[0], panes[1]], focused: parts.get("in") === "B" ? 1 : 0, kernel: parts.get("kernel") ?? "",
    opened: (parts.get("opened") ?? "").split(";").filter((one) => one.includes(":")).map((one): [string, string[]] => {
      const [layer, groups] = one.split(":");
      return [layer!, groups!.split(",").filter(Boolean)];
    }),
    step: parts.get("step") ?? "",
    rewrite: rewrite > 0 ? rewrite - 1 : null, selected: numbers(parts.get("select") ?? ""), of: parts.get("of") ?? "",
  };
}

function ranges(sorted: number[]): string {
  const found: string[] = [];
  for (let i = 0; i < sorted.length && found.length < 300; i++) {
    let end = i;
    while (sorted[end + 1] === sorted[end]! + 1) end++;
    found.push(end > i ? `${sorted[i]}-${sorted[end]}` : `${sorted[i]}`);
    i = end;
  }
  return found.join(",");
}

function numbers(text: string): number[] {
  return text.split(",").filter(Boolean).flatMap((part) => {
    const [first, last] = part.split("-").map(Number);
    if (!Number.isInteger(first)) return [];
    const end = Number.isInteger(last) ? Math.min(last!, first! + 100_000) : first!;
    return Array.from({ length: Math.max(0, end - first! + 1) }, (_, i) => first! + i);
  });
}

/** Go to a place, where the program has its layers: what else it names and the program has not is left as it is. */
export function goTo(store: WorkbenchStore, text: string): boolean {
  const place = placeOfText(text);
  if (!place || !place.panes.every((pane) => store.layer(pane.layer))) return false;
  store.numbering ??= place.of || null; // until the kernels come and tell it; what is selected by another one goes then
  const classes: Classes = new Set(place.of && place.of !== store.numbering ? [] : place.selected);
  store.set(() => {
    store.panes = place.panes;
    store.focused = place.focused;
    if (place.kernel && (store.hasKernel(place.kernel) || store.kernels.length === 0)) store.kernel = place.kernel;
    for (const [layer, groups] of place.opened) store.openGroups(layer, groups);
    store.leave("", classes);
    store.selected = classes;
    store.acted++;
  });
  const steps = place.step ? (store.steps.view?.steps ?? []).filter((one) => one.name === place.step) : [];
  const step = steps.find((one) => !one.left_out) ?? steps[0];
  if (step) store.steps.select(step.id, place.rewrite, false);
  store.load();
  return true;
}

/** The places one has been at, each after the one before it. */
export class Trail {
  private places: string[] = [];
  private at = -1;
  /** Where going to a place has led: not all of it may be there any more. */
  private reached = "";
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private store: WorkbenchStore) {
    store.subscribe(() => {
      clearTimeout(this.timer);
      this.timer = setTimeout(this.note, STAY_MS);
    });
  }

  /** Write down where one is, if that is somewhere else. */
  private note = (): void => {
    clearTimeout(this.timer);
    if (!this.store.view) return;
    const here = placeText(this.store);
    if (here === this.places[this.at] || here === this.reached) return;
    this.reached = "";
    const could = [this.back, this.forward].map((where) => where !== null);
    this.places = [...this.places.slice(Math.max(0, this.at + 2 - MOST), this.at + 1), here];
    this.at = this.places.length - 1;
    if (could[0] !== (this.back !== null) || could[1]) this.store.set(() => {});
  };

  get back(): string | null {
    return this.places[this.at - 1] ?? null;
  }

  get forward(): string | null {
    return this.places[this.at + 1] ?? null;
  }

  move(by: 1 | -1): void {
    this.note();
    const place = this.places[this.at + by];
    if (place === undefined) return;
    this.at += by;
    goTo(this.store, place);
    this.reached = placeText(this.store);
  }
}
