// A long list of lines of one height, of which only those in sight are in the page.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { onKeys } from "./keys";
import { html, useIds } from "./parts";

export const LINE = 19; // pixels
const SPARE = 8; // rows drawn above and below what is in sight

export interface Range { first: number; end: number }

interface Shape {
  total: number;
  label: string;
  role?: "listbox" | "region" | "tree";
  /** The line to bring into sight; a new object means: now. */
  goal: { line: number } | null;
  active: number;
  /** A row, which has that id. */
  row(number: number, id: string): unknown;
  ticks?: [number, number][];
  seen?(range: Range): void;
  focused?(): void;
  keys?(event: KeyboardEvent): void;
}

export function Window({ total, role = "listbox", label, goal, active, row, ticks = [], seen, focused, keys }: Shape) {
  const body = useRef<HTMLDivElement>(null);
  const ids = useIds();
  const [range, setRange] = useState<Range>({ first: 0, end: 60 });
  const look = (): void => {
    const box = body.current;
    if (!box) return;
    const first = Math.max(0, Math.floor(box.scrollTop / LINE) - SPARE);
    const end = Math.min(total, Math.ceil((box.scrollTop + box.clientHeight) / LINE) + SPARE);
    seen?.({ first, end });
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
  for (let number = range.first; number < Math.min(range.end, total); number++) rows.push(row(number, ids(number)));
  return html`<div class="wb-window">
    <div class="wb-window-body" role=${role} aria-label=${label} tabindex="0" ref=${body} onScroll=${look} onFocus=${focused} onKeyDown=${keys}
      aria-activedescendant=${active >= range.first && active < Math.min(range.end, total) ? ids(active) : undefined}>
      <div role="presentation" style=${{ height: `${total * LINE}px`, position: "relative" }}>
        <div role="presentation" style=${{ position: "absolute", top: `${range.first * LINE}px`, left: 0, minWidth: "100%" }}>${rows}</div>
      </div>
    </div>
    ${ticks.length > 0 && html`<svg class="wb-ticks" aria-hidden="true" viewBox=${`0 0 1 ${Math.max(total, 1)}`} preserveAspectRatio="none">
      <path d=${ticks.map(([first, end]) => `M0 ${first}h1V${end}h-1z`).join("")} />
    </svg>`}
  </div>`;
}

interface Choices<Item> {
  items: Item[]; label: string;
  /** The number of the chosen item; -1: none is. */
  chosen: number;
  choose(item: Item): void;
  title(item: Item): string;
  /** What stands in an item's row. */
  draw(item: Item): unknown;
}

/** A long list of which one item is chosen, by a click or by keys. */
export function ChoiceList<Item>({ items, label, chosen, choose, title, draw }: Choices<Item>) {
  const goal = useMemo(() => (chosen < 0 ? null : { line: chosen }), [chosen]);
  const go = (to: number) => { const item = items[Math.min(Math.max(to, 0), items.length - 1)]; if (item) choose(item); };
  const keys = onKeys({ ArrowDown: () => go(chosen + 1), ArrowUp: () => go(chosen - 1), Home: () => go(0), End: () => go(items.length - 1) }, false);
  const row = (number: number, id: string) => {
    const item = items[number]!;
    return html`<div key=${number} id=${id} class="wb-tensor" role="option" aria-selected=${number === chosen} ...${placeIn(items.length, number)}
      title=${title(item)} onClick=${() => choose(item)}>${draw(item)}</div>`;
  };
  return html`<${Window} label=${label} total=${items.length} goal=${goal} active=${chosen} row=${row} keys=${keys} />`;
}

/** What a row says of its place, since most rows beside it are not in the page. */
export function placeIn(total: number, number: number) {
  return { "aria-setsize": total, "aria-posinset": number + 1 };
}
