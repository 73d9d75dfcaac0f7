// Conversations as contents of Google's GenAI API, for the products that have them.
//
// A conversation is a list of contents in a short form, so that cases stay small. A text is the number of a pattern
// and a length in UTF-16 units: the pattern is repeated, and the repetition cut.
//
//   ["u", pattern, length]                          a user's text
//   ["m", pattern, length, [[id, tool], ...]]       a response, with its calls
//   ["r", [[id, tool, key, pattern, length], ...]]  the results of its calls; key is "output" or "error"

import { createHash } from "node:crypto";

export const patterns = [
  'The quick brown fox jumps over the lazy dog, and then it sleeps until it rains.\n',
  'no line ends here; ',
  '{"path": "C:\\\\dir", "tab":\t"x"}\n',
  '日本語のテキスト、',
  'short\n',
  '😀ok 😀\n',
  'Exit Code: 1\nOutput: first\nsecond\nthird line of it\n',
];

export const text = (p, n) => patterns[p].repeat(Math.ceil(n / patterns[p].length)).slice(0, n);

// whole is a length that does not cut a surrogate pair.
export const whole = (p, n) => (p === 5 ? Math.floor(n / patterns[p].length) * patterns[p].length : n);

// conversation makes contents that end in a response. opts: contents (about how many), tools, result (the largest
// result), prompt (the largest text), answers (one response of so many calls no tool).
export function conversation(d, opts) {
  const list = [["u", d.n(5), 1 + d.n(opts.prompt)]];
  let id = 0;
  for (;;) {
    const calls = [];
    if (!d.one(opts.answers)) {
      for (let i = 0; i < 1 + (d.one(3) ? d.n(4) : 0); i++) {
        calls.push([`t${String(++id).padStart(3, "0")}`, d.pick(...opts.tools)]);
      }
    }
    list.push(["m", d.n(5), calls.length > 0 && d.one(2) ? 0 : 1 + d.n(400), calls]);
    if (list.length >= opts.contents) return list;
    if (calls.length === 0) {
      list.push(["u", d.n(5), 1 + d.n(opts.prompt)]);
      continue;
    }
    list.push([
      "r",
      calls.map(([id, tool]) => {
        const p = d.n(patterns.length);
        const n = whole(p, d.n(d.one(2) ? opts.result : 2000));
        return [id, tool, d.one(10) && !opts.shell.includes(tool) ? "error" : "output", p, n];
      }),
    ]);
  }
}

// contents is the API's form of a conversation.
export function contents(list) {
  return list.map((c) => {
    switch (c[0]) {
      case "u":
        return { role: "user", parts: [{ text: text(c[1], c[2]) }] };
      case "m":
        return {
          role: "model",
          parts: [
            ...(c[2] > 0 ? [{ text: text(c[1], c[2]) }] : []),
            ...c[3].map(([id, name]) => ({ functionCall: { id, name, args: { path: "a" } } })),
          ],
        };
      default:
        return {
          role: "user",
          parts: c[1].map(([id, name, key, p, n]) => ({ functionResponse: { id, name, response: { [key]: text(p, n) } } })),
        };
    }
  });
}

// print is a short print of a text.
export const print = (s) => createHash("sha256").update(s).digest("hex").slice(0, 12);

// write prints cases, one on a line.
export function write(about, cases) {
  const lines = cases.map((c) => "  " + JSON.stringify(c));
  process.stdout.write(`{\n "about": ${JSON.stringify(about)},\n "patterns": ${JSON.stringify(patterns)},\n "cases": [\n${lines.join(",\n")}\n ]\n}\n`);
}

// stub answers every call with undefined, but for what is given.
export const stub = (known) =>
  new Proxy(known, { get: (o, key) => (key in o ? o[key] : key === "then" ? undefined : () => undefined) });
