// Loads modules of pinned npm packages, for the scripts that compute test cases with upstream code.
//
// Packages are unpacked into a temporary folder, without their install scripts. The module asked for is bundled with
// what it imports. An import that is not unpacked becomes a stub: a provider's network client need not be installed.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRequire, register } from "node:module";
import { pathToFileURL } from "node:url";

import { stubOf } from "./stubs.mjs";

const ESBUILD = "esbuild@0.25.12";

function npm(cwd, ...args) {
  return execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, npm_config_loglevel: "error" } });
}

// open returns a temporary folder with the given packages ("name@version") unpacked in node_modules.
export function open(...packages) {
  const dir = mkdtempSync(join(tmpdir(), "oracle-"));
  process.on("exit", () => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, "package.json"), '{"private":true,"type":"module"}');
  npm(dir, "install", "--ignore-scripts", "--no-audit", "--no-fund", ESBUILD);
  for (const spec of packages) {
    const at = spec.lastIndexOf("@");
    const tgz = mkdtempSync(join(dir, "pack-"));
    npm(tgz, "pack", spec);
    const to = join(dir, "node_modules", spec.slice(0, at));
    mkdirSync(to, { recursive: true });
    execFileSync("tar", ["xzf", join(tgz, readdirSync(tgz)[0]), "-C", to, "--strip-components=1"]);
  }
  return dir;
}

// install returns a temporary folder with the given packages and all they depend on installed.
export function install(...packages) {
  const dir = open();
  npm(dir, "install", "--ignore-scripts", "--no-audit", "--no-fund", ...packages);
  return dir;
}

// load bundles a module of the folder and imports it. source is the text of the module to load: it may import by
// name or by path below node_modules. replaced maps the names of imports to texts of modules that take their place.
export async function load(dir, source, replaced = {}) {
  const esbuild = createRequire(join(dir, "package.json"))("esbuild");
  const out = join(dir, `bundle-${Date.now()}.mjs`);
  const stub = { name: "stub", setup(build) {
    build.onResolve({ filter: /.*/ }, async (args) => {
      if (args.pluginData === "seen") return undefined;
      if (replaced[args.path] !== undefined && args.namespace !== "replaced") return { path: args.path, namespace: "replaced" };
      const found = await build.resolve(args.path, { kind: args.kind, importer: args.importer, resolveDir: args.resolveDir || dir, pluginData: "seen" });
      if (found.errors.length === 0) return found;
      return { path: args.path, namespace: "stub", suffix: "?" + args.importer, pluginData: args.importer };
    });
    build.onLoad({ filter: /.*/, namespace: "replaced" }, (args) => ({ contents: replaced[args.path], resolveDir: dir }));
    build.onLoad({ filter: /.*/, namespace: "stub" }, (args) => ({ contents: stubOf(args.path, args.pluginData) }));
  } };
  await esbuild.build({ stdin: { contents: source, resolveDir: dir, loader: "js" }, bundle: true, format: "esm", platform: "node", target: "node20",
    outfile: out, plugins: [stub], logLevel: "error", banner: { js: 'import { createRequire as __cr } from "node:module"; const require = __cr(import.meta.url);' } });
  return import(pathToFileURL(out));
}

// loadApart imports a module with the given text, as load does, without bundling: for packages of thousands of modules
// that import each other.
export async function loadApart(dir, source) {
  const from = join(dir, "load.mjs");
  writeFileSync(from, source);
  register("./stubs.mjs", import.meta.url, { data: pathToFileURL(dir).href + "/" });
  return import(pathToFileURL(from));
}

// Random numbers from a seed: the same everywhere.
export class Dice {
  constructor(seed) { this.state = (seed * 2654435761 + 1) >>> 0; }
  next() { // mulberry32
    let t = (this.state = (this.state + 0x6d2b79f5) >>> 0);
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  n(below) { return Math.floor(this.next() * below); }
  one(of) { return this.n(of) === 0; }
  pick(...list) { return list[this.n(list.length)]; }
}
