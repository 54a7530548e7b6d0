// What is told of the thing under the pointer, beside it.  Moving the pointer redraws this and nothing else.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "./parts";

/** `of`: what it is told of; it goes where that is no longer drawn. */
export interface Told { x: number; y: number; of: Element; title: string; lines: string[] }

export class Tips {
  told: Told | null = null;
  private watchers = new Set<() => void>();

  show(told: Told | null): void {
    const [old, now] = [this.told, told];
    if (old === now || (old && now && old.title === now.title && old.x === now.x && old.y === now.y)) return;
    this.told = told;
    for (const watcher of this.watchers) watcher();
  }

  watch(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }
}

export function TipBox({ tips }: { tips: Tips }) {
  const [, draw] = useState(0);
  useEffect(() => tips.watch(() => draw((count) => count + 1)), [tips]);
  const told = tips.told;
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => { // how tall it is, is known now
    if (told && !told.of.getClientRects().length) return tips.show(null);
    const root = box.current?.closest(".wb");
    if (box.current && root && told) box.current.style.top = `${Math.max(4, Math.min(told.y, root.clientHeight - box.current.offsetHeight - 4))}px`;
  });
  if (!told) return null;
  return html`<div class="wb-tip-box" role="tooltip" ref=${box} style=${{ left: `${told.x}px`, top: `${told.y}px` }}>
    <code>${told.title}</code>${told.lines.filter(Boolean).map((line) => html`<div>${line}</div>`)}</div>`;
}

/** Where a box beside a thing goes, within the screen around it. */
export function beside(of: Element, x: number, y: number): { x: number; y: number; of: Element } {
  const root = of.closest(".wb")?.getBoundingClientRect();
  if (!root) return { x, y, of };
  return { of, x: Math.max(4, Math.min(x - root.left, root.width - 330)), y: Math.max(4, Math.min(y - root.top + 16, root.height - 90)) };
}
