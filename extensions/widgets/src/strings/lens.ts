// Texts of the tile lens and what stands below it.
import { number } from "./common";

/** A factor that was measured: no more digits than it is good for. */
function fewDigits(times: number): string {
  return times.toFixed(times < 10 ? 1 : 0);
}

function trimmed(value: number): string {
  return value.toFixed(1).replace(/\.0$/, "");
}

function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  return count < 1024 * 1024 ? `${trimmed(count / 1024)} KiB` : `${trimmed(count / 1024 / 1024)} MiB`;
}

export const lens = {
  accesses: "accesses",
  across: "Across",
  aliveBuffers: "own buffers alive",
  applying: "applying …",
  asFast: (times: number) => `about ${fewDigits(times)} times as fast as before`,
  asSlow: (times: number) => `about ${fewDigits(times)} times as slow as before`,
  backInMemory: "back in memory",
  backTo: (factor: string) => `Back to ${factor}`,
  block: "Block",
  blockRefused: (name: string, why: string) => `${name} (${why})`,
  buffer: "buffer",
  bytes,
  bytesColumn: "bytes",
  cache: "A cache",
  cacheFields: { KB: "KiB", line: "line", ways: "ways" },
  cacheFieldsHelp: { KB: "Size", line: "Bytes of a line", ways: "Lines of a set" },
  clipped: (columns: number, rows: number) => `The first ${columns} × ${rows} iterations.`,
  colours: "What the colours say",
  coloursHelp: "each cache is taken to hold the lines touched last: fully associative, nothing prefetched",
  coloursRule: (line: number) => `lines of ${line} bytes, least recently used goes first; pale: not touched by the chosen loop`,
  down: "Down",
  drafted: "drafted, not applied",
  edge: (loop: string) => `Tile edge ${loop}`,
  edgeHelp: (loop: string, factor: number) => `${loop} = ${factor}: drag, or arrow keys and Enter`,
  edgeValue: (factor: number, most: number, rest: number, drafted: boolean) =>
    `${factor} of ${most}${rest ? `, the last tile ${rest}` : ""}${drafted ? ", not applied: press Enter" : ""}`,
  factor: (loop: string) => `Factor of ${loop}`,
  factorOf: (factor: number, most: number, rest: number) => `${factor} of ${most}${rest ? `, last ${rest}` : ""}`,
  fits: "fits",
  fitsIn: (place: string, amount: number) => `${place}, ${bytes(amount)}`,
  iterations: (block: string, across: string, down: string) => `Iterations of ${block} over ${across} and ${down}`,
  iterationsHelp: "Numbers: the order of visits. Arrows: one writes what the other touches.",
  keyRows: [
    ["← →", "on an edge: the tile smaller, larger by one"],
    ["PgUp PgDn", "on an edge: the next factor that divides"],
    ["Enter", "on an edge: make it the schedule's, and measure"],
    ["Esc", "on an edge: as it was; else back to the notebook"],
    [", .", "one visit back, on"],
    ["p", "play, stop"],
    ["↑ ↓", "the loop whose footprint is shown"],
    ["?", "this sheet"],
  ] as [string, string][],
  linesIn: (count: number, place: string) => `${number(count)} lines ${place}`,
  lives: "lives",
  livesAsParameter: "parameter",
  livesFromTo: (first: string, last: string) => `${first} to ${last}`,
  loop: "loop",
  loopKinds: { parallel: "parallel", unrolled: "unrolled", vectorized: "vectorized" } as Record<string, string>,
  memory: "memory",
  misses: "misses",
  missesOf: (counts: [string, number][], accesses: number) =>
    `misses ${counts.map(([name, count]) => `${name} ${number(count)}`).join(", ")} of ${number(accesses)} accesses`,
  more: "More about memory",
  moreTitles: { iterations: "Iterations", lifetimes: "Lifetimes", reuse: "Reuse distances", simulate: "Simulate a cache" },
  neverTouched: "never touched",
  noClearDifference: "no clear difference from before",
  noTile: "No tile to drag: split a loop of this block first (Editor, split).",
  noTime: (why: string) => `no time: ${why}`,
  nowAt: (shape: string, written: boolean, touched: string) => `${shape}${written ? ", written" : ""}; now ${touched}`,
  pace: "Pace",
  paceByVisit: "visit by visit",
  paceWhole: "all in 10 s",
  picture: (array: string, touched: string, held: string) => `${array}: this visit touches ${touched}; ${held}`,
  play: "Play",
  playHelp: "Play the order of visits (p)",
  reuse: (line: number) => `other lines between (${line} B)`,
  reuseHelp: "A cache of n lines that forgets the oldest hits the accesses with a distance below n.",
  run: "Run",
  running: "running …",
  simulated: "Simulated misses",
  simulatedHelp: (sets: number, cold: number) =>
    `Exact for one thread: ${sets} sets, least recently used goes first; ${number(cold)} of the misses are first touches.`,
  sizeNotConstant: "size not constant",
  stop: "Stop",
  tiles: "Tiles",
  times: "times",
  title: "Tile lens",
  touches: "touches while it runs once",
  visit: "Visit",
  visitBack: "One visit back",
  visitBackHelp: "One visit back (,)",
  visitOf: (visit: number, total: number) => `${number(visit)} of ${number(total)}`,
  visitOn: "One visit on",
  visitOnHelp: "One visit on (.)",
  visitValue: (visit: number, total: number, loops: string) => `visit ${visit} of ${total}: ${loops}`,
};
