// The program's side of the protocol in docs/programs.md: keeps the messages and asks a policy before each request.
import { createInterface } from "node:readline";

// serve calls policy(messages, request) for each request and writes what it returns: {edits} or {messages}.
export async function serve(policy) {
  let list = [];
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const told = JSON.parse(line);
    if (told.type === "start") {
      process.stdout.write('{"protocol":"ctxkit.program/v1"}\n');
      continue;
    }
    const gone = new Set(told.removed ?? []);
    list = list.filter((m) => !gone.has(m.id));
    for (const m of told.messages) {
      const at = list.findIndex((x) => x.id === m.id);
      if (at >= 0) list[at] = m;
      else if (m.after === undefined) list.push(m);
      else list.splice(list.findIndex((x) => x.id === m.after) + 1, 0, m);
    }
    process.stdout.write(JSON.stringify({ request: told.request, ...(await policy(list, told)) }) + "\n");
  }
}

// resultText is what the content of a tool_result says.
export function resultText(content) {
  if (typeof content === "string") return content;
  return (content ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n\n");
}

// toolNames maps the ids of calls to the names of their tools.
export function toolNames(list) {
  const uses = list.flatMap((m) => m.content).filter((block) => block.type === "tool_use");
  return new Map(uses.map((block) => [block.id, block.name]));
}
