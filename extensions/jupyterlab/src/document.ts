// A document that is a screen: a console at the model's folder, whose first output is the workbench.
import { ABCWidgetFactory, DocumentRegistry, DocumentWidget, TextModelFactory } from "@jupyterlab/docregistry";
import type { ConsolePanel } from "@jupyterlab/console";
import type { Contents } from "@jupyterlab/services";
import type { CommandRegistry } from "@lumino/commands";
import { StackedPanel } from "@lumino/widgets";

export function isModel(path: string): boolean {
  return /\.(onnx|wbs|wbs\.json)$/i.test(path);
}

/** A model of a document of which only the path is read here: the kernel opens the file, however large it is. */
export class PathModelFactory extends TextModelFactory {
  static readonly NAME = "workbench-path";

  override get name(): string {
    return PathModelFactory.NAME;
  }

  override get contentType(): Contents.ContentType {
    return "file";
  }

  /** Null: nothing of the file is fetched. */
  override get fileFormat(): Contents.FileFormat {
    return null;
  }
}

export class WorkbenchFactory extends ABCWidgetFactory<DocumentWidget<StackedPanel>> {
  constructor(private commands: CommandRegistry, options: DocumentRegistry.IWidgetFactoryOptions<DocumentWidget<StackedPanel>>) {
    super(options);
  }

  protected createNewWidget(context: DocumentRegistry.Context): DocumentWidget<StackedPanel> {
    const content = new StackedPanel();
    content.addClass("jp-compilerWorkbench-document");
    const widget = new DocumentWidget({ content, context });
    widget.title.caption = context.path;
    void context.ready.then(() => this.fill(widget));
    return widget;
  }

  /** A console is used since widgets are at home in it, and leaves a prompt at which `screen` is the screen. */
  private async fill(widget: DocumentWidget<StackedPanel>): Promise<void> {
    const path = widget.context.path;
    const options = { path, name: path.split("/").pop(), activate: false, kernelPreference: { autoStartDefault: true, shutdownOnDispose: true } };
    const panel = (await this.commands.execute("console:create", options)) as ConsolePanel;
    if (widget.isDisposed) {
      panel.dispose();
      return;
    }
    widget.content.addWidget(panel);
    panel.show(); // it was made behind another tab
    widget.disposed.connect(() => panel.dispose());
    await panel.sessionContext.ready;
    const file = JSON.stringify(path.split("/").pop()); // the kernel starts in the file's folder
    const code = `import workbench as wb\nfrom workbench.ui.document import open_document\nscreen = open_document(${file})\nscreen`;
    await panel.console.inject(code);
    offerNext(panel, code);
  }
}

/** A call that the kernel offers as the next input goes to the prompt: JupyterLab's console puts it over what was run. */
function offerNext(panel: ConsolePanel, code: string): void {
  const cells = panel.console.cells;
  const run = cells.length ? cells.get(cells.length - 1).model.sharedModel : undefined;
  const prompt = panel.console.promptCell?.model.sharedModel;
  if (!run || !prompt || run.source === code) return;
  prompt.setSource(run.source);
  run.setSource(code);
}
