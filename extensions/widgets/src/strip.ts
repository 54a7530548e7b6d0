// Below the panes: the Python that did what was done, and what went wrong.  Closed it shows the last line.
import { Problem, html } from "./parts";
import { tokens } from "./text";
import type { WorkbenchStore } from "./workbench";

export function Strip({ store }: { store: WorkbenchStore }) {
  const calls = store.view?.calls ?? [];
  const problem = store.problem ?? store.steps.problem;
  const turn = (what: "python" | "problem") => store.set(() => (store.strip = store.strip === what ? "" : what));
  return html`<footer class=${`wb-strip ${store.strip ? "wb-strip-open" : ""}`} aria-label="Python and problems">
    <div class="wb-strip-head">
      <button class="wb-link" aria-expanded=${store.strip === "python"} onClick=${() => turn("python")}>Python</button>
      <button class="wb-link" aria-expanded=${store.strip === "problem"} disabled=${!problem} onClick=${() => turn("problem")}>Problems${problem ? " (1)" : ""}</button>
      ${store.strip === "" && html`<code class="wb-last-call" title="What was done last, in Python">${problem ? problem.message : calls.at(-1) ?? "nothing changed yet"}</code>`}
    </div>
    ${store.strip === "python" && html`<pre class="wb-code" tabindex="0" aria-label="The Python that does the same">${calls.length ? calls.map((call) => html`<span class="wb-code-line">${coloured(call)}${"\n"}</span>`) : "# nothing changed yet"}</pre>`}
    ${store.strip === "problem" && problem && html`<${Problem} error=${problem} />`}
  </footer>`;
}

function coloured(line: string) {
  return tokens(line, "python").map(([kind, word]) => (kind ? html`<span class=${`wb-t-${kind}`}>${word}</span>` : word));
}
