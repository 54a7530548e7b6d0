// What the screens' states have in common: listeners, the connection, the shown problem, "busy".
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { Connection, NoKernel, Overtaken, Refusal } from "./connection";
import { say } from "./strings";
import type { ErrorView, Host } from "./types";
import { focusHere } from "./views";

export class BaseStore {
  protected readonly connection: Connection;
  private listeners = new Set<() => void>();
  problem: ErrorView | null = null;
  busy = false;
  /** The kernel is gone: what was fetched stays, nothing is answered. */
  lost = false;
  help = false;
  /** Grows when an action was done: the focus goes back to what is selected. */
  acted = 0;

  /** A file that plays what was recorded: no kernel will ever answer. */
  readonly recorded: boolean;

  constructor(host: Host) {
    this.recorded = host.get("recorded") === true;
    this.connection = new Connection(host);
    this.connection.onBusy = (busy) => this.set(() => (this.busy = busy));
    this.connection.onLost = (lost) => this.set(() => (this.lost = lost));
  }

  /** Hear of nothing any more. */
  close(): void {
    this.connection.close();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.unwatched();
    };
  }

  /** The last view that showed it is gone. */
  protected unwatched(): void {}

  /** Change something and draw. */
  set(change: () => void): void {
    change();
    for (const listener of this.listeners) listener();
  }

  /** Another view has moved what this one shows: draw it anew. */
  protected async catchUp(): Promise<void> {}

  /** The newest drawing of what the kernel shows: what waits for one that was overtaken waits for the newest. */
  protected opening: Promise<void> = Promise.resolve();
  /** Fulfilled once what the kernel told of last is here: a page may hear of several things before it was answered. */
  get settled(): Promise<void> {
    return this.opening;
  }

  protected newest(work: Promise<void>): Promise<void> {
    const mine: Promise<void> = work.then(() => (mine === this.opening ? undefined : this.opening));
    return (this.opening = mine);
  }

  /** Counts what is shown one after another: programs, or states of a schedule. */
  protected generation = 0;

  /**
   * Run a request about what is shown: refused once something else is, it says nothing of that.  What it brings goes when
   * something else is shown; where it was asked for by a number of what is drawn, it is looked whether that is the `same`.
   */
  protected ofShown(work: (same: () => boolean) => Promise<void>): Promise<void> {
    const { generation } = this;
    const same = () => generation === this.generation;
    return this.attempt(async () => {
      try {
        await work(same);
      } catch (error) {
        await this.opening; // the kernel told of a change before it refused what was asked of the program before
        if (same()) throw error;
      }
    });
  }

  /** Counts what was refused since something else is shown: what a person asked for behind that was of what was shown then. */
  protected denials = 0;

  /** Run a request; a refusal is shown, an overtaken one forgotten. */
  protected async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof Overtaken || error instanceof NoKernel) return;
      const view = error instanceof Refusal ? error.view : {
        code: "E-UI-PAGE", message: say.frame.failed, where: "", found: String(error), expected: "",
        fix: say.frame.failedFix, kept: say.frame.failedKept, nodes: [],
      };
      if (view.code === "E-UI-STALE") {
        this.denials++;
        await this.catchUp();
      }
      this.set(() => (this.problem = view));
    }
  }
}

/** After an action of the person the focus is on the list again, where the keys work; never before one, nor in another view. */
export function useFocus(store: BaseStore, list: { current: HTMLElement | null }): void {
  const seen = useRef(store.acted);
  useLayoutEffect(() => {
    if (store.acted === seen.current) return;
    seen.current = store.acted;
    focusHere(list.current);
  });
}

export function useStore(store: BaseStore): void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    redraw(undefined); // what changed between the first drawing and now was heard by nobody
    return store.subscribe(() => redraw(undefined));
  }, [store]);
}
