// What each widget carries: asks the kernel for the real bundle once a page and hands over to it.
import type { Host } from "./types";

interface Bundle { render(context: { model: Host; el: HTMLElement }): void | (() => void) }
type Page = { __workbench_bundles?: Map<string, Promise<Bundle>> };

function fetchBundle(model: Host): Promise<Bundle> {
  const id = Math.floor(Math.random() * 2 ** 50);
  return new Promise((resolve, reject) => {
    const clock = setTimeout(() => reject(new Error("the kernel does not answer")), 60_000);
    const receive = (message: any, buffers: DataView[]) => {
      if (message?.id !== id) return;
      clearTimeout(clock);
      model.off("msg:custom", receive);
      if (!message.ok || !buffers[0]) return reject(new Error(message.err?.message ?? "no bundle came"));
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

async function render({ model, el }: { model: Host; el: HTMLElement }) {
  const bundles = ((globalThis as Page).__workbench_bundles ??= new Map());
  const hash = String(model.get("bundle_hash"));
  let bundle = bundles.get(hash);
  if (!bundle) {
    bundle = fetchBundle(model);
    bundles.set(hash, bundle);
    bundle.catch(() => bundles.delete(hash));
  }
  try {
    return (await bundle).render({ model, el });
  } catch (error) {
    el.textContent = `This screen cannot be shown here (${error instanceof Error ? error.message : error}).`;
  }
}

export default { render };
