// Texts of exercises, hints and predictions.
import { plural } from "./common";

export const exercise = {
  checks: "Checks",
  hint: "Hint",
  hintHelp: "A hint for what fails first; each says more than the one before",
  hints: "Hints",
  holds: "holds: ",
  holdsNot: "does not hold: ",
  must: "a must",
  name: (id: string) => `Exercise ${id}`,
  notSolved: (points: number, total: number) => `not solved yet: ${points} of ${total} points`,
  points: (count: number) => plural(count, "point"),
  solved: (points: number, total: number) => `✓ solved: ${points} of ${total} points`,
  submit: "Submit",
  submitHelp: "Write the answer's file, which is what is graded",
  written: (file: string) => `Written to ${file}`,
};
