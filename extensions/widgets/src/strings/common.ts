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
  discard: "Discard",
  kernelBusy: "kernel busy",
  keys: "Keys",
  keysHelp: "Keys (?)",
  measure: "Measure",
  notMeasured: "not measured",
  number,
};
