// The page: its sections in their order. A section has a type, and data for what draws it.

const sections = {
  // notes: paragraphs.
  notes: (s) => (s.title ? panel(s.title, s.about, s.data.map((text) => el("p", {}, text))) : el("div", { class: "note" }, s.data.map((text) => el("p", {}, text)))),
  // figures: [{name, value, about}].
  figures: (s) => figures(s.data),
  // table: {columns, rows}.
  table: (s) => panel(s.title, s.about, dataTable(s.data, { label: s.title, page: 20, filter: s.data.rows.length > 12 }).node),
  // treemap: [{group, name, tokens, blocks}], with its table.
  treemap: (s) => {
    const whole = s.data.reduce((sum, one) => sum + one.tokens, 0);
    return panel(s.title, s.about, fitted((width) => [treemap(s.data, width, 340), groupsLegend(s.data, whole)]), sharesTable(s.data, whole));
  },
  // intervals: [{name, value, low, high, text}], in percent.
  intervals: (s) => panel(s.title, s.about, intervalsChart(s.data)),
  // parts: [{name, parts: [{name, value, about}]}], in percent.
  parts: (s) => panel(s.title, s.about, partsChart(s.data.map((row) => ({ ...row, label: row.name })), (v) => (v > 0 ? "+" : v < 0 ? "−" : "") + Math.abs(v).toFixed(1) + " %")),
  // scatter: the points of a sweep, placed.
  scatter: (s) => panel(s.title, s.about, scatterChart(s.data)),
  // sessions: {table, policies, series}: a session's payload under each policy.
  sessions: (s) => {
    const chart = el("div");
    let chosen = -1;
    const show = (i) => {
      chosen = i;
      const list = (s.data.series[i] || []).map((values, p) => ({ name: s.data.policies[p], values }));
      append(clear(chart), [el("h3", {}, `Payload of ${s.data.table.rows[i][0]} under each policy, in tokens`), list.length ? fitted((width) => linesChart(list, width)) : el("p", { class: "about" }, "The page holds no series of this session.")]);
      table.mark();
    };
    const table = dataTable(s.data.table, { label: s.title, page: 12, filter: s.data.table.rows.length > 12, pick: show, picked: (i) => i === chosen });
    if (s.data.table.rows.length) show(s.data.first);
    return panel(s.title, s.about, table.node, chart);
  },
  // replays: all replays of the page, one at a time.
  replays: (s, data) => {
    const box = el("div");
    const show = (i) => append(clear(box), [replayPage(data.replays[i], data.replays.length === 1).node]);
    if (data.replays.length === 0) return el("p", { class: "note" }, "There is no session to show.");
    show(0);
    if (data.replays.length === 1) return box;
    const sum = (r, of) => r.requests[of].reduce((n, v, i) => (r.requests.kind[i] === 0 ? n + Math.max(v, 0) : n), 0);
    const cells = data.replays.map((r) => [r.name, r.policy, thousands(r.requests.kind.filter((k) => k === 0).length), thousands(r.requests.payload.reduce((a, b) => Math.max(a, b), 0)), thousands(sum(r, "payload")), r.cost.total, thousands(r.events.filter((e) => e.mark === "compaction").length)]);
    let chosen = 0;
    const columns = [{ title: "Session" }, { title: "Policy" }, ...["Requests", "Peak", "Sent", "Cost", "Compactions"].map((title) => ({ title, number: true }))];
    const table = dataTable({ columns, rows: cells }, { label: "Sessions", page: 12, filter: true, pick: (i) => { chosen = i; show(i); table.mark(); }, picked: (i) => i === chosen });
    return [panel("Sessions", "Choose one to see it below. A page of one session has its messages as well.", table.node), box];
  },
};

document.documentElement.dataset.theme = "auto";
document.getElementById("tools").append(themeSwitch());
texts.find();
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");
for (const s of data.sections) if (sections[s.type]) append(main, [sections[s.type](s, data)]);
addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details")) one.open = true; });
document.documentElement.dataset.ready = "true";
