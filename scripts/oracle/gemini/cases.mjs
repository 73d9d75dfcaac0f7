// Computes the cases of policy/stage/gemini/testdata/cases.json with Gemini CLI's own code:
//
//	node scripts/oracle/gemini/cases.mjs > policy/stage/gemini/testdata/cases.json
//
// ChatCompressionService.compress and ToolOutputMaskingService.mask run as they are. The configuration answers
// undefined but for what is given below; the chat is a history and the tokens of its last prompt; the model answers a
// given summary; nothing is written to disk; a file"s random name is "random", and a cut result"s number "0000", which
// is as long as an id of a case.

import fsPromises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { contents, conversation, print, stub, text, write } from "../lib/contents.mjs";
import { Dice, load, open } from "../lib/upstream.mjs";

const PACKAGE = "@google/gemini-cli-core";
const RELEASES = [
  { version: "0.26.0", services: "services" },
  { version: "0.30.0", services: "services", masking: true },
  { version: "0.61.0", services: "context", masking: true },
];
const COMPRESSIONS = 50, MASKINGS = 20; // of each release
const limit = 1048576; // tokenLimit of every model
const tools = ["read_file", "run_shell_command", "grep_search", "replace", "activate_skill", "ask_user"];
const shell = ["run_shell_command"];

// network is what a module asks of its network client when it loads.
const network = "export class Agent {} export class ProxyAgent {} export class EnvHttpProxyAgent {} export const buildConnector = () => {}, setGlobalDispatcher = () => {}, fetch = () => {};";

// upstream is a version's code.
async function upstream({ version, services, masking }) {
  const src = `${PACKAGE}/dist/src`;
  const up = await load(open(`${PACKAGE}@${version}`), `
    export { ChatCompressionService } from "${src}/${services}/chatCompressionService.js";
    ${masking ? `export { ToolOutputMaskingService } from "${src}/${services}/toolOutputMaskingService.js";` : ""}
    export { CompressionStatus } from "${src}/core/turn.js";
    export { getInitialChatHistory } from "${src}/utils/environmentContext.js";
    export { estimateTokenCountSync } from "${src}/utils/tokenCalculation.js";`, { undici: network });
  const status = Object.fromEntries(Object.entries(up.CompressionStatus).map(([k, v]) => [v, k]));
  return { ...up, version, status };
}

// config is the configuration of a case. The environment context is padded to whole tokens.
function config(up, c, padding = "") {
  const temp = up.version < "0.29" ? "~/.gemini/tmp/tool-outputs" : "~/.gemini/tmp";
  const conf = stub({
    getCompressionThreshold: async () => c.threshold,
    getTruncateToolOutputThreshold: () => Math.min(4 * (limit - c.prompt), 40000), // as Config has it
    getNextCompressionTruncationId: () => "0000",
    storage: { getProjectTempDir: () => temp },
    getSessionId: () => "session",
    getToolOutputMaskingConfig: async () => ({
      enabled: true,
      protectLatestTurn: true,
      toolProtectionThreshold: 50000, minPrunableTokensThreshold: 30000, // to 0.36
      protectionThresholdTokens: 50000, minPrunableThresholdTokens: 30000,
    }),
    getBaseLlmClient: () => ({
      generateContent: async () => ({ candidates: [{ content: { parts: [{ text: text(...c.summary) }] } }] }),
    }),
    getWorkspaceContext: () => ({ getDirectories: () => [] }),
    getEnvironmentMemory: () => padding,
    getUsageStatisticsEnabled: () => false,
    getTelemetryEnabled: () => false,
    getToolRegistry: () => ({ getAllToolNames: () => [], getAllTools: () => [], getTool: () => undefined }),
    getActiveModel: () => "gemini-2.5-pro",
    getModel: () => "gemini-2.5-pro",
    isInteractive: () => false,
  });
  conf.config = conf; // a configuration is its own context
  return conf;
}

const wholeResponse = (part) => part.functionResponse?.response;

// changed lists the results that are cut or masked: content, part, length and print of the text, without the path of
// its file. The response of a failed call that is over the budget and not too long becomes a text: it is not listed.
function changed(before, after, from) {
  const list = [];
  after.forEach((c, i) =>
    c.parts.forEach((part, j) => {
      const was = wholeResponse(before[i].parts[j]);
      const is = wholeResponse(part);
      if (is?.output !== undefined && was.output !== is.output && is.output.includes("Output too large")) {
        list.push([i + from, j, is.output.length, print(is.output.replace(/(For full output see|available at): .*/, "$1: F"))]);
      }
    }),
  );
  return list;
}

async function compression(up, seed) {
  const d = new Dice(seed);
  const small = d.one(2); // compares the sizes before and after, at a threshold that is always passed
  const c = {
    kind: "compression", version: up.version, seed,
    history: conversation(d, {
      contents: 1 + d.n(40), tools, shell, answers: d.pick(20, 3, 2),
      prompt: d.pick(...[100, 3000, 60000]), result: d.pick(...[3000, 60000, 150000]),
    }),
    threshold: small ? 0.000001 : 0.5,
    force: d.one(5), failed: d.one(5),
    summary: [d.pick(...[0, 3]), 40 * (1 + d.n(d.pick(...[10, 200, 2000])))],
  };
  c.prompt = small ? 2 + d.n(d.pick(...[3000, 30000, 150000])) : d.pick(...[524287, 524288, 524289, 600000, limit - 5000, limit - 9999, limit - 10000, d.n(limit)]);
  const history = contents(c.history);
  // The environment context is no part of the case: its tokens are added to the prompt's where sizes are compared.
  let environment = 0;
  let conf;
  for (let pad = 0; pad < 4; pad++) {
    conf = config(up, c, "x".repeat(pad));
    const parts = (await up.getInitialChatHistory(conf, [])).flatMap((h) => h.content?.parts ?? h.parts);
    const length = parts.reduce((n, p) => n + p.text.length, 0);
    if (length % 4 === 0) {
      environment = up.estimateTokenCountSync(parts);
      break;
    }
  }
  const prompt = small ? c.prompt + environment : c.prompt;
  const chat = { getHistory: () => history, getLastPromptTokenCount: () => prompt };
  const { newHistory, info } = await new up.ChatCompressionService().compress(chat, "id", c.force, "gemini-2.5-pro", conf, c.failed);
  c.status = up.status[info.compressionStatus];
  if (c.status === "COMPRESSED") {
    const kept = newHistory.slice(2);
    c.kept = kept.length;
    c.changed = changed(history.slice(history.length - kept.length), kept, history.length - kept.length);
  } else if (newHistory) {
    c.changed = changed(history, newHistory, 0);
  }
  return c;
}

// masking masks a conversation as it grows: once with each response as the newest content.
async function masking(up, seed) {
  const d = new Dice(seed);
  const c = {
    kind: "masking", version: up.version, seed,
    history: conversation(d, {
      contents: 20 + d.n(60), tools, shell, answers: 10,
      prompt: 300, result: d.pick(...[1500, 20000, 60000, 110000]),
    }),
    waves: [],
  };
  const conf = config(up, { prompt: 0 });
  const service = new up.ToolOutputMaskingService();
  let history = [];
  for (const content of contents(c.history)) {
    history.push(content);
    if (content.role !== "model") continue;
    const { newHistory, maskedCount } = await service.mask(history, conf);
    if (maskedCount > 0) {
      c.waves.push([history.length - 1, changed(history, newHistory, 0)]);
      history = [...newHistory];
    }
  }
  return c;
}

const { mkdir, writeFile } = fsPromises;
const random = Math.random;
console.debug = () => {};
const cases = [];
for (const release of RELEASES) {
  const up = await upstream(release);
  Object.assign(fsPromises, { mkdir: async () => {}, writeFile: async () => {} });
  syncBuiltinESMExports();
  for (let seed = 1; seed <= COMPRESSIONS; seed++) cases.push(await compression(up, seed));
  Math.random = () => ({ toString: () => "0.12345random" });
  for (let seed = 1; release.masking && seed <= MASKINGS; seed++) cases.push(await masking(up, seed));
  Math.random = random;
  Object.assign(fsPromises, { mkdir, writeFile });
  syncBuiltinESMExports();
}
write(`answers of ${PACKAGE}, by scripts/oracle/gemini/cases.mjs`, cases);
