// Builds the prebuilt extension into workbench/labextension/, which is committed: users need no Node.
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";

// Which packages JupyterLab shares with extensions stands in JupyterLab's own package.
const python = process.env.PYTHON ?? "../../.venv/bin/python";
const core = execFileSync(python, ["-c", "import jupyterlab, pathlib; print(pathlib.Path(jupyterlab.__file__).parent / 'staging')"]).toString().trim();
rmSync("lib", { recursive: true, force: true });
execFileSync("node", ["node_modules/typescript/bin/tsc"], { stdio: "inherit" });
execFileSync("node", ["node_modules/@jupyterlab/builder/lib/build-labextension.js", "--core-path", core, "."], { stdio: "inherit" });
