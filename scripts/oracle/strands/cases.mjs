// Computes the cases of policy/stage/strands/testdata/cases.json with the code of Strands Agents for TypeScript:
//
//	node scripts/oracle/strands/cases.mjs > policy/stage/strands/testdata/cases.json
//
// Its sliding window manages generated conversations as when the agent stops, and reduces them as when the model
// refuses them, until it cannot any more.

import { Dice, load, open } from "../lib/upstream.mjs";

const PACKAGE = "@strands-agents/sdk", VERSION = "1.19.0";
const CONVERSATIONS = 160;

// A conversation is a list of
//   ["u", characters]               a user message
//   ["a", characters, calls]        a response
//   ["r", [characters, …]]          the results of the calls before it
function conversation(d) {
  const list = [];
  const size = () => (d.one(3) ? 380 + d.n(120) : d.one(2) ? d.n(200) : 450 + d.n(20000));
  for (let turn = 0, turns = 1 + d.n(5); turn < turns; turn++) {
    list.push(["u", 1 + d.n(400)]);
    for (let step = 0, steps = d.n(d.one(3) ? 14 : 4); step < steps; step++) {
      const calls = 1 + (d.one(4) ? d.n(3) : 0);
      list.push(["a", d.n(100), calls]);
      list.push(["r", Array.from({ length: calls }, size)]);
    }
    if (turn < turns - 1 || d.one(2)) list.push(["a", 1 + d.n(900), 0]);
  }
  return list;
}

const text = (n) => "x".repeat(n);

// messages is the conversation as the SDK has it.
function messages(sdk, list) {
  return list.map((e, i) => {
    const content = [];
    if (e[0] === "r") e[1].forEach((n, j) => content.push(new sdk.ToolResultBlock({ toolUseId: `${i - 1}.${j}`, status: "success", content: [new sdk.TextBlock(text(n))] })));
    else if (e[1]) content.push(new sdk.TextBlock(text(e[1])));
    for (let j = 0; j < (e[2] ?? 0); j++) content.push(new sdk.ToolUseBlock({ name: "read", toolUseId: `${i}.${j}`, input: {} }));
    return new sdk.Message({ role: e[0] === "a" ? "assistant" : "user", content, trackingId: "" + i });
  });
}

// state is which messages are left, and the characters of results.
const state = (list) => ({
  kept: list.map((m) => Number(m.trackingId)),
  results: list.flatMap((m) => m.content.filter((b) => b.type === "toolResultBlock").map((b) => b.content[0].text.length)),
});

const dir = open(`${PACKAGE}@${VERSION}`);
const dist = `./node_modules/${PACKAGE}/dist/src`;
const sdk = await load(dir, `export * from "${dist}/conversation-manager/sliding-window-conversation-manager.js"; export * from "${dist}/types/messages.js";`);

// manager is the sliding window, and the hook that acts when the agent stops.
function manager(windowSize) {
  const m = new sdk.SlidingWindowConversationManager({ windowSize });
  const hooks = [];
  m.initAgent({ addHook: (event, callback) => hooks.push({ event: event.name, callback }) });
  return { m, stop: hooks.find((h) => h.event === "AfterInvocationEvent").callback };
}

console.warn = () => {}; // it says where it cannot reduce any more
const cases = [];
for (let seed = 0; seed < CONVERSATIONS; seed++) {
  const d = new Dice(seed);
  const list = conversation(d), window = d.pick(3, 4, 6, 10, 20, 40);
  const end = messages(sdk, list);
  manager(window).stop({ agent: { messages: end } });
  const refused = messages(sdk, list), steps = [];
  const { m } = manager(window);
  while (m.reduce({ agent: { messages: refused }, error: new Error("too long") })) steps.push(state(refused));
  cases.push({ seed, window, list, end: state(end), steps });
}
const one = new sdk.SlidingWindowConversationManager();
console.log(`{"package":"${PACKAGE}@${VERSION}","window":${one._windowSize},"cases":[\n${cases.map((c) => JSON.stringify(c)).join(",\n")}\n]}`);
