// The twin of workbench/views/schema.py: what the kernel sends.

export interface ErrorView {
  code: string; message: string; where: string; found: string; expected: string; fix: string; kept: string;
  nodes: string[]; line?: number; column?: number;
}
export interface Chunk { start: number; lines: string[] }
export interface TextView { total: number; chunks: Chunk[] }
export interface Hunk { before_start: number; before_count: number; after_start: number; after_count: number }

export interface StepSummary {
  id: string; name: string; kind: string; changed: boolean; milliseconds: number; ops_before: number;
  ops_after: number; rewrite_count: number; group: string; note: string; error: ErrorView | null;
  pending: boolean;
  /** Names of the rules that fired in it, each with how often. */
  rules?: [string, number][];
  /** It was left out on the screen and does not run; it stands where it ran. */
  left_out: boolean;
  /** The functions that fusion made of the operators. */
  functions?: number;
}
export interface PipelineView {
  version: number; state: string; title: string; steps: StepSummary[]; target: string;
  selected: { step: string; rewrite: number | null };
  /** Whether texts and passes can be changed here, how much can be undone, the Python of the last change, the list of steps. */
  editable: boolean; undo: number; redo: number; call: string; plan: string;
}
export interface SourceView { step: string; functions: string[]; function: string; text: string; passes: string[] }
export interface RewriteSummary { rule: string; source: string; where: string; microseconds: number }
export interface StepView {
  id: string; state: string; before: TextView; after: TextView; hunks: Hunk[]; rewrites: RewriteSummary[];
  rewrite_count: number; language: string; call: string;
}
export interface RewriteView {
  step: string; index: number; rewrite: RewriteSummary; before: TextView; after: TextView; hunks: Hunk[];
  why: string; bindings: [string, string][]; rule_text: string;
}

export interface TreeNode {
  id: string; kind: "loop" | "block" | "stage"; name: string; extent: string; loop_kind: string; detail: string;
  reduction: boolean; children: TreeNode[];
  /** What a loop's variable is known by, wherever it stands, and of what loops it was made, the nearest first. */
  key: string; made_of: string[];
}
export interface Parameter {
  name: string; kind: string; doc: string; default: unknown; choices: string[]; required: boolean;
}
export interface PrimitiveView { name: string; doc: string; parameters: Parameter[]; category: string }
export interface HistoryEntry { label: string; code: string }
export interface ScheduleView {
  version: number; state: string; name: string; tree: TreeNode[]; code: string; script: TextView;
  primitives: PrimitiveView[]; history: HistoryEntry[]; position: number; can_undo: boolean; can_redo: boolean;
  branches: string[]; branch: number;
  /** What is to be known where the loop text was edited after this schedule. */
  edited: string;
  /** The schedule after its last move; what was asked since, and an undo keeps, is part of `state` alone. */
  moved: string;
}
export interface SuggestionView { text: string; code: string; rank: number; gains: boolean }
export interface AxisView { name: string; extent: number; ticks: number[]; clipped: boolean; box: string }
export interface WitnessPoint { x: number; y: number; at: string; does: string; line: number; code: string; box: string }
export interface WitnessView {
  sentence: string; why: string; axes: AxisView[]; points: WitnessPoint[]; fixed: string; lines: number[]; boxes: string[];
}
export interface SuggestionsView {
  state: string; selection: string; primitive: string; error: ErrorView | null; suggestions: SuggestionView[];
  forcible: boolean; witness: WitnessView | null; version: number;
}
export interface ReasonsView {
  state: string; selection: string; reasons: Record<string, string | null>;
  arguments: Record<string, Record<string, unknown>>;
}

export interface LayerView {
  name: string; title: string; state: string; glyph: string; count: number | null; unit: string; note: string;
}
export interface KernelView { name: string; operations: number; share: number; classes: number[]; parts: number[]; calls: number; shape: string }
/** What the verifier says of a step: how many functions it looked at, the first problems, how many there are. */
export interface VerdictView { functions: number; problems: string[]; count: number }
export interface WorkbenchView {
  version: number; state: string; title: string; layers: LayerView[]; kernels: KernelView[];
  /** How much can be undone; the lines of Python that led here; what the screen was opened for. */
  undo: number; redo: number; calls: string[]; branches: [number: number, told: string][]; branch: number;
  start: { kernel: string; editing: boolean; step: string; at: string };
  /** The program as it was opened, by content: of what branches and kernels are. */
  subject: string;
  /** The list of steps, by content. */
  plan: string;
  changes: ChangesView;
  /** The exercise's title, where there is one. */
  exercise: string;
  /** Why there is no layer of the model's file, where it was imported from one. */
  no_onnx?: string;
  /** Why the session could not follow what a cell did. */
  trouble: ErrorView | null;
}
/** What is kept of what was done: what an earlier kernel left (`halted`: how far a restore of it came), how much of this screen is on disk, what a replay came to. */
export interface ChangesView {
  offer: { count: number; calls: string[]; when: string; note: string; number: number; of: number; halted: "" | "begun" | "refused" } | null;
  count: number; trouble: string; told: ToldView;
  /** What drafts are kept by: the notebook and the program. */
  key: string;
}
/** What a replay came to; `waits`: the branch that it waits for, in words. */
export interface ToldView { restored?: number; refused?: string[]; left?: number; exact?: boolean; waits?: string }
export interface ComparedView {
  layer: string; kernel: string; beside: string; language: string; before: TextView; after: TextView; hunks: Hunk[]; removed: number; added: number;
}
export interface FormulaView {
  name: string; target: string; over: string; formula: string; shape: string; tag: string; reads: string[]; read_by: string[]; line: number;
}
export interface PlaceView {
  layer: string; line: number; tir_line: number; how: string; trips: number; sources: string[];
  loops: { name: string; extent: string; kind: string; moves: number[] }[]; moves: { number: number; name: string; code: string }[];
}
/** What code can be made for, each with a word: what it is made for now, this machine's own, those that have names. */
export interface TargetsView { text: string; own: [text: string, word: string][]; named: [text: string, word: string][] }
export interface MeasureView { text: string; seconds: number; share: number; rate: number; cycles?: number | null }
export interface PaneView { layer: string; kernel: string; language: string; text: TextView; call: string; hidden: number[]; trips: number[]; hottest: number; constant: number[]; step: string }
export interface LinkView {
  version: number; kernel: string; sets: number[][]; layers: Record<string, number[]>; names: Record<string, string>;
  calls: number[][];
  /** By set: whether its lines do it (0), are around it (1) or tell of the whole function (2); the box that they stand in. */
  grades: number[]; within: number[];
  /** The schedule's boxes, outer ones first, each with its name and the number of the one around it; and its state. */
  boxes: [id: string, name: string, around: number][]; schedule: string;
}
export interface GraphBox {
  id: string; kind: "call" | "group" | "input"; lines: string[]; x: number; y: number; width: number; height: number;
  classes: number[]; changed: number;
}
export interface GraphFrame { id: string; title: string; x: number; y: number; width: number; height: number }
export interface GraphEdge { points: [number, number][]; label: string; x: number; y: number; source: string; target: string }
export interface GraphView {
  version: number; width: number; height: number; boxes: GraphBox[]; frames: GraphFrame[]; edges: GraphEdge[]; linked: boolean;
}

export interface TermView { name: string; extent: number }
export interface SplitView { term: number; parts: number[]; factors: (number | null)[]; step: number }
export interface LensLoopView { term: number; kind: string; fused: string }
export interface AxisView { name: string; extent: number; term: number; offset: number; reduction: boolean }
export interface ArrayView { name: string; shape: number[]; bytes: number }
export interface AccessView { array: number; store: boolean; dims: [number, [number, number][]][] }
export interface CacheView { name: string; size: number; line: number }
export interface LensView {
  state: string; function: string; block: string; blocks: [string, string][]; terms: TermView[]; splits: SplitView[];
  loops: LensLoopView[]; axes: AxisView[]; arrays: ArrayView[]; accesses: AccessView[]; caches: CacheView[];
  notes: string[]; version: number;
}
export interface MeasuredView {
  version: number; state: string; milliseconds: number | null; text: string; why_not: string;
  accesses: number; misses: [string, number][]; why_no_misses: string; rate: number; share: number;
}

/** What a widget host (anywidget) gives a screen. */
export interface Host {
  get(name: string): unknown;
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
  /** "comm_live_update" comes when the page's link to the kernel was made or lost, "drawn" when a screen that was "away" is drawn. */
  on(name: "msg:custom" | "comm_live_update" | "drawn", callback: (message: unknown, buffers: DataView[]) => void): void;
  off(name: "msg:custom" | "comm_live_update" | "drawn", callback: (message: unknown, buffers: DataView[]) => void): void;
}
