// Texts of the frame: the inspector beside the panes, the tabs below them, what is waited for.
import { number, plural } from "./common";

export const frame_a = {
  explained: "Words explained",
  explainedIn: (line: number) => `Words of line ${line}`,
  line: "The line",
  lineOf: (layer: string, line: number) => `${layer}, line ${line}`,
  lines: (count: number, first: number, last: number) => `${plural(count, "line")}, ${first}${last > first ? `–${last}` : ""}`,
  loopBy: (moves: string) => `by ${moves}`,
  loops: "Loops around it",
  lowering: "Lowering and scheduling the kernels …",
  madeLoops: "Moves that made these loops",
  moves: "Moves",
  noLine: "no line",
  placeFoundBy: (how: string) => `Place found by ${how}.`,
  runs: (times: number) => `Its statement runs ${number(times)} times a call.`,
  runsUnknown: "How often it runs is not known.",
  selection: "The selection",
  selectionHelp: "Click a box or a line: the same part of the model is lit in every layer.",
  tabs: {
    ablation: "Ablation", branches: "Branches", exercise: "Exercise", run: "Run", share: "Share", values: "Values", views: "Views",
  },
  tabsHelp: {
    ablation: "What each pass does: the program without it",
    branches: "Two branches of the pipeline as wholes: kernels, bytes, time, outputs",
    exercise: "What is asked, which checks hold, hints, handing in",
    run: "Run it: the time of every kernel call, and which part of the model it is",
    share: "Python that leads here, one HTML file, all that was done",
    values: "Run it: outputs of two steps compared, tensors looked into, errors on the graph",
    views: "Views of this screen that were given names",
  },
  takeBack: "take back",
  takeBackHelp: "Without this move; the later ones are done again",
  takeBackMove: (move: string, number: number) => `Take ${move} ${number} back`,
};
