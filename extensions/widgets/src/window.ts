// A long list of lines of one height, of which only those in sight are in the page.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "./parts";

export const LINE = 19; // pixels
const SPARE = 8; // rows drawn above and below what is in sight

export interface Range { first: number; end: number }

interface Shape {
  total: number;
  label: string;
  role?: "listbox" | "region";
  /** The line to bring into sight; a new object means: now. */
  goal: { line: number } | null;
  active: number;
  row(number: number): unknown;
  ticks: [number, number][];
  seen(range: Range): void;
  focused(): void;
}

export function Window({ total, role = "listbox", label, goal, active, row, ticks, seen, focused }: Shape) {
  const body = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<Range>({ first: 0, end: 60 });
  const look = (): void => {
    const box = body.current;
    if (!box) return;
    const first = Math.max(0, Math.floor(box.scrollTop / LINE) - SPARE);
    const end = Math.min(total, Math.ceil((box.scrollTop + box.clientHeight) / LINE) + SPARE);
    seen({ first, end });
    if (first !== range.first || end !== range.end) setRange({ first, end });
  };
  useLayoutEffect(() => {
    const box = body.current;
    if (!box) return;
    const watch = new ResizeObserver(look);
    watch.observe(box);
    return () => watch.disconnect();
  });
  useLayoutEffect(look, [total, label]);
  useLayoutEffect(() => {
    const box = body.current;
    if (!box || !goal) return;
    const [top, bottom] = [goal.line * LINE, (goal.line + 1) * LINE];
    if (top < box.scrollTop || bottom > box.scrollTop + box.clientHeight) box.scrollTop = Math.max(0, top - box.clientHeight / 3);
    look();
  }, [goal]);
  const rows = [];
  for (let number = range.first; number < Math.min(range.end, total); number++) rows.push(row(number));
  return html`<div class="wb-window">
    <div class="wb-window-body" role=${role} aria-label=${label} tabindex="0" ref=${body} onScroll=${look} onFocus=${focused}
      aria-activedescendant=${active >= range.first && active < range.end ? `${idOf(label)}-${active}` : undefined}>
      <div style=${{ height: `${total * LINE}px`, position: "relative" }}>
        <div style=${{ position: "absolute", top: `${range.first * LINE}px`, left: 0, minWidth: "100%" }}>${rows}</div>
      </div>
    </div>
    ${ticks.length > 0 && html`<svg class="wb-ticks" aria-hidden="true" viewBox=${`0 0 1 ${Math.max(total, 1)}`} preserveAspectRatio="none">
      <path d=${ticks.map(([first, end]) => `M0 ${first}h1V${end}h-1z`).join("")} />
    </svg>`}
  </div>`;
}

export function idOf(label: string): string {
  return `wb-${label.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;
}
