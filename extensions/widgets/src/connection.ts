// Requests to the kernel and their replies.  A newer request on a channel makes an older one's reply void.
import { say } from "./strings";
import type { ErrorView, Host } from "./types";

/** After so many milliseconds without a reply it is doubted; again and again, at longer and longer intervals. */
const [PATIENCE, LONGEST] = [30_000, 300_000];

export class Refusal extends Error {
  constructor(readonly view: ErrorView) { super(view.message); }
}

/** The request was overtaken by a newer one on its channel; there is nothing to show. */
export class Overtaken extends Error {}

/** The kernel has answered what it was asked later: this answer was lost on its way. */
export class NoAnswer extends Refusal {
  constructor() {
    super({ code: "E-UI-ANSWER", message: say.frame.noAnswer, where: "", found: "", expected: "", fix: say.frame.noAnswerFix, kept: say.frame.noAnswerKept, nodes: [] });
  }
}

/** There is no kernel that would answer. */
export class NoKernel extends Error {}

interface Pending { resolve(reply: Reply): void; reject(error: Error): void; channel: string }
export interface Reply { state: string; view: unknown; buffers: DataView[] }

/** What an answer about a kernel's schedule is of beside that: the program without its schedules, the target. */
export const besideSchedule = ({ state }: Reply): string => state.split(" ")[1] ?? "";

export async function gunzip(data: DataView): Promise<string> {
  const bytes = new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return await new Response(stream).text();
}

export class Connection {
  private pending = new Map<number, Pending>();
  private received: Promise<void> = Promise.resolve();
  private doubts: ReturnType<typeof setTimeout> | undefined;
  // Several pages may listen to one kernel: each starts counting somewhere else.
  private next = Math.floor(Math.random() * 2 ** 40) * 1024;
  onEvent: (name: string, args: Record<string, unknown>) => void = () => {};
  onBusy: (busy: boolean) => void = () => {};
  /** Called when the kernel was lost, and when it answers again. */
  onLost: (lost: boolean) => void = () => {};
  lost = false;
  /** What is to be done once the screen is drawn somewhere again. */
  private behind = new Map<string, () => void>();

  constructor(private host: Host) {
    host.on("msg:custom", this.receive);
    host.on("comm_live_update", this.doubt);
    host.on("drawn", this.drawn);
  }

  close(): void {
    clearTimeout(this.doubts);
    this.host.off("msg:custom", this.receive);
    this.host.off("comm_live_update", this.doubt);
    this.host.off("drawn", this.drawn);
  }

  /** What the kernel is asked without a person: now, or where nobody sees the screen, once it is drawn again; the last of each name. */
  whenDrawn(what: string, work: () => void): void {
    if (!this.host.get("away")) return work();
    this.behind.delete(what);
    this.behind.set(what, work);
  }

  private drawn = (): void => {
    const { behind } = this;
    this.behind = new Map();
    for (const work of behind.values()) work();
  };

  /** The link to the kernel was made or lost, and nobody says which: lost, until something comes. */
  private doubt = (): void => this.whenDrawn("link", () => {
    this.lose();
    void this.request("alive").catch(() => {});
  });

  private lose(): void {
    this.lost = true;
    for (const waiting of this.pending.values()) waiting.reject(new NoKernel());
    this.pending.clear();
    this.onBusy(false);
    this.onLost(true);
  }

  request(op: string, args: Record<string, unknown> = {}, channel = "", state = ""): Promise<Reply> {
    if (channel) this.overtake(channel);
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject, channel });
      if (this.doubts === undefined) this.doubtLater();
      try {
        this.host.send({ v: 1, id, op, state, args });
      } catch {
        return this.lose(); // a page whose kernel was restarted or ended cannot send
      }
      setTimeout(() => { if (this.pending.has(id) && !this.lost) this.onBusy(true); }, 800);
    });
  }

  /**
   * After a while ask something that is answered at once: a kernel answers in the order in which it was asked, after all
   * that it is busy with, so that what is unanswered by then stays so.
   */
  private doubtLater(wait = PATIENCE): void {
    clearTimeout(this.doubts);
    this.doubts = setTimeout(() => this.whenDrawn("doubts", () => {
      const before = [...this.pending.keys()];
      this.doubts = undefined;
      if (before.length === 0) return;
      this.doubtLater(Math.min(2 * wait, LONGEST));
      void this.request("alive").catch((error) => { if (error instanceof Refusal) this.giveUp(before); }); // it knows no such command
    }), wait);
  }

  private giveUp(lost: number[]): void {
    for (const id of lost) {
      this.pending.get(id)?.reject(new NoAnswer());
      this.pending.delete(id);
    }
    if (this.pending.size === 0) this.onBusy(false);
    this.doubtLater();
  }

  /** Forget what was asked on a channel. */
  cancel(channel: string): void {
    this.overtake(channel);
    if (this.pending.size === 0) this.onBusy(false);
  }

  private overtake(channel: string): void {
    for (const [id, waiting] of this.pending) {
      if (waiting.channel !== channel) continue;
      this.pending.delete(id);
      waiting.reject(new Overtaken());
    }
  }

  /** One after another: what is packed takes a moment, and what came after it may be of another program. */
  private receive = (message: unknown, buffers: DataView[]): Promise<void> =>
    (this.received = this.received.then(() => this.take(message, buffers)).catch((error) => console.error(error)));

  private async take(message: unknown, buffers: DataView[]): Promise<void> {
    const content = message as Record<string, unknown> | null;
    if (typeof content !== "object" || content === null || content["v"] !== 1) return;
    if (this.lost) {
      this.lost = false;
      this.onLost(false);
    }
    if (typeof content["event"] === "string") {
      const [name, args] = [content["event"], (content["args"] ?? {}) as Record<string, unknown>];
      return this.whenDrawn(name, () => this.onEvent(name, args));
    }
    const id = content["id"] as number;
    if (!this.pending.has(id)) return;
    let view = content["view"], broken: Error | undefined;
    if (content["packed"] && buffers[0]) {
      try { view = JSON.parse(await gunzip(buffers[0])); } catch (error) { broken = error as Error; }
    }
    const waiting = this.pending.get(id);
    if (!waiting) return; // overtaken meanwhile
    this.pending.delete(id);
    if (this.pending.size === 0) this.onBusy(false);
    if (broken) return waiting.reject(broken);
    if (!content["ok"]) {
      waiting.reject(new Refusal(content["err"] as ErrorView));
      return;
    }
    waiting.resolve({ state: String(content["state"] ?? ""), view, buffers });
  }
}
