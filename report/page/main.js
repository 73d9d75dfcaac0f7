// The page: its sections in their order. A section has a type, and data for what draws it.

const sections = {
  // notes: paragraphs.
  notes: (s) => (s.title ? panel(s.title, s.about, s.data.map((text) => el("p", {}, text))) : el("div", { class: "note" }, s.data.map((text) => el("p", {}, text)))),
  // blocks: [{text}, {items}, {fields}, {lines}, {table}, {shares}], one below the other.
  blocks: (s) => panel(s.title, null, s.data.map((block) => Object.entries(block).map(([kind, value]) => blocks[kind](value, s.title)))),
  // table: {columns, rows}.
  table: (s) => panel(s.title, s.about, blocks.table(s.data, s.title)),
  // intervals: [{name, value, low, high, text}], in percent.
  intervals: (s) => panel(s.title, s.about, intervalsChart(s.data)),
  // parts: [{name, parts: [{name, value, about}]}], in percent.
  parts: (s) => panel(s.title, s.about, partsChart(s.data.map((row) => ({ ...row, label: row.name })), (v) => (v > 0 ? "+" : v < 0 ? "−" : "") + Math.abs(v).toFixed(1) + " %")),
  // scatter: the points of a sweep, placed.
  scatter: (s) => panel(s.title, s.about, scatterChart(s.data)),
  // sessions: {table, policies, series, replays}: a session's requests under each policy, by the indexes of its replays,
  // else its payload in coarse steps.
  sessions: (s, data) => {
    const { table: cells, policies, series, replays } = s.data;
    if (cells.rows.length === 0) return panel(s.title, "There is no session.");
    const box = el("div");
    const draw = (i) => {
      const list = (series[i] || []).map((values, p) => ({ name: policies[p], values }));
      const one = replays[i] ? comparedPage(replays[i].map((at) => data.replays[at])) : list.length ? fitted((width) => linesChart(list, width)) : el("p", { class: "about" }, "The page holds no requests of this session: compare it alone.");
      append(clear(box), [el("h3", {}, `${cells.rows[i][0]}: tokens of each request under each policy`), one]);
    };
    return panel(s.title, s.about, chooser(cells, s.title, s.data.first, draw), box);
  },
  // replays: all replays of the page, one at a time.
  replays: (s, data) => {
    const box = el("div");
    const draw = (i) => append(clear(box), [replayPage(data.replays[i], data.replays.length === 1)]);
    if (data.replays.length === 0) return el("p", { class: "note" }, "There is no session to show.");
    if (data.replays.length === 1) return draw(0);
    const sum = (r, of) => r.requests[of].reduce((n, v, i) => (r.requests.kind[i] === 0 ? n + Math.max(v, 0) : n), 0);
    const rows = data.replays.map((r) => [r.name, r.policy, thousands(r.requests.kind.filter((k) => k === 0).length), thousands(r.requests.payload.reduce((a, b) => Math.max(a, b), 0)), thousands(sum(r, "payload")), r.cost.total, thousands(r.events.filter((e) => e.mark === "compaction").length)]);
    const columns = [{ title: "Session" }, { title: "Policy" }, ...["Requests", "Peak", "Input tokens", "Cost", "Compactions"].map((title) => ({ title, number: true }))];
    const first = data.replays.findIndex((r) => r.requests.n.length > 0);
    return [panel("Sessions", "Choose one to see it below. A page of one session has its messages as well.", chooser({ columns, rows }, "Sessions", Math.max(first, 0), draw)), box];
  },
};

// blocks draw the parts of a section of blocks.
const blocks = {
  text: (text) => el("p", {}, text),
  items: (list) => el("ul", { class: "items" }, list.map((text) => el("li", {}, text))),
  fields: (list) => el("dl", { class: "facts" }, list.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
  lines: (list, title) => list.some((line) => line) && scrollable("Lines: " + title, el("pre", { class: "lines" }, list.slice(list.findIndex((line) => line)).map((line) => el("span", { class: { "+": "added", "-": "removed", "@": "place", "~": "place" }[line.trimStart()[0]] }, line + "\n")))),
  table: (data, title) => dataTable(data, { label: title, page: 20, filter: data.rows.length > 12 }).node,
  shares: (list) => {
    const whole = list.reduce((sum, one) => sum + one.tokens, 0);
    return [fitted((width) => [treemap(list, width, 340), groupsLegend(list, whole)]), el("details", {}, el("summary", {}, "The same as a table"), sharesTable(list, whole))];
  },
};

// chooser is a table of sessions of which one is drawn: that of the address, else the first one given.
function chooser(data, label, first, draw) {
  const given = Math.round(address.number("session", 0)) - 1;
  let chosen = given >= 0 && given < data.rows.length ? given : first;
  const table = dataTable(data, { label, page: 12, filter: data.rows.length > 12, picked: (i) => i === chosen, pick: (i) => {
    chosen = i;
    for (const name of ["request", "from", "to"]) address.set(name, "");
    address.set("session", i + 1);
    draw(i);
    table.mark();
    bar.list();
  } });
  draw(chosen);
  return table.node;
}

// bar stays at the top: the contents, and once the timeline is out of sight, a small one.
const bar = {
  contents: el("ul"),
  below: el("div", { class: "bar-strip", hidden: true }),
  begin() {
    this.node = el("nav", { class: "bar", "aria-label": "Contents" }, this.contents, this.below);
    main.before(this.node);
    addEventListener("scroll", later(() => this.mark()), { passive: true });
    addEventListener("resize", later(() => this.mark()));
  },
  // list lists the panels of the page. Of titles that are alike each has a number.
  list() {
    const counts = new Map();
    this.panels = [...main.querySelectorAll(".panel[aria-labelledby]")].map((node) => {
      const heading = node.querySelector("h2"), title = (heading.dataset.title ||= heading.textContent), n = (counts.get(title) || 0) + 1;
      counts.set(title, n);
      if (n > 1) heading.textContent = `${title} (${n})`;
      return { node, title: heading.textContent };
    });
    append(clear(this.contents), this.panels.map(({ node, title }, i) => el("li", {}, el("a", { href: "#section=" + (i + 1), click: (e) => {
      e.preventDefault();
      address.set("section", i + 1);
      this.go(node);
    } }, title))));
    this.node.hidden = this.panels.length < 2;
    this.mark();
  },
  go(node) {
    node.scrollIntoView({ block: "start" });
    node.focus({ preventScroll: true });
  },
  // mark marks the section in sight.
  mark() {
    const height = this.node.offsetHeight + 40;
    document.documentElement.style.setProperty("--bar", this.node.offsetHeight + 8 + "px");
    let at = -1;
    this.panels.forEach(({ node }, i) => { if (node.getBoundingClientRect().top < height) at = i; });
    if (at === this.panels.length - 1 || innerHeight + scrollY < document.documentElement.scrollHeight - 2) this.show(at);
    else this.show(this.panels.length - 1);
    const plot = this.timeline && this.timeline.plot;
    this.below.hidden = !plot || !plot.isConnected || plot.getBoundingClientRect().bottom > this.node.offsetHeight;
    if (!this.below.hidden) this.timeline.drawStrip();
  },
  show(at) {
    if (at === this.at) return;
    this.at = at;
    [...this.contents.children].forEach((item, i) => {
      const link = item.firstChild;
      i === at ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
      if (i === at) this.contents.scrollLeft = item.offsetLeft - 60;
    });
  },
  // follow shows which request of a timeline is chosen.
  follow(timeline, i, n, text) {
    if (this.timeline !== timeline) {
      this.timeline = timeline;
      const button = (sign, name, by) => el("button", { type: "button", class: "button", "aria-label": name, click: () => timeline.choose(timeline.chosen + by) }, sign);
      this.said = el("span", { class: "bar-said" });
      append(clear(this.below), [button("‹", "Previous request", -1), this.said, button("›", "Next request", 1), timeline.strip]);
    }
    this.said.textContent = `Request ${thousands(n)}: ${text}`;
  },
};

const main = document.getElementById("main");

function draw() {
  address.read();
  clear(main);
  bar.at = bar.timeline = null;
  for (const s of data.sections) if (sections[s.type]) append(main, [sections[s.type](s, data)]);
  bar.list();
  const to = bar.panels[address.number("section", 0) - 1];
  if (to) requestAnimationFrame(() => bar.go(to.node));
}

document.documentElement.dataset.theme = "auto";
document.getElementById("tools").append(themeSwitch());
texts.find();
bar.begin();
draw();
addEventListener("hashchange", draw);
addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details")) one.open = true; });
document.documentElement.dataset.ready = "true";
