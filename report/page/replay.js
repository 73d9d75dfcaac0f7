// A replay: figures, the timeline, the chosen request, events, payload, cost, and all requests as a table.

// replayPage draws one replay.
function replayPage(replay, alone) {
  const rows = mainRows(replay);
  const views = replay.trace ? new Views(replay.trace) : null;
  const state = { at: -1 };
  const node = el("div", { class: "replay" });
  if (!alone) append(node, [el("h2", { class: "replay-name" }, replay.name, " under ", replay.policy), replay.answers.map((text, i) => el("p", { class: i ? "answer-more" : "answer" }, text))]);
  if (replay.notes.length) node.append(el("div", { class: "note" }, replay.notes.map((text) => el("p", {}, text))));
  node.append(figures(replay.figures));
  if (rows.length === 0) return append(node, [about(replay)]);
  const timeline = new Timeline([replay], choose);
  const request = requestPanel(replay, rows, views, choose, timeline.times);
  const events = eventsPanel(replay, rows, choose);
  const payload = views ? payloadPanel(replay, views) : null;
  const table = requestsPanel(replay, rows, choose, () => state.at);
  append(node, [
    panel("Tokens of each request", null, timeline.node),
    request.node, events.node, payload && payload.node, costPanel(replay), table.node, about(replay),
  ]);

  function choose(i) {
    if (i === state.at || !(i >= 0 && i < rows.length)) return;
    state.at = i;
    timeline.set(i);
    redraw();
  }
  const redraw = later(() => {
    address.set("request", state.at + 1);
    if (views) views.go(rows[state.at].n - 1);
    request.draw(state.at);
    if (payload) payload.draw();
    events.draw(state.at);
    table.draw();
    bar.follow(timeline, state.at, rows[state.at].n, `${thousands(replay.requests.payload[rows[state.at].at])} tokens`);
  });
  // The request that is chosen first: the one of which most is taken away, else the largest.
  const q = replay.requests;
  const best = (of) => rows.reduce((at, row, i) => (of(row.at) > of(rows[at].at) ? i : at), 0);
  const most = best((k) => q.raw[k] - q.payload[k]);
  choose(address.number("request", 0) - 1);
  if (state.at < 0) choose(q.raw[rows[most].at] > q.payload[rows[most].at] ? most : best((k) => q.payload[k]));
  return node;
}

// requestField is a field for the number of a request, with buttons for the ones before and after.
function requestField(last, choose) {
  const id = freshId("request");
  const input = el("input", { id, type: "number", min: 1, max: last + 1, class: "short", change: () => choose(clamp(Math.round(Number(input.value)), 1, last + 1) - 1) });
  let at = 0;
  const before = el("button", { type: "button", class: "button", click: () => choose(at - 1) }, "Previous");
  const after = el("button", { type: "button", class: "button", click: () => choose(at + 1) }, "Next");
  return {
    node: el("div", { class: "controls" }, field("Request", id, input), el("span", { class: "of" }, "of " + thousands(last + 1)), before, after),
    draw(i) {
      at = i;
      input.value = i + 1;
      before.disabled = i === 0;
      after.disabled = i === last;
    },
  };
}

// factsOf are the figures of a request: [name, value], without those that are not known.
function factsOf(replay, row) {
  const q = replay.requests, k = row.at;
  return [
    ["model", replay.models[q.model[k]]], ["raw", thousands(q.raw[k])], ["model view", q.view[k] !== q.payload[k] && thousands(q.view[k])], ["payload", thousands(q.payload[k])],
    ["used, as the client counts", thousands(q.used[k])], ["read from the cache", `${thousands(q.read[k])} (${percent(q.read[k], q.payload[k])})`],
    ["written to the cache", thousands(q.written[k])], ["uncached input", thousands(q.uncached[k])], ["not read because of", q.cause[k] >= 0 && replay.causes[q.cause[k]]],
    ["output", thousands(q.output[k])], ["cost", q.cost[k] >= 0 && dollars(q.cost[k])],
    ...row.own.map((o) => ["summarization request before it", `${replay.kinds[q.kind[o]]}: ${thousands(q.payload[o])} tokens` + (q.cost[o] >= 0 ? `, ${dollars(q.cost[o])}` : "")]),
  ].filter(([, value]) => value);
}

// eventList lists what happened before a request.
function eventList(replay, n) {
  const here = replay.events.filter((e) => e.request === n && e.kind !== "tag");
  return here.length > 0 && el("ul", {}, here.slice(0, 12).map((e) => el("li", {}, `${e.stage}: ${e.text || e.kind} (${thousands(e.before)} → ${thousands(e.after)} tokens)`)), here.length > 12 && el("li", {}, `and ${here.length - 12} more`));
}

// figures are the numbers that sum a replay up.
function figures(list) {
  return el("dl", { class: "figures" }, list.map((f) => el("div", {}, el("dt", {}, f.name), el("dd", {}, el("span", { class: "value" }, f.value), f.about && el("span", { class: "under" }, f.about)))));
}

// requestPanel shows the chosen request: its figures, and what fills its context.
function requestPanel(replay, rows, views, choose, times) {
  const number = requestField(rows.length - 1, choose);
  let at = -1;
  const facts = el("dl", { class: "facts" });
  const changes = el("div");
  const map = el("div", { class: "map" });
  const table = el("div");
  const said = el("p", { class: "status", "aria-live": "polite" });
  const node = panel("What one request sends", null, number.node,
    said, el("div", { class: "columns" }, el("div", {}, facts, changes), views ? el("div", {}, el("h3", {}, "What fills the context"), map) : null),
    views && el("details", {}, el("summary", {}, "The same as a table"), table));

  function draw(i) {
    at = i;
    number.draw(i);
    const q = replay.requests, k = rows[i].at;
    const gone = q.raw[k] - q.payload[k];
    said.textContent = gone > 0 ? `Request ${thousands(rows[i].n)} sends ${thousands(q.payload[k])} tokens; ${thousands(gone)} of raw are taken away (${percent(gone, q.raw[k])}).` : `Request ${thousands(rows[i].n)} sends ${thousands(q.payload[k])} tokens.`;
    const idle = i > 0 ? times[i] - times[i - 1] : 0;
    const list = [[`time (${zone})`, clock(q.time[k])], ["pause before it", idle > pause && duration(idle)], ...factsOf(replay, rows[i])];
    append(clear(facts), list.map(([name, value]) => value && [el("dt", {}, name), el("dd", {}, value)]));
    const events = eventList(replay, rows[i].n);
    append(clear(changes), [events && el("h3", {}, "What happened before it"), events]);
    if (views) fillMap();
  }

  function fillMap() {
    if (at < 0 || !map.isConnected) return;
    const q = replay.requests, k = rows[at].at;
    const shares = views.shares(q.payload[k]);
    const width = Math.max(Math.round(map.clientWidth), 260);
    append(clear(map), [treemap(shares, width, Math.round(Math.min(Math.max(width * 0.5, 220), 360))), groupsLegend(shares, q.payload[k])]);
    append(clear(table), [sharesTable(shares, q.payload[k])]);
  }
  if (views) new ResizeObserver(later(fillMap)).observe(map);
  return { node, draw };
}

// eventsPanel lists the events.
function eventsPanel(replay, rows, choose) {
  const index = new Map(rows.map((row, i) => [row.n, i]));
  const columns = [{ title: "Event", number: true }, { title: "Request", number: true }, { title: "Stage" }, { title: "Kind" }, { title: "What and why" }, { title: "Before", number: true }, { title: "After", number: true }, { title: "Less", number: true }];
  const cells = replay.events.map((e) => [String(e.n), e.request ? thousands(e.request) : "end", e.stage, e.kind, e.text, thousands(e.before), e.mark === "lost" ? "" : thousands(e.after), e.mark === "lost" ? "" : thousands(e.before - e.after)]);
  if (cells.length === 0) return { node: panel("Events", "None: the policy changed nothing."), draw() {} };
  let chosen = -1;
  const table = dataTable({ columns, rows: cells }, {
    label: "Events", page: 15, filter: true, choices: [{ title: "Stage", column: 2 }, { title: "Kind", column: 3 }],
    pick: (i) => { if (index.has(replay.events[i].request)) choose(index.get(replay.events[i].request)); }, picked: (i) => replay.events[i].request === chosen,
  });
  return { node: panel("Events", "What changed the context, why, and the tokens before and after. Choose an event to see its request.", table.node), draw: (i) => { chosen = rows[i].n; table.mark(); } };
}

// payloadPanel shows the messages of the raw history and what is sent of them, side by side.
function payloadPanel(replay, views) {
  const { trace } = replay;
  return messagesPanel({
    title: "Raw and payload, message by message", traces: [trace],
    about: trace.texts ? "Left the raw history, right what is sent of it." + (trace.cut ? ` Texts longer than ${thousands(trace.cut)} bytes are cut in the middle.` : "") : "The structure of the payload. The page was made without the words of the transcript.",
    shows: { changed: ["what the policy changed", (row) => row.status !== "kept"], all: ["everything", () => true], sent: ["what is sent", (row) => row.status !== "gone"] },
    none: "The policy has changed nothing up to this request.",
    rows: () => views.rows(), texts: (row) => views.texts(row.item), draw: (row, word) => message(views, row, trace.texts, word),
  });
}

// messagesPanel lists messages, ten at a time:
//   title, about, none  texts; none: there is no message
//   traces              of the replays, whose texts are searched
//   shows               {name: [text, which rows]}: what can be shown; "all" is everything
//   rows, texts, draw   the rows, the texts of a row, and a row as a node, with the word that was searched
function messagesPanel(of) {
  const page = 10;
  const state = { from: 0, list: [], found: null, word: "" };
  const withTexts = of.traces.every((trace) => trace.texts);
  const status = el("p", { class: "status", "aria-live": "polite" });
  const out = el("ol", { class: "messages" });
  const button = (text, to) => el("button", { type: "button", class: "button", click: () => turn(to()) }, text);
  const earlier = button("Earlier", () => state.from - page), next = button("Later", () => state.from + page);
  const first = button("First", () => 0), last = button("Last", () => state.list.length - page);
  const ids = ["show", "find", "message"].map(freshId);
  const select = el("select", { id: ids[0], change: () => filter() }, Object.entries(of.shows).map(([value, [text]]) => el("option", { value }, text)));
  if (address.get("show") in of.shows) select.value = address.get("show");
  const find = el("input", { id: ids[1], type: "search", autocomplete: "off", placeholder: "a word", value: address.get("find"), input: () => search() });
  const number = el("input", { id: ids[2], type: "number", min: 1, class: "short", change: () => turn(Math.round(Number(number.value)) - 1) });
  const node = panel(of.title, of.about, el("div", { class: "controls" }, field("Show", ids[0], select), withTexts && field("Search", ids[1], find), field("From message", ids[2], number), first, earlier, next, last), status, out);

  // search finds the texts with a word. A search is over all messages, unless something else is chosen after it.
  async function search() {
    const word = find.value.toLowerCase();
    address.set("find", find.value);
    state.word = word;
    const found = word ? await holding(of.traces.flatMap((trace) => [...trace.text, ...trace.states.map((s) => s[2])]).filter((i) => i >= 0), word) : null;
    if (state.word !== word) return;
    if (found && !state.found) select.value = "all";
    state.found = found;
    filter();
  }

  function filter() {
    const [name, shown] = [select.value, of.shows[select.value][1]];
    address.set("show", name === Object.keys(of.shows)[0] ? "" : name);
    state.list = of.rows().filter((row) => shown(row) && (!state.found || of.texts(row).some((i) => state.found.has(i))));
    turn(state.list.length - page);
  }

  function turn(to) {
    state.from = clamp(to || 0, 0, Math.max(state.list.length - 1, 0));
    const part = state.list.slice(state.from, state.from + page);
    const held = state.found ? ` with “${find.value}”` : "";
    status.textContent = part.length ? `Messages ${thousands(state.from + 1)} to ${thousands(state.from + part.length)} of ${thousands(state.list.length)}${held}, the newest last.` : state.found ? `No message${held} up to this request.` : of.none;
    number.value = state.from + 1;
    number.max = Math.max(state.list.length, 1);
    first.disabled = earlier.disabled = state.from === 0;
    last.disabled = next.disabled = state.from + page >= state.list.length;
    append(clear(out), part.map((row) => of.draw(row, state.found ? state.word : "")));
  }
  if (withTexts && find.value) search();
  return { node, draw: filter };
}

const statusNames = { gone: "taken away", changed: "changed", made: "made by the policy", kept: "sent as recorded" };

// message draws one message: its head, and its blocks, raw beside payload; half: only what is sent, as one of two.
function message(views, row, withTexts, word, half) {
  const { item } = row;
  const blocks = views.blocks(item);
  const sum = (of) => blocks.reduce((n, block) => n + block[of], 0);
  const why = row.edit ? `by ${row.edit.stage}${row.edit.request ? " at request " + thousands(row.edit.request) : ""}${row.edit.reason ? ": " + row.edit.reason : ""}` : "";
  return el(half ? "div" : "li", { class: "message " + row.status },
    el("div", { class: "message-head" }, el("span", { class: "role" }, item.role), el("span", { class: "what" }, item.about), item.line > 0 && el("span", { class: "line" }, "line " + thousands(item.line)),
      el("span", { class: "badge " + row.status }, statusNames[row.status]),
      el("span", { class: "count" }, row.status === "made" ? `${thousands(sum("sent"))} tokens` : row.status === "gone" ? `${thousands(sum("raw"))} → 0 tokens` : row.status === "changed" ? `${thousands(sum("raw"))} → ${thousands(sum("sent"))} tokens` : `${thousands(sum("raw"))} tokens`)),
    why && el("p", { class: "why" }, why),
    blocks.map((block) => {
      const title = [block.kind, block.tool].filter(Boolean).join(" ");
      if (row.status === "gone") return alone(box("raw away", title, block.raw, block.rawText, withTexts, word));
      if (row.status === "made") return alone(box("sent", title, block.sent, block.sentText, withTexts, word));
      if (!block.edit) return alone(box("both", title, block.raw, block.rawText, withTexts, word));
      const by = `${block.edit.kind} by ${block.edit.stage}${block.edit.request ? " at request " + thousands(block.edit.request) : ""}${block.edit.reason ? ": " + block.edit.reason : ""}`;
      if (half) return alone(box("sent", by, block.sent, block.sentText, withTexts, word));
      return pair(box("raw away", title, block.raw, block.rawText, withTexts, word), box("sent", by, block.sent, block.sentText, withTexts, word));
    }));
}

function pair(left, right) {
  return el("div", { class: "pair" }, left, right);
}

function alone(node) {
  return el("div", { class: "pair one" }, node);
}

// box shows a block: its title, its tokens, the first lines of its text, or those about a word, and all of it on demand.
function box(side, title, tokens, text, withTexts, word) {
  const body = el("pre", { class: "text" });
  const node = el("div", { class: "box " + side },
    el("div", { class: "box-head" }, el("span", {}, title), el("span", { class: "count" }, thousands(tokens))));
  if (!withTexts) return node;
  if (text < 0) return append(node, [el("p", { class: "empty" }, "no text")]);
  const most = 320;
  append(node, [body]);
  texts.get(text).then((whole) => {
    const full = readable(title, whole) || "(the text is left out: the page would be too large)";
    const at = word ? full.toLowerCase().indexOf(word) : -1;
    const from = at > 160 ? full.lastIndexOf("\n", at - 80) + 1 || at - 80 : 0;
    const head = (from ? "… " : "") + full.slice(from, from + Math.max(most, at - from + 160)).split("\n").slice(0, at < 0 ? 5 : 12).join("\n");
    fillMarked(body, head, word);
    if (head.length === full.length) return;
    const more = el("button", { type: "button", class: "link", "aria-expanded": "false", click: () => {
      const open = more.getAttribute("aria-expanded") === "false";
      more.setAttribute("aria-expanded", String(open));
      fillMarked(body, open ? full : head, word);
      more.textContent = open ? "Show less" : `Show all (${thousands(full.length)} characters)`;
    } }, `Show all (${thousands(full.length)} characters)`);
    node.append(more);
  }, () => (body.textContent = "(the text cannot be unfolded in this browser)"));
  return node;
}

// fillMarked fills a node with a text and marks where it holds a word.
function fillMarked(node, text, word) {
  clear(node);
  const low = text.toLowerCase();
  let from = 0;
  for (let at = word ? low.indexOf(word) : -1, n = 0; at >= 0 && n < 2000; at = low.indexOf(word, from), n++) {
    append(node, [text.slice(from, at), el("mark", {}, text.slice(at, at + word.length))]);
    from = at + word.length;
  }
  append(node, [text.slice(from)]);
}

// readable writes the input of a tool call a field a line.
function readable(title, text) {
  if (!title.startsWith("call") || !text.startsWith("{")) return text;
  try {
    return Object.entries(JSON.parse(text)).map(([name, value]) => `${name}: ${typeof value === "string" ? (value.includes("\n") ? "\n" + value : value) : JSON.stringify(value)}`).join("\n");
  } catch {
    return text;
  }
}

// costPanel shows what was paid for, and what the cache lost.
function costPanel(replay) {
  const { cost } = replay;
  const parts = cost.parts.length ? [el("h3", {}, "By reason"), partsChart([{ name: cost.total, parts: cost.parts.map((p) => ({ name: p.name, value: p.nano, about: p.about })) }], dollars)] : [];
  return panel("Cache and cost", cost.known ? `${cost.total} in all, by a simulated prompt cache.` : "No price is known for the model: tokens only.", parts,
    el("h3", {}, "By calls"), dataTable(cost.bills, { label: "Calls and their tokens" }).node,
    cost.lost.rows.length > 0 && [el("h3", {}, "Why the cache was not read"), dataTable(cost.lost, { label: "Causes of cache misses" }).node]);
}

// requestsPanel is the table alternative of the timeline.
function requestsPanel(replay, rows, choose, chosen) {
  const q = replay.requests;
  const columns = ["Request", "Raw", "Payload", "Taken away", "Read", "Written", "Uncached", "Output", "USD"].map((title) => ({ title, number: true }));
  columns.splice(1, 0, { title: `Time (${zone})` });
  columns.push({ title: "Cache" });
  const cells = rows.map(({ n, at }) => [thousands(n), clock(q.time[at]), thousands(q.raw[at]), thousands(q.payload[at]), thousands(q.raw[at] - q.payload[at]), thousands(q.read[at]), thousands(q.written[at]), thousands(q.uncached[at]), thousands(q.output[at]), q.cost[at] >= 0 ? (q.cost[at] / 1e9).toFixed(4) : "–", q.cause[at] >= 0 ? replay.causes[q.cause[at]] : "read"]);
  const table = dataTable({ columns, rows: cells }, { label: "Requests", page: 25, pick: choose, picked: (i) => i === chosen(), choices: [{ title: "Cache", column: 10 }] });
  return { node: panel("All requests", "The figures of the timeline as a table.", table.node), draw: () => table.mark() };
}

// about lists where the replay comes from.
function about(replay) {
  return panel("About this replay", null, el("dl", { class: "facts wide" }, replay.fields.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    replay.warnings.length > 0 && el("details", {}, el("summary", {}, plural(replay.warnings.length, "warning")), el("ul", {}, replay.warnings.slice(0, 200).map((text) => el("li", {}, text)))));
}
