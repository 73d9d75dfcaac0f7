// Stubs in the place of modules that are not there. As hooks of Node's module loader this file puts them there for all
// that is imported below a folder.

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

// stubOf is the text of a module in place of one that is not there. Every name that the importer, a file, asks for is
// a function that does nothing, so that what only builds on it loads.
export function stubOf(name, importer) {
  const text = existsSync(importer) ? readFileSync(importer, "utf8") : "";
  const names = new Set();
  for (const [, list, from] of text.matchAll(/(?:import|export)\s*(?:type\s+)?(?:[\w$]+\s*,\s*)?{([^}]*)}\s*from\s*["']([^"']+)["']/g)) {
    if (from === name) list.split(",").map((n) => n.trim().split(/\s+as\s+/)[0]).filter((n) => /^[\w$]+$/.test(n) && n !== "default").forEach((n) => names.add(n));
  }
  return `const own = (t, k) => Object.hasOwn(t, k) && k !== "length" && k !== "name";
    const symbols = { [Symbol.iterator]: function* () {}, [Symbol.toPrimitive]: () => "" };
    const make = () => new Proxy(function () {}, { apply: make, construct: make,
      get: (t, k) => (own(t, k) ? t[k] : k === "then" ? undefined : typeof k === "symbol" ? symbols[k] : make()) });
    const stub = make();
    export default stub;` + [...names].map((n) => `export const ${n} = stub;`).join("");
}

let dir;

export function initialize(data) {
  dir = data;
}

export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (err) {
    const parent = context.parentURL ?? "";
    if (!parent.startsWith(dir) || !["ERR_MODULE_NOT_FOUND", "ERR_UNKNOWN_BUILTIN_MODULE"].includes(err.code)) throw err;
    return { url: `stub:${encodeURIComponent(specifier)}?${encodeURIComponent(fileURLToPath(parent))}`, shortCircuit: true };
  }
}

export async function load(url, context, next) {
  if (!url.startsWith("stub:")) return next(url, context);
  return { format: "module", source: stubOf(...url.slice("stub:".length).split("?").map(decodeURIComponent)), shortCircuit: true };
}
