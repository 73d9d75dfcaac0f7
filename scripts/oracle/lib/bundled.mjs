// Runs modules that are on no list of exports: sections of a bundle, as esbuild marks them with their source's path.

import { readFileSync } from "node:fs";

// section is the text of a module in the files of a bundle, which may be in several pieces.
export function section(files, path) {
  let found = "";
  for (const file of files) {
    const text = readFileSync(file, "utf8");
    for (let at = text.indexOf(`\n// ${path}\n`); at >= 0; at = text.indexOf(`\n// ${path}\n`, at + 5)) {
      const ends = ["\n// packages/", "\n// node_modules/", "\nexport {"].map((m) => text.indexOf(m, at + 5)).filter((i) => i > 0);
      found += text.slice(at, Math.min(text.length, ...ends)).replace(/^import [^;]*;$/gm, "");
    }
  }
  if (!found) throw new Error(`no section ${path}`);
  return found;
}

// run evaluates sections together and returns the given names. What they refer to and is neither theirs nor a global is
// given, or a function that does nothing.
export function run(sections, names, given) {
  const code = sections.join("\n");
  const own = new Set([...code.matchAll(/^(?:async )?(?:function|class|var|let|const) (?:([\w$]+)[^\n]*)/gm)].flatMap((m) => (/^var [^=]*$/m.test(m[0]) ? m[0].slice(4).replace(";", "").split(",").map((n) => n.trim()) : [m[1]])));
  const helpers = {
    __name: (f) => f,
    __esm: (modules) => { let done; return () => { if (!done) { done = true; Object.values(modules)[0](); } }; },
    ...given,
  };
  const scope = new Proxy(helpers, {
    has: (o, k) => typeof k === "string" && (k in o || !(own.has(k) || k in globalThis || k === "arguments")),
    get: (o, k) => (k === Symbol.unscopables ? undefined : k in o ? o[k] : () => ({ debug() {}, warn() {}, info() {}, error() {} })),
  });
  const inits = [...own].filter((n) => n.startsWith("init_")).map((n) => `${n}();`).join("");
  return new Function("scope", `with (scope) { return (function () { ${code}\n${inits} return { ${names.join(", ")} }; })(); }`)(scope);
}
