// The pictures of the tile lens: arrays as grids on a Canvas, each element in the colour of the cache that holds it.
import { strides } from "./lens";
import type { Frame } from "./lens_store";
import type { AccessView, ArrayView } from "./types";

/** How an array lies on the page: its last dimensions go across, the others down.  Elements are `cell` wide, `high` high. */
export interface Grid { rows: number; columns: number; cell: number; high: number; across: number }

const LARGEST_CELL = 18;
/** No picture of many elements is a line: its elements are drawn longer one way. */
const LEAST_THICK = 24;
const [LEAST_SIDE, LARGEST_SIDE] = [110, 256];
const AROUND = 50;

/** How many pixels wide and high a picture may be, so that three stand beside each other. */
export function sideOf(width: number, arrays: number): number {
  return Math.min(Math.max(Math.floor(width / Math.min(Math.max(arrays, 1), 3)) - AROUND, LEAST_SIDE), LARGEST_SIDE);
}

export function gridOf(array: ArrayView, side: number): Grid {
  let best = { rows: 1, columns: 1, across: 0, apart: Infinity };
  for (let across = 0; across <= array.shape.length; across++) {
    const rows = product(array.shape.slice(0, across));
    const columns = product(array.shape.slice(across));
    const apart = Math.abs(Math.log(rows / columns)) - (array.shape.length === 2 && across === 1 ? 10 : 0);
    if (apart < best.apart) best = { rows, columns, across, apart };
  }
  const cell = Math.min(side / best.columns, side / best.rows, LARGEST_CELL);
  const square = cell >= 1 ? Math.floor(cell) : cell;
  const thick = (count: number) => (cell < 1 ? Math.max(square, Math.min(LEAST_THICK / count, LARGEST_CELL)) : square);
  return { rows: best.rows, columns: best.columns, across: best.across, cell: thick(best.columns), high: thick(best.rows) };
}

function product(numbers: number[]): number {
  return numbers.reduce((all, one) => all * one, 1);
}

/** Where steps of an axis lead in a picture: "across" or "down", and how many cells each; null if the axis is not in it. */
export function directionOf(array: ArrayView, grid: Grid, access: AccessView, axis: number): { across: boolean; cells: number } | null {
  const dim = access.dims.findIndex(([, terms]) => terms.some(([own, factor]) => own === axis && factor > 0));
  if (dim < 0) return null;
  const factor = access.dims[dim]![1].find(([own]) => own === axis)![1];
  const step = strides(array)[dim]!;
  const across = dim >= grid.across;
  return { across, cells: factor * (across ? step : step / grid.columns) };
}

/** Colours by class (never touched, each cache, memory), from dark to pale so that they differ without hue too. */
export function palette(dark: boolean, caches: number): string[] {
  const blues = dark ? ["#d3ebff", "#5aa9e6", "#28608f"] : ["#08306b", "#3182bd", "#9ecae1"];
  const chosen = caches === 2 ? [blues[0]!, blues[1]!] : blues.slice(0, caches);
  return [dark ? "#2a2e36" : "#eceef1", ...chosen, dark ? "#8a5a22" : "#f0b878"];
}

function number(colour: string, alpha: number): number {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) as [number, number, number];
  return ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

const FADED = 120;

/** Draw one array: classes of its lines, what lies outside the framed loop's footprint pale, this visit's elements ringed. */
export function drawArray(canvas: HTMLCanvasElement, frame: Frame, which: number, grid: Grid, dark: boolean): void {
  const array = frame.nest.view.arrays[which]!;
  const colours = palette(dark, frame.nest.view.caches.length);
  const tables = [FADED, 255].map((alpha) => Uint32Array.from(colours, (colour) => number(colour, alpha)));
  const [pale, full] = tables as [Uint32Array, Uint32Array];
  const small = document.createElement("canvas");
  [small.width, small.height] = [grid.columns, grid.rows];
  const painter = small.getContext("2d")!;
  const image = painter.createImageData(grid.columns, grid.rows);
  const pixels = new Uint32Array(image.data.buffer);
  const [classes, mask] = [frame.held.classes[which]!, frame.masks[which]!];
  const line = Math.max(1, Math.floor((frame.nest.view.caches[0]?.line ?? 64) / array.bytes));
  for (let at = 0, element = 0; at < classes.length; at++) {
    const place = classes[at]!;
    const [inside, outside] = [full[place]!, pale[place]!];
    for (const end = Math.min(element + line, pixels.length); element < end; element++)
      pixels[element] = mask[element] ? inside : outside;
  }
  painter.putImageData(image, 0, 0);
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [Math.max(grid.columns * grid.cell, 1), Math.max(grid.rows * grid.high, 1)];
  [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
  const context = canvas.getContext("2d")!;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.imageSmoothingEnabled = grid.cell < 1;
  context.drawImage(small, 0, 0, width, height);
  if (Math.min(grid.cell, grid.high) >= 5) rule(context, grid, dark);
  context.strokeStyle = "#d62a6c";
  context.lineWidth = 2;
  for (const element of frame.here[which]!) ring(context, grid, element);
}

function rule(context: CanvasRenderingContext2D, grid: Grid, dark: boolean): void {
  context.strokeStyle = dark ? "rgb(255 255 255 / 12%)" : "rgb(0 0 0 / 12%)";
  context.lineWidth = 1;
  context.beginPath();
  for (let row = 1; row < grid.rows; row++) { context.moveTo(0, row * grid.high); context.lineTo(grid.columns * grid.cell, row * grid.high); }
  for (let column = 1; column < grid.columns; column++) { context.moveTo(column * grid.cell, 0); context.lineTo(column * grid.cell, grid.rows * grid.high); }
  context.stroke();
}

function ring(context: CanvasRenderingContext2D, grid: Grid, element: number): void {
  const [wide, high] = [Math.max(grid.cell, 6), Math.max(grid.high, 6)];
  const x = (element % grid.columns) * grid.cell + grid.cell / 2 - wide / 2;
  const y = Math.floor(element / grid.columns) * grid.high + grid.high / 2 - high / 2;
  context.strokeRect(x, y, wide, high);
}
