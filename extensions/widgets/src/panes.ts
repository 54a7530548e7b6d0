// A pane: one layer, drawn, as text, as what a step changed, or in its editor.
import { useLayoutEffect, useRef } from "preact/hooks";
import { CandidatesPane } from "./candidates";
import { ComparePane } from "./compare";
import { EditPane } from "./edits";
import { FormulaPane } from "./formulas";
import { GraphPane } from "./graph_pane";
import { SpokenChanges, TreePane } from "./graph_tree";
import { LensScreen } from "./lens_pane";
import { NONE } from "./links";
import { onKeys } from "./keys";
import { Problem, asking, html } from "./parts";
import type { PipelineStore } from "./pipeline";
import { Detail, StepList } from "./pipeline_screen";
import { RemarksButton, RemarksPanel } from "./remarks";
import { ScheduleScreen } from "./schedule";
import { useStore } from "./store";
import { say } from "./strings";
import { pieces, type Mark } from "./reading";
import { FindBar, ReadingButtons } from "./reading_parts";
import { isHere } from "./views";
import { Window, placeIn } from "./window";
import { COMPILED, OF_THE_MODEL, modes, placeOf, type Mode, type Pane, type WorkbenchStore } from "./workbench";

/** Modes that a recording does not hold. */
const ASKING: Mode[] = ["lens", "passes", "compare"];

export function PaneView({ store, at }: { store: WorkbenchStore; at: 0 | 1 }) {
  const pane = store.panes[at];
  const title = store.layer(pane.layer)?.title ?? "";
  const label = say.frame.paneLabel(title, "AB"[at]!);
  const box = useRef<HTMLElement>(null);
  const seen = useRef(store.acted);
  const held = box.current?.contains(document.activeElement);
  const editing = store.editingIn(at);
  const reads = store.reads(pane);
  useLayoutEffect(() => { // after an action the keys are the focused pane's, also while it has nothing to show yet
    const root = box.current;
    const acted = store.acted !== seen.current && root !== null && isHere(root);
    seen.current = store.acted;
    const lost = held && document.activeElement === document.body; // what had the focus is not in the page any more
    if (store.focused !== at || !root || !(acted || lost || document.activeElement === root)) return;
    (root.querySelector<HTMLElement>("[role=listbox], [role=tree], .wb-graph, .wb-values-body") ?? root).focus({ preventScroll: true });
  });
  const focus = () => { if (store.focused !== at) store.set(() => (store.focused = at)); };
  return html`<section class=${`wb-pane ${store.focused === at ? "wb-focused" : ""}`} aria-label=${label} tabindex="-1" ref=${box}
      onFocusIn=${focus} onMouseDown=${focus}>
    <${PaneHead} store=${store} at=${at} pane=${pane} title=${title} />
    ${pane.mode === "text" && COMPILED.includes(pane.layer) && html`<${RemarksPanel} store=${store} />`}
    ${pane.mode === "editor" ? html`<${ScheduleScreen} key=${store.kernel} store=${store.editor} />`
      : pane.mode === "lens" ? html`<${LensScreen} key=${store.kernel} store=${store.lens} />`
      : pane.mode === "candidates" ? html`<${CandidatesPane} store=${store} />`
      : pane.mode === "passes" ? html`<${NativePasses} key=${store.kernel} store=${store.native} />`
      : pane.mode === "changes" ? html`<${Detail} store=${store.steps} call=${reads ? store.text(pane.layer)?.call : undefined}
          made=${reads && html`<${TextPane} store=${store} at=${at} pane=${pane} label=${label} />`} /><${SpokenChanges} store=${store} />`
      : pane.mode === "tree" ? html`<${TreePane} key=${store.tools.key(pane.layer)} store=${store} at=${at} />`
      : pane.mode === "compare" ? html`<${ComparePane} store=${store} layer=${pane.layer} />`
      : pane.mode === "cards" ? html`<${FormulaPane} store=${store} at=${at} />`
      : pane.mode === "graph" ? html`<${GraphPane} store=${store} at=${at} />`
      : editing ? html`<${EditPane} store=${store.steps} editing=${editing} />`
      : html`<${TextPane} store=${store} at=${at} pane=${pane} label=${label} />`}
  </section>`;
}

/** LLVM's passes that changed the kernel, and what the selected one changed. */
function NativePasses({ store }: { store: PipelineStore }) {
  useStore(store);
  const keys = onKeys({
    ArrowUp: () => store.move(-1), ArrowDown: () => store.move(1),
    s: () => store.set(() => (store.split = !store.split)),
  }, false);
  if (store.problem) return html`<${Problem} error=${store.problem} />`;
  if (!store.view) return html`<div class="wb-wait">${say.frame.recordingPasses}</div>`;
  return html`<div class="wb-columns wb-native" onKeyDown=${keys}><${StepList} store=${store} /><${Detail} store=${store} /></div>`;
}

function PaneHead({ store, at, pane, title }: { store: WorkbenchStore; at: 0 | 1; pane: Pane; title: string }) {
  const here = modes(pane.layer).filter((mode) => mode !== "candidates" || store.layer("relay")); // loops alone leave nothing to choose
  const other = store.layer(store.panes[at === 0 ? 1 : 0].layer)?.title ?? "";
  const turn = (mode: Mode) => {
    store.set(() => (store.focused = at));
    if (pane.mode !== mode) store.turn(mode);
  };
  const noise = (store.text(pane.layer)?.hidden.length ?? 0) > 0;
  return html`<div class="wb-pane-head">
    <strong>${title}</strong>
    <button class="wb-icon wb-alone-button" aria-pressed=${store.alone} aria-label=${say.frame.wholeWidth} title=${say.frame.aloneHelp}
      onClick=${() => { store.focused = at; store.turnAlone(); }}>⤢</button>
    <button class="wb-button wb-one-pane" aria-label=${say.frame.otherPane(other)} title=${say.frame.otherPaneHelp}
      onClick=${() => store.set(() => { store.focused = at === 0 ? 1 : 0; store.acted++; })}>${"BA"[at]}: ${other}</button>
    ${!OF_THE_MODEL.includes(pane.layer) && (pane.mode !== "changes" || store.reads(pane)) && html`<select class="wb-select wb-kernel" aria-label=${say.frame.kernel} value=${store.kernel}
      disabled=${store.kernels.length === 0} onChange=${(event: Event) => store.choose((event.target as HTMLSelectElement).value)}>
      ${store.kernels.map((kernel) => html`<option value=${kernel.name}>${kernel.name} ${kernel.shape}</option>`)}</select>`}
    ${here.length > 1 && html`<span class="wb-group" role="group" aria-label=${say.frame.howToShow(title)}>${here.map((mode) => html`
      <button class="wb-button" aria-pressed=${pane.mode === mode} disabled=${(mode === "editor" || mode === "lens") && !store.kernel}
        ...${ASKING.includes(mode) ? asking(store, say.frame.modesHelp[mode], () => turn(mode)) : { title: say.frame.modesHelp[mode], onClick: () => turn(mode) }}>${say.frame.modes[mode]}</button>`)}</span>`}
    ${noise && store.reads(pane) && html`<button class="wb-button" aria-pressed=${store.everyLine} title=${say.frame.everyLineHelp}
      onClick=${() => store.set(() => (store.everyLine = !store.everyLine))}>${say.frame.everyLine}</button>`}
    ${pane.mode === "text" && (store.text(pane.layer)?.hottest ?? 0) > 0 && html`<button class="wb-button" title=${say.frame.hottestHelp}
      onClick=${() => { store.set(() => (store.focused = at)); store.hottest(); }}>${say.frame.hottest}</button>`}
    ${pane.mode === "text" && store.text(pane.layer) && html`<${ReadingButtons} store=${store} at=${at} />`}
    ${pane.mode === "text" && COMPILED.includes(pane.layer) && html`<${RemarksButton} store=${store} />`}
    ${pane.mode === "text" && html`<code class="wb-call" title=${say.common.samePython}>${store.text(pane.layer)?.call ?? ""}</code>`}
  </div>`;
}

function TextPane({ store, at, pane, label }: { store: WorkbenchStore; at: 0 | 1; pane: Pane; label: string }) {
  const shown = store.text(pane.layer);
  const refused = store.refusal(pane.layer);
  if (refused) return html`<${Problem} error=${refused} />`;
  if (!shown) return html`<div class="wb-wait">${store.lost ? say.frame.notFetched : store.waiting || "…"}</div>`;
  const [links, reading] = [store.links, store.reading];
  const lines = store.visible(pane.layer);
  const numberOf = (place: number) => (lines ? lines[place]! : place);
  const place = (number: number) => (lines ? placeOf(lines, number) : number);
  const total = lines?.length ?? shown.lines.total;
  const row = (at_: number, id: string) => {
    const number = numberOf(at_);
    const classes = links?.on(pane.layer, number) ?? NONE;
    const mark = store.mark(pane.layer, number);
    const lit = mark === 2;
    const near = classes.size > 0 && (classes === store.hovered || links?.mark(pane.layer, number, store.hovered) === 2);
    const [text, folds, folded] = [shown.lines.at(number) ?? "", reading.folds(pane.layer, number), reading.isFolded(pane.layer, number)];
    return html`<div key=${number} id=${id} role="option" aria-selected=${lit} ...${placeIn(total, at_)}
        class=${`wb-text-row ${lit ? "wb-lit" : mark ? "wb-around" : ""} ${near ? "wb-near" : ""} ${number === pane.active && store.focused === at ? "wb-active" : ""}`}
        onMouseEnter=${() => store.hover(classes)} onMouseLeave=${() => { store.hover(NONE); reading.tips.show(null); }}
        onMouseMove=${(event: MouseEvent) => reading.hover(pane.layer, number, event)}
        onDblClick=${() => store.editText(at, number)}
        onClick=${(event: MouseEvent) => { reading.follow(pane.layer, number, event); void store.selectLine(at, number); }}>
      ${shown.most > 0 && html`<${Heat} count=${shown.trips[number] ?? 0} most=${shown.most} />`}<span class="wb-no">${number + 1}</span><span class="wb-chevron" aria-hidden="true" title=${folds ? say.frame.foldedHelp(folds) : ""}
        onClick=${(event: Event) => { event.stopPropagation(); reading.turnFold(pane.layer, number); }}>${folds ? (folded ? "▸" : "▾") : ""}</span><span class="wb-line">${coloured(text, shown.language, reading.marks(at, number, text))}</span>${folded && html`<span class="wb-folded">⋯ ${say.frame.folded(folds)}</span>`}
    </div>`;
  };
  const ticks = store.stretches(pane.layer).map(([first, end]): [number, number] => [place(first), place(end)]);
  return html`<${FindBar} store=${store} at=${at} /><${Window} total=${total} label=${label} goal=${goalOf(pane, place)} active=${place(pane.active)}
    row=${row} ticks=${ticks} focused=${() => store.focused !== at && store.set(() => (store.focused = at))}
    seen=${(range: { first: number; end: number }) => {
      if (range.end > range.first) store.seen(pane.layer, { first: numberOf(range.first), end: numberOf(range.end - 1) + 1 });
    }} />`;
}

/** How often the line's statement runs, as a bar: its length is the logarithm's share. */
function Heat({ count, most }: { count: number; most: number }) {
  const width = count > 0 ? Math.max(1, Math.round((14 * Math.log2(count + 1)) / Math.log2(most + 1))) : 0;
  const told = count > 0 ? say.frame.runs(count) : say.frame.notCounted;
  return html`<span class=${`wb-heat ${count === most ? "wb-hottest" : ""}`} title=${told}><span style=${{ width: `${width}px` }}></span></span>`;
}

const goals = new WeakMap<object, { line: number }>();

/** The line to go to, as its place among those that are shown; one object for one goal. */
function goalOf(pane: Pane, place: (number: number) => number): { line: number } | null {
  if (!pane.goal) return null;
  let found = goals.get(pane.goal);
  if (!found) goals.set(pane.goal, (found = { line: place(pane.goal.line) }));
  return found;
}

function coloured(line: string, language: string, marks: Mark[]) {
  return pieces(line, language, marks).map(([kind, text]) => (kind ? html`<span class=${kind}>${text}</span>` : text));
}
