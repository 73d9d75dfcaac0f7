// Small charts: parts of a sum, and intervals.

// partsChart draws rows [{name, parts: [{name, value, about}]}] as bars to both sides of zero, one colour a part, with
// the figures as text below.
function partsChart(rows, text) {
  const names = [];
  for (const row of rows) for (const part of row.parts) if (!names.includes(part.name)) names.push(part.name);
  const reach = (way) => Math.max(0, ...rows.map((row) => row.parts.reduce((sum, part) => sum + Math.max(way * part.value, 0), 0)));
  const low = reach(-1), high = reach(1), span = low + high || 1;
  const width = 720, line = 26;
  const x = (v) => ((v + low) / span) * width;
  return el("div", { class: "parts" }, rows.map((row) => {
    const svg = shape("svg", { viewBox: `0 0 ${width} ${line}`, preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" });
    let up = 0, down = 0;
    for (const part of row.parts) {
      const from = part.value < 0 ? down + part.value : up;
      if (part.value < 0) down += part.value;
      else up += part.value;
      svg.append(shape("rect", { class: "part p" + (names.indexOf(part.name) % 6), x: px(x(from)), y: 3, width: px(Math.max((Math.abs(part.value) / span) * width - 1, 0.5)), height: line - 6 }, shape("title", {}, `${part.name}: ${text(part.value)}`)));
    }
    if (low > 0) svg.append(shape("line", { class: "axis", x1: px(x(0)), x2: px(x(0)), y1: 0, y2: line }));
    return el("div", { class: "parts-row" }, rows.length > 1 || row.label ? el("p", { class: "parts-name" }, row.label || row.name) : null, svg,
      el("ul", { class: "parts-list" }, row.parts.map((part) => el("li", {}, swatch("part p" + (names.indexOf(part.name) % 6)), el("span", { class: "part-name" }, part.name), el("b", {}, text(part.value)), part.about && el("span", { class: "dim" }, part.about)))));
  }));
}

function swatch(name) {
  return shape("svg", { class: "swatch", viewBox: "0 0 10 10", width: 10, height: 10, "aria-hidden": "true", focusable: "false" }, shape("rect", { class: name, width: 10, height: 10, rx: 2 }));
}

// intervalsChart draws rows [{name, value, low, high, text}] of shares in percent around zero; low and high are null
// where there is no interval.
function intervalsChart(rows) {
  const reach = Math.max(1, ...rows.flatMap((row) => [row.value, row.low, row.high].filter((v) => v !== null && Number.isFinite(v)).map(Math.abs))) * 1.08;
  const width = 520, height = 30;
  const x = (v) => width / 2 + (v / reach) * (width / 2);
  return el("div", { class: "intervals" }, rows.map((row) => {
    const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", focusable: "false" });
    append(svg, [shape("line", { class: "axis", x1: width / 2, x2: width / 2, y1: 0, y2: height })]);
    if (row.low !== null && row.high !== null) append(svg, [
      shape("line", { class: "whisker", x1: px(x(row.low)), x2: px(x(row.high)), y1: height / 2, y2: height / 2 }),
      ...[row.low, row.high].map((v) => shape("line", { class: "whisker", x1: px(x(v)), x2: px(x(v)), y1: height / 2 - 5, y2: height / 2 + 5 })),
    ]);
    if (row.value !== null) svg.append(shape("circle", { class: "estimate", cx: px(x(row.value)), cy: height / 2, r: 5 }));
    return el("div", { class: "interval" }, el("p", { class: "interval-name" }, row.name), svg, el("p", { class: "interval-text" }, row.text));
  }), el("p", { class: "scale" }, `less ← 0 → more; the scale ends at ±${trim(reach, 1)} %`));
}

// scatterChart draws the points of a sweep where report/scatter.go placed them.
function scatterChart(d) {
  const svg = shape("svg", { class: "scatter", viewBox: "0 0 800 500", role: "img", "aria-label": "The points by " + d.x.name + " and " + d.y.name + "; the table below has the same figures" });
  for (const t of d.x.ticks) append(svg, [shape("line", { class: "grid", x1: t.at, x2: t.at, y1: 50, y2: 450 }), shape("text", { class: "label middle", x: t.at, y: 468 }, t.text)]);
  for (const t of d.y.ticks) append(svg, [shape("line", { class: "grid", x1: 90, x2: 770, y1: t.at, y2: t.at }), shape("text", { class: "label end", x: 82, y: t.at + 4 }, t.text)]);
  append(svg, [shape("text", { class: "label middle", x: 430, y: 490 }, d.x.name), shape("text", { class: "label middle", transform: "translate(22 250) rotate(-90)" }, d.y.name)]);
  for (const m of d.marks) svg.append(shape("circle", { class: m.on_front ? "point front" : "point", cx: px(m.x), cy: px(m.y), r: px(m.r) }, shape("title", {}, m.texts.join("; "))));
  for (const m of d.marks) if (m.anchor) svg.append(shape("text", { class: "point-name", x: px(m.label_x), y: px(m.label_y), "text-anchor": m.anchor }, m.label));
  return el("div", {}, scrollable("The points as a picture", svg), el("p", { class: "scale" }, `filled: on the Pareto front of ${d.front}; larger: more content needed later${d.hidden ? `; without a label for want of room: ${d.hidden}` : ""}`));
}

// linesChart draws series [{name, values}] over one axis, each with its own dash and its name.
function linesChart(list, width) {
  const height = 250, left = 48, right = width - 12, top = 10, bottom = height - 22;
  const most = Math.max(1, ...list.flatMap((s) => s.values));
  const unit = 10 ** Math.floor(Math.log10(most));
  const high = unit * [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10].find((m) => m * unit >= most || m === 10);
  const y = (v) => px(bottom - (v / high) * (bottom - top));
  const svg = shape("svg", { class: "lines", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", focusable: "false" });
  for (const v of ticks(high)) append(svg, [shape("line", { class: "grid", x1: left, x2: right, y1: y(v), y2: y(v) }), shape("text", { class: "label end", x: left - 6, y: y(v) + 4 }, short(v))]);
  const line = (p) => "series s" + (p % 6);
  list.forEach((s, p) => {
    const x = (i) => px(left + ((i + 0.5) * (right - left)) / Math.max(s.values.length, 1));
    svg.append(shape("path", { class: line(p), d: s.values.map((v, i) => (i ? "L" : "M") + x(i) + " " + y(v)).join("") }));
  });
  append(svg, [shape("text", { class: "label", x: left, y: height - 6 }, "first request"), shape("text", { class: "label end", x: right, y: height - 6 }, "last request")]);
  return el("div", { class: "lines-box" }, el("p", { class: "legend" }, list.map((s, p) => el("span", { class: "key" }, shape("svg", { viewBox: "0 0 30 10", width: 30, height: 10, "aria-hidden": "true" }, shape("path", { class: line(p), d: "M1 5H29" })), `${s.name}: largest ${thousands(Math.max(0, ...s.values))}`))), svg);
}
