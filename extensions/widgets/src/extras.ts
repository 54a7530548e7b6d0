// What opens below the panes beside Python, checks and problems: each a tab with a store of its own.
import { html } from "./parts";
import { TensorsPane } from "./tensors_pane";
import { TensorStore, type TensorRow } from "./tensors";
import type { Host } from "./types";
import type { WorkbenchStore } from "./workbench";

export type ExtraName = "values";

interface Tab { name: ExtraName; title: string; help: string; shown: (store: WorkbenchStore) => boolean; pane: (store: WorkbenchStore) => unknown }

export const TABS: Tab[] = [
  {
    name: "values", title: "Values", help: "Run it: outputs of two steps compared, tensors looked into, errors on the graph",
    shown: (store) => store.layer("relay") !== undefined,
    pane: (store) => html`<${TensorsPane} store=${store.extras.tensors} select=${(row: TensorRow) => void store.select(new Set(row.classes), store.focused)} />`,
  },
];

export class Extras {
  readonly tensors: TensorStore;

  constructor(host: Host, store: WorkbenchStore) {
    const redraw = () => store.set(() => {});
    this.tensors = new TensorStore(host, redraw);
  }
}
