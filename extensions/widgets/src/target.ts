// What code is made for: the target in short in the screen's head, and the form that changes it.
import { useLayoutEffect, useRef } from "preact/hooks";
import { Refusal } from "./connection";
import { Problem, asking, html } from "./parts";
import { BaseStore, useStore } from "./store";
import { say } from "./strings";
import type { ErrorView, Host, TargetsView } from "./types";
import { focusHere, isHere } from "./views";

export class TargetStore extends BaseStore {
  /** The form's targets while it is open. */
  targets: TargetsView | null = null;
  refused: ErrorView | null = null;
  working = false;

  /** `seen`: the plan that the page shows; `moved` is called when the session is for another target. */
  constructor(host: Host, private seen: () => string, private moved: () => Promise<void>) {
    super(host);
  }

  turn = (): Promise<void> => this.attempt(async () => {
    if (this.targets) return this.leave();
    const view = (await this.connection.request("target.open", {}, "target")).view as TargetsView;
    this.set(() => { this.targets = view; this.refused = null; });
  });

  leave = (): void => this.set(() => { this.targets = this.refused = null; });

  apply = (text: string): Promise<void> => this.attempt(async () => {
    if (this.working) return;
    this.set(() => { this.working = true; this.refused = null; });
    try {
      await this.connection.request("target.set", { text, seen: this.seen() }, "change");
      this.leave();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.set(() => (this.refused = error.view));
      if (error.view.code !== "E-UI-STALE") return;
    } finally {
      this.set(() => (this.working = false));
    }
    await this.moved();
  });
}

/** The button with the target in short; pressed, the form is under it. */
export function TargetButton({ store, target }: { store: TargetStore; target: string }) {
  useStore(store);
  const button = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(false);
  const open = store.targets !== null;
  useLayoutEffect(() => {
    if (wasOpen.current && !open) focusHere(button.current);
    wasOpen.current = open;
  });
  return html`<button class="wb-button wb-target" ref=${button} aria-label=${say.frame.targetButton(target)} aria-expanded=${open} aria-haspopup="dialog"
      ...${asking(store, say.frame.targetHelp(target), () => void store.turn())}>${target}</button>
    ${open && html`<${TargetForm} store=${store} targets=${store.targets!} />`}`;
}

function TargetForm({ store, targets }: { store: TargetStore; targets: TargetsView }) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => { if (isHere(field.current!)) { focusHere(field.current); field.current!.select(); } }, []);
  const submit = (event: Event) => { event.preventDefault(); void store.apply(field.current!.value); };
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    store.leave();
  };
  const choices = (title: string, list: [string, string][]) => html`<div class="wb-heading">${title}</div>
    <ul class="wb-targets" aria-label=${title}>${list.map(([text, word]) => html`<li><button type="button" class="wb-link" aria-current=${text === targets.text}
      aria-disabled=${store.working} onClick=${() => void store.apply(text)}><code>${text}</code></button> <span class="wb-muted">${word}</span></li>`)}</ul>`;
  return html`<div class="wb-sheet wb-target-sheet" role="dialog" aria-label=${say.frame.target} onKeyDown=${keys}>
    <div class="wb-sheet-head"><strong>${say.frame.target}</strong>
      <button class="wb-icon" aria-label=${say.common.close} title=${say.common.close} onClick=${store.leave}>×</button></div>
    <form class="wb-named" onSubmit=${submit}>
      <input class="wb-select" type="text" ref=${field} aria-label=${say.frame.targetField} title=${say.frame.targetFieldHelp} defaultValue=${targets.text} spellcheck=${false} autocomplete="off" />
      <button class="wb-button wb-primary" aria-disabled=${store.working}>${store.working ? say.frame.targetWorking : say.common.apply}</button>
    </form>
    ${store.refused && html`<${Problem} error=${store.refused} close=${() => store.set(() => (store.refused = null))} />`}
    ${choices(say.frame.targetsOwn, targets.own)}${choices(say.frame.targetsNamed, targets.named)}
  </div>`;
}
