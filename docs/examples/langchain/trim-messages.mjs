// LangChain's trimMessages: the newest messages that fit, beginning with one of the user. The first argument is
// maxTokens; tokens are counted as LangChain's agents count them.
import { trimMessages } from "@langchain/core/messages";
import { countTokensApproximately } from "langchain";
import { serve } from "../conversation.mjs";
import { toLangChain } from "./messages.mjs";

const maxTokens = Number(process.argv[2]);

await serve(async (list) => {
  const known = toLangChain(list);
  const messages = known.map((one) => one.message);
  const kept = await trimMessages(messages, { maxTokens, strategy: "last", startOn: "human", tokenCounter: countTokensApproximately });
  if (kept.length === 0) return { edits: [] }; // nothing fits: an agent could send nothing
  const cut = messages.length - kept.length; // what is kept is the end of the list
  const first = known[cut].of;
  const gone = list.slice(0, list.indexOf(first)).map((m) => m.id);
  const blocks = known.slice(0, cut).filter((one) => one.of === first).map((one) => one.block); // results before its text
  const edits = [];
  if (gone.length > 0) edits.push({ edit: "remove", messages: gone });
  if (blocks.length > 0) edits.push({ edit: "remove", blocks });
  return { edits };
});
