// Builds the files that wheels carry: widgets.js (everything), stub.js (what each widget holds, under 4 kB), player.js
// (what plays a recorded screen in a page of its own).
import { build } from "esbuild";
import { statSync } from "node:fs";

const out = "../../workbench/ui/static";
const common = { bundle: true, format: "esm", target: "es2022", minify: true, legalComments: "none", charset: "utf8" };

await build({ ...common, entryPoints: ["src/main.ts"], outfile: `${out}/widgets.js`, loader: { ".css": "text" } });
await build({ ...common, entryPoints: ["src/stub.ts"], outfile: `${out}/stub.js` });
await build({ ...common, format: "iife", entryPoints: ["src/player.ts"], outfile: `${out}/player.js` });

const limits = { "widgets.js": 420_000, "stub.js": 4_096, "player.js": 8_192 };
for (const [name, limit] of Object.entries(limits)) {
  const size = statSync(`${out}/${name}`).size;
  console.log(`${name}: ${size} bytes`);
  if (size > limit) throw new Error(`${name} is over its limit of ${limit} bytes`);
}
