// Below the panes: the Python that did what was done, the checks of every step, what went wrong.  Closed: the last line.
import { useEffect, useRef } from "preact/hooks";
import { ChecksPane } from "./checks_pane";
import { Failure } from "./edits";
import { TABS } from "./extras";
import { Problem, asking, html } from "./parts";
import { say } from "./strings";
import { tokens } from "./text";
import type { WorkbenchStore } from "./workbench";

export function Strip({ store }: { store: WorkbenchStore }) {
  const calls = store.view?.calls ?? [];
  const problem = store.problem ?? store.steps.problem;
  const failure = store.steps.failure;
  const problems = (problem ? 1 : 0) + (failure ? 1 : 0);
  const wrong = [...store.steps.badges.values()].filter((badge) => badge.verdict === "wrong" || badge.verdict === "failed").length;
  const before = useRef<WorkbenchStore["strip"]>("");
  const turn = (what: WorkbenchStore["strip"]) => store.set(() => {
    if (what === "problem") before.current = store.strip === what ? "" : store.strip;
    store.strip = store.strip === what ? "" : what;
  });
  useEffect(() => { if (store.strip === "problem" && problems === 0) store.set(() => (store.strip = before.current)); }, [problems]);
  return html`<footer class=${`wb-strip ${store.strip ? `wb-strip-open wb-strip-${store.strip}` : ""}`} aria-label=${say.frame.strip}>
    <div class="wb-strip-head">
      <span class="wb-group">
        <button class="wb-icon" aria-label=${say.frame.back} title=${say.frame.backHelp} disabled=${!store.extras.trail.back} onClick=${() => store.extras.trail.move(-1)}>‹</button>
        <button class="wb-icon" aria-label=${say.frame.forward} title=${say.frame.forwardHelp} disabled=${!store.extras.trail.forward} onClick=${() => store.extras.trail.move(1)}>›</button>
      </span>
      <button class="wb-link" aria-expanded=${store.strip === "python"} onClick=${() => turn("python")}>${say.frame.python}</button>
      <button class="wb-link" aria-expanded=${store.strip === "checks"}
        ...${asking(store, say.frame.checksHelp, () => store.strip === "checks" ? turn("checks") : void store.verify())}>${say.frame.checks(wrong)}</button>
      ${TABS.filter((tab) => tab.shown(store)).map((tab) => html`<button class="wb-link" aria-expanded=${store.strip === tab.name} ...${asking(store, tab.help, () => turn(tab.name))}>${tab.title}</button>`)}
      <button class="wb-link" aria-expanded=${store.strip === "problem"} disabled=${problems === 0} onClick=${() => turn("problem")}>${say.frame.problems(problems)}</button>
      ${store.strip === "" && html`<code class="wb-last-call" title=${say.frame.lastCallHelp}>${problem ? problem.message : calls.at(-1) ?? say.frame.nothingChanged}</code>`}
    </div>
    ${store.strip === "python" && html`<${Python} store=${store} />`}
    ${store.strip === "checks" && html`<${ChecksPane} store=${store.checks} inside=${true} />`}
    ${TABS.map((tab) => tab.name === store.strip && tab.pane(store))}
    ${store.strip === "problem" && problem && html`<${Problem} error=${problem} />`}
    ${store.strip === "problem" && failure && html`<${Failure} store=${store.steps} error=${failure} />`}
  </footer>`;
}

/** The Python that makes the session shown; what was done last, one by one, until that is here. */
function Python({ store }: { store: WorkbenchStore }) {
  useEffect(() => void store.loadPython(), [store.view]);
  const text = store.python || store.view?.calls.join("\n") || "";
  return html`<pre class="wb-code" tabindex="0" aria-label=${say.frame.pythonSame}>${text.split("\n").map((line) => html`<span class="wb-code-line">${coloured(line)}${"\n"}</span>`)}</pre>`;
}

function coloured(line: string) {
  return tokens(line, "python").map(([kind, word]) => (kind ? html`<span class=${`wb-t-${kind}`}>${word}</span>` : word));
}
