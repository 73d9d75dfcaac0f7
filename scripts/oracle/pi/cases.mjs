// Computes the cases of policy/stage/pi/testdata/cases.json with Pi's own code:
//
//	node scripts/oracle/pi/cases.mjs > policy/stage/pi/testdata/cases.json
//
// Four releases of the coding agent prepare and make compactions of generated conversations. The summary is a text of
// a given length in place of a model's answer.

import { Dice, load, open } from "../lib/upstream.mjs";

const RELEASES = [
  { rules: "0.31", scope: "@mariozechner", version: "0.63.0" },
  { rules: "0.63", scope: "@mariozechner", version: "0.73.1" },
  { rules: "0.84", scope: "@earendil-works", version: "0.85.1" },
  { rules: "0.87", scope: "@earendil-works", version: "1.5.2" },
];
const CONVERSATIONS = 150;

// A conversation is a list of
//   ["u", characters, images]                                  a user message
//   ["a", usage, [["t", characters], ["k", characters], ["c", tool, path, characters] …]]   a response; k: thinking
//   ["r", characters, images]                                  the result of the next open call
function conversation(d) {
  const list = [];
  let total = 3000 + d.n(20000), images = 0;
  const size = (limit) => (d.one(4) ? d.n(limit) : d.n(1 + d.n(1 + limit / 8)));
  const result = () => { images = d.one(12) ? 1 + d.n(2) : 0; return ["r", d.one(9) ? 0 : size(30000), images]; };
  for (let turn = 0, turns = 2 + d.n(5); turn < turns; turn++) {
    list.push(["u", 1 + size(6000), d.one(15) ? 1 : 0]);
    for (let step = 0, steps = d.n(7); ; step++) {
      const parts = [];
      if (d.one(3)) parts.push(["k", 1 + size(3000)]);
      if (d.one(2)) parts.push(["t", 1 + size(3000)]);
      total += d.n(3000);
      if (step >= steps) {
        list.push(["a", total, [...parts, ["t", 1 + size(4000)]]]);
        break;
      }
      const calls = 1 + (d.one(4) ? d.n(3) : 0);
      for (let i = 0; i < calls; i++) parts.push(["c", d.pick("read", "write", "edit", "bash", "grep"), "/p/" + d.n(5) + ".go", size(2000)]);
      list.push(["a", total, parts]);
      for (let i = 0; i < calls; i++) list.push(result());
    }
  }
  return list;
}

const text = (n) => "x".repeat(n);
const image = { type: "image", data: "aGk=", mimeType: "image/png" };

// entries is the conversation as Pi's session file has it.
function entries(list) {
  const open = [];
  return list.map((e, i) => {
    const id = "e" + i, at = Date.UTC(2026, 0, 1) + 1000 * i;
    let message;
    if (e[0] === "u") {
      message = { role: "user", content: [{ type: "text", text: text(e[1]) }, ...Array(e[2]).fill(image)] };
    } else if (e[0] === "r") {
      const call = open.shift();
      message = { role: "toolResult", toolCallId: call.id, toolName: call.name, isError: false, content: [{ type: "text", text: text(e[1]) }, ...Array(e[2]).fill(image)] };
    } else {
      const content = e[2].map((p, j) => {
        if (p[0] === "t") return { type: "text", text: text(p[1]) };
        if (p[0] === "k") return { type: "thinking", thinking: text(p[1]) };
        const call = { type: "toolCall", id: `c${i}.${j}`, name: p[1], arguments: { path: p[2], text: text(p[3]) } };
        open.push(call);
        return call;
      });
      const calls = e[2].some((p) => p[0] === "c");
      message = { role: "assistant", content, provider: "p", model: "m", api: "a", stopReason: calls ? "toolUse" : "stop",
        usage: { input: e[1] - 100, output: 100, cacheRead: 0, cacheWrite: 0, totalTokens: e[1] } };
    }
    return { type: "message", id, parentId: i ? "e" + (i - 1) : null, timestamp: new Date(at).toISOString(), message: { ...message, timestamp: at } };
  });
}

// points are the requests before which the conversation is compacted: indexes of responses, with one in between.
function points(d, list) {
  const at = list.flatMap((e, i) => (e[0] === "a" ? [i] : [])).slice(1);
  if (at.length < 1) return [];
  const first = d.n(at.length);
  const rest = at.slice(first + 1);
  return rest.length ? [at[first], rest[d.n(rest.length)]] : [at[first]];
}

const prompts = [];
const answer = (context) => {
  const list = context.messages.filter((m) => m.role !== "system");
  const system = context.systemPrompt ?? context.messages.find((m) => m.role === "system").content;
  const said = list.at(-1).content[0].text;
  prompts.push([(typeof system === "string" ? system : system.map((b) => b.text).join("")).length, said.length]);
  return { role: "assistant", content: [{ type: "text", text: text(SUMMARY) }], stopReason: "stop", usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: {} } };
};
const SUMMARY = 2000;
globalThis.completeSimple = async (model, context) => answer(context);

async function upstream({ scope, version }) {
  const dir = open(`${scope}/pi-coding-agent@${version}`, `${scope}/pi-ai@${version}`);
  const replace = (path, real) => ({ [path]: `export * from "./node_modules/${scope}/pi-ai/dist/${real}"; export const completeSimple = (...a) => globalThis.completeSimple(...a);` });
  const replaced = scope === "@mariozechner" ? replace(`${scope}/pi-ai`, "index.js") : replace(`${scope}/pi-ai/compat`, "compat.js");
  const core = `./node_modules/${scope}/pi-coding-agent/dist/core`;
  return load(dir, `export * from "${core}/compaction/index.js"; export { convertToLlm } from "${core}/messages.js"; export { buildSessionContext } from "${core}/session-manager.js";`, replaced);
}

// run compacts a conversation at its points, one after the other.
async function run(pi, list, at, keep) {
  const all = entries(list);
  let path = [];
  const out = [];
  let done = 0;
  for (const p of at) {
    let end = p;
    while (list[end - 1]?.[0] === "u") end--; // the prompt is not in the session yet
    for (const e of all.slice(done, end)) path.push({ ...e, parentId: path.at(-1)?.id ?? null });
    done = end;
    const prep = pi.prepareCompaction(path, { enabled: true, reserveTokens: 16384, keepRecentTokens: keep });
    if (!prep || (prep.messagesToSummarize.length === 0 && prep.turnPrefixMessages.length === 0)) {
      out.push(null);
      continue;
    }
    prompts.length = 0;
    const made = await pi.compact(prep, { id: "m", provider: "p", api: "a", reasoning: false, maxTokens: 64000, contextWindow: 200000 }, "key");
    const stamp = new Date(Date.UTC(2026, 0, 1) + 1000 * done - 500).toISOString();
    path.push({ type: "compaction", id: "k" + p, parentId: path.at(-1).id, timestamp: stamp, ...made });
    const context = pi.convertToLlm(pi.buildSessionContext(path).messages).filter((m) => m.role !== "system");
    out.push({
      cut: Number(made.firstKeptEntryId.slice(1)), head: prep.messagesToSummarize.length, prefix: prep.turnPrefixMessages.length, before: made.tokensBefore,
      calls: prompts.slice(), lists: pi.formatFileOperations(made.details.readFiles, made.details.modifiedFiles), sent: context.length, message: context[0].content[0].text.length,
    });
  }
  return out;
}

const cases = [];
for (let seed = 0; seed < CONVERSATIONS; seed++) {
  const d = new Dice(seed);
  const list = conversation(d);
  cases.push({ seed, keep: d.pick(20000, 5000, 2000, 500, 200), list, at: points(d, list), out: [] });
}

// sizes are the characters that a summary's requests have beside the conversation: system prompt and prompt for a first
// summary, for its update, and for the beginning of a turn.
async function sizes(pi) {
  const model = { id: "m", provider: "p", api: "a", reasoning: false, maxTokens: 64000, contextWindow: 200000 };
  const one = [{ role: "user", content: [{ type: "text", text: "x" }], timestamp: 0 }];
  const prep = { firstKeptEntryId: "e1", messagesToSummarize: one, turnPrefixMessages: [], isSplitTurn: false, tokensBefore: 0, fileOps: { read: new Set(), written: new Set(), edited: new Set() }, settings: pi.DEFAULT_COMPACTION_SETTINGS };
  prompts.length = 0;
  await pi.compact(prep, model, "key");
  await pi.compact({ ...prep, previousSummary: "x" }, model, "key");
  await pi.compact({ ...prep, messagesToSummarize: [], turnPrefixMessages: one, isSplitTurn: true }, model, "key");
  const said = "[User]: x".length;
  return [prompts[0][0] + prompts[0][1] - said, prompts[1][0] + prompts[1][1] - said - 1, prompts[2][0] + prompts[2][1] - said];
}

let trigger, defaults;
for (const release of RELEASES) {
  const pi = await upstream(release);
  for (const c of cases) {
    const out = await run(pi, c.list, c.at, c.keep);
    const text = JSON.stringify(out);
    const same = c.out.find((o) => JSON.stringify(o.points) === text);
    if (same) same.rules.push(release.rules);
    else c.out.push({ rules: [release.rules], points: out });
  }
  release.sizes = await sizes(pi);
  trigger = [[183615, 200000], [183616, 200000], [183617, 200000], [16384, 32768], [16385, 32768], [0, 16384], [1, 16384], [1, 100]]
    .map(([tokens, window]) => [tokens, window, pi.shouldCompact(tokens, window, pi.DEFAULT_COMPACTION_SETTINGS)]);
  defaults = pi.DEFAULT_COMPACTION_SETTINGS;
}
const releases = RELEASES.map(({ rules, scope, version, sizes }) => ({ rules, package: `${scope}/pi-coding-agent@${version}`, sizes }));
process.stdout.write(`{"releases":${JSON.stringify(releases)},\n"defaults":${JSON.stringify(defaults)},"trigger":${JSON.stringify(trigger)},"summary":${SUMMARY},\n"cases":[\n${cases.map((c) => JSON.stringify(c)).join(",\n")}\n]}\n`);
