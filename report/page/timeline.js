// The timeline: payload, raw history, limits, events and cost of every request, of one replay or of several of the same
// session. Its axis is by request or by time. It zooms, follows the pointer, and is a slider for the keyboard and for
// screen readers. The table of requests holds the same figures.

const pause = 300; // seconds without a request that show as a gap: the shorter lifetime of a cache

// Timeline draws replays. choose is called with the index of the main request that is chosen.
class Timeline {
  constructor(replays, choose) {
    this.replays = replays;
    this.choose = choose;
    this.rows = replays.map(mainRows);
    this.marks = replays.map((replay, p) => marksOf(replay, this.rows[p]));
    this.last = Math.max(...this.rows.map((rows) => rows.length)) - 1;
    this.times = timesOf(replays[0], this.rows[0]);
    this.chosen = 0;
    this.from = 0;
    this.to = this.last;
    this.width = 900;
    this.plot = el("div", {
      class: "plot", role: "slider", tabindex: 0, "aria-label": "Request", "aria-valuemin": 1, "aria-valuemax": this.last + 1,
      "aria-describedby": (this.helpId = freshId("help")), "aria-orientation": "horizontal",
      keydown: (e) => this.key(e), pointerdown: (e) => this.press(e), pointermove: (e) => this.move(e), pointerup: (e) => this.release(e),
      pointerleave: () => this.hover(-1), dblclick: () => this.zoom(0, this.last),
    });
    this.tip = el("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    const button = (text, click) => el("button", { type: "button", class: "button", click }, text);
    this.out = button("Zoom out", () => this.scale(2));
    this.whole = button("Whole session", () => this.zoom(0, this.last));
    const id = freshId("axis");
    this.axis = el("select", { id, change: () => this.setAxis(this.axis.value) }, el("option", { value: "request" }, "request"), el("option", { value: "time" }, "time"));
    this.timed = this.times.length > 1 && this.times.at(-1) > this.times[0];
    this.strip = el("div", { class: "strip", "aria-hidden": "true", click: (e) => this.choose(this.stripAt(e)) });
    this.node = el("div", { class: "timeline" }, legend(replays, this.rows), el("div", { class: "plot-box" }, this.plot, this.tip),
      el("div", { class: "controls" },
        button("Zoom in", () => this.scale(0.5)), this.out, this.whole, this.timed && field("Axis", id, this.axis),
        el("p", { class: "hint", id: this.helpId }, "Click or use the arrow keys to choose a request; E goes to the next event, Shift E back; drag to zoom, + and − zoom too.")));
    new ResizeObserver(later(() => {
      const width = Math.max(Math.round(this.plot.clientWidth), 280);
      if (width === this.width) return;
      this.width = width;
      this.draw();
    })).observe(this.plot);
    new ResizeObserver(later(() => this.drawStrip())).observe(this.strip);
    if (this.timed && address.get("axis") === "time") this.axis.value = "time";
    this.zoom(address.number("from", 1) - 1, address.number("to", this.last + 1) - 1);
  }

  // set shows which request is chosen.
  set(i) {
    this.chosen = i;
    const span = this.to - this.from;
    if (i < this.from || i > this.to) this.zoom(i - span / 2, i + span / 2);
    else this.cursor();
  }

  // zoom shows the requests between two, and at least 8.
  zoom(from, to) {
    const span = clamp(Math.round(to - from), Math.min(7, this.last), this.last);
    this.from = clamp(Math.round(from), 0, this.last - span);
    this.to = this.from + span;
    const all = span === this.last;
    address.set("from", all ? "" : this.from + 1);
    address.set("to", all ? "" : this.to + 1);
    this.out.disabled = this.whole.disabled = all;
    this.hover(-1);
    this.draw();
  }

  // scale zooms around the chosen request.
  scale(factor) {
    const span = (this.to - this.from) * factor;
    const at = clamp(this.chosen, this.from, this.to);
    const share = this.to > this.from ? (at - this.from) / (this.to - this.from) : 0.5;
    this.zoom(at - span * share, at + span * (1 - share));
  }

  setAxis(axis) {
    address.set("axis", axis === "time" ? "time" : "");
    this.hover(-1);
    this.draw();
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
    if (e.key in steps) this.choose(clamp(this.chosen + steps[e.key], 0, this.last));
    else if (e.key === "Home") this.choose(0);
    else if (e.key === "End") this.choose(this.last);
    else if (e.key === "e" || e.key === "E") this.nextEvent(e.shiftKey ? -1 : 1);
    else if (e.key === "+" || e.key === "=") this.scale(0.5);
    else if (e.key === "-") this.scale(2);
    else if (e.key === "Escape") this.zoom(0, this.last);
    else return;
    e.preventDefault();
  }

  // nextEvent chooses the next request with an event.
  nextEvent(way) {
    const marked = this.marks.flatMap((marks) => [...marks.keys()]).sort((a, b) => way * (a - b));
    const i = marked.find((at) => way * (at - this.chosen) > 0);
    if (i !== undefined) this.choose(i);
  }

  byTime() {
    return this.axis.value === "time";
  }

  // at is the index of the request under the pointer.
  at(e) {
    const box = this.plot.getBoundingClientRect();
    const x = ((e.clientX - box.left) * this.width) / Math.max(box.width, 1);
    if (!this.byTime()) return clamp(this.from + Math.floor(((x - this.left) / (this.right - this.left)) * (this.to - this.from + 1)), this.from, this.to);
    let low = this.from, high = this.to;
    while (low < high) {
      const middle = (low + high) >> 1;
      this.x(middle) < x ? (low = middle + 1) : (high = middle);
    }
    return low > this.from && x - this.x(low - 1) < this.x(low) - x ? low - 1 : low;
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
    if (this.pointer) this.pointer.setAttribute("visibility", i < 0 ? "hidden" : "visible");
    if (i < 0) return;
    const x = this.x(i);
    for (const end of ["x1", "x2"]) this.pointer.setAttribute(end, x);
    append(clear(this.tip), this.about(i).map((line) => el("span", {}, line)));
    const scale = this.plot.clientWidth / this.width;
    const left = x * scale + 12;
    this.tip.style.left = (left + this.tip.offsetWidth > this.plot.clientWidth ? Math.max(x * scale - 12 - this.tip.offsetWidth, 0) : left) + "px";
  }

  // about says in short lines what a request is.
  about(i) {
    const row = this.rows.find((rows) => rows[i])[i];
    const idle = i > 0 ? this.times[i] - this.times[i - 1] : 0;
    const lines = [`request ${thousands(row.n)}`, clock(this.times[i]) && `${clock(this.times[i])} ${zone}`, idle > pause && `after ${duration(idle)} without a request`];
    this.replays.forEach((replay, p) => {
      if (!this.rows[p][i]) return;
      const [tokens, ...more] = tipOf(replay, this.rows[p][i], this.marks[p].get(i), this.replays.length > 1);
      lines.push(this.replays.length > 1 ? `${letter(p)} ${tokens}` : tokens, ...more);
    });
    return lines.filter(Boolean);
  }

  // x is the middle of a request.
  x(i) {
    const width = this.right - this.left;
    if (!this.byTime()) return this.left + ((i - this.from + 0.5) * width) / (this.to - this.from + 1);
    const first = this.times[this.from], span = Math.max(this.times[this.to] - first, 1);
    return this.left + 2 + ((this.times[i] - first) / span) * (width - 8);
  }

  // columns are the highest values of the shown requests by column; −1: no request is there.
  columns(value) {
    const pixels = Math.max(Math.floor(this.right - this.left), 1), count = this.to - this.from + 1;
    const list = new Array(this.byTime() ? pixels : Math.min(count, pixels)).fill(-1);
    for (let i = this.from; i <= this.to; i++) {
      let a = Math.floor(((i - this.from) * list.length) / count), b = a + 1;
      if (this.byTime()) {
        a = Math.floor(this.x(i) - this.left);
        b = i < this.to && this.times[i + 1] - this.times[i] <= pause ? Math.ceil(this.x(i + 1) - this.left) : a + 2;
      }
      const v = value(i);
      for (let c = a; c < Math.min(Math.max(b, a + 1), list.length); c++) list[c] = Math.max(list[c], v);
    }
    return list;
  }

  draw() {
    const { replays, rows } = this;
    const narrow = this.width < 560, several = replays.length > 1;
    Object.assign(this, { left: 44, right: this.width - 8 });
    const top = 14, bottom = narrow ? 200 : 270, lane = (p) => bottom + 16 + 16 * p, costTop = lane(replays.length), costBottom = costTop + (narrow ? 46 : 60), height = costBottom + 26;
    const of = (p, name) => this.columns((i) => (rows[p][i] ? replays[p].requests[name][rows[p][i].at] : -1));
    const raw = of(0, "raw"), payloads = replays.map((_, p) => of(p, "payload"));
    const limits = limitsOf(replays);
    const most = niceTop(raw, payloads.flat(), limits);
    const y = (this.y = (v) => bottom - (Math.min(v, most) / most) * (bottom - top));
    const w = (this.right - this.left) / raw.length;
    const area = (list) => list.reduce((d, v, c) => d + `L${px(this.left + c * w)} ${px(y(Math.max(v, 0)))}L${px(this.left + (c + 1) * w)} ${px(y(Math.max(v, 0)))}`, `M${this.left} ${bottom}`) + `L${px(this.right)} ${bottom}Z`;
    const line = (list, at) => list.reduce((d, v, c) => (v < 0 ? d : d + `${c && list[c - 1] >= 0 ? "L" : "M"}${px(this.left + c * w)} ${px(at(v))}H${px(this.left + (c + 1) * w)}`), "");
    const svg = shape("svg", { viewBox: `0 0 ${this.width} ${height}`, "aria-hidden": "true", focusable: "false" });
    const rule = (name, at) => shape("line", { class: name, x1: this.left, x2: this.right, y1: px(at), y2: px(at) });
    const label = (text, x, at, name = "label end") => shape("text", { class: name, x: px(x), y: px(at) }, text);
    if (this.byTime()) this.drawPauses(svg, top, bottom);
    for (const v of ticks(most)) append(svg, [rule("grid", y(v)), label(short(v), this.left - 6, y(v) + 4)]);
    append(svg, [shape("path", { class: "raw", d: area(raw) })]);
    payloads.forEach((list, p) => svg.append(several ? shape("path", { class: "series s" + (p % 6), d: line(list, y) }) : shape("path", { class: "payload", d: area(list) })));
    this.drawLimits(svg, limits.filter((l) => l.tokens <= most), y, rule, label, narrow ? 26 : 60);
    this.marks.forEach((marks, p) => {
      this.drawMarks(svg, marks, lane(p));
      svg.append(label(several ? letter(p) : narrow ? "" : "events", this.left - 6, lane(p) + 4));
    });
    // Cost. One high bar does not flatten the others: it ends at the top.
    const costs = replays.map((_, p) => of(p, "cost")), own = several ? [] : this.columns((i) => Math.max(-1, ...rows[0][i].own.map((k) => replays[0].requests.cost[k])));
    const known = [...costs.flat(), ...own].filter((v) => v > 0).sort((a, b) => a - b);
    if (known.length) {
      const highest = known.at(-1), usual = known[Math.floor(known.length * 0.95)], full = highest > 3 * usual ? 1.5 * usual : highest;
      const h = (v) => clamp(v / full, 0, 1) * (costBottom - costTop);
      const bar = Math.max(w - (w > 4 ? 1 : 0), 0.7);
      const bars = (list, on) => list.reduce((d, v, c) => (on(c) && v > 0 ? d + `M${px(this.left + c * w)} ${costBottom}h${px(bar)}v${px(-h(v))}h${px(-bar)}Z` : d), "");
      if (several) costs.forEach((list, p) => svg.append(shape("path", { class: "series s" + (p % 6), d: line(list, (v) => costBottom - h(v)) })));
      else {
        const lost = this.columns((i) => (i > 0 && replays[0].requests.cause[rows[0][i].at] >= 0 ? 1 : 0));
        append(svg, [
          shape("path", { class: "own-cost", d: bars(own, () => true) }),
          shape("path", { class: "cost", d: bars(costs[0], (c) => lost[c] < 1) }),
          shape("path", { class: "cost broken", d: bars(costs[0], (c) => lost[c] > 0) }),
        ]);
      }
      append(svg, [label(full < 1e7 ? dollars(full) : "$" + trim(full / 1e9, 2), this.left - 6, costTop + 8), label("$0", this.left - 6, costBottom), full < highest && label(`bars end at ${dollars(full)}; the highest is ${dollars(highest)}`, this.right, costTop + 8, "label end over")]);
    }
    append(svg, [rule("axis", bottom), rule("axis", costBottom)]);
    this.drawAxis(svg, height - 8, label);
    this.brush = shape("rect", { class: "brush", x: 0, y: top, width: 0, height: costBottom - top });
    this.pointer = shape("line", { class: "pointer", y1: top, y2: costBottom, visibility: "hidden" });
    this.line = shape("line", { class: "chosen", y1: top, y2: costBottom });
    this.dots = replays.map(() => shape("circle", { class: "chosen-dot", r: several ? 3.5 : 4.5 }));
    append(svg, [this.brush, this.pointer, this.line, this.dots]);
    append(clear(this.plot), [svg]);
    this.cursor();
  }

  // drawPauses shades the times without a request.
  drawPauses(svg, top, bottom) {
    for (let i = this.from; i < this.to; i++) {
      const idle = this.times[i + 1] - this.times[i], x = this.x(i) + 1, width = this.x(i + 1) - x;
      if (idle <= pause || width < 3) continue;
      svg.append(shape("rect", { class: "idle", x: px(x), y: top, width: px(width), height: bottom - top }));
      if (width > 64) svg.append(shape("text", { class: "label middle", x: px(x + width / 2), y: top + 12 }, duration(idle)));
    }
  }

  // drawLimits draws limits with their names above the line; of lines that are close the names stand in one place.
  drawLimits(svg, limits, y, rule, label, letters) {
    let names = [], at = -Infinity;
    const flush = () => names.length && svg.append(label(cutName(names.join(" · "), letters), this.right - 2, Math.max(at - 3, 10), "limit-name end"));
    for (const l of limits) {
      const to = y(l.tokens);
      svg.append(rule("limit", to));
      if (to - at >= 14) {
        flush();
        names = [];
        at = to;
      }
      names.push(`${l.name} ${short(l.tokens)}`);
    }
    flush();
  }

  // drawMarks draws the marks of events, one a place.
  drawMarks(svg, marks, lane) {
    const places = new Map();
    for (const [i, list] of marks) {
      if (i < this.from || i > this.to) continue;
      const x = Math.round(this.x(i));
      const kinds = [...list.map((e) => e.mark), places.get(x)];
      places.set(x, ["compaction", "lost", "change"].find((kind) => kinds.includes(kind)));
    }
    for (const [x, kind] of places) svg.append(markShape(kind, x, lane));
  }

  // drawAxis labels the horizontal axis.
  drawAxis(svg, y, label) {
    const number = (i) => thousands(this.rows.find((rows) => rows[i])[i].n);
    const text = this.byTime() ? (i) => clock(this.times[i]).slice(0, 16) : (i) => (i === this.from ? "request " : "") + number(i);
    append(svg, [label(text(this.from), this.left, y, "label"), this.to > this.from && label(text(this.to), this.right, y)]);
    const room = this.byTime() ? 130 : 70, places = Math.floor((this.right - this.left) / room) - 1;
    for (let k = 1; k < places && this.to - this.from > places; k++) {
      const x = this.left + ((this.right - this.left) * k) / places;
      if (this.byTime()) {
        const first = this.times[this.from], span = this.times[this.to] - first;
        svg.append(label(clock(Math.round(first + (span * k) / places)).slice(span > 86400 ? 5 : 11, 16), x, y, "label middle"));
      } else {
        const i = this.from + Math.round(((this.to - this.from) * k) / places);
        svg.append(label(number(i), this.x(i), y, "label middle"));
      }
    }
  }

  // cursor moves the line of the chosen request.
  cursor() {
    const inside = this.chosen >= this.from && this.chosen <= this.to, x = px(this.x(this.chosen));
    for (const end of ["x1", "x2"]) this.line.setAttribute(end, x);
    this.dots.forEach((dot, p) => {
      const row = this.rows[p][this.chosen];
      fill(dot, { cx: x, cy: row ? px(this.y(this.replays[p].requests.payload[row.at])) : 0, visibility: inside && row ? "visible" : "hidden" });
    });
    this.line.setAttribute("visibility", inside ? "visible" : "hidden");
    this.plot.setAttribute("aria-valuenow", this.chosen + 1);
    this.plot.setAttribute("aria-valuetext", this.about(this.chosen).join(", "));
    if (!this.stripLine) return;
    const share = 1000 / (this.last + 1);
    fill(this.stripLine, { x: px(this.chosen * share), width: px(Math.max(share, 2)) });
    fill(this.stripWindow, { x: px(this.from * share), width: px((this.to - this.from + 1) * share) });
  }

  stripAt(e) {
    const box = this.strip.getBoundingClientRect();
    return clamp(Math.floor(((e.clientX - box.left) / Math.max(box.width, 1)) * (this.last + 1)), 0, this.last);
  }

  // drawStrip draws the whole session in small, for the bar that stays in sight.
  drawStrip() {
    if (!this.strip.clientWidth || this.strip.firstChild) return;
    const count = this.last + 1, columns = Math.min(count, 500), height = 30;
    const most = Math.max(1, ...this.replays.flatMap((replay) => replay.requests.payload.reduce((a, b) => Math.max(a, b), 0)));
    const svg = shape("svg", { viewBox: `0 0 1000 ${height}`, preserveAspectRatio: "none", focusable: "false" });
    this.stripWindow = svg.appendChild(shape("rect", { class: "strip-window", y: 0, height }));
    this.replays.forEach((replay, p) => {
      let d = "";
      for (let c = 0; c < columns; c++) {
        let v = 0;
        for (let i = Math.floor((c * count) / columns); i < Math.floor(((c + 1) * count) / columns); i++) if (this.rows[p][i]) v = Math.max(v, replay.requests.payload[this.rows[p][i].at]);
        const y = px(height - (v / most) * (height - 2));
        d += `${c ? "L" : "M"}${px((c * 1000) / columns)} ${y}H${px(((c + 1) * 1000) / columns)}`;
      }
      svg.append(this.replays.length > 1 ? shape("path", { class: "series s" + (p % 6), d, "vector-effect": "non-scaling-stroke" }) : shape("path", { class: "payload", d: d + `V${height}H0Z` }));
    });
    this.stripLine = svg.appendChild(shape("rect", { class: "strip-line", y: 0, height }));
    this.strip.append(svg);
    this.cursor();
  }
}

// letter names the replays of a comparison: A, B, C.
function letter(p) {
  return String.fromCharCode(65 + p);
}

function px(x) {
  return Math.round(x * 10) / 10;
}

function cutName(name, most) {
  return name.length > most ? name.slice(0, most - 1) + "…" : name;
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

// timesOf are the times of requests in seconds; one that is not known, or goes back, is that of the request before.
function timesOf(replay, rows) {
  let last = rows.map((row) => replay.requests.time[row.at]).find((t) => t > 0) || 0;
  return rows.map((row) => (last = Math.max(last, replay.requests.time[row.at])));
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

// tipOf says in short lines what a request is under a policy, the first for its tokens; brief: beside those of others.
function tipOf(replay, row, events, brief) {
  const q = replay.requests, k = row.at;
  const cost = q.cost[k] >= 0 ? dollars(q.cost[k]) : "";
  const lines = brief ? [[`${replay.policy}: ${thousands(q.payload[k])} tokens`, cost].filter(Boolean).join(", ")] : [`payload ${thousands(q.payload[k])} tokens`, `raw ${thousands(q.raw[k])} tokens`, cost];
  if (q.cause[k] >= 0) lines.push("cache: " + replay.causes[q.cause[k]]);
  for (const e of (events || []).slice(0, 3)) lines.push(`${e.stage}: ${e.kind}, ${thousands(e.before - e.after)} tokens less`);
  if (events && events.length > 3) lines.push(`and ${events.length - 3} events more`);
  return lines;
}

// limitsOf lists the limits of replays from the top, each once; those of one policy alone with its letter.
function limitsOf(replays) {
  const list = new Map();
  replays.forEach((replay, p) => {
    for (const l of [...replay.limits, { name: "window", tokens: replay.window }]) {
      const key = l.name + " " + l.tokens, one = list.get(key) || { ...l, of: [] };
      if (l.tokens > 0) list.set(key, one).get(key).of.push(letter(p));
    }
  });
  return [...list.values()].map((l) => ({ tokens: l.tokens, name: l.of.length < replays.length ? `${l.of.join(" ")} ${l.name}` : l.name })).sort((a, b) => b.tokens - a.tokens);
}

// niceTop is the highest value of the axis: round, above the data, and not so high that the payload is unreadable.
function niceTop(raw, payload, limits) {
  const highest = (list) => list.reduce((a, b) => Math.max(a, b), 1);
  const model = highest(payload);
  let most = Math.max(highest(raw), model);
  for (const l of limits) if (l.tokens > most && l.tokens <= most * 1.5) most = l.tokens;
  if (most > 4 * model) most = Math.max(2 * model, ...limits.map((l) => (l.tokens < 4 * model ? l.tokens : 0)));
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

function legend(replays, rows) {
  const key = (draw, text) => el("span", { class: "key" }, shape("svg", { viewBox: "0 0 18 12", width: 18, height: 12, "aria-hidden": "true" }, draw), text);
  const box = (name) => shape("rect", { class: name, x: 1, y: 1, width: 16, height: 10 });
  const [replay] = replays, several = replays.length > 1;
  const priced = !several && replay.requests.cost.some((v) => v > 0);
  return el("p", { class: "legend" },
    several ? replays.map((r, p) => key(shape("path", { class: "series s" + (p % 6), d: "M0 6H18" }), `${letter(p)} ${r.policy}: largest ${thousands(rows[p].reduce((most, row) => Math.max(most, r.requests.payload[row.at]), 0))}`)) : key(box("payload"), "payload: what is sent"),
    key(box("raw"), "raw: nothing taken away"), key(shape("line", { class: "limit", x1: 0, x2: 18, y1: 6, y2: 6 }), "limit"),
    key(markShape("compaction", 9, 6), "compaction"), key(markShape("change", 9, 6), "other change"),
    replays.some((r) => r.events.some((e) => e.mark === "lost")) && key(markShape("lost", 9, 6), "no answer"),
    priced && key(box("cost"), "cost"), priced && key(box("cost broken"), "cost with a cache miss"), priced && replay.kinds.length > 1 && key(box("own-cost"), "summarization requests of the policy"));
}
