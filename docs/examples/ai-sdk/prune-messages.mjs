// The AI SDK's pruneMessages. The first argument is its option reasoning, the second toolCalls.
import { pruneMessages } from "ai";
import { resultText, serve, toolNames } from "../conversation.mjs";

const [reasoning, toolCalls] = process.argv.slice(2);

// A message of the user with results is one of role tool, as the AI SDK has it, and one of the user for what else it
// says. Each part knows its block.
function toModelMessages(list) {
  const names = toolNames(list);
  const out = [];
  for (const m of list) {
    const parts = m.content.map((block, i) => {
      const of = `${m.id}.${i}`;
      switch (block.type) {
        case "tool_use":
          return { type: "tool-call", toolCallId: block.id, toolName: block.name, input: block.input, of };
        case "tool_result":
          return { type: "tool-result", toolCallId: block.tool_use_id, toolName: names.get(block.tool_use_id) ?? "unknown", output: { type: "text", value: resultText(block.content) }, of };
        case "thinking":
        case "redacted_thinking":
          return { type: "reasoning", text: block.thinking ?? "", of };
        case "text":
          return { type: "text", text: block.text, of };
        default:
          return { type: "file", mediaType: block.type, data: "", of };
      }
    });
    if (m.role === "assistant") {
      out.push({ role: "assistant", content: parts });
      continue;
    }
    const results = parts.filter((part) => part.type === "tool-result");
    const rest = parts.filter((part) => part.type !== "tool-result");
    if (results.length > 0) out.push({ role: "tool", content: results });
    if (rest.length > 0) out.push({ role: "user", content: rest });
  }
  // The results of one step are one message of role tool there.
  return out.reduce((all, m) => {
    const last = all.at(-1);
    if (last?.role === "tool" && m.role === "tool") last.content.push(...m.content);
    else if (last?.role === "assistant" && m.role === "assistant") last.content.push(...m.content);
    else all.push(m);
    return all;
  }, []);
}

await serve((list) => {
  const messages = pruneMessages({ messages: toModelMessages(list), reasoning, toolCalls });
  const kept = new Set(messages.flatMap((m) => m.content).map((part) => part.of));
  const blocks = list.flatMap((m) => m.content.map((_, i) => `${m.id}.${i}`)).filter((name) => !kept.has(name));
  return { edits: blocks.length > 0 ? [{ edit: "remove", blocks }] : [] };
});
