// What code is made for: the target in short in the screen's head, and the form that changes it.
import { useLayoutEffect, useRef } from "preact/hooks";
import { Problem, asking, html } from "./parts";
import { BaseStore, useStore } from "./store";
import { say } from "./strings";
import type { Host, TargetsView } from "./types";
import { focusHere, isHere } from "./views";

export class TargetStore extends BaseStore {
  /** The form's targets while it is open. */
  targets: TargetsView | null = null;
  working = false;

  /** `seen`: the plan that the page shows; `moved` is called when the session is for another target. */
  constructor(host: Host, private seen: () => string, private moved: () => Promise<void>) {
    super(host);
    this.connection.onEvent = (name) => { if (name === "changed" && this.targets) void this.ask(true); };
  }

  turn = (): Promise<void> => this.targets ? Promise.resolve(this.leave()) : this.ask(false);

  private ask = (again: boolean): Promise<void> => this.attempt(async () => {
    const view = (await this.connection.request("target.open", {}, "target")).view as TargetsView;
    if (!again || this.targets) this.set(() => { this.targets = view; if (!again) this.problem = null; });
  });

  leave = (): void => this.set(() => { this.targets = this.problem = null; });

  protected override catchUp(): Promise<void> {
    return this.moved();
  }

  apply = (text: string): Promise<void> => this.attempt(async () => {
    if (this.working) return;
    this.set(() => { this.working = true; this.problem = null; });
    await this.connection.request("target.set", { text, seen: this.seen() }, "change").finally(() => this.set(() => (this.working = false)));
    this.leave();
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
    ${open ? html`<${TargetForm} store=${store} targets=${store.targets!} />`
      : store.problem && html`<div class="wb-sheet wb-target-sheet"><${TargetProblem} store=${store} /></div>`}`;
}

function TargetProblem({ store }: { store: TargetStore }) {
  return store.problem && html`<${Problem} error=${store.problem} close=${() => store.set(() => (store.problem = null))} />`;
}

function TargetForm({ store, targets }: { store: TargetStore; targets: TargetsView }) {
  const field = useRef<HTMLInputElement>(null);
  const before = useRef(targets.text);
  useLayoutEffect(() => { if (isHere(field.current!)) { focusHere(field.current); field.current!.select(); } }, []);
  useLayoutEffect(() => { // what was typed stays
    if (field.current!.value === before.current) field.current!.value = targets.text;
    before.current = targets.text;
  }, [targets.text]);
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
    <${TargetProblem} store=${store} />
    ${choices(say.frame.targetsOwn, targets.own)}${choices(say.frame.targetsNamed, targets.named)}
  </div>`;
}
