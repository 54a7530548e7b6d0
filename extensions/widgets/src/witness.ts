// The witness of a refusal: two iterations that collide, in the plane of the two loops that matter.
import { useEffect, useRef } from "preact/hooks";
import { html } from "./parts";
import { say } from "./strings";
import type { AxisView, ScheduleView, SuggestionView, WitnessView } from "./types";

const DOWN = 28, GAP = 18, TOP = 40;
/** How far apart the points of a row are at most and at least, and how wide a picture may get by more than the least. */
const [MOST, LEAST, WIDE] = [40, 24, 300];
/** Pixels of a letter of an axis' name, at most. */
const LETTER = 8;

/** Where the values of an axis lie; a wider step stands for those left out. */
function spread(ticks: number[], begin: number, cell: number): Map<number, number> {
  const places = new Map<number, number>();
  let place = begin;
  ticks.forEach((value, i) => {
    if (i > 0) place += cell + (value === ticks[i - 1]! + 1 ? 0 : GAP);
    places.set(value, place);
  });
  return places;
}

/** Where the points begin: right of the names of the axes, and of the numbers beside the rows. */
function leftOf(axes: AxisView[]): number {
  return Math.max(58, ...axes.map((axis, which) =>
    20 + LETTER * (axis.name.length + 2) + (which ? 10 + LETTER * Math.max(...axis.ticks.map((value) => String(value).length)) : 0)));
}

/** The numbers along an axis, with dots where values are left out. */
function scale(axis: AxisView, places: Map<number, number>, across: boolean, left: number) {
  const at = (place: number) => (across ? { x: place, y: TOP - 16 } : { x: left - 18, y: place + 4 });
  const skipped = axis.ticks.flatMap((value, i) => {
    const before = axis.ticks[i - 1];
    return before === undefined || value === before + 1 ? [] : [(places.get(before)! + places.get(value)!) / 2];
  });
  return html`<g class=${across ? "wb-w-across" : "wb-w-down"}>
    <text class="wb-w-axis" ...${across ? { x: 6, y: TOP - 16 } : { x: 6, y: TOP + 4 }}>${axis.name} ${across ? "→" : "↓"}</text>
    ${axis.ticks.map((value) => html`<text class="wb-w-tick" ...${at(places.get(value)!)}>${value}</text>`)}
    ${skipped.map((place) => html`<text class="wb-w-tick" ...${at(place)}>…</text>`)}
  </g>`;
}

function Picture({ found }: { found: WitnessView }) {
  const [horizontal, vertical] = found.axes;
  const left = leftOf(found.axes);
  const apart = Math.max(LEAST, Math.min(MOST, Math.floor((WIDE - left) / (horizontal?.ticks.length || 1))));
  const across = horizontal ? spread(horizontal.ticks, left, apart) : new Map([[0, left]]);
  const down = vertical ? spread(vertical.ticks, TOP, DOWN) : new Map([[0, TOP]]);
  const [one, two] = found.points.map((point) => ({ x: across.get(point.x) ?? left, y: down.get(point.y) ?? TOP }));
  if (!one || !two) return null;
  const width = Math.max(...across.values()) + 24, height = Math.max(...down.values()) + 24;
  const length = Math.max(Math.hypot(two.x - one.x, two.y - one.y), 1);
  const [dx, dy] = [(two.x - one.x) / length, (two.y - one.y) / length];
  const cut = Math.min(13, length * 0.45);
  const [sx, sy, ex, ey] = [one.x + dx * cut, one.y + dy * cut, two.x - dx * cut, two.y - dy * cut];
  const head = [[ex, ey], [ex - dx * 7 - dy * 4, ey - dy * 7 + dx * 4], [ex - dx * 7 + dy * 4, ey - dy * 7 - dx * 4]];
  return html`<svg class="wb-w-picture" role="img" aria-label=${found.sentence} width=${width} height=${height}
      viewBox=${`0 0 ${width} ${height}`}>
    <title>${found.sentence}</title>
    ${horizontal && scale(horizontal, across, true, left)}
    ${vertical && scale(vertical, down, false, left)}
    ${[...down.values()].flatMap((y) => [...across.values()].map((x) => html`<circle class="wb-w-dot" cx=${x} cy=${y} r="2.5" />`))}
    <path class="wb-w-arrow" d=${`M${sx} ${sy}L${ex} ${ey}`} />
    <polygon class="wb-w-tip" points=${head.map((at) => at.join(",")).join(" ")} />
    <rect class="wb-w-one" x=${one.x - 9} y=${one.y - 9} width="18" height="18" rx="2" />
    <polygon class="wb-w-two" points=${`${two.x},${two.y - 12} ${two.x + 12},${two.y} ${two.x},${two.y + 12} ${two.x - 12},${two.y}`} />
    <text class="wb-w-sign" x=${one.x} y=${one.y + 4}>1</text><text class="wb-w-sign" x=${two.x} y=${two.y + 4}>2</text>
  </svg>`;
}

/** The lines of a program that a witness lights, by number from 1. */
export function litLines(found: WitnessView | null | undefined): Set<number> {
  return new Set(found?.lines ?? []);
}

export function Witness({ found, view }: { found: WitnessView; view: ScheduleView | null }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.scrollIntoView({ block: "nearest" }), [found]);
  const cut = found.axes.filter((axis) => axis.clipped);
  const text = (view?.script.chunks ?? []).flatMap((chunk) => chunk.lines.map((line, i) => [chunk.start + i + 1, line] as const));
  const marks = (line: number) => found.points.map((point, i) => (point.line === line ? (i ? "◆2" : "■1") : "")).filter(Boolean).join(" ");
  const lit = litLines(found);
  return html`<div class="wb-witness" ref=${place} role="group" aria-label=${say.schedule.collide}>
    <div class="wb-w-frame"><${Picture} found=${found} /></div>
    <div class="wb-w-words">
      <ol>${found.points.map((point, i) => html`<li class=${i ? "wb-w-second" : "wb-w-first"}>
        <span aria-hidden="true">${i ? "◆" : "■"}</span> <b>${i + 1}</b> <code>${point.does}</code> ${say.schedule.at} <code>${point.at}</code>${point.line > 0 && ` · ${say.schedule.atLine(point.line)}`}</li>`)}</ol>
      <div>${found.why}</div>
      ${cut.length > 0 && html`<div class="wb-muted">${say.schedule.partDrawn(cut.map((axis) =>
        axis.extent > 0 ? say.schedule.iterations(axis.name, axis.extent) : say.schedule.iterationsVary(axis.name)))}</div>`}
    </div>
    ${lit.size > 0 && html`<pre class="wb-w-lines" tabindex="0" aria-label=${say.schedule.concerned}>${text.filter(([line]) => lit.has(line)).map(([line, words]) =>
      html`<span class="wb-code-line wb-lit"><span class="wb-no">${line}</span>${words.trim()} <b>${marks(line)}</b>${"\n"}</span>`)}</pre>`}
  </div>`;
}

/** The place of a suggestion by the model of the machine, in words; no factor, since the model only orders. */
export function rankOf(way: SuggestionView): string {
  if (way.rank === 0) return say.schedule.notModelled;
  return say.schedule.wayRank(way.rank, way.gains);
}
