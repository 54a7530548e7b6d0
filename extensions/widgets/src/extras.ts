// What opens below the panes beside Python, checks and problems: each a tab with a store of its own.
import { AblationPane, AblationStore } from "./ablation";
import { html } from "./parts";
import { Trail, goTo, placeText } from "./place";
import { ExercisePane, ExerciseStore } from "./exercise";
import { RunPane, RunStore, type CallRow } from "./run_pane";
import { BranchesPane, SharePane, ShareStore, ViewsPane } from "./share";
import { TensorsPane } from "./tensors_pane";
import { TensorStore, type TensorRow } from "./tensors";
import type { Host } from "./types";
import type { WorkbenchStore } from "./workbench";

export type ExtraName = "exercise" | "run" | "values" | "ablation" | "branches" | "views" | "share";

interface Tab { name: ExtraName; title: string; help: string; shown: (store: WorkbenchStore) => boolean; pane: (store: WorkbenchStore) => unknown }

export const TABS: Tab[] = [
  {
    name: "exercise", title: "Exercise", help: "What is asked, which checks hold, hints, handing in", shown: (store) => Boolean(store.view?.exercise),
    pane: (store) => html`<${ExercisePane} store=${store.extras.exercise} />`,
  },
  {
    name: "run", title: "Run", help: "Run it: the time of every kernel call, and which part of the model it is", shown: (store) => store.layer("relay") !== undefined,
    pane: (store) => html`<${RunPane} store=${store.extras.run} select=${(row: CallRow) => void store.selectCall(row.classes)} />`,
  },
  {
    name: "values", title: "Values", help: "Run it: outputs of two steps compared, tensors looked into, errors on the graph",
    shown: (store) => store.layer("relay") !== undefined,
    pane: (store) => html`<${TensorsPane} store=${store.extras.tensors} select=${(row: TensorRow) => void store.select(new Set(row.classes), store.focused)} />`,
  },
  {
    name: "ablation", title: "Ablation", help: "What each pass does: the program without it", shown: (store) => store.layer("relay") !== undefined,
    pane: (store) => html`<${AblationPane} store=${store.extras.ablation} />`,
  },
  {
    name: "branches", title: "Branches", help: "Two branches of the pipeline as wholes: kernels, bytes, time, outputs", shown: (store) => store.layer("relay") !== undefined,
    pane: (store) => html`<${BranchesPane} store=${store.extras.share} branches=${store.view?.branches ?? []} here=${store.view?.branch ?? 0} against=${store.against} />`,
  },
  {
    name: "views", title: "Views", help: "Views of this screen that were given names", shown: () => true,
    pane: (store) => html`<${ViewsPane} store=${store.extras.share} />`,
  },
  {
    name: "share", title: "Share", help: "Python that leads here, one HTML file, all that was done", shown: () => true,
    pane: (store) => html`<${SharePane} store=${store.extras.share} title=${store.view?.title ?? ""} />`,
  },
];

export class Extras {
  readonly tensors: TensorStore;
  readonly ablation: AblationStore;
  readonly share: ShareStore;
  readonly run: RunStore;
  readonly exercise: ExerciseStore;
  readonly trail: Trail;

  constructor(host: Host, store: WorkbenchStore) {
    const redraw = () => store.set(() => {});
    this.tensors = new TensorStore(host, redraw);
    this.ablation = new AblationStore(host);
    this.exercise = new ExerciseStore(host);
    this.run = new RunStore(host);
    this.share = new ShareStore(host, () => placeText(store), (place) => goTo(store, place));
    this.trail = new Trail(store);
  }
}
