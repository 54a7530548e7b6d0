// What opens below the panes beside Python, checks and problems: each a tab with a store of its own.
import { AblationPane, AblationStore } from "./ablation";
import { html } from "./parts";
import { Trail, goTo, placeText } from "./place";
import { ExercisePane, ExerciseStore } from "./exercise";
import { RunPane, RunStore, type CallRow } from "./run_pane";
import { BranchesPane, SharePane, ShareStore, ViewsPane } from "./share";
import { say } from "./strings";
import { TensorsPane } from "./tensors_pane";
import { TensorStore, type TensorRow } from "./tensors";
import type { Host } from "./types";
import type { WorkbenchStore } from "./workbench";

export type ExtraName = "exercise" | "run" | "values" | "ablation" | "branches" | "views" | "share";

interface Tab { name: ExtraName; title: string; help: string; shown: (store: WorkbenchStore) => boolean; pane: (store: WorkbenchStore) => unknown }

export const TABS: Tab[] = [
  {
    name: "exercise", title: say.frame_a.tabs.exercise, help: say.frame_a.tabsHelp.exercise, shown: (store) => Boolean(store.view?.exercise),
    pane: (store) => html`<${ExercisePane} store=${store.extras.exercise} />`,
  },
  {
    name: "run", title: say.frame_a.tabs.run, help: say.frame_a.tabsHelp.run, shown: (store) => store.layer("relay") !== undefined,
    pane: (store) => html`<${RunPane} store=${store.extras.run} select=${(row: CallRow) => void store.selectCall(row.classes)} />`,
  },
  {
    name: "values", title: say.frame_a.tabs.values, help: say.frame_a.tabsHelp.values,
    shown: (store) => store.layer("relay") !== undefined,
    pane: (store) => html`<${TensorsPane} store=${store.extras.tensors} select=${(row: TensorRow) => void store.select(new Set(row.classes), store.focused)} />`,
  },
  {
    name: "ablation", title: say.frame_a.tabs.ablation, help: say.frame_a.tabsHelp.ablation, shown: (store) => store.layer("relay") !== undefined,
    pane: (store) => html`<${AblationPane} store=${store.extras.ablation} />`,
  },
  {
    name: "branches", title: say.frame_a.tabs.branches, help: say.frame_a.tabsHelp.branches, shown: (store) => store.layer("relay") !== undefined,
    pane: (store) => html`<${BranchesPane} store=${store.extras.branches} branches=${store.view?.branches ?? []} here=${store.view?.branch ?? 0} against=${store.against} choose=${(number: number) => store.compareWith(number)} />`,
  },
  {
    name: "views", title: say.frame_a.tabs.views, help: say.frame_a.tabsHelp.views, shown: () => true,
    pane: (store) => html`<${ViewsPane} store=${store.extras.views} />`,
  },
  {
    name: "share", title: say.frame_a.tabs.share, help: say.frame_a.tabsHelp.share, shown: () => true,
    pane: (store) => html`<${SharePane} store=${store.extras.share} title=${store.view?.title ?? ""} />`,
  },
];

export class Extras {
  readonly tensors: TensorStore;
  readonly ablation: AblationStore;
  /** Each with a problem of its own. */
  readonly branches: ShareStore;
  readonly views: ShareStore;
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
    [this.branches, this.views, this.share] = [0, 1, 2].map(() => new ShareStore(host, () => placeText(store), (place) => goTo(store, place))) as [ShareStore, ShareStore, ShareStore];
    this.trail = new Trail(store);
  }
}
