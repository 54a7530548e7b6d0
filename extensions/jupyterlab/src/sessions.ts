// The side panel: sessions and schedules that variables of the current kernel hold; a click shows one.
import type { ILabShell } from "@jupyterlab/application";
import type { ISessionContext } from "@jupyterlab/apputils";
import type { ConsolePanel, IConsoleTracker } from "@jupyterlab/console";
import { type INotebookTracker, NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import type { CommandRegistry } from "@lumino/commands";
import { Widget } from "@lumino/widgets";
import { say } from "./strings";

interface Named { name: string; kind: string; title: string; told: string }

/** What a kernel answered to the question. */
interface Told { status: string; data?: Record<string, string>; ename?: string; evalue?: string }

/** What the kernel is asked: nothing is imported into a kernel that does not use the workbench. */
const QUESTION = '__import__("workbench.ui.named", fromlist=["named"]).named(globals()) if "workbench" in __import__("sys").modules else ""';

export class SessionsPanel extends Widget {
  private list = document.createElement("ul");
  private told = document.createElement("p");
  /** Whether a console was used last, and not a notebook. */
  private ofConsole = false;
  /** The last question: an answer to one before may be another kernel's. */
  private turn = 0;
  /** The id of the kernel whose variables are listed. */
  private listed = "";
  /** Kernels that begin anew: what they held is gone. */
  private restarted = new WeakSet<ISessionContext>();

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
    const used = (console: boolean) => () => { this.ofConsole = console; this.look(); };
    // A tracker tells nothing of a return to what was its current widget all the time.
    shell?.currentChanged.connect((_, { newValue }) => {
      if (newValue && notebooks?.has(newValue)) used(false)();
      else if (newValue && consoles?.has(newValue)) used(true)();
    });
    NotebookActions.executed.connect(used(false));
    const followConsole = (panel: ConsolePanel) => {
      panel.console.executed.connect(used(true));
      this.follow(panel.sessionContext);
    };
    const followNotebook = (panel: NotebookPanel) => this.follow(panel.sessionContext);
    consoles?.forEach(followConsole);
    consoles?.widgetAdded.connect((_, panel) => followConsole(panel));
    notebooks?.forEach(followNotebook);
    notebooks?.widgetAdded.connect((_, panel) => followNotebook(panel));
  }

  private look = (): void => { if (this.isVisible) void this.refresh(); };

  /** A widget comes before its kernel, which may be restarted, or another one later. */
  private follow(context: ISessionContext): void {
    void context.ready.then(this.look);
    context.kernelChanged.connect(this.look);
    context.statusChanged.connect((_, status) => {
      if (/restarting|dead/.test(status)) this.restarted.add(context);
      else if (status !== "idle" || !this.restarted.delete(context)) return;
      if (context.session?.kernel?.id === this.listed) this.listed = "";
      this.look();
    });
  }

  protected override onAfterShow(): void {
    void this.refresh();
  }

  /** Ask the kernel of the notebook, or of the console, that was used last. */
  async refresh(): Promise<void> {
    const turn = ++this.turn;
    const kernel = this.kernel();
    if (!kernel || kernel.id !== this.listed) this.draw([], kernel ? say.asking : say.noKernel); // names of another one
    this.listed = kernel?.id ?? "";
    if (!kernel) return;
    const [found, told] = await asked(kernel).catch((): [Named[], string] => [[], say.noAnswer]); // restarted, or gone
    if (turn === this.turn) this.draw(found, told);
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
    if (this.kernel()?.id !== this.listed) return this.refresh();
    const code = `${one.name}.show()`;
    const notebook = this.ofConsole && this.consoles?.currentWidget ? null : this.notebooks?.currentWidget;
    if (!notebook) return void (await this.consoles?.currentWidget?.console.inject(code));
    notebook.content.activeCellIndex = notebook.content.widgets.length - 1;
    NotebookActions.insertBelow(notebook.content);
    notebook.content.activeCell!.model.sharedModel.setSource(code);
    await this.commands.execute("notebook:run-cell");
  }
}

/** What a kernel's variables hold, and what is said where that is nothing. */
async function asked(kernel: Kernel.IKernelConnection): Promise<[Named[], string]> {
  if ((await kernel.info).language_info.name !== "python") return [[], say.notPython];
  const reply = await kernel.requestExecute({ code: "", silent: true, store_history: false, user_expressions: { found: QUESTION } }).done;
  const said = (reply.content as { user_expressions?: Record<string, Told> }).user_expressions?.["found"];
  if (!said) return [[], say.noAnswer]; // a cell before it failed, and what waited was dropped
  if (said.status !== "ok") return [[], say.notTold(`${said.ename}: ${said.evalue}`)];
  const found = parsed(said.data?.["text/plain"] ?? "");
  return [found, found.length ? "" : say.noSession];
}

/** What Python answered: the repr of base64 of JSON. */
function parsed(text: string): Named[] {
  if (text.length < 3) return [];
  const bytes = Uint8Array.from(atob(text.slice(1, -1)), (letter) => letter.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes)) as Named[];
}
