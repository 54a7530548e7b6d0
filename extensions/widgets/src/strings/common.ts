// Texts that several parts share: closing, cancelling, failing, waiting, plurals.

export function plural(count: number, word: string): string {
  return `${number(count)} ${word}${count === 1 ? "" : "s"}`;
}

export function number(value: number): string {
  return value.toLocaleString("en");
}

export const common = {
  apply: "Apply",
  cancel: "Cancel",
  close: "Close",
  closeMessage: "Close the message",
  copy: "Copy",
  discard: "Discard",
  errorFields: { where: "where", found: "found", expected: "expected", fix: "fix", kept: "kept" },
  kernelBusy: "kernel busy",
  keys: "Keys",
  keysHelp: "Keys (?)",
  measure: "Measure",
  microseconds: (time: string) => `${time} µs`,
  milliseconds: (time: string) => `${time} ms`,
  notMeasured: "not measured",
  number,
  recorded: "Not in this file: it is a recording without a kernel. Open the model in a notebook: wb.open(...).show()",
  samePython: "The same in Python",
  seconds: (time: string) => `${time} s`,
};
