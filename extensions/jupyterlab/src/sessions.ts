// The side panel: sessions and schedules that variables of the current kernel hold; a click shows one.
import type { ILabShell } from "@jupyterlab/application";
import type { ConsolePanel, IConsoleTracker } from "@jupyterlab/console";
import { type INotebookTracker, NotebookActions } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import type { CommandRegistry } from "@lumino/commands";
import { Widget } from "@lumino/widgets";
import { say } from "./strings";

interface Named { name: string; kind: string; title: string; told: string }

/** What the kernel is asked: nothing is imported into a kernel that does not use the workbench. */
const QUESTION = '__import__("workbench.ui.named", fromlist=["named"]).named(globals()) if "workbench" in __import__("sys").modules else ""';

export class SessionsPanel extends Widget {
  private list = document.createElement("ul");
  private told = document.createElement("p");
  /** Whether a console was used last, and not a notebook. */
  private ofConsole = false;

  constructor(private notebooks: INotebookTracker | null, private consoles: IConsoleTracker | null, shell: ILabShell | null, private commands: CommandRegistry) {
    super();
    this.id = "compiler-workbench-sessions";
    this.title.label = say.workbench;
    this.title.caption = say.sessionsCaption;
    this.addClass("jp-compilerWorkbench-sessions");
    const head = document.createElement("header");
    const title = document.createElement("h2");
    title.textContent = say.sessions;
    const again = document.createElement("button");
    again.textContent = say.refresh;
    again.className = "jp-mod-styled";
    again.addEventListener("click", () => void this.refresh());
    head.append(title, again);
    this.told.setAttribute("role", "status");
    this.list.setAttribute("aria-label", say.sessions);
    this.node.append(head, this.told, this.list);
    const look = () => { if (this.isVisible) void this.refresh(); };
    const used = (console: boolean) => () => { this.ofConsole = console; look(); };
    // A tracker tells nothing of a return to what was its current widget all the time.
    shell?.currentChanged.connect((_, { newValue }) => {
      if (newValue && notebooks?.has(newValue)) used(false)();
      else if (newValue && consoles?.has(newValue)) used(true)();
    });
    NotebookActions.executed.connect(used(false));
    const follow = (panel: ConsolePanel) => {
      panel.console.executed.connect(used(true));
      void panel.sessionContext.ready.then(look); // a new console comes before its kernel
    };
    consoles?.forEach(follow);
    consoles?.widgetAdded.connect((_, panel) => follow(panel));
  }

  protected override onAfterShow(): void {
    void this.refresh();
  }

  /** Ask the kernel of the notebook, or of the console, that was used last. */
  async refresh(): Promise<void> {
    const kernel = this.kernel();
    if (!kernel) return this.draw([], say.noKernel);
    const info = await kernel.info;
    if (info.language_info.name !== "python") return this.draw([], say.notPython);
    const reply = await kernel.requestExecute({ code: "", silent: true, store_history: false, user_expressions: { found: QUESTION } }).done;
    const content = reply.content as { user_expressions?: Record<string, { status: string; data?: Record<string, string> }> };
    const said = content.user_expressions?.["found"];
    const text = said?.status === "ok" ? said.data?.["text/plain"] ?? "" : "";
    const found = parsed(text);
    this.draw(found, found.length ? "" : say.noSession);
  }

  private kernel(): Kernel.IKernelConnection | null | undefined {
    const found = [this.notebooks, this.consoles].map((all) => all?.currentWidget?.sessionContext.session?.kernel);
    const used = this.ofConsole ? this.consoles?.currentWidget : this.notebooks?.currentWidget;
    return used ? used.sessionContext.session?.kernel : found[0] ?? found[1];
  }

  private draw(found: Named[], told: string): void {
    this.told.textContent = told;
    this.list.replaceChildren(...found.map((one) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      const name = document.createElement("strong");
      name.textContent = one.name;
      const rest = document.createElement("span");
      rest.textContent = [one.title, one.told].filter(Boolean).join(" · ");
      button.title = say.showIn(one.name);
      button.append(name, rest);
      button.addEventListener("click", () => void this.open(one));
      item.append(button);
      return item;
    }));
  }

  /** Show it in a new cell at the end of the notebook, or at the console's prompt. */
  private async open(one: Named): Promise<void> {
    const code = `${one.name}.show()`;
    const notebook = this.ofConsole && this.consoles?.currentWidget ? null : this.notebooks?.currentWidget;
    if (!notebook) return void (await this.consoles?.currentWidget?.console.inject(code));
    notebook.content.activeCellIndex = notebook.content.widgets.length - 1;
    NotebookActions.insertBelow(notebook.content);
    notebook.content.activeCell!.model.sharedModel.setSource(code);
    await this.commands.execute("notebook:run-cell");
  }
}

/** What Python answered: the repr of base64 of JSON. */
function parsed(text: string): Named[] {
  if (text.length < 3) return [];
  const bytes = Uint8Array.from(atob(text.slice(1, -1)), (letter) => letter.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes)) as Named[];
}
