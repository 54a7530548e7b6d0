// Texts of a page that has no screen yet: what a widget and a recording say before the bundle is there.  The small files
// that say them carry this table alone.

export const page = {
  command: (name: string) => `the command ${name}`,
  noBundle: "no bundle came",
  notPlayed: (reason: unknown) => `The recording cannot be played here (${reason}).`,
  notShown: (reason: unknown) => `This screen cannot be shown here (${reason}).`,
  waiting: "Waiting for the kernel: the screen is drawn when the cells before it are done. After a restart of the kernel, run the cell again.",
};
