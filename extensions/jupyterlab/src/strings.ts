// Every text of the extension that a person reads, by key: another language is another table of this shape.

const english = {
  asking: "Waiting for the kernel, which may be at work …",
  documentsDescription: "Opens ONNX models and saved sessions in the workbench's screen.",
  languageDescription: "Colours programs of the workbench, which are written in Python's syntax.",
  model: "ONNX model",
  noAnswer: "The kernel did not answer: Refresh asks again.",
  noKernel: "No kernel: run a cell of a notebook first.",
  noPython: "JupyterLab knows no Python",
  noSession: "No variable holds a session: session = wb.open(...)",
  notPython: "The kernel does not speak Python.",
  notTold: (error: string) => `The kernel could not tell its sessions: ${error}`,
  open: "Open in the Workbench",
  program: "Workbench program",
  refresh: "Refresh",
  session: "Workbench session",
  sessions: "Sessions of the kernel",
  sessionsCaption: "Sessions of the current kernel",
  sessionsDescription: "Lists the sessions and schedules that the current kernel holds, and shows them.",
  showIn: (name: string) => `${name}.show() in a new cell`,
  showSessions: "Show the Kernel's Sessions",
  workbench: "Workbench",
};

export type Strings = typeof english;

export const say: Strings = english;
