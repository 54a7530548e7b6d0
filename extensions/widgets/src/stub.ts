// What each widget carries: asks the kernel for the real bundle once a page and hands over to it.
import { page } from "./strings/page";
import type { Host } from "./types";

interface Bundle { render(context: { model: Host; el: HTMLElement }): void | (() => void) }
type Page = { __workbench_bundles?: Map<string, Promise<Bundle>> };

// After so many milliseconds without an answer a screen says that it waits.  It waits on: a kernel answers when the
// cells before are done, whatever they take.
const PATIENCE = 4_000;

function fetchBundle(model: Host): Promise<Bundle> {
  const id = Math.floor(Math.random() * 2 ** 50);
  return new Promise((resolve, reject) => {
    const receive = (message: any, buffers: DataView[]) => {
      if (message?.id !== id) return;
      model.off("msg:custom", receive);
      if (!message.ok || !buffers[0]) return reject(new Error(message.err?.message ?? page.noBundle));
      unpack(buffers[0]).then(resolve, reject);
    };
    model.on("msg:custom", receive);
    model.send({ v: 1, id, op: "bundle", state: "", args: {} });
  });
}

async function unpack(data: DataView): Promise<Bundle> {
  const bytes = new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const code = await new Response(stream).blob();
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    return (await import(/* webpackIgnore: true */ url)) as Bundle;
  } finally {
    URL.revokeObjectURL(url);
  }
}

// The page's bundle; asked for again by this model where the first that asked gets no answer (its kernel is gone).
async function bundleOf(model: Host, waits: () => void): Promise<Bundle> {
  const bundles = ((globalThis as Page).__workbench_bundles ??= new Map());
  const hash = String(model.get("bundle_hash"));
  const first = bundles.get(hash);
  const mine = () => {
    const asked = fetchBundle(model);
    bundles.set(hash, asked);
    asked.catch(() => bundles.get(hash) === asked && bundles.delete(hash));
    return asked;
  };
  const asked = first ?? mine();
  let clock: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<Bundle>((resolve, reject) => {
    clock = setTimeout(() => {
      waits();
      if (first) mine().then(resolve, reject);
    }, PATIENCE);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(clock);
  }
}

async function render({ model, el }: { model: Host; el: HTMLElement }) {
  try {
    const bundle = await bundleOf(model, () => {
      el.textContent = page.waiting;
    });
    el.textContent = "";
    return bundle.render({ model, el });
  } catch (error) {
    el.textContent = page.notShown(error instanceof Error ? error.message : error);
  }
}

export default { render };
