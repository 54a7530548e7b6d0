// The workbench in JupyterLab: models and saved sessions open as documents, a side panel lists the kernel's sessions.
import { ILabShell, type JupyterFrontEnd, type JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { IEditorLanguageRegistry } from "@jupyterlab/codemirror";
import { IConsoleTracker } from "@jupyterlab/console";
import { IFileBrowserFactory } from "@jupyterlab/filebrowser";
import { INotebookTracker } from "@jupyterlab/notebook";
import { PathModelFactory, WorkbenchFactory, isModel } from "./document";
import { SessionsPanel } from "./sessions";
import { say } from "./strings";

const ID = "compiler-workbench";
const FACTORY = "Workbench";
const MODELS = "workbench-model";
const SESSIONS = "workbench-session";

const documents: JupyterFrontEndPlugin<void> = {
  id: `${ID}:documents`,
  description: say.documentsDescription,
  autoStart: true,
  optional: [ICommandPalette, IFileBrowserFactory],
  activate: (app: JupyterFrontEnd, palette: ICommandPalette | null, browsers: IFileBrowserFactory | null) => {
    const registry = app.docRegistry;
    registry.addFileType({ name: MODELS, displayName: say.model, extensions: [".onnx"], mimeTypes: ["application/x-onnx"], fileFormat: "base64" });
    registry.addFileType({ name: SESSIONS, displayName: say.session, extensions: [".wbs", ".wbs.json"], mimeTypes: ["application/x-workbench-session"], fileFormat: "text" });
    registry.addModelFactory(new PathModelFactory());
    registry.addWidgetFactory(new WorkbenchFactory(app.commands, {
      name: FACTORY, label: say.workbench, modelName: PathModelFactory.NAME, fileTypes: [MODELS, SESSIONS], defaultFor: [MODELS, SESSIONS], readOnly: true,
    }));
    app.commands.addCommand(`${ID}:open-selected`, {
      label: say.open,
      isEnabled: () => selected(browsers).length > 0,
      execute: () => { for (const path of selected(browsers)) void app.commands.execute("docmanager:open", { path, factory: FACTORY }); },
    });
    palette?.addItem({ command: `${ID}:open-selected`, category: say.workbench });
  },
};

/** The models and saved sessions that are selected in the file browser. */
function selected(browsers: IFileBrowserFactory | null): string[] {
  const browser = browsers?.tracker.currentWidget;
  return browser ? Array.from(browser.selectedItems()).map((item) => item.path).filter(isModel) : [];
}

const sessions: JupyterFrontEndPlugin<void> = {
  id: `${ID}:sessions`,
  description: say.sessionsDescription,
  autoStart: true,
  optional: [ICommandPalette, INotebookTracker, IConsoleTracker, ILabShell],
  activate: (
    app: JupyterFrontEnd, palette: ICommandPalette | null, notebooks: INotebookTracker | null, consoles: IConsoleTracker | null,
    shell: ILabShell | null,
  ) => {
    const panel = new SessionsPanel(notebooks, consoles, shell, app.commands);
    app.shell.add(panel, "left", { rank: 700, type: "Workbench" });
    app.commands.addCommand(`${ID}:sessions`, {
      label: say.showSessions,
      execute: () => { app.shell.activateById(panel.id); return panel.refresh(); },
    });
    palette?.addItem({ command: `${ID}:sessions`, category: say.workbench });
  },
};

const language: JupyterFrontEndPlugin<void> = {
  id: `${ID}:language`,
  description: say.languageDescription,
  autoStart: true,
  requires: [IEditorLanguageRegistry],
  activate: (app: JupyterFrontEnd, languages: IEditorLanguageRegistry) => {
    app.docRegistry.addFileType({ name: "workbench-ir", displayName: say.program, extensions: [".relay", ".tir"], mimeTypes: ["text/x-workbench-ir"], fileFormat: "text" });
    languages.addLanguage({
      name: "workbench-ir", displayName: say.program, mime: "text/x-workbench-ir", extensions: ["relay", "tir"],
      load: async () => {
        const python = await languages.getLanguage("python");
        if (!python) throw new Error(say.noPython);
        return python.support ?? (await python.load!());
      },
    });
  },
};

export default [documents, sessions, language];
