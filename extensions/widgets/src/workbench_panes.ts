// A pane: a layer and how it is shown; and the lines of a text that are in it.
import type { Lines } from "./diff";

export const GRAPHS = ["relay", "fused"];
export const NATIVE = ["tir", "llvm", "asm"]; // layers of code that runs
export const COMPILED = ["asm", "llvm"]; // layers of what code generation makes
export const LOOPS = ["schedule", "te", "tir"];
export const OF_THE_MODEL = ["onnx", ...GRAPHS];

/**
 * How a pane shows its layer: drawn, as a tree of words, as formulas, as text, what the selected step changed, the schedule's editor and tile lens, what
 * else can compute the kernel, LLVM's own passes, beside another branch.
 */
export type Mode = "graph" | "tree" | "cards" | "text" | "changes" | "editor" | "lens" | "candidates" | "passes" | "compare";
export interface Shown {
  lines: Lines; language: string; call: string; hidden: number[]; constant: number[]; visible: number[] | null; trips: Float64Array; most: number; hottest: number;
  /** The step after which the kernel or the graph has this very text; empty for others. */
  step: string;
}
export interface Pane { layer: string; mode: Mode; active: number; goal: { line: number } | null }

export function pane(layer: string, mode: Mode): Pane {
  return { layer, mode, active: 0, goal: null };
}

/** How a layer can be shown, the usual way first. */
export function modes(layer: string): Mode[] {
  if (GRAPHS.includes(layer)) return ["graph", "tree", "text", "changes", "compare"];
  if (layer === "schedule") return ["text", "editor", "lens", "candidates", "changes", "compare"];
  if (layer === "te") return ["cards", "text", "changes", "compare"];
  if (layer === "llvm") return ["text", "passes", "changes", "compare"];
  return layer === "onnx" ? ["text"] : ["text", "changes", "compare"];
}

/** Runs [count, value, ...] as one value for each line. */
export function spread(runs: number[]): Float64Array {
  let total = 0;
  for (let i = 0; i < runs.length; i += 2) total += runs[i]!;
  const found = new Float64Array(total);
  for (let i = 0, at = 0; i < runs.length; at += runs[i]!, i += 2) found.fill(runs[i + 1]!, at, at + runs[i]!);
  return found;
}

/** The numbers below `total` outside of stretches [first, count, ...]. */
export function others(total: number, stretches: number[]): number[] {
  const found: number[] = [];
  let at = 0;
  for (let i = 0; i <= stretches.length; i += 2) {
    const first = stretches[i] ?? total;
    while (at < first) found.push(at++);
    at = first + (stretches[i + 1] ?? 0);
  }
  return found;
}

/** The place of a number in a sorted list, or of the next one after it. */
export function placeOf(sorted: number[], number: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
