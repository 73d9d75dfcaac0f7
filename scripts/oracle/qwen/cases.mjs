// Computes the cases of policy/stage/qwen/testdata/cases.json with Qwen Code's own code:
//
//	node scripts/oracle/qwen/cases.mjs > policy/stage/qwen/testdata/cases.json
//
// GeminiClient.tryCompressChat of the core package 0.0.14 runs as it is; of later releases, which are bundles, the
// sections of chatCompressionService.ts and what it needs. The configuration answers undefined but for what is given
// below; the model answers a given summary, with a usage of a quarter of the characters and of the prompt; a request
// above the window is an error; no file is attached again, since no call names one.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { contents, conversation, stub, text, write } from "../lib/contents.mjs";
import { run, section } from "../lib/bundled.mjs";
import { Dice, load, open } from "../lib/upstream.mjs";

const COMPRESSIONS = 38; // of each release
const tools = ["read_file", "run_shell_command", "grep_search", "edit"];
const shell = ["run_shell_command"];
const STATUS = ["", "COMPRESSED", "COMPRESSION_FAILED_INFLATED_TOKEN_COUNT", "COMPRESSION_FAILED_TOKEN_COUNT_ERROR",
  "COMPRESSION_FAILED_EMPTY_SUMMARY", "NOOP", "COMPRESSION_FAILED_OUTPUT_TRUNCATED", "COMPRESSION_FAILED_API_ERROR"];

// tokens counts contents, each part by itself.
const quarter = (n) => Math.floor((n + 2) / 4);
const size = (part) => part.text?.length ?? (part.functionCall ? part.functionCall.name.length + JSON.stringify(part.functionCall.args).length : Object.values(part.functionResponse.response)[0].length);
const tokens = (list) => list.flatMap((c) => c.parts).reduce((n, part) => n + quarter(size(part)), 0);

const silent = { debug() {}, warn() {}, info() {}, error() {} };

// base is a case: a conversation that ends in a response, and the figures of its last request.
function base(d, version, seed) {
  const small = d.one(2);
  const c = {
    version, seed, window: d.pick(20000, 32000, 100000, 200000, 1000000),
    history: conversation(d, {
      contents: 1 + d.n(40), tools, shell, answers: d.pick(20, 3, 2), prompt: d.pick(100, 3000, 20000), result: d.pick(3000, 20000),
    }),
    manual: d.one(6), failures: d.one(5) ? 1 + d.n(4) : 0,
    summary: [d.pick(0, 3), 40 * (1 + d.n(d.pick(10, 200, 1000, 3000)))],
  };
  c.prompt = small ? tokens(contents(c.history)) + d.n(3000) : Math.max(1, Math.floor(c.window * (0.6 + d.next() * 0.4)) + d.n(3) - 1);
  return c;
}

async function client(seed, up) {
  const d = new Dice(seed);
  const c = base(d, "0.0.14", seed);
  c.window = up.tokenLimit("qwen3-coder-plus");
  c.threshold = d.pick(0.0001, 0.001, 0.01);
  const list = contents(c.history);
  let history = list;
  const summary = text(...c.summary);
  const self = {
    config: stub({ getModel: () => "qwen3-coder-plus", getChatCompression: () => ({ contextPercentageThreshold: c.threshold }), getUsageStatisticsEnabled: () => false }),
    hasFailedCompressionAttempt: c.failures > 0,
    getChat: () => ({ getHistory: () => history, setHistory: (h) => { history = h; }, sendMessage: async () => ({ text: summary }) }),
    getContentGenerator: () => ({ countTokens: async ({ contents }) => ({ totalTokens: tokens(contents) }) }),
    startChat: async (h) => ({ getHistory: () => h }),
  };
  const info = await up.GeminiClient.prototype.tryCompressChat.call(self, "id", c.manual);
  c.status = Object.entries(up.CompressionStatus).find(([, v]) => v === info.compressionStatus)[0];
  if (c.status === "COMPRESSED") c.kept = self.chat.getHistory().length - 2;
  return c;
}

async function service(version, seed, up) {
  const d = new Dice(seed);
  const c = base(d, version, seed);
  c.manual &&= c.history.at(-1)[3].length === 0; // the user compacts when no call is open
  const list = contents(c.history);
  const config = stub({
    getChatCompression: () => undefined, getContentGeneratorConfig: () => ({ contextWindowSize: c.window }), getDebugLogger: () => silent,
    getContentGenerator: () => ({ generateContent: async (request) => answer(c, 1000, request.contents.slice(0, -1)) }),
  });
  up.telemetry.prompt = c.prompt;
  const chat = { getHistory: () => list };
  let result;
  try {
    result = version < "0.13"
      ? await new up.ChatCompressionService().compress(chat, "id", c.manual, "model", config, c.failures > 0)
      : await new up.ChatCompressionService().compress(chat, { promptId: "id", force: c.manual, model: "model", config, hasFailedCompressionAttempt: c.failures > 0, originalTokenCount: c.prompt });
  } catch (e) {
    if (e.message !== "too long") throw e;
    c.status = "THROWN";
    return c;
  }
  c.status = STATUS[result.info.compressionStatus];
  if (c.status === "COMPRESSED") {
    const rest = result.newHistory.slice(2);
    c.bridge = rest[0]?.parts[0].text === "Continue with the prior task using the context above.";
    c.kept = rest.length - (c.bridge ? 1 : 0);
  }
  return c;
}

// answer is the model's: the summary, with its usage.
function answer(c, prompt, sent) {
  const input = prompt + tokens(sent);
  if (input > c.window) throw new Error("too long");
  const summary = text(...c.summary);
  return { candidates: [{ content: { parts: [{ text: summary }] } }], text: summary, usage: { promptTokenCount: input, candidatesTokenCount: quarter(summary.length) }, usageMetadata: { promptTokenCount: input, candidatesTokenCount: quarter(summary.length) } };
}

const PROMPT = 1500; // tokens of the summary's prompt
const directive = "\n\nDo not call tools; tool execution is disabled for this request. First, reason in your <analysis> block. Then, produce the <state_snapshot> XML.";

async function ladder(version, seed, up) {
  const d = new Dice(seed);
  const c = base(d, version, seed);
  c.shared = d.one(2);
  c.output = d.n(2000);
  const calls = c.history.at(-1)[3];
  c.pending = c.manual ? null : calls.length > 0 ? ["r", calls.map(([id, tool]) => [id, tool, "output", d.n(3), d.n(20000)])] : ["u", d.n(3), 1 + d.n(5000)];
  const list = contents(c.history);
  const pending = c.pending ? contents([c.pending])[0] : undefined;
  const { auto, hard } = up.computeThresholds(c.window);
  const next = pending ? up.estimatePromptTokens([], pending, c.prompt, c.output) : undefined;
  const forced = pending !== undefined && next >= hard;
  const snapshot = (s) => `<state_snapshot>${s}</state_snapshot>`;
  const config = stub({
    getChatCompression: () => ({}), getDebugLogger: () => silent, getModel: () => "model", getCompactionModel: undefined, getTargetDir: () => "/",
    getContentGeneratorConfig: () => ({ contextWindowSize: c.window, authType: c.shared ? "anthropic" : "openai", enableCacheControl: c.shared }),
    getBaseLlmClient: () => ({ generateText: async (request) => { const a = answer(c, PROMPT, request.contents.slice(0, -1)); return { ...a, text: snapshot(a.text), hadToolCall: false }; } }),
  });
  up.side.query = async (_, request) => { const a = answer(c, PROMPT, request.contents.slice(0, -1)); return { ...a, text: snapshot(a.text) }; };
  const chat = { getHistoryShallow: () => list, getLastPromptTokenCount: () => c.prompt, isLastPromptTokenCountEstimated: () => false, getLastOutputTokenCount: () => c.output, getGenerationConfig: () => ({}) };
  const { newHistory, info } = await new up.ChatCompressionService().compress(chat, {
    promptId: "id", force: c.manual || forced, config, consecutiveFailures: c.failures, originalTokenCount: c.prompt,
    pendingUserMessage: pending, precomputedEffectiveTokens: next, trigger: forced ? "auto" : undefined,
  });
  c.status = STATUS[info.compressionStatus];
  if (c.status === "COMPRESSED") {
    if (forced && up.estimatePromptTokens([], pending, info.newTokenCount, 0) >= hard) c.status = "STOPPED"; // shouldStopAfterHardRescue
    else c.kept = newHistory.slice(1).some((h) => h.parts.some((p) => p.functionCall)) ? 1 : 0;
  }
  return c;
}

// clearing clears the results of a conversation that is about to go on.
function clearing(version, seed, up) {
  const d = new Dice(seed);
  const c = { version, seed, clearing: true, history: conversation(d, { contents: 10 + d.n(50), tools: [...tools, "todo_write"], shell, answers: d.pick(20, 2), prompt: 300, result: d.pick(3000, 90000, 200000) }) };
  const calls = c.history.at(-1)[3];
  c.pending = calls.length > 0 ? ["r", calls.map(([id, tool]) => [id, tool, "output", d.n(3), d.n(90000)])] : ["u", d.n(3), 1 + d.n(500)];
  c.minutes = calls.length > 0 ? 0 : d.pick(0, 59, 60, 61, 600);
  const list = contents(c.history);
  const settings = { toolResultsThresholdMinutes: 60, toolResultsNumToKeep: 5, toolResultsTotalCharsThreshold: 500000 };
  Date.now = () => 1e12 + c.minutes * 60000;
  const { history } = up.microcompactHistory(list, calls.length > 0 ? null : 1e12, settings, calls.length > 0 ? { sizeOnly: true, pendingContent: contents([c.pending])[0] } : undefined);
  c.cleared = [];
  history.forEach((h, i) => h.parts.forEach((p, j) => { if (p.functionResponse?.response.output === "[Old tool result content cleared]") c.cleared.push([i, j]); }));
  return c;
}

const cases = [];
{
  const src = "@qwen-code/qwen-code-core/dist/src";
  const up = await load(open("@qwen-code/qwen-code-core@0.0.14"), `
    export { GeminiClient } from "${src}/core/client.js";
    export { CompressionStatus } from "${src}/core/turn.js";
    export { tokenLimit } from "${src}/core/tokenLimits.js";`);
  for (let seed = 1; seed <= COMPRESSIONS; seed++) cases.push(await client(seed, up));
}
const bundle = (version) => join(open(`@qwen-code/qwen-code@${version}`), "node_modules/@qwen-code/qwen-code");
for (const [version, path] of [["0.12.0", "packages/core/dist/src/services/chatCompressionService.js"], ["0.15.10", "packages/core/src/services/chatCompressionService.ts"]]) {
  const telemetry = {};
  const up = run([section([join(bundle(version), "cli.js")], path)], ["ChatCompressionService"], {
    getResponseText: (r) => r.candidates[0].content.parts[0].text, DEFAULT_TOKEN_LIMIT: 131072,
    CompressionStatus: Object.fromEntries(STATUS.map((name, i) => [name, i])), uiTelemetryService: { getLastPromptTokenCount: () => telemetry.prompt, setLastPromptTokenCount() {} },
  });
  up.telemetry = telemetry;
  for (let seed = 1; seed <= COMPRESSIONS; seed++) cases.push(await service(version, seed, up));
}
{
  const version = "0.24.4", side = {};
  const chunks = join(bundle(version), "chunks");
  const files = readdirSync(chunks).filter((f) => f.endsWith(".js")).map((f) => join(chunks, f));
  const sections = ["compactionInputSlimming", "tokenEstimation", "postCompactAttachments", "chatCompressionService"].map((n) => section(files, `packages/core/src/services/${n}.ts`));
  const up = run(sections, ["ChatCompressionService", "computeThresholds", "estimatePromptTokens"], {
    getCompressionPrompt: () => "x".repeat(4 * PROMPT - directive.length), runSideQuery: (...args) => side.query(...args), ToolNames: {}, DEFAULT_TOKEN_LIMIT: 131072,
    logChatCompression: () => {}, makeChatCompressionEvent: (e) => e, resolvePath: (p) => p, pathSep: "/", process,
  });
  up.side = side;
  const names = { READ_FILE: "read_file", SHELL: "run_shell_command", GREP: "grep_search", GLOB: "glob", WEB_FETCH: "web_fetch", WEB_SEARCH: "web_search", READ_MCP_RESOURCE: "read_mcp_resource", EDIT: "edit", WRITE_FILE: "write_file", SKILL: "skill", TOOL_CALL: "tool_call" };
  const micro = run(["config/clearContextDefaults", "services/microcompaction/microcompact"].map((n) => section(files, `packages/core/src/${n}.ts`)), ["microcompactHistory"],
    { ToolNames: names, canonicalToolName: (n) => n, process, sanitizeMimeForPlaceholder: (m) => m });
  const now = Date.now;
  for (let seed = 1; seed <= COMPRESSIONS; seed++) cases.push(clearing(version, seed, micro));
  Date.now = now;
  cases.push({ version, seed: 0, thresholds: [1000, 20000, 33000, 34000, 64000, 131072, 200000, 220000, 256000, 1000000].map((w) => { const t = up.computeThresholds(w); return [w, t.auto, t.hard]; }) });
  for (let seed = 1; seed <= 2 * COMPRESSIONS; seed++) cases.push(await ladder(version, seed, up));
}
write("answers of Qwen Code, by scripts/oracle/qwen/cases.mjs", cases);
