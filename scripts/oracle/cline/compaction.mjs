// Writes policy/stage/cline/testdata/compaction.json: what Cline's CLI 3.0.65 sends of generated conversations, request
// by request: its message builder and its automatic compaction, with a summariser that always says the same.
//
//	npm install cline@3.0.65 --ignore-scripts
//	node compaction.mjs node_modules/@cline/core > compaction.json
//
// and compaction-3.0.57.json in the same way, with cline@3.0.57 and 20 cases:
//
//	node compaction.mjs node_modules/@cline/core 20 > compaction-3.0.57.json
//
// The summariser is a server of this script on the local host. The message builder is not exported: a copy of the
// bundle exports it, beside the bundle.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { resolve } from "node:path";

const folder = resolve(process.argv[2], "dist");
const bundle = readFileSync(`${folder}/index.js`, "utf8");
const builderName = bundle.match(/class (\w+)\{indexedMessageCount=0/)[1];
writeFileSync(`${folder}/oracle.js`, `${bundle}\nexport { ${builderName} as OracleBuilder };\n`);
const core = await import(`${folder}/oracle.js`);

const summaryTokens = 700;
const summary = "## Files\n".padEnd(4 * summaryTokens - 1, "y"); // its JSON has 4 * summaryTokens + 2 characters
const chunk = (delta, finish_reason) =>
  `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`${chunk({ role: "assistant", content: summary }, null)}${chunk({}, "stop")}data: [DONE]\n\n`);
  });
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const providerConfig = { providerId: "openai-compatible", modelId: "m", apiKey: "x", baseUrl: `http://127.0.0.1:${server.address().port}/v1` };
globalThis.AI_SDK_LOG_WARNINGS = false;

let seed = 11;
const roll = (n) => ((seed = (seed * 1103515245 + 12345) % 2147483648), Math.floor((seed / 2147483648) * n));
const one = (n) => roll(n) === 0;
const short = (text) => createHash("sha1").update(text).digest("hex").slice(0, 8);

const cases = [];
for (let number = 0; number < (process.argv[3] ?? 40); number++) {
  const window = [40000, 60000, 100000, 200000][roll(4)];
  const maxTokens = [undefined, 8000, 32000, 64000][roll(4)];
  const overhead = 3 * roll(2000); // tokens of four characters
  const size = [6000, 12000, 30000][roll(3)];
  const files = 1 + roll(8);
  const prepare = core.createContextCompactionPrepareTurn({ ...providerConfig, providerConfig, compaction: { enabled: true } });
  const builder = new core.OracleBuilder();
  const systemPrompt = "s".repeat(Math.max(0, 4 * overhead - '{"systemPrompt":"","messages":,"tools":[]}'.length));
  const labels = new Map();
  const recorded = [];
  let messages = [];
  const add = (role, content, extra) => {
    const message = { role, content };
    const m = recorded.length;
    labels.set(message, m);
    messages.push(message);
    recorded.push({ role, ...extra });
  };
  const steps = [];
  add("user", `task ${number}`, { text: `task ${number}` });
  let last = 0;
  const rounds = 8 + roll(50);
  for (let k = 0; k <= rounds; k++) {
    const apiMessages = builder.buildForApi(messages);
    const made = await prepare({
      agentId: "a", conversationId: "c", parentAgentId: null, iteration: k, messages, apiMessages, systemPrompt, tools: [],
      abortSignal: new AbortController().signal, previousRequestInputTokens: last || undefined,
      model: { id: "m", provider: "p", info: { id: "m", contextWindow: window, maxInputTokens: window, maxTokens } },
    });
    if (made?.messages) messages = made.messages;
    const built = builder.buildForApi(messages);
    const changed = [];
    messages.forEach((message, i) => {
      const block = Array.isArray(message.content) && message.content[0];
      if (block?.type !== "tool_result" || built[i].content[0].content === block.content) return;
      changed.push(`${labels.get(message)} ${short(built[i].content[0].content)}`);
    });
    const first = messages.find((message) => labels.has(message));
    steps.push({ first: labels.get(first), summary: messages[0] !== first || undefined, changed: made?.messages || one(6) || k === rounds ? changed : undefined });
    last = Math.ceil((JSON.stringify(built).length + 4 * overhead) / 3 * [0.7, 0.9, 1, 1.3, 2, 6][one(2) ? 0 : roll(6)]);
    steps[k].used = last;
    if (k === rounds) break;
    if (one(9)) {
      add("assistant", [{ type: "text", text: `said ${k}` }], { text: `said ${k}` });
      add("user", `more ${k}`, { text: `more ${k}` });
      last = 0; // a run of its own
      continue;
    }
    const id = `t${k}`;
    const read = !one(3);
    const path = `src/file${roll(files)}.ts`;
    const from = read && one(4) ? 1 + roll(2) * 100 : 0;
    const pad = roll(size);
    const head = `${k} é "`;
    const lines = from ? { start_line: from, end_line: from + 49 } : {};
    const input = read ? { file_path: path, ...lines } : { command: "ls" };
    add("assistant", [{ type: "tool_use", id, name: read ? "Read" : "Bash", input }], { id, path: read ? path : undefined, from: from || undefined });
    add("user", [{ type: "tool_result", tool_use_id: id, content: head + "x".repeat(pad) }], { id, text: head, pad });
  }
  cases.push({ window, output: maxTokens, overhead, summary: summaryTokens, messages: recorded, steps });
}
server.close();
console.log("[" + cases.map((c) => JSON.stringify(c)).join(",\n") + "]");
process.exit(0);
