// LangChain's context-editing middleware: what ClearToolUsesEdit clears is cleared. The first argument is its trigger in
// tokens, the second how many results it keeps.
import { ClearToolUsesEdit, countTokensApproximately } from "langchain";
import { serve } from "../conversation.mjs";
import { toLangChain } from "./messages.mjs";

const [tokens, keep] = process.argv.slice(2).map(Number);
const edit = new ClearToolUsesEdit({ trigger: { tokens }, keep: { messages: keep } });
const cleared = new Set();

await serve(async (list) => {
  const known = toLangChain(list, cleared);
  const messages = known.map((one) => one.message);
  await edit.apply({ messages, countTokens: countTokensApproximately });
  // It replaces messages in their places; results without a call, which it removes, are refused by the API anyway.
  const byCall = new Map(known.filter((one) => one.block).map((one) => [one.message.tool_call_id, one.block]));
  const blocks = messages
    .filter((m) => m.getType() === "tool" && m.response_metadata?.context_editing?.cleared)
    .map((m) => byCall.get(m.tool_call_id))
    .filter((name) => !cleared.has(name));
  blocks.forEach((name) => cleared.add(name));
  return { edits: blocks.length > 0 ? [{ edit: "clear", blocks, text: edit.placeholder }] : [] };
});
