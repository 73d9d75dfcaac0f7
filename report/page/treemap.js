// The treemap: what fills the context, as areas, with a table of the same figures.

// groupColors are the colours of the categories of "stats"; those that are alike share one.
const groupColors = {
  "system prompt and tools": 0, "user prompts": 1, "assistant text": 2, thinking: 3, "tool calls": 4, "tool results": 5,
  summaries: 6, "added by the policy": 10, "sent again after a compaction": 11, "client's messages": 7, attachments: 7,
  "images and documents": 8, "history before the file": 9, "on no line of the file": 9,
};

function groupColor(name) {
  return "leaf g" + (groupColors[name] || 0);
}

// treemap draws shares [{group, name, tokens, blocks}] of a whole. Width and height are in pixels.
function treemap(shares, width, height) {
  const groups = new Map();
  let whole = 0;
  for (const s of shares) {
    if (s.tokens <= 0) continue;
    if (!groups.has(s.group)) groups.set(s.group, { name: s.group, tokens: 0, list: [] });
    const group = groups.get(s.group);
    group.tokens += s.tokens;
    group.list.push(s);
    whole += s.tokens;
  }
  const svg = shape("svg", { class: "treemap", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", focusable: "false" });
  if (whole === 0) return svg;
  const list = [...groups.values()].sort((a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1));
  for (const g of squarify(list, 0, 0, width, height)) {
    const color = groupColor(g.of.name);
    const inner = g.of.list.sort((a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1));
    for (const c of squarify(inner, g.x, g.y, g.w, g.h)) {
      const title = inner.length > 1 && g.of.name !== "tool calls" ? c.of.name : inner.length > 1 ? c.of.name + " call" : g.of.name;
      const node = shape("g", {}, shape("title", {}, `${g.of.name}${inner.length > 1 ? ", " + c.of.name : ""}: ${thousands(c.of.tokens)} tokens, ${percent(c.of.tokens, whole)}`),
        shape("rect", { class: color, x: px(c.x + 0.75), y: px(c.y + 0.75), width: px(Math.max(c.w - 1.5, 0.5)), height: px(Math.max(c.h - 1.5, 0.5)), rx: 2 }));
      label(node, c, [title, `${short(c.of.tokens)} · ${percent(c.of.tokens, whole)}`]);
      svg.append(node);
    }
  }
  return svg;
}

// groupsLegend names the colours, with the tokens of each part.
function groupsLegend(shares, whole) {
  const sums = new Map();
  for (const s of shares) sums.set(s.group, (sums.get(s.group) || 0) + s.tokens);
  const list = [...sums].filter(([, tokens]) => tokens > 0).sort((a, b) => b[1] - a[1]);
  return el("p", { class: "legend" }, list.map(([name, tokens]) => el("span", { class: "key" }, swatch(groupColor(name)), `${name} ${percent(tokens, whole)}`)));
}

// label writes lines into a cell as far as they fit.
function label(node, c, lines) {
  const letters = Math.floor((c.w - 12) / 7.4);
  lines.forEach((line, i) => {
    if (letters < 3 || c.h < 18 + i * 15) return;
    if (i > 0 && line.length > letters) return;
    node.append(shape("text", { class: i ? "leaf-more" : "leaf-name", x: px(c.x + 7), y: px(c.y + 16 + i * 15) }, line.length > letters ? line.slice(0, letters - 1) + "…" : line));
  });
}

// squarify lays out items with tokens in a rectangle, the largest first, as near to squares as it gets (Bruls,
// Huizing, van Wijk: Squarified Treemaps, 2000).
function squarify(items, x, y, w, h) {
  const out = [];
  let left = items.reduce((sum, item) => sum + item.tokens, 0);
  let rest = items.slice();
  while (rest.length) {
    const side = Math.min(w, h), area = w * h;
    let row = [], sum = 0, worst = Infinity;
    for (const item of rest) {
      const next = sum + item.tokens;
      const thick = ((next / left) * area) / side;
      let bad = 0;
      for (const one of [...row, item]) {
        const long = (one.tokens / next) * side;
        bad = Math.max(bad, long / thick, thick / long);
      }
      if (row.length && bad > worst) break;
      row.push(item);
      sum = next;
      worst = bad;
    }
    const thick = side > 0 ? ((sum / left) * area) / side : 0;
    let at = 0;
    for (const item of row) {
      const long = (item.tokens / sum) * side;
      out.push(w >= h ? { of: item, x, y: y + at, w: thick, h: long } : { of: item, x: x + at, y, w: long, h: thick });
      at += long;
    }
    if (w >= h) (x += thick), (w = Math.max(w - thick, 0));
    else (y += thick), (h = Math.max(h - thick, 0));
    left -= sum;
    rest = rest.slice(row.length);
  }
  return out;
}

// sharesTable is the table of a treemap.
function sharesTable(shares, whole) {
  const rows = shares.filter((s) => s.tokens !== 0).sort((a, b) => b.tokens - a.tokens)
    .map((s) => [s.group === s.name ? s.group : `${s.group}: ${s.name}`, thousands(s.tokens), percent(s.tokens, whole), s.blocks ? thousands(s.blocks) : ""]);
  const columns = [{ title: "Part" }, { title: "Tokens", number: true }, { title: "Share", number: true }, { title: "Blocks", number: true }];
  return dataTable({ columns, rows }, { label: "What fills the context", page: 12 }).node;
}
