// Values of the program that is shown: the tensors of a graph step, their errors, one looked into, two steps compared.
import { BaseStore } from "./store";
import { say } from "./strings";
import type { Host } from "./types";

export interface TensorRow {
  number: number; name: string; box: string; shape: number[]; dtype: string; classes: number[]; against: string;
  right: boolean; absolute: number | null; relative: number | null; part: number | null;
}
export interface TensorsView { step: string; rows: TensorRow[]; inputs: string; tolerance: number; version: number }
export interface TensorPicture {
  number: number; name: string; shape: number[]; dtype: string; facts: [string, string][]; low: number; high: number; counts: number[];
  error_low: number; error_high: number; error_counts: number[]; index: number[]; values: (number | null)[][]; clipped: boolean;
}
export interface OutputRow {
  name: string; shape: number[]; right: boolean; absolute: number | null; relative: number | null; ulp: number | null;
  nans: [number, number]; equal: number; size: number;
}
export interface OutputsView { before: string; after: string; rows: OutputRow[]; inputs: string }

export class TensorStore extends BaseStore {
  graphs: string[] = [];
  runnable: string[] = [];
  step = "";
  before = "";
  after = "";
  list: TensorsView | null = null;
  picture: TensorPicture | null = null;
  outputs: OutputsView | null = null;
  /** Whether errors are painted on the graphs. */
  painted = false;
  working = "";
  /** The errors of the graph steps that were computed, by step. */
  private known = new Map<string, TensorsView>();

  constructor(host: Host, private readonly onNews: () => void) {
    super(host);
    this.connection.onEvent = (name) => { if (name === "changed" || name === "inputs") this.forget(); };
  }

  /** The program is another one, or what it is run on: what was computed says nothing any more. */
  private forget(): void {
    this.known.clear();
    this.generation++;
    this.set(() => { this.graphs = []; this.list = this.picture = this.outputs = this.problem = null; this.painted = false; });
    this.onNews();
  }

  private run(what: string, work: (same: () => boolean) => Promise<void>): Promise<void> {
    this.set(() => { this.working = what; this.problem = null; });
    return this.ofShown(work).finally(() => { this.set(() => (this.working = "")); this.onNews(); });
  }

  begin = (): Promise<void> => this.ofShown(async (same) => {
    if (this.graphs.length) return;
    const view = (await this.connection.request("tensors.steps")).view as { graph: string[]; runnable: string[] };
    if (!same()) return this.begin();
    this.set(() => {
      this.graphs = view.graph;
      this.runnable = view.runnable;
      this.step = view.graph.includes(this.step) ? this.step : view.graph.at(-1) ?? "";
      this.before = view.runnable.includes(this.before) ? this.before : view.runnable[0] ?? "";
      this.after = view.runnable.includes(this.after) ? this.after : view.runnable.at(-1) ?? "";
    });
  });

  private async fetched(step: string, same: () => boolean): Promise<TensorsView> {
    const found = this.known.get(step) ?? (await this.connection.request("tensors.list", { step })).view as TensorsView;
    if (same()) this.known.set(step, found); // a cell may have changed the program meanwhile
    return found;
  }

  show = (step: string): Promise<void> => this.run(say.values.runningGraph, async (same) => {
    const list = await this.fetched(step, same);
    if (same()) this.set(() => { this.step = step; this.list = list; this.picture = null; });
  });

  look = (number: number, index: number[] = []): Promise<void> => this.ofShown(async (same) => {
    const view = (await this.connection.request("tensors.look", { step: this.step, number, index }, "look")).view as TensorPicture;
    if (same()) this.set(() => (this.picture = view));
  });

  compare = (): Promise<void> => this.run(say.values.runningBoth, async (same) => {
    const view = (await this.connection.request("tensors.outputs", { before: this.before, after: this.after })).view as OutputsView;
    if (same()) this.set(() => (this.outputs = view));
  });

  /** Errors on the boxes of both drawn graphs, or none any more. */
  paint = (): Promise<void> => this.run(say.values.runningGraphs, async (same) => {
    if (!this.painted) for (const step of [this.graphs[0], this.graphs.at(-1)]) if (step) await this.fetched(step, same);
    if (same()) this.set(() => (this.painted = !this.painted));
  });

  /** The tensor of a box of a drawn graph (of a group: the one with the greatest error), where errors are painted. */
  of(layer: string, box: string): TensorRow | null {
    if (!this.painted) return null;
    const step = layer === "relay" ? this.graphs[0] : this.graphs.at(-1);
    let found: TensorRow | null = null;
    for (const row of this.known.get(step ?? "")?.rows ?? []) {
      if ((row.box === box || row.box.startsWith(`${box}.`)) && row.part !== null && row.part >= (found?.part ?? 0)) found = row;
    }
    return found;
  }
}

/** Five steps of error: far below the tolerance to beyond it. */
export function grade(part: number): number {
  return part > 1 ? 4 : part > 0.5 ? 3 : part > 0.1 ? 2 : part > 0.01 ? 1 : 0;
}

export function shortly(value: number | null): string {
  if (value === null) return say.values.infinite;
  return value === 0 ? "0" : value.toExponential(1);
}
