// A replay: figures, the timeline, the chosen request, events, payload, cost, and all requests as a table.

// replayPage draws one replay. It returns its node and a function that chooses a request by its index.
function replayPage(replay, alone) {
  const rows = mainRows(replay);
  const views = replay.trace ? new Views(replay.trace) : null;
  const state = { at: -1 };
  const node = el("div", { class: "replay" });
  if (!alone) append(node, [el("h2", { class: "replay-name" }, replay.name, " under ", replay.policy), replay.answers.map((text, i) => el("p", { class: i ? "answer-more" : "answer" }, text))]);
  if (replay.notes.length) node.append(el("div", { class: "note" }, replay.notes.map((text) => el("p", {}, text))));
  node.append(figures(replay.figures));
  if (rows.length === 0) {
    node.append(about(replay));
    return { node, choose() {} };
  }
  const timeline = new Timeline(replay, (i) => choose(i));
  const request = requestPanel(replay, rows, views, (i) => choose(i));
  const events = eventsPanel(replay, rows, (i) => choose(i));
  const payload = views ? payloadPanel(replay, rows, views) : null;
  const table = requestsPanel(replay, rows, (i) => choose(i), () => state.at);
  append(node, [
    panel("Tokens of each request", null, timeline.node),
    request.node, events.node, payload && payload.node, costPanel(replay), table.node, about(replay),
  ]);

  function choose(i) {
    if (i === state.at || i < 0 || i >= rows.length) return;
    state.at = i;
    timeline.set(i);
    redraw();
  }
  const redraw = later(() => {
    if (views) views.go(rows[state.at].n - 1);
    request.draw(state.at);
    if (payload) payload.draw(state.at);
    events.draw(state.at);
    table.draw();
  });
  // The request that is chosen first: the one of which most is taken away, else the largest.
  const q = replay.requests;
  const best = (of) => rows.reduce((at, row, i) => (of(row.at) > of(rows[at].at) ? i : at), 0);
  const most = best((k) => q.raw[k] - q.payload[k]);
  choose(q.raw[rows[most].at] > q.payload[rows[most].at] ? most : best((k) => q.payload[k]));
  return { node, choose };
}

// figures are the numbers that sum a replay up.
function figures(list) {
  return el("dl", { class: "figures" }, list.map((f) => el("div", {}, el("dt", {}, f.name), el("dd", {}, el("span", { class: "value" }, f.value), f.about && el("span", { class: "under" }, f.about)))));
}

// requestPanel shows the chosen request: its figures, and what fills its context.
function requestPanel(replay, rows, views, choose) {
  const id = freshId("request");
  const input = el("input", { id, type: "number", min: 1, max: rows.length, class: "short", change: () => choose(Math.round(Number(input.value)) - 1) });
  let at = 0;
  const before = el("button", { type: "button", class: "button", click: () => choose(at - 1) }, "Previous");
  const after = el("button", { type: "button", class: "button", click: () => choose(at + 1) }, "Next");
  const facts = el("dl", { class: "facts" });
  const changes = el("div");
  const map = el("div", { class: "map" });
  const table = el("div");
  const said = el("p", { class: "status", "aria-live": "polite" });
  const node = panel("What one request sends", null,
    el("div", { class: "controls" }, field("Request", id, input), el("span", { class: "of" }, "of " + thousands(rows.length)), before, after),
    said, el("div", { class: "columns" }, el("div", {}, facts, changes), views ? el("div", {}, el("h3", {}, "What fills the context"), map) : null),
    views && el("details", {}, el("summary", {}, "The same as a table"), table));

  function draw(i) {
    at = i;
    const q = replay.requests, k = rows[i].at;
    input.value = i + 1;
    before.disabled = i === 0;
    after.disabled = i === rows.length - 1;
    const gone = q.raw[k] - q.payload[k];
    said.textContent = gone > 0 ? `Request ${thousands(rows[i].n)} sends ${thousands(q.payload[k])} tokens; ${thousands(gone)} of raw are taken away (${percent(gone, q.raw[k])}).` : `Request ${thousands(rows[i].n)} sends ${thousands(q.payload[k])} tokens.`;
    const facet = (name, value) => (value ? [el("dt", {}, name), el("dd", {}, value)] : []);
    append(clear(facts), [
      facet("time (UTC)", clock(q.time[k])), facet("model", replay.models[q.model[k]]), facet("raw", thousands(q.raw[k])),
      q.view[k] !== q.payload[k] && facet("model view", thousands(q.view[k])), facet("payload", thousands(q.payload[k])),
      facet("client's estimate", thousands(q.used[k])), facet("read from the cache", `${thousands(q.read[k])} (${percent(q.read[k], q.payload[k])})`),
      facet("written to it", thousands(q.written[k])), facet("neither", thousands(q.uncached[k])), facet("not read because of", q.cause[k] >= 0 ? replay.causes[q.cause[k]] : ""),
      facet("output", thousands(q.output[k])), facet("cost", q.cost[k] >= 0 ? dollars(q.cost[k]) : ""),
      rows[i].own.map((o) => facet("own call before it", `${replay.kinds[q.kind[o]]}: ${thousands(q.payload[o])} tokens` + (q.cost[o] >= 0 ? `, ${dollars(q.cost[o])}` : ""))),
    ]);
    clear(changes);
    const here = replay.events.filter((e) => e.request === rows[i].n && e.kind !== "tag");
    if (here.length) append(changes, [el("h3", {}, "What happened before it"), el("ul", {}, here.slice(0, 12).map((e) => el("li", {}, `${e.stage}: ${e.text || e.kind} (${thousands(e.before)} → ${thousands(e.after)} tokens)`)), here.length > 12 && el("li", {}, `and ${here.length - 12} more`))]);
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
function payloadPanel(replay, rows, views) {
  const page = 10;
  const shows = [["changed", "what the policy changed"], ["all", "everything"], ["sent", "what is sent"]];
  const state = { show: "changed", from: 0, list: [] };
  const status = el("p", { class: "status", "aria-live": "polite" });
  const out = el("ol", { class: "messages" });
  const earlier = el("button", { type: "button", class: "button", click: () => turn(-page) }, "Earlier messages");
  const next = el("button", { type: "button", class: "button", click: () => turn(page) }, "Later messages");
  const id = freshId("show");
  const select = el("select", { id, change: () => { state.show = select.value; filter(); } }, shows.map(([value, text]) => el("option", { value }, text)));
  const about = replay.trace.texts ? "Left the raw history, right what is sent of it." + (replay.trace.cut ? ` Texts longer than ${thousands(replay.trace.cut)} bytes are cut in the middle.` : "") : "The structure of the payload. The page was made without the words of the transcript.";
  const node = panel("Raw and payload, message by message", about, el("div", { class: "controls" }, field("Show", id, select), earlier, next), status, out);

  function filter() {
    const all = views.rows();
    state.list = all.filter((row) => (state.show === "all" ? true : state.show === "sent" ? row.status !== "gone" : row.status !== "kept"));
    state.from = Math.max(0, state.list.length - page);
    show();
  }

  function turn(by) {
    state.from = Math.max(0, Math.min(state.from + by, state.list.length - 1));
    show();
  }

  function show() {
    const part = state.list.slice(state.from, state.from + page);
    status.textContent = part.length ? `Messages ${thousands(state.from + 1)} to ${thousands(state.from + part.length)} of ${thousands(state.list.length)}, the newest last.` : "The policy has changed nothing up to this request.";
    earlier.disabled = state.from === 0;
    next.disabled = state.from + page >= state.list.length;
    append(clear(out), part.map((row) => message(views, row, replay.trace.texts)));
  }
  return { node, draw: filter };
}

const statusNames = { gone: "taken away", changed: "changed", made: "made by the policy", kept: "sent as recorded" };

// message draws one message: its head, and its blocks, raw beside payload.
function message(views, row, withTexts) {
  const { item } = row;
  const blocks = views.blocks(item);
  const sum = (of) => blocks.reduce((n, block) => n + block[of], 0);
  const why = row.edit ? `by ${row.edit.stage}${row.edit.request ? " at request " + thousands(row.edit.request) : ""}${row.edit.reason ? ": " + row.edit.reason : ""}` : "";
  return el("li", { class: "message " + row.status },
    el("div", { class: "message-head" }, el("span", { class: "role" }, item.role), el("span", { class: "what" }, item.about), item.line > 0 && el("span", { class: "line" }, "line " + thousands(item.line)),
      el("span", { class: "badge " + row.status }, statusNames[row.status]),
      el("span", { class: "count" }, row.status === "made" ? `${thousands(sum("sent"))} tokens` : row.status === "gone" ? `${thousands(sum("raw"))} → 0 tokens` : row.status === "changed" ? `${thousands(sum("raw"))} → ${thousands(sum("sent"))} tokens` : `${thousands(sum("raw"))} tokens`)),
    why && el("p", { class: "why" }, why),
    blocks.map((block) => {
      const title = [block.kind, block.tool].filter(Boolean).join(" ");
      if (row.status === "gone") return pair(box("raw", title, block.raw, block.rawText, withTexts, true), nothing("not sent"));
      if (row.status === "made") return pair(nothing("not in the raw history"), box("sent", title, block.sent, block.sentText, withTexts));
      if (!block.edit) return el("div", { class: "pair one" }, box("both", title, block.raw, block.rawText, withTexts));
      const by = `${block.edit.kind} by ${block.edit.stage}${block.edit.request ? " at request " + thousands(block.edit.request) : ""}${block.edit.reason ? ": " + block.edit.reason : ""}`;
      return pair(box("raw", title, block.raw, block.rawText, withTexts, true), box("sent", by, block.sent, block.sentText, withTexts));
    }));
}

function pair(left, right) {
  return el("div", { class: "pair" }, left, right);
}

function nothing(text) {
  return el("div", { class: "box none" }, text);
}

// box shows a block: its title, its tokens, the first lines of its text, and all of it on demand.
function box(side, title, tokens, text, withTexts, gone) {
  const body = el("pre", { class: "text" });
  const node = el("div", { class: "box " + side + (gone ? " away" : "") },
    el("div", { class: "box-head" }, el("span", {}, title), el("span", { class: "count" }, thousands(tokens))));
  if (!withTexts) return node;
  if (text < 0) {
    append(node, [el("p", { class: "empty" }, "no text")]);
    return node;
  }
  const most = 320;
  append(node, [body]);
  texts.get(text).then((whole) => {
    const full = readable(title, whole) || "(the text is left out: the page would be too large)";
    const lines = full.split("\n");
    let head = lines.slice(0, 5).join("\n");
    if (head.length > most) head = head.slice(0, most);
    body.textContent = head;
    if (head.length === full.length) return;
    const more = el("button", { type: "button", class: "link", "aria-expanded": "false", click: () => {
      const open = more.getAttribute("aria-expanded") === "false";
      more.setAttribute("aria-expanded", String(open));
      body.textContent = open ? full : head;
      more.textContent = open ? "Show less" : `Show all (${thousands(full.length)} characters)`;
    } }, `Show all (${thousands(full.length)} characters)`);
    node.append(more);
  }, () => (body.textContent = "(the text cannot be unfolded in this browser)"));
  return node;
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
  columns.splice(1, 0, { title: "Time (UTC)" });
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
