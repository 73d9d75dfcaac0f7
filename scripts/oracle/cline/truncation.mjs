// Writes policy/stage/cline/testdata/truncation.json: what the ContextManager of Cline's CLI 2.18.0 sends of generated
// conversations.
//
//	npm pack cline@2.18.0 && tar xzf cline-2.18.0.tgz
//	node truncation.mjs package/dist/cli.mjs > truncation.json
//
// The package is one bundle that runs the program, so the class is cut out of its text and gets what it uses of the
// rest: the window's figures and the texts, cut out likewise, and stand-ins for files, which the cases do not need.
import { readFileSync } from "node:fs";

const bundle = readFileSync(process.argv[2], "utf8");

// balanced is the text from a brace to the one that closes it. It skips strings, and knows no others than the bundle's.
function balanced(from) {
  for (let i = bundle.indexOf("{", from), depth = 0, quote = ""; ; i++) {
    const c = bundle[i];
    if (quote) {
      if (c === "\\") i++;
      else if (c === quote) quote = "";
    } else if (c === '"' || c === "'") quote = c;
    else if (c === "{") depth++;
    else if (c === "}" && --depth === 0) return bundle.slice(from, i + 1);
  }
}

const at = bundle.indexOf("class{contextHistoryUpdates;");
// Its regular expressions hold quotes in pairs.
const text = balanced(at);
const name = (pattern) => text.match(pattern)[1];
const texts = name(/(\w+)\.duplicateFileReadNotice\(/);
const windowInfo = name(/\{maxAllowedSize:\w+\}=(\w+)\(/);
const clone = name(/\(0,(\w+)\.default\)\(/);
const windowText = balanced(bundle.indexOf(`function ${windowInfo}(`));
const openAI = windowText.match(/instanceof (\w+)/)[1];
const notice = (key) => JSON.parse(bundle.match(new RegExp(`${key}:\\(\\)=>("(?:[^"\\\\]|\\\\.)*")`))[1]);
const notices = { duplicate: notice("duplicateFileReadNotice"), truncated: notice("contextTruncationNotice") };

const ContextManager = new Function(
  openAI, texts, clone,
  `${windowText}; const C = ${text}; C.prototype.saveContextHistory = async () => {}; return C`,
)(
  class {},
  { duplicateFileReadNotice: () => notices.duplicate, contextTruncationNotice: () => notices.truncated },
  { default: structuredClone },
);

let seed = 7;
const roll = (n) => ((seed = (seed * 1103515245 + 12345) % 2147483648), Math.floor((seed / 2147483648) * n));
const one = (n) => roll(n) === 0;

const cases = [];
for (let number = 0; number < 80; number++) {
  const window = [64000, 128000, 200000, 200000, 1000000, 100001][roll(6)];
  const limit = { 64000: 37000, 128000: 98000, 200000: 160000 }[window] ?? Math.max(window - 40000, window * 0.8);
  const api = { getModel: () => ({ id: "claude", info: { contextWindow: window } }) };
  const files = 1 + roll(6);
  const labels = new Map();
  const history = [];
  const recorded = [];
  const add = (role, blocks) => {
    const m = history.length;
    history.push({ role, content: blocks });
    recorded.push({
      role,
      blocks: blocks.map((b, i) => {
        const said = b.type === "tool_result" ? b.content[0].text : b.type === "text" ? b.text : "";
        if (said) labels.set(said, `${m}.${i}`);
        const text = said.replace(/x*$/, "");
        return { type: b.type, id: b.id ?? b.tool_use_id, path: b.input?.path, text: text || undefined, pad: said.length - text.length || undefined };
      }),
    });
  };
  add("user", [{ type: "text", text: `task ${number}` }]);
  const manager = new ContextManager();
  let range;
  let last = 0;
  const sent = [];
  const rounds = 3 + roll(24);
  for (let k = 0; k <= rounds; k++) {
    const over = [0.5, 0.5, 0.5, 0.9, 0.9, 1, 1.2, 2.5][roll(8)];
    const copy = structuredClone(history);
    const clineMessages = [{ ts: k, text: JSON.stringify({ tokensIn: last, tokensOut: 0 }) }];
    const made = await manager.getNewContextMessagesAndMetadata(copy, clineMessages, api, range, k > 0 ? 0 : -1, "", false);
    range = made.conversationHistoryDeletedRange;
    const shown = made.truncatedConversationHistory.map((m) => ({ role: m.role, text:
      m.content.map((b) => {
        if (b.type === "tool_use") return `use ${b.id}`;
        const said = b.type === "text" ? b.text : typeof b.content === "string" ? b.content : b.content[0].text;
        if (said === "result missing") return `missing ${b.tool_use_id}`;
        if (said === notices.truncated) return "notice";
        if (said.endsWith(`\n${notices.duplicate}`)) return `again ${b.tool_use_id}`;
        return labels.get(said);
      }).join(" ") }));
    const list = shown.filter((m) => m.text !== ""); // an emptied message
    for (let i = list.length - 1; i > 0; i--) {
      if (list[i].role === list[i - 1].role) list[i - 1].text += " " + list.splice(i, 1)[0].text;
    }
    sent.push(last >= limit || k === rounds ? list.map((m) => m.text) : null);
    last = Math.ceil(limit * over);
    recorded.push(null, last);
    if (k === rounds) break;
    if (one(9)) {
      add("assistant", [{ type: "text", text: `said ${k}` }]);
      add("user", [{ type: "text", text: `more ${k}` }]);
      continue;
    }
    const id = `t${k}`;
    const read = !one(3);
    const path = `src/file${roll(files)}.ts`;
    const body = "x".repeat(roll(one(3) ? 4000 : 200));
    const words = one(3) ? [] : [{ type: "text", text: `thought ${k}` }];
    add("assistant", [...words, { type: "tool_use", id, name: read ? "read_file" : "execute_command", input: read ? { path } : { command: "ls" } }]);
    add("user", [{ type: "tool_result", tool_use_id: id, content: [{ type: "text", text: read ? `[read_file for '${path}'] Result:\n${k} ${body}` : `[execute_command for 'ls'] Result:\n${k} ${body}` }] }]);
  }
  cases.push({ window, messages: recorded.filter((m) => m && typeof m === "object"), used: recorded.filter((m) => typeof m === "number"), sent });
}
console.log("[" + cases.map((c) => JSON.stringify(c)).join(",\n") + "]");
