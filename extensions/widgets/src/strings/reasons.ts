// Texts of why something was not done: a rule at an operator, a vector in LLVM.

export const reasons = {
  choosePass: "choose a pass",
  failAtOnce: (count: number) => `${count} that fail at once`,
  failAtOnceLabel: "Rules that fail at once",
  foundBefore: "; found",
  foundInstead: (text: string, found: string) => `${text}; found ${found}`,
  passAt: (pass: string, operator: string) => `${pass} at ${operator}`,
  remarkLine: (line: number) => `loop program, line ${line}`,
  remarks: "Remarks",
  remarksHelp: "What LLVM's loop vectoriser says of this kernel at O3",
  remarksLanes: "The schedule has vectorised these loops already, so that LLVM need not:",
  remarksNoneOpen: "It says nothing of loops that the schedule has not vectorised.",
  remarksLabel: "LLVM's remarks",
  remarksNone: "It says nothing: no loop is left that it looked at.",
  remarksOn: (kernel: string) => `LLVM's loop vectoriser at O3, on ${kernel}`,
  remarksVectors: "Vectors that the schedule made (vectorize) are vectors before LLVM sees them.",
  rule: (name: string) => `Rule ${name}`,
  states: { holds: "holds", failed: "failed", "not reached": "not reached" },
  whyNot: "Why not?",
  whyNotLabel: (operator: string) => `Why does a pass leave ${operator} as it is?`,
};
