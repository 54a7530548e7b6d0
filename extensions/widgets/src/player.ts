// Plays a recorded screen (workbench/ui/recording.py) in a page of its own, without a kernel: a host that answers from
// what was recorded.  It knows the shapes of questions, not what they are about.
import { page } from "./strings/page";
import type { ErrorView, Host } from "./types";

interface Recording {
  kind: string; replies: Record<string, unknown>; texts: Record<string, string[]>;
  rows: Record<string, { of: number[]; views: object[] }>;
  quiet: string[]; together: Record<string, { args: string; op: string; arg: string; view: string }>;
  refusal: ErrorView; pool: unknown[];
}
type Args = Record<string, unknown>;
interface Question { v: number; id: number; op: string; args: Args }

async function unpacked(id: string): Promise<Blob> {
  const text = document.getElementById(id)?.textContent ?? "";
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return await new Response(stream).blob();
}

/** JSON with sorted keys: what the recorder calls a question. */
function keyOf(op: string, args: Args): string {
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(sorted);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, v]) => [k, sorted(v)]));
  };
  return JSON.stringify([op, sorted(args)]);
}

class Player {
  private opened: unknown[] = [];

  constructor(private recorded: Recording) {}

  /** The view that answers a question; undefined where it was not recorded. */
  answer(op: string, args: Args): unknown {
    const found = this.own(this.recorded.replies, keyOf(op, args));
    if (found !== undefined) return this.whole(found);
    if (this.recorded.quiet.includes(op)) return null;
    return this.several(op, args) ?? this.stretch(op, args) ?? this.row(op, args) ?? this.nearest(op, args);
  }

  private several(op: string, args: Args): unknown {
    const how = this.own(this.recorded.together, op);
    const asked = how && args[how.args];
    if (!how || !Array.isArray(asked)) return undefined;
    const found = asked.map((one) => this.answer(how.op, { [how.arg]: one })).filter((view) => view !== undefined);
    return { [how.view]: found };
  }

  private stretch(op: string, { start, count, ...rest }: Args): unknown {
    const lines = this.own(this.recorded.texts, keyOf(op, rest));
    if (lines === undefined || typeof start !== "number" || typeof count !== "number") return undefined;
    return { start, lines: (this.whole(lines) as string[]).slice(start, start + count) };
  }

  private row(op: string, { line, ...rest }: Args): unknown {
    const rows = this.own(this.recorded.rows, keyOf(op, rest));
    if (rows === undefined || typeof line !== "number") return undefined;
    const { of, views } = this.whole(rows) as { of: number[]; views: object[] };
    const view = views[of[line - 1] ?? -1];
    return view && { ...view, line };
  }

  /** Of a question with a list (opened groups) that was not asked: the answer to the most of it, the last one included. */
  private nearest(op: string, args: Args): unknown {
    const name = Object.keys(args).find((key) => Array.isArray(args[key]));
    if (name === undefined) return undefined;
    const list = args[name] as unknown[];
    const rest = keyOf(op, { ...args, [name]: [] });
    let best: { key: string; size: number } | undefined;
    for (const key of Object.keys(this.recorded.replies)) {
      const [other, its] = JSON.parse(key) as [string, Args];
      const chosen = its[name];
      if (other !== op || !Array.isArray(chosen) || keyOf(op, { ...its, [name]: [] }) !== rest) continue;
      if (!chosen.every((one) => list.includes(one)) || (list.length && !chosen.includes(list.at(-1)))) continue;
      if (!best || chosen.length > best.size) best = { key, size: chosen.length };
    }
    return best && this.whole(this.recorded.replies[best.key]);
  }

  private own<T>(table: Record<string, T>, key: string): T | undefined {
    return Object.hasOwn(table, key) ? table[key] : undefined;
  }

  /** A value with what is written once put in its places. */
  private whole(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((one) => this.whole(one));
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value);
    if (entries.length === 1 && entries[0]![0] === "$") return this.entry(entries[0]![1] as number);
    return Object.fromEntries(entries.map(([key, one]) => [key, this.whole(one)]));
  }

  /** An entry of the pool: its outermost level is no reference. */
  private entry(number: number): unknown {
    if (this.opened[number] === undefined) {
      const value = this.recorded.pool[number];
      this.opened[number] = Array.isArray(value) ? value.map((one) => this.whole(one))
        : Object.fromEntries(Object.entries(value as object).map(([key, one]) => [key, this.whole(one)]));
    }
    return this.opened[number];
  }
}

function hostOf(recorded: Recording): Host {
  const player = new Player(recorded);
  const listeners = new Set<(message: unknown, buffers: DataView[]) => void>();
  const reply = ({ id, op, args }: Question) => {
    const view = player.answer(op, args ?? {});
    const content = view === undefined
      ? { v: 1, id, ok: false, err: { ...recorded.refusal, found: page.command(op) } }
      : { v: 1, id, ok: true, state: "", view };
    for (const listener of [...listeners]) listener(content, []);
  };
  return {
    get: (name) => (name === "kind" ? recorded.kind : name === "recorded" ? true : name === "at" ? location.hash.slice(1) : undefined),
    send: (content) => void setTimeout(() => reply(content as Question), 0),
    on: (name, listener) => { if (name === "msg:custom") listeners.add(listener); },
    off: (_, listener) => void listeners.delete(listener),
  };
}

async function play(): Promise<void> {
  const element = document.getElementById("screen")!;
  try {
    const recorded = JSON.parse(await (await unpacked("recording")).text()) as Recording;
    const url = URL.createObjectURL(new Blob([await unpacked("bundle")], { type: "text/javascript" }));
    const bundle = await import(url) as { render(context: { model: Host; el: HTMLElement }): unknown };
    URL.revokeObjectURL(url);
    document.body.classList.add("playing");
    bundle.render({ model: hostOf(recorded), el: element });
  } catch (error) {
    element.textContent = page.notPlayed(error instanceof Error ? error.message : error);
  }
}

void play();
