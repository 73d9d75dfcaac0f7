// Computes the cases of policy/stage/openclaw/testdata/cases.json with OpenClaw's own code:
//
//	node scripts/oracle/openclaw/cases.mjs > policy/stage/openclaw/testdata/cases.json
//
// The package is bundled into chunks whose names change: the chunks that export the pruning and the state it keeps are
// found by the names of their functions. Generated conversations go through the pruning before each request, as
// OpenClaw does it; each request sets the clock. Each case lists what changed.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Dice, loadApart, open } from "../lib/upstream.mjs";

const PACKAGE = "openclaw@2026.9.6";
const CONVERSATIONS = 120;

const dir = open(PACKAGE, "ms@2.1.3"); // its durations
const dist = join(dir, "node_modules/openclaw/dist");

// imported is an import of a function from the chunk that defines it.
function imported(name) {
  for (const file of readdirSync(dist).filter((f) => f.endsWith(".mjs"))) {
    const text = readFileSync(join(dist, file), "utf8");
    if (!text.includes(`function ${name}(`)) continue;
    const as = new RegExp(`\\b${name} as (\\w+)`).exec(text.slice(text.lastIndexOf("export {")));
    if (as) return `export { ${as[1]} as ${name} } from "./node_modules/openclaw/dist/${file}";\n`;
  }
  throw new Error(`${PACKAGE} exports no ${name}`);
}
const { pruneExpiredCacheTtlToolResults, resolveCacheTtlPruningSettings, createToolResultPromptProjectionState } = await loadApart(dir,
  imported("pruneExpiredCacheTtlToolResults") + imported("resolveCacheTtlPruningSettings") + imported("createToolResultPromptProjectionState"));

const text = (n) => "x".repeat(n);

// A conversation is a list of
//   ["u", characters, images]
//   ["a", minutes since the request before, [["t", characters], ["k", characters, of the signature], ["c", tool, characters] …]]
//   ["r", [characters of a text, or -1 for an image …]]    the result of the next open call
function conversation(d) {
  const list = [];
  const size = (limit) => (d.one(4) ? d.n(limit) : d.n(1 + d.n(1 + limit / 8)));
  for (let turn = 0, turns = 1 + d.n(5); turn < turns; turn++) {
    list.push(["u", 1 + size(4000), d.one(15) ? 1 : 0]);
    for (let step = 0, steps = d.one(2) ? d.n(7) : 8 + d.n(14); ; step++) {
      const parts = [], gap = d.one(3) ? d.pick(4, 5, 6, 30) : 0;
      if (d.one(3)) parts.push(["k", size(2000), d.n(400)]);
      if (step >= steps || d.one(2)) parts.push(["t", 1 + size(2000)]);
      if (step >= steps) {
        list.push(["a", gap, parts]);
        break;
      }
      const calls = 1 + (d.one(4) ? d.n(3) : 0);
      for (let i = 0; i < calls; i++) parts.push(["c", d.pick("read", "exec", "image_get"), size(2000)]);
      list.push(["a", gap, parts]);
      for (let i = 0; i < calls; i++) list.push(["r", d.one(8) ? [size(9000), -1, size(3000)] : d.one(12) ? [] : d.one(10) ? [size(9000), size(9000)] : [size(d.pick(60000, 8000, 8000))]]);
    }
  }
  return list;
}

function run(c) {
  const settings = resolveCacheTtlPruningSettings({ mode: "cache-ttl", ttl: c.ttl, tools: { deny: c.deny }, hardClear: { enabled: c.hard } });
  const projectionState = createToolResultPromptProjectionState();
  const messages = [], calls = [], out = [], last = new Map();
  let now = Date.UTC(2026, 0, 1), touched = null;
  for (const [i, e] of c.list.entries()) {
    if (e[0] === "u") {
      messages.push({ role: "user", content: [{ type: "text", text: text(e[1]) }, ...Array(e[2]).fill({ type: "image", data: "", mimeType: "image/png" })], timestamp: now });
    } else if (e[0] === "r") {
      const call = calls.shift();
      messages.push({ role: "toolResult", toolCallId: call.id, toolName: call.name, isError: false, timestamp: now,
        content: e[1].map((n) => (n < 0 ? { type: "image", data: "", mimeType: "image/png" } : { type: "text", text: text(n) })) });
    } else {
      now += 60000 * e[1];
      const sent = pruneExpiredCacheTtlToolResults({ messages, settings, projectionState, now, lastCacheTouchAt: touched, contextWindowTokens: c.window,
        dropThinkingBlocksForEstimate: false, pruneNewRounds: true, onPruned: () => {} });
      touched = now;
      const changed = [];
      sent.forEach((m, at) => {
        if (m.role !== "toolResult" || m.content === messages[at].content) return;
        const now = m.content.map((b) => b.text).join("");
        if (last.get(m.toolCallId) !== now) changed.push([m.toolCallId, now.length, /^\[Old/.test(now) ? 1 : 0]);
        last.set(m.toolCallId, now);
      });
      out.push(changed);
      const content = e[2].map((p, j) => {
        if (p[0] === "t") return { type: "text", text: text(p[1]) };
        if (p[0] === "k") return { type: "thinking", thinking: text(p[1]), thinkingSignature: text(p[2]) };
        const call = { type: "toolCall", id: `c${i}.${j}`, name: p[1], arguments: { path: text(p[2]) } };
        calls.push(call);
        return call;
      });
      messages.push({ role: "assistant", content, provider: "anthropic", model: "m", stopReason: "stop", timestamp: now });
    }
  }
  return out;
}

const cases = [];
for (let seed = 0; seed < CONVERSATIONS; seed++) {
  const d = new Dice(seed), list = conversation(d);
  const c = { seed, window: 1000 + d.n(d.pick(20000, 60000)), ttl: d.pick("5m", "5m", "1m", "30m"), hard: !d.one(6), deny: d.one(4) ? ["IMAGE_*"] : [], list };
  c.changed = run(c);
  cases.push(c);
}
process.stdout.write(`{"package":${JSON.stringify(PACKAGE)},\n"cases":[\n${cases.map((c) => JSON.stringify(c)).join(",\n")}\n]}\n`);
