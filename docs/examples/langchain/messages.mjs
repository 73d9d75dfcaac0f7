// Messages of the Messages API as LangChain's. A tool_result is a message of its own there.
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { resultText, toolNames } from "../conversation.mjs";

// toLangChain returns the messages, each with the block (of a tool_result) and the message that it is made of. cleared
// are the names of blocks that the middleware has cleared before.
export function toLangChain(list, cleared = new Set()) {
  const names = toolNames(list);
  const out = [];
  for (const m of list) {
    const texts = m.content.filter((block) => block.type === "text").map(({ type, text }) => ({ type, text }));
    if (m.role === "assistant") {
      const tool_calls = m.content
        .filter((block) => block.type === "tool_use")
        .map((block) => ({ name: block.name, args: block.input, id: block.id, type: "tool_call" }));
      out.push({ of: m, message: new AIMessage({ id: m.id, content: texts, tool_calls }) });
      continue;
    }
    m.content.forEach((block, i) => {
      if (block.type !== "tool_result") return;
      const name = `${m.id}.${i}`;
      const message = new ToolMessage({
        tool_call_id: block.tool_use_id,
        name: names.get(block.tool_use_id),
        content: resultText(block.content),
        response_metadata: cleared.has(name) ? { context_editing: { cleared: true, strategy: "clear_tool_uses" } } : {},
      });
      out.push({ of: m, block: name, message });
    });
    if (texts.length > 0 || m.content.every((block) => block.type !== "tool_result")) {
      out.push({ of: m, message: new HumanMessage({ id: m.id, content: texts }) });
    }
  }
  return out;
}
