// Tables: columns that sort, rows that are found by a word or a choice, pages of rows.

// dataTable draws {columns: [{title, number, about}], rows: [[text]]}. Options:
//   label     its name for screen readers
//   page      rows shown at once (50)
//   filter    true: a field that keeps the rows that hold a word
//   choices   [{title, column}]: lists that keep the rows with one value of a column
//   pick      called with the index of a row that is chosen; picked tells which row is
function dataTable(data, options) {
  const state = { sort: -1, down: false, word: "", chosen: new Map(), from: 0, page: options.page || 50 };
  const status = el("p", { class: "status", "aria-live": "polite" });
  const head = el("tr");
  const body = el("tbody");
  const table = el("table", { class: options.pick ? "rows pickable" : "rows" }, options.caption && el("caption", {}, options.caption), el("thead", {}, head), body);
  const sorters = data.columns.map((column, i) => {
    const button = el("button", { type: "button", class: "sorter", title: column.about, click: () => sortBy(i) }, column.title);
    const cell = el("th", { scope: "col", class: column.number ? "number" : null }, button);
    head.append(cell);
    return cell;
  });
  const earlier = el("button", { type: "button", class: "button", click: () => turn(-1) }, "Previous rows");
  const next = el("button", { type: "button", class: "button", click: () => turn(1) }, "Next rows");
  const pages = el("div", { class: "pager" }, earlier, next);
  const controls = el("div", { class: "controls" });
  if (options.filter) {
    const id = freshId("filter");
    controls.append(field("Filter", id,
      el("input", { id, type: "search", autocomplete: "off", placeholder: "a word", input: (e) => { state.word = e.target.value.toLowerCase(); state.from = 0; draw(); } })));
  }
  for (const choice of options.choices || []) {
    const values = [...new Set(data.rows.map((row) => row[choice.column]))].sort();
    if (values.length < 2) continue;
    const id = freshId("choice");
    const list = el("select", { id, change: (e) => { state.chosen.set(choice.column, e.target.value); state.from = 0; draw(); } }, el("option", { value: "" }, "all"));
    for (const value of values) list.append(el("option", { value }, value));
    controls.append(field(choice.title, id, list));
  }

  // order is the indexes of the rows that are shown, in their order.
  function order() {
    let list = data.rows.map((_, i) => i);
    if (state.word) list = list.filter((i) => data.rows[i].some((cell) => cell.toLowerCase().includes(state.word)));
    for (const [column, value] of state.chosen) if (value) list = list.filter((i) => data.rows[i][column] === value);
    if (state.sort >= 0) {
      const key = data.columns[state.sort].number ? (text) => toNumber(text) : (text) => text;
      list.sort((a, b) => {
        const x = key(data.rows[a][state.sort]), y = key(data.rows[b][state.sort]);
        const way = x < y ? -1 : x > y ? 1 : a - b;
        return state.down ? -way : way;
      });
    }
    return list;
  }

  function sortBy(i) {
    state.down = state.sort === i ? !state.down : Boolean(data.columns[i].number);
    state.sort = i;
    state.from = 0;
    draw();
  }

  function turn(way) {
    state.from = Math.max(0, state.from + way * state.page);
    draw();
  }

  function draw() {
    const list = order();
    if (state.from >= list.length) state.from = 0;
    const shown = list.slice(state.from, state.from + state.page);
    clear(body);
    for (const i of shown) body.append(row(i));
    sorters.forEach((cell, i) => (i === state.sort ? cell.setAttribute("aria-sort", state.down ? "descending" : "ascending") : cell.removeAttribute("aria-sort")));
    earlier.disabled = state.from === 0;
    next.disabled = state.from + state.page >= list.length;
    pages.hidden = list.length <= state.page;
    const of = list.length < data.rows.length ? ` (of ${thousands(data.rows.length)})` : "";
    status.textContent = list.length === 0 ? "No row." : list.length <= state.page ? `${plural(list.length, "row")}${of}` : `Rows ${thousands(state.from + 1)} to ${thousands(state.from + shown.length)} of ${thousands(list.length)}${of}`;
    status.hidden = data.rows.length < 8;
    mark();
  }

  function row(i) {
    const cells = data.rows[i].map((text, c) => {
      const number = data.columns[c].number;
      if (c === 0 && options.pick) return el("th", { scope: "row", class: number ? "number" : null }, el("button", { type: "button", class: "link", click: () => options.pick(i) }, text));
      return el(c === 0 && text ? "th" : "td", { scope: c === 0 && text ? "row" : null, class: number ? "number" : text.length > 24 ? "prose" : null }, text);
    });
    const line = el("tr", { "data-row": i }, cells);
    if (options.pick) line.addEventListener("click", (e) => { if (!e.target.closest("button")) options.pick(i); });
    return line;
  }

  // mark shows which row is chosen.
  function mark() {
    if (!options.picked) return;
    for (const line of body.children) {
      const on = options.picked(Number(line.dataset.row));
      line.classList.toggle("picked", on);
      line.setAttribute("aria-current", on ? "true" : "false");
    }
  }

  draw();
  return { node: el("div", { class: "table" }, controls.children.length ? controls : null, scrollable("Table: " + options.label, table), el("div", { class: "under" }, status, pages)), mark };
}

// field is a control with its label.
function field(title, id, control) {
  return el("span", { class: "field" }, el("label", { for: id }, title), control);
}

// toNumber reads a number as tables print it; what is none comes first.
function toNumber(text) {
  const match = /^([−-]?)\$?([\d,]*\.?\d*)\s*([kKM%]?)/.exec(text.replace(/^\+/, ""));
  if (!match || match[2] === "") return -Infinity;
  const scale = { k: 1e3, K: 1e3, M: 1e6 }[match[3]] || 1;
  return (match[1] ? -1 : 1) * Number(match[2].replaceAll(",", "")) * scale;
}
