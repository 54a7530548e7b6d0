// Texts of what can compute a kernel.
import { number } from "./common";

export const candidates = {
  again: "The cheapest again",
  brings: "Its own schedule",
  choose: "Choose",
  chooseOne: (name: string, config: string) => `Choose ${name} ${config}`.trim(),
  columns: ["Implementation", "In use", "Cycles, estimated", "Times the cheapest", "Configuration"],
  configs: (name: string, count: number) => `The ${count} configurations of ${name}, the cheapest first`,
  cycles: (cycles: number) => number(Math.round(cycles)),
  oneOf: (count: number) => `one of ${count}`,
  taken: { cost: "✓ by cost", hand: "✓ by hand", schedule: "✓ scheduled by hand" } as Record<string, string>,
  times: (times: number) => `${times.toFixed(2)} ×`,
  title: "Candidates",
  unfit: "Candidates that do not fit",
  unfitColumns: ["Does not fit", "The condition that fails"],
};
