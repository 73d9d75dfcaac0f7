// The timeline: raw history, payload, limits, events and cost of every request. It zooms, follows the pointer, and is a
// slider for the keyboard and for screen readers. The table of requests holds the same figures.

// Timeline draws a replay. choose is called with the index of the main request that is chosen.
class Timeline {
  constructor(replay, choose) {
    this.replay = replay;
    this.choose = choose;
    this.rows = mainRows(replay);
    this.marks = marksOf(replay, this.rows);
    this.chosen = 0;
    this.from = 0;
    this.to = Math.max(this.rows.length - 1, 0);
    this.width = 900;
    this.plot = el("div", {
      class: "plot", role: "slider", tabindex: 0, "aria-label": "Request", "aria-valuemin": 1, "aria-valuemax": this.rows.length,
      "aria-describedby": (this.helpId = freshId("help")), "aria-orientation": "horizontal",
      keydown: (e) => this.key(e), pointerdown: (e) => this.press(e), pointermove: (e) => this.move(e), pointerup: (e) => this.release(e),
      pointerleave: () => this.hover(-1), dblclick: () => this.zoom(0, this.rows.length - 1),
    });
    this.tip = el("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.out = el("button", { type: "button", class: "button", click: () => this.scale(2) }, "Zoom out");
    this.whole = el("button", { type: "button", class: "button", click: () => this.zoom(0, this.rows.length - 1) }, "Whole session");
    this.node = el("div", { class: "timeline" }, legend(replay), el("div", { class: "plot-box" }, this.plot, this.tip),
      el("div", { class: "controls" },
        el("button", { type: "button", class: "button", click: () => this.scale(0.5) }, "Zoom in"), this.out, this.whole,
        el("p", { class: "hint", id: this.helpId }, "Click or use the arrow keys to choose a request; E goes to the next event, Shift E back; drag to zoom, + and − zoom too.")));
    new ResizeObserver(later(() => {
      const width = Math.max(Math.round(this.plot.clientWidth), 280);
      if (width !== this.width) {
        this.width = width;
        this.draw();
      }
    })).observe(this.plot);
    this.draw();
  }

  // set shows which request is chosen.
  set(i) {
    this.chosen = i;
    if (i < this.from || i > this.to) {
      const half = Math.floor((this.to - this.from) / 2);
      this.zoom(i - half, i - half + (this.to - this.from));
      return;
    }
    this.cursor();
  }

  zoom(from, to) {
    const last = this.rows.length - 1, span = Math.min(Math.max(to - from, 7), last);
    this.from = Math.min(Math.max(Math.round(from), 0), Math.max(last - span, 0));
    this.to = Math.min(this.from + Math.round(span), last);
    this.draw();
  }

  // scale zooms around the chosen request.
  scale(factor) {
    const span = (this.to - this.from) * factor;
    const at = Math.min(Math.max(this.chosen, this.from), this.to);
    const share = this.to > this.from ? (at - this.from) / (this.to - this.from) : 0.5;
    this.zoom(at - span * share, at + span * (1 - share));
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const last = this.rows.length - 1;
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
    if (e.key in steps) this.choose(Math.min(Math.max(this.chosen + steps[e.key], 0), last));
    else if (e.key === "Home") this.choose(0);
    else if (e.key === "End") this.choose(last);
    else if (e.key === "e" || e.key === "E") this.nextEvent(e.shiftKey ? -1 : 1);
    else if (e.key === "+" || e.key === "=") this.scale(0.5);
    else if (e.key === "-") this.scale(2);
    else if (e.key === "Escape") this.zoom(0, last);
    else return;
    e.preventDefault();
  }

  // nextEvent chooses the next request with an event.
  nextEvent(way) {
    const marked = [...this.marks.keys()].sort((a, b) => way * (a - b));
    const i = marked.find((at) => way * (at - this.chosen) > 0);
    if (i !== undefined) this.choose(i);
  }

  // at is the index of the request under the pointer.
  at(e) {
    const box = this.plot.getBoundingClientRect();
    const x = ((e.clientX - box.left) * this.width) / Math.max(box.width, 1);
    const share = (x - this.left) / (this.right - this.left);
    const count = this.to - this.from + 1;
    return Math.min(Math.max(this.from + Math.floor(share * count), this.from), this.to);
  }

  press(e) {
    if (e.button !== 0) return;
    this.pressed = { x: e.clientX, at: this.at(e) };
    if (e.pointerType === "mouse") this.plot.setPointerCapture(e.pointerId);
  }

  move(e) {
    const at = this.at(e);
    if (this.pressed && e.pointerType === "mouse" && Math.abs(e.clientX - this.pressed.x) > 8) {
      this.brush.setAttribute("x", Math.min(this.x(at), this.x(this.pressed.at)));
      this.brush.setAttribute("width", Math.abs(this.x(at) - this.x(this.pressed.at)));
    }
    this.hover(at);
  }

  release(e) {
    const from = this.pressed;
    this.pressed = null;
    this.brush.setAttribute("width", 0);
    if (!from) return;
    const at = this.at(e);
    if (e.pointerType === "mouse" && Math.abs(e.clientX - from.x) > 8) {
      if (at !== from.at) this.zoom(Math.min(at, from.at), Math.max(at, from.at));
      return;
    }
    this.choose(at);
  }

  // hover shows the figures of a request beside the pointer; -1 hides them.
  hover(i) {
    this.tip.hidden = i < 0;
    this.pointer.setAttribute("visibility", i < 0 ? "hidden" : "visible");
    if (i < 0) return;
    const x = this.x(i);
    for (const end of ["x1", "x2"]) this.pointer.setAttribute(end, x);
    append(clear(this.tip), tipOf(this.replay, this.rows[i], this.marks.get(i)).map((line) => el("span", {}, line)));
    const scale = this.plot.clientWidth / this.width;
    const left = x * scale + 12;
    this.tip.style.left = (left + this.tip.offsetWidth > this.plot.clientWidth ? Math.max(x * scale - 12 - this.tip.offsetWidth, 0) : left) + "px";
  }

  x(i) {
    return this.left + ((i - this.from + 0.5) * (this.right - this.left)) / (this.to - this.from + 1);
  }

  draw() {
    const { replay, rows } = this;
    const narrow = this.width < 560;
    const names = narrow ? 8 : 132;
    Object.assign(this, { left: 44, right: this.width - names });
    const top = 14, bottom = narrow ? 200 : 270, lane = bottom + 16, costTop = lane + 16, costBottom = costTop + (narrow ? 46 : 60), height = costBottom + 26;
    const q = replay.requests;
    const count = this.to - this.from + 1, columns = Math.min(count, Math.max(Math.floor(this.right - this.left), 1));
    // Values by column; of several requests in one the highest counts.
    const raw = [], payload = [], cost = [], broken = [], own = [];
    for (let c = 0; c < columns; c++) {
      const a = this.from + Math.floor((c * count) / columns), b = Math.max(this.from + Math.floor(((c + 1) * count) / columns), a + 1);
      let r = 0, p = 0, usd = 0, lost = false, extra = 0;
      for (let i = a; i < b; i++) {
        const k = rows[i].at;
        r = Math.max(r, q.raw[k]);
        p = Math.max(p, q.payload[k]);
        usd = Math.max(usd, q.cost[k]);
        lost = lost || (q.cause[k] >= 0 && i > 0);
        for (const o of rows[i].own) extra = Math.max(extra, q.cost[o]);
      }
      raw.push(r), payload.push(p), cost.push(usd), broken.push(lost), own.push(extra);
    }
    const most = niceTop(raw, payload, replay);
    const y = (v) => bottom - (Math.min(v, most) / most) * (bottom - top);
    const w = (this.right - this.left) / columns;
    const area = (list) => {
      let d = `M${this.left} ${bottom}`;
      list.forEach((v, c) => (d += `L${px(this.left + c * w)} ${px(y(v))}L${px(this.left + (c + 1) * w)} ${px(y(v))}`));
      return d + `L${px(this.right)} ${bottom}Z`;
    };
    const svg = shape("svg", { viewBox: `0 0 ${this.width} ${height}`, "aria-hidden": "true", focusable: "false" });
    for (const v of ticks(most)) append(svg, [
      shape("line", { class: "grid", x1: this.left, x2: this.right, y1: px(y(v)), y2: px(y(v)) }),
      shape("text", { class: "label end", x: this.left - 6, y: px(y(v) + 4) }, short(v)),
    ]);
    append(svg, [
      shape("path", { class: "raw", d: area(raw) }),
      shape("path", { class: "payload", d: area(payload) }),
    ]);
    let above = -Infinity;
    for (const l of limitsOf(replay).filter((l) => l.tokens <= most).sort((a, b) => b.tokens - a.tokens)) {
      const at = y(l.tokens);
      svg.append(shape("line", { class: "limit", x1: this.left, x2: this.right, y1: px(at), y2: px(at) }));
      if (narrow || at - above < 13) continue;
      above = at;
      svg.append(shape("text", { class: "limit-name", x: this.right + 6, y: px(at + 4) }, cutName(l.name) + " " + short(l.tokens)));
    }
    // Events.
    const taken = new Set();
    for (const [i, list] of this.marks) {
      if (i < this.from || i > this.to) continue;
      const kind = list.find((e) => e.mark === "compaction") ? "compaction" : list.find((e) => e.mark === "lost") ? "lost" : "change";
      const x = Math.round(this.x(i));
      if (kind === "change" && taken.has(x)) continue;
      taken.add(x);
      svg.append(markShape(kind, x, lane));
    }
    svg.append(shape("text", { class: "label end", x: this.left - 6, y: lane + 4 }, narrow ? "" : "events"));
    // Cost.
    const dear = Math.max(...cost, ...own, 0);
    if (dear > 0) {
      const h = (v) => (Math.max(v, 0) / dear) * (costBottom - costTop);
      const bar = (list, on) => {
        let d = "";
        list.forEach((v, c) => { if (on(c) && v > 0) d += `M${px(this.left + c * w)} ${costBottom}h${px(Math.max(w - (w > 4 ? 1 : 0), 0.7))}v${px(-h(v))}h${px(-Math.max(w - (w > 4 ? 1 : 0), 0.7))}Z`; });
        return d;
      };
      append(svg, [
        shape("path", { class: "own-cost", d: bar(own, () => true) }),
        shape("path", { class: "cost", d: bar(cost, (c) => !broken[c]) }),
        shape("path", { class: "cost broken", d: bar(cost, (c) => broken[c]) }),
        shape("text", { class: "label end", x: this.left - 6, y: costTop + 8 }, "$" + (dear / 1e9).toFixed(2)),
        shape("text", { class: "label end", x: this.left - 6, y: costBottom }, "$0"),
      ]);
    }
    for (const base of [bottom, costBottom]) svg.append(shape("line", { class: "axis", x1: this.left, x2: this.right, y1: base, y2: base }));
    if (rows.length) {
      append(svg, [
        shape("text", { class: "label", x: this.left, y: height - 8 }, "request " + thousands(rows[this.from].n)),
        shape("text", { class: "label end", x: this.right, y: height - 8 }, thousands(rows[this.to].n)),
      ]);
    }
    this.brush = shape("rect", { class: "brush", x: 0, y: top, width: 0, height: costBottom - top });
    this.pointer = shape("line", { class: "pointer", y1: top, y2: costBottom, visibility: "hidden" });
    this.line = shape("line", { class: "chosen", y1: top, y2: costBottom });
    this.dot = shape("circle", { class: "chosen-dot", r: 4.5 });
    this.y = y;
    append(svg, [this.brush, this.pointer, this.line, this.dot]);
    append(clear(this.plot), [svg]);
    const all = this.from === 0 && this.to === rows.length - 1;
    this.out.disabled = all;
    this.whole.disabled = all;
    this.cursor();
  }

  // cursor moves the line of the chosen request.
  cursor() {
    const row = this.rows[this.chosen];
    if (!row) return;
    const inside = this.chosen >= this.from && this.chosen <= this.to, x = px(this.x(this.chosen));
    for (const end of ["x1", "x2"]) this.line.setAttribute(end, x);
    this.dot.setAttribute("cx", x);
    this.dot.setAttribute("cy", px(this.y(this.replay.requests.payload[row.at])));
    for (const node of [this.line, this.dot]) node.setAttribute("visibility", inside ? "visible" : "hidden");
    this.plot.setAttribute("aria-valuenow", this.chosen + 1);
    this.plot.setAttribute("aria-valuetext", tipOf(this.replay, row, this.marks.get(this.chosen)).join(", "));
  }
}

function px(x) {
  return Math.round(x * 10) / 10;
}

function cutName(name) {
  return name.length > 15 ? name.slice(0, 14) + "…" : name;
}

// mainRows are the session's requests: n, the row in the columns, and the rows of the policy's own calls before it.
function mainRows(replay) {
  const list = [], q = replay.requests;
  let own = [];
  q.n.forEach((n, at) => {
    if (q.kind[at] !== 0) own.push(at);
    else {
      list.push({ n, at, own });
      own = [];
    }
  });
  return list;
}

// marksOf lists the events that change what is sent, by index of the main request.
function marksOf(replay, rows) {
  const at = new Map(rows.map((row, i) => [row.n, i]));
  const marks = new Map();
  for (const e of replay.events) {
    if (!e.mark || !at.has(e.request)) continue;
    const i = at.get(e.request);
    if (!marks.has(i)) marks.set(i, []);
    marks.get(i).push(e);
  }
  return marks;
}

// tipOf says in short lines what a request is.
function tipOf(replay, row, events) {
  const q = replay.requests, k = row.at;
  const lines = [`request ${thousands(row.n)}`, `payload ${thousands(q.payload[k])} tokens`, `raw ${thousands(q.raw[k])} tokens`];
  if (q.cost[k] >= 0) lines.push(dollars(q.cost[k]));
  if (q.cause[k] >= 0) lines.push("cache: " + replay.causes[q.cause[k]]);
  for (const e of (events || []).slice(0, 3)) lines.push(`${e.stage}: ${e.kind}, ${thousands(e.before - e.after)} tokens less`);
  if (events && events.length > 3) lines.push(`and ${events.length - 3} events more`);
  return lines;
}

function limitsOf(replay) {
  return [...replay.limits, { name: "window", tokens: replay.window }].filter((l) => l.tokens > 0);
}

// niceTop is the highest value of the axis: round, above the data, and not so high that the payload is unreadable.
function niceTop(raw, payload, replay) {
  const model = Math.max(...payload, 1);
  let most = Math.max(...raw, model);
  for (const l of limitsOf(replay)) if (l.tokens > most && l.tokens <= most * 1.5) most = l.tokens;
  if (most > 4 * model) most = Math.max(2 * model, ...limitsOf(replay).map((l) => (l.tokens < 4 * model ? l.tokens : 0)));
  const unit = 10 ** Math.floor(Math.log10(most));
  return unit * [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10].find((m) => m * unit >= most * 1.02 || m === 10);
}

function ticks(most) {
  const unit = 10 ** Math.floor(Math.log10(most));
  const step = [0.1, 0.2, 0.5, 1, 2].map((m) => m * unit).find((s) => most / s <= 5);
  const list = [];
  for (let v = 0; v <= most * 1.0001; v += step) list.push(v);
  return list;
}

// markShape draws the mark of an event: a filled triangle, a tick, or a cross.
function markShape(kind, x, y) {
  if (kind === "compaction") return shape("path", { class: "mark compaction", d: `M${x - 5} ${y - 6}h10l-5 10Z` });
  if (kind === "lost") return shape("path", { class: "mark lost", d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8` });
  return shape("path", { class: "mark change", d: `M${x} ${y - 5}v9` });
}

function legend(replay) {
  const key = (draw, text) => el("span", { class: "key" }, shape("svg", { viewBox: "0 0 18 12", width: 18, height: 12, "aria-hidden": "true" }, draw), text);
  const box = (name) => shape("rect", { class: name, x: 1, y: 1, width: 16, height: 10 });
  const priced = replay.requests.cost.some((v) => v > 0);
  return el("p", { class: "legend" },
    key(box("payload"), "payload: what is sent"), key(box("raw"), "raw: nothing taken away"),
    key(shape("line", { class: "limit", x1: 0, x2: 18, y1: 6, y2: 6 }), "limit"),
    key(markShape("compaction", 9, 6), "compaction"), key(markShape("change", 9, 6), "other change"),
    replay.events.some((e) => e.mark === "lost") && key(markShape("lost", 9, 6), "no answer"),
    priced && key(box("cost"), "cost"), priced && key(box("cost broken"), "cost with a cache break"), priced && replay.kinds.length > 1 && key(box("own-cost"), "the policy's own calls"));
}
