// The bundle's entry: draws the screen that a widget asks for.
import { render as draw } from "preact";
import { ChecksStore } from "./checks";
import { ChecksPane } from "./checks_pane";
import { LensScreen } from "./lens_pane";
import { LensStore } from "./lens_store";
import { html } from "./parts";
import { PipelineStore } from "./pipeline";
import { PipelineScreen } from "./pipeline_screen";
import { ScheduleScreen, ScheduleStore } from "./schedule";
import style from "./style.css";
import type { Host } from "./types";
import { Views, watchPresses } from "./views";
import { WorkbenchStore } from "./workbench";
import { WorkbenchScreen } from "./workbench_screen";

export * as lens from "./lens";
export * as lensCache from "./lens_cache";

type Store = PipelineStore | ScheduleStore | WorkbenchStore | LensStore | ChecksStore;

// A screen's state outlives its views: a notebook detaches an output that scrolls away and draws it again.
const screens = new WeakMap<Host, { store: Store; views: Views }>();

/** The screen of a model, with one view more. */
function screenOf(model: Host): { store: Store; views: Views } {
  let screen = screens.get(model);
  const views = screen?.views ?? new Views(model);
  views.add();
  if (!screen) {
    const kind = model.get("kind");
    const store = kind === "schedule" ? new ScheduleStore(views) : kind === "workbench" ? new WorkbenchStore(views)
      : kind === "lens" ? new LensStore(views) : kind === "checks" ? new ChecksStore(views) : new PipelineStore(views);
    screens.set(model, (screen = { store, views }));
  }
  return screen;
}

function addStyle(): void {
  const id = "workbench-style";
  const old = document.getElementById(id);
  if (old?.textContent === style) return;
  const element = old ?? document.createElement("style");
  element.id = id;
  element.textContent = style;
  if (!old) document.head.append(element);
}

/**
 * Enter in a field sends its form.  JupyterLab takes it away in cells: at each key it puts a listener on the field itself
 * that prevents line breaks, for a shortcut of its own.
 */
function keepEnter(event: InputEvent): void {
  if (event.inputType === "insertLineBreak" && event.target instanceof HTMLInputElement) event.stopImmediatePropagation();
}

/** Keys that go on to JupyterLab, which takes none from a screen: saving, and its command palette. */
const PASSED = new Set(["s", "shift+s", "shift+c"]);

function letThrough(event: KeyboardEvent, view: Element): void {
  const key = `${event.shiftKey ? "shift+" : ""}${event.key.toLowerCase()}`;
  if (!(event.ctrlKey || event.metaKey) || event.altKey || !PASSED.has(key) || !view.contains(event.target as Node)) return;
  const own = [...view.querySelectorAll("[data-lm-suppress-shortcuts]")];
  for (const element of own) element.removeAttribute("data-lm-suppress-shortcuts");
  setTimeout(() => own.forEach((element) => element.setAttribute("data-lm-suppress-shortcuts", "true")));
}

/** Shift and a click chooses the other pane; a notebook would select all cells up to this one, a page the text between. */
function keepShift(event: MouseEvent): void {
  if (!event.shiftKey) return;
  event.stopPropagation();
  if (!(event.target as Element).closest("input,textarea,select,[contenteditable]")) event.preventDefault();
}

export function render({ model, el }: { model: Host; el: HTMLElement }): () => void {
  addStyle();
  const { store, views } = screenOf(model);
  el.classList.add("wb-host");
  const Screen = store instanceof ScheduleStore ? ScheduleScreen : store instanceof WorkbenchStore ? WorkbenchScreen
    : store instanceof LensStore ? LensScreen : store instanceof ChecksStore ? ChecksPane : PipelineScreen;
  if (model.get("kept")) el.classList.add("wb-kept");
  draw(html`<${Screen} store=${store} />`, el);
  const drawn = new AbortController();
  const { signal } = drawn;
  watchPresses(el, signal);
  el.addEventListener("beforeinput", keepEnter, { capture: true, signal });
  el.addEventListener("mousedown", keepShift, { signal });
  window.addEventListener("keydown", (event) => letThrough(event, el), { capture: true, signal }); // before JupyterLab's own, which is the document's
  return () => {
    drawn.abort();
    draw(null, el);
    views.remove();
  };
}
