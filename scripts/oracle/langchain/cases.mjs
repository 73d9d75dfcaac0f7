// Computes the cases of policy/stage/langchain/testdata/cases.json with LangChain's own agents:
//
//	node scripts/oracle/langchain/cases.mjs > policy/stage/langchain/testdata/cases.json
//
// An agent made by createAgent, with one of the two middlewares, goes through generated conversations: its model gives
// the responses and its tools the results that the conversation has. Each case lists what the model was sent.

import { Dice, install, load } from "../lib/upstream.mjs";

const PACKAGE = "langchain@1.5.14", CORE = "@langchain/core@1.4.0", DEEP_AGENTS = "deepagents@1.14.1";
const CONVERSATIONS = 150;

const dir = install(PACKAGE, CORE);
console.warn = () => {};
const { createAgent, contextEditingMiddleware, ClearToolUsesEdit, summarizationMiddleware, tool, BaseChatModel, AIMessage, AIMessageChunk, z, countTokensApproximately, DEFAULT_SUMMARY_PROMPT } = await load(dir, `
  export { createAgent, contextEditingMiddleware, ClearToolUsesEdit, summarizationMiddleware, tool } from "langchain";
  export { BaseChatModel } from "@langchain/core/language_models/chat_models";
  export { AIMessage } from "@langchain/core/messages";
  export { countTokensApproximately } from "./node_modules/langchain/dist/agents/middleware/utils.js";
  export { DEFAULT_SUMMARY_PROMPT } from "./node_modules/langchain/dist/agents/middleware/summarization.js";
  export * as z from "zod";`);
const { computeSummarizationDefaults } = await load(install(DEEP_AGENTS), `export { computeSummarizationDefaults } from "deepagents";`);

const text = (n) => "x".repeat(n);
const TOOLS = ["read", "bash", "grep"];

// A conversation is a list of turns: [characters of the prompt, responses…], a response [characters, [tool,
// characters of its input, characters of its result]…]. The last response of a turn has no calls.
function conversation(d) {
  const size = (limit) => (d.one(4) ? d.n(limit) : d.n(1 + d.n(1 + limit / 8)));
  return Array.from({ length: 1 + d.n(4) }, () => [1 + size(2000), ...Array.from({ length: d.n(7) }, () =>
    [size(800), ...Array.from({ length: 1 + (d.one(4) ? d.n(3) : 0) }, () => [d.pick(...TOOLS), size(300), size(6000)])]), [1 + size(800)]]);
}

class Scripted extends BaseChatModel {
  constructor(responses, log, window) { super({}); Object.assign(this, { responses, log, window }); }
  get profile() { return { maxInputTokens: this.window }; }
  _llmType() { return "scripted"; }
  bindTools() { return this; }
  async _generate(messages) {
    if (messages.length === 1 && /^<role>/.test(messages[0].content)) {
      this.log.asked.push(messages[0].content.length);
      return { generations: [{ text: "", message: new AIMessage(text(SUMMARY)) }] };
    }
    this.log.sent(messages);
    const [at, chars, ...calls] = this.responses[this.log.calls.length - 1];
    return { generations: [{ text: "", message: new AIMessage({ content: text(chars), tool_calls: calls.map(([name, n], i) => ({ name, args: { path: text(n) }, id: `c${at}.${i}`, type: "tool_call" })) }) }] };
  }
}
const SUMMARY = 300;

async function run(turns, middleware, note) {
  const responses = turns.flatMap((t) => t.slice(1)).map((r, i) => [i, ...r]);
  const log = { calls: [], asked: [], sent(messages) { log.calls.push(note(messages)); } };
  const model = new Scripted(responses, log, WINDOW);
  const tools = TOOLS.map((name) => tool(async (_, config) => {
    const [, at, i] = /^c(\d+)\.(\d+)$/.exec(config.toolCall?.id ?? config.toolCallId);
    return text(responses[at][2 + Number(i)][2]);
  }, { name, description: "d", schema: z.object({ path: z.string() }) }));
  const agent = createAgent({ model, tools, middleware: [middleware(model)] });
  let messages = [];
  for (const turn of turns) {
    ({ messages } = await agent.invoke({ messages: [...messages, { role: "user", content: text(turn[0]) }] }, { recursionLimit: 1000 }));
  }
  return log;
}
const WINDOW = 4000;

// cleared are the calls whose results are cleared in what is sent, and those whose inputs are.
const cleared = (messages) => [
  messages.filter((m) => m.getType() === "tool" && m.content === "[cleared]").map((m) => m.tool_call_id).join(" "),
  messages.flatMap((m) => m.tool_calls ?? []).filter((c) => c.args.path === undefined).map((c) => c.id).join(" "),
];
// kept is the number of messages sent, and the characters of the first where it is a summary, else 0.
const kept = (messages) => [messages.length, /^Here is a summary/.test(messages[0].content) ? messages[0].content.length : 0, countTokensApproximately(messages)];

const cases = [];
for (let seed = 0; seed < CONVERSATIONS; seed++) {
  const d = new Dice(seed), turns = conversation(d);
  const c = { seed, turns };
  c.edit = { trigger: 200 + d.n(3000), keep: d.n(5), least: d.one(3) ? d.n(2500) : 0, inputs: d.one(3), exclude: d.one(3) ? ["bash"] : [] };
  const edit = () => contextEditingMiddleware({ edits: [new ClearToolUsesEdit({ trigger: { tokens: c.edit.trigger }, keep: { messages: c.edit.keep },
    ...(c.edit.least ? { clearAtLeast: c.edit.least } : {}), clearToolInputs: c.edit.inputs, excludeTools: c.edit.exclude })] });
  c.cleared = (await run(turns, edit, cleared)).calls;
  const trigger = d.pick({ tokens: 300 + d.n(2500) }, { fraction: d.pick(0.3, 0.5, 0.8) }, { messages: 4 + d.n(20) }, { tokens: 300 + d.n(1500), messages: 3 + d.n(10) });
  const keep = d.pick({ messages: 1 + d.n(12) }, { tokens: d.n(1500) }, { fraction: d.pick(0.05, 0.1, 0.3) });
  c.summary = { trigger, keep };
  const log = await run(turns, (model) => summarizationMiddleware({ model, trigger, keep }), kept);
  c.kept = log.calls;
  c.asked = log.asked;
  cases.push(c);
}
// What the two do unless told; the summarization's shares of the window are those that Deep Agents gives.
const { trigger, keep, clearAtLeast, clearToolInputs, placeholder } = new ClearToolUsesEdit();
const shares = computeSummarizationDefaults({ profile: { maxInputTokens: WINDOW } });
const defaults = { edit: { trigger: trigger.tokens, keep: keep.messages, least: clearAtLeast, inputs: clearToolInputs, placeholder }, summary: { trigger: shares.trigger, keep: shares.keep, prompt: DEFAULT_SUMMARY_PROMPT.replace("{messages}", "").length } };
process.stdout.write(`{"package":${JSON.stringify(PACKAGE)},"window":${WINDOW},"summary":${SUMMARY},"defaults":${JSON.stringify(defaults)},\n"cases":[\n${cases.map((c) => JSON.stringify(c)).join(",\n")}\n]}\n`);
