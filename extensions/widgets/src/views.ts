// The views of screens in a page: whether a screen is drawn at all, and in which view a person is at work.
import type { Host } from "./types";

type Callback = Parameters<Host["on"]>[1];

/** A screen's host that knows whether the screen is drawn somewhere ("away": nowhere), and tells when it is again ("drawn"). */
export class Views implements Host {
  private count = 0;
  private readonly waiting = new Set<Callback>();

  constructor(private readonly host: Host) {}

  get(name: string): unknown {
    return name === "away" ? this.count === 0 : this.host.get(name);
  }

  send(...message: Parameters<Host["send"]>): void {
    this.host.send(...message);
  }

  on(name: Parameters<Host["on"]>[0], callback: Callback): void {
    if (name === "drawn") this.waiting.add(callback);
    else this.host.on(name, callback);
  }

  off(name: Parameters<Host["on"]>[0], callback: Callback): void {
    if (name === "drawn") this.waiting.delete(callback);
    else this.host.off(name, callback);
  }

  add(): void {
    if (this.count++ === 0) for (const callback of [...this.waiting]) callback(null, []);
  }

  remove(): void {
    this.count--;
  }
}

/** The view in which a key or the pointer was pressed last; none: that was elsewhere in the page. */
let last: Element | null = null;

export function watchPresses(view: Element, signal: AbortSignal): void {
  for (const kind of ["pointerdown", "keydown", "click"]) {
    window.addEventListener(kind, () => (last = null), { capture: true, signal });
    view.addEventListener(kind, () => (last = view), { capture: true, signal });
  }
}

/** Whether the person is at work in the view that an element is in: what a screen does, all of its views do. */
export function isHere(element: Element): boolean {
  const view = element.closest(".wb-host");
  return last ? view === last : view?.contains(document.activeElement) ?? false;
}

/** Give an element the focus, where the person is at work. */
export function focusHere(element: HTMLElement | null | undefined): void {
  if (element && isHere(element)) element.focus({ preventScroll: true });
}
