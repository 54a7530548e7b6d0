// Builds the files that wheels carry: widgets.js (everything), stub.js (what each widget holds, under 4 kB), player.js
// (what plays a recorded screen in a page of its own).
import { build, transform } from "esbuild";
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

const out = "../../workbench/ui/static";
const common = { bundle: true, format: "esm", target: "es2022", minify: true, legalComments: "none", charset: "utf8" };

// The style sheet is a text of the bundle, without comments and indentation.
const style = {
  name: "style",
  setup: ({ onLoad }) => onLoad({ filter: /\.css$/ }, async ({ path }) => {
    const { code } = await transform(await readFile(path, "utf8"), { loader: "css", minify: true, target: "es2022" });
    return { contents: code, loader: "text" };
  }),
};

// Templates travel without their indentation: htm drops the white space around a line's end.
const indentation = {
  name: "indentation",
  setup: ({ onLoad }) => onLoad({ filter: /\/src\/[^/]+\.ts$/ }, async ({ path }) => (
    { contents: (await readFile(path, "utf8")).replace(/\n +/g, "\n"), loader: "ts" }
  )),
};

const made = await Promise.all([
  build({ ...common, metafile: true, entryPoints: ["src/main.ts"], outfile: `${out}/widgets.js`, plugins: [style, indentation] }),
  build({ ...common, metafile: true, entryPoints: ["src/stub.ts"], outfile: `${out}/stub.js` }),
  build({ ...common, metafile: true, format: "iife", entryPoints: ["src/player.ts"], outfile: `${out}/player.js` }),
]);

// NOTICE names the packages of which something is in the files, those and no others.
const sources = made.flatMap(({ metafile }) => Object.values(metafile.outputs)).flatMap(({ inputs }) => Object.entries(inputs));
const bundled = sources.flatMap(([path, { bytesInOutput }]) =>
  bytesInOutput > 0 ? [...path.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)\//g)].slice(-1).map(([, name]) => name) : []);
const named = [...(await readFile("../../NOTICE", "utf8")).matchAll(/^  (\S+) +\(/gm)].map(([, name]) => name);
const [has, says] = [bundled, named].map((names) => [...new Set(names)].sort().join(", "));
if (has !== says) throw new Error(`the bundle holds ${has}; NOTICE names ${says}`);

// Bytes as they travel: the bundle is sent once a page, packed.  180 kB of code, and its texts, in one language 12 kB.
const limits = { "widgets.js": 196_000, "stub.js": 4_096, "player.js": 8_192 };
for (const [name, limit] of Object.entries(limits)) {
  const size = gzipSync(await readFile(`${out}/${name}`), { level: 9 }).length;
  console.log(`${name}: ${size} bytes packed`);
  if (size > limit) throw new Error(`${name} is over its limit of ${limit} bytes`);
}
