// What the focused layer consists of: the steps of a graph, the kernels of everything below it.
import { useLayoutEffect, useRef } from "preact/hooks";
import { html, reveal, useIds } from "./parts";
import { StepList } from "./pipeline_screen";
import { say } from "./strings";
import type { KernelView } from "./types";
import { OF_THE_MODEL, type WorkbenchStore } from "./workbench";

export function Outline({ store }: { store: WorkbenchStore }) {
  const pane = store.panes[store.focused];
  const steps = pane.mode === "changes" || OF_THE_MODEL.includes(pane.layer);
  return html`<nav class="wb-outline" aria-label=${say.frame.outline}>${steps ? html`<${StepList} store=${store.steps} />` : html`<${Kernels} store=${store} />`}</nav>`;
}

function Kernels({ store }: { store: WorkbenchStore }) {
  const list = useRef<HTMLDivElement>(null);
  const ids = useIds();
  const top = useRef(0);
  useLayoutEffect(() => { // the list is empty between two programs: it goes on where it was, what is chosen in sight
    if (store.kernels.length) list.current!.scrollTop = top.current;
    reveal(list.current, list.current!.querySelector("[aria-selected=true]"));
  }, [store.kernels, store.kernel]);
  const most = Math.max(1e-9, ...store.kernels.map((kernel) => kernel.share));
  return html`<div class="wb-list" role="listbox" aria-label=${say.frame.kernels} tabindex="0" ref=${list}
      onScroll=${() => { if (store.kernels.length) top.current = list.current!.scrollTop; }}
      aria-activedescendant=${store.kernel ? ids(store.kernel) : undefined}>
    <div class="wb-heading" role="presentation" title=${say.frame.kernelsByShareHelp}>${say.frame.kernelsByShare}</div>
    ${store.kernels.length === 0 && html`<div class="wb-wait">${store.waiting || "…"}</div>`}
    ${store.kernels.map((kernel) => html`<${Kernel} key=${kernel.name} id=${ids(kernel.name)} store=${store} kernel=${kernel} most=${most} />`)}
  </div>`;
}

function Kernel({ store, kernel, most, id }: { store: WorkbenchStore; kernel: KernelView; most: number; id: string }) {
  const measured = store.time(kernel.name);
  return html`<div id=${id} class="wb-item wb-kernel-item" role="option" aria-selected=${kernel.name === store.kernel}
      title=${say.frame.kernelHelp(kernel.name, kernel.shape)} onClick=${() => store.choose(kernel.name)}>
    <span class="wb-name wb-kernel-name"><bdi>${kernel.name}</bdi></span>
    <span class="wb-time">${kernel.share > 0 ? `${(100 * kernel.share).toFixed(kernel.share < 0.1 ? 1 : 0)} %` : ""}</span>
    <span class="wb-muted wb-kernel-shape"><span>${kernel.shape}</span>${measured && html`<span title=${measured.text}>${say.frame.measured(measured.text.split(",")[0]!)}</span>`}</span>
    <span class="wb-bar" aria-hidden="true" style=${{ width: `${Math.round((52 * kernel.share) / most)}px` }}></span>
  </div>`;
}
