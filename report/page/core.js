// The ground of the page: elements, numbers, texts of the transcript, the theme.
//
// Every string reaches the page as text (textContent, createTextNode, attributes of our own), never as markup. Styles
// are set through classes and the object model: the content security policy allows no style attributes.

const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

// append adds children: nodes, strings, lists of both. Null and false are left out.
function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

// fill sets attributes. A function is a listener of the event of that name.
function fill(node, attributes) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  return node;
}

// el makes an element of HTML, shape one of SVG.
function el(tag, attributes, ...children) {
  return append(fill(document.createElement(tag), attributes), children);
}

function shape(tag, attributes, ...children) {
  return append(fill(document.createElementNS(SVG, tag), attributes), children);
}

function clear(node) {
  node.replaceChildren();
  return node;
}

// thousands writes 1234567 as 1,234,567.
function thousands(n) {
  const digits = String(Math.abs(Math.round(n)));
  return (n < 0 ? "−" : "") + digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

// short writes a number in at most four characters: 950, 12k, 1.2M.
function short(n) {
  if (Math.abs(n) < 1000) return String(Math.round(n));
  if (Math.abs(n) < 999500) return trim(n / 1000, Math.abs(n) < 9950 ? 1 : 0) + "k";
  return trim(n / 1e6, Math.abs(n) < 9.95e6 ? 1 : 0) + "M";
}

function trim(x, places) {
  return x.toFixed(places).replace(/\.0$/, "");
}

// dollars writes 1e-9 USD; small amounts with four places.
function dollars(nano) {
  if (nano < 0) return "−" + dollars(-nano);
  const usd = nano / 1e9;
  return "$" + usd.toFixed(usd < 1 ? 4 : 2);
}

function percent(part, whole) {
  return whole > 0 ? ((100 * part) / whole).toFixed(1) + " %" : "–";
}

function plural(n, noun) {
  return thousands(n) + " " + noun + (n === 1 ? "" : "s");
}

// clock writes seconds since 1970 in the time zone of the page, "Local" is that of its reader.
function clock(seconds) {
  return seconds ? clockForm.format(seconds * 1000) : "";
}

const zone = data.zone || "UTC";
const clockForm = new Intl.DateTimeFormat("sv", { timeZone: zone === "Local" ? undefined : zone, dateStyle: "short", timeStyle: "medium" });

// duration writes seconds: 45 s, 12 min, 3 h 10 min, 2 d 4 h.
function duration(seconds) {
  const s = Math.round(seconds);
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min";
  const [big, small, names] = s < 86400 ? [Math.floor(s / 3600), Math.floor((s % 3600) / 60), ["h", "min"]] : [Math.floor(s / 86400), Math.floor((s % 86400) / 3600), ["d", "h"]];
  return `${big} ${names[0]}` + (small ? ` ${small} ${names[1]}` : "");
}

function clamp(v, low, high) {
  return Math.min(Math.max(v, low), high);
}

// address holds what is chosen in the fragment of the page's address, so that a link leads to the same place:
// #request=45&from=10&to=80&axis=time.
const address = {
  read() {
    this.values = new URLSearchParams(location.hash.slice(1));
  },
  get(name) {
    return this.values.get(name) || "";
  },
  number(name, otherwise) {
    const n = Number(this.get(name));
    return Number.isFinite(n) && n > 0 ? n : otherwise;
  },
  // set notes a value; "" leaves it out. Browsers limit how often an address may change.
  set(name, value) {
    if (this.get(name) === String(value)) return;
    if (value === "") this.values.delete(name);
    else this.values.set(name, value);
    clearTimeout(this.writing);
    this.writing = setTimeout(() => this.write(), 200);
  },
  write() {
    clearTimeout(this.writing);
    history.replaceState(null, "", "#" + this.values);
  },
};

// texts unfolds the texts of the transcript. They are compressed in chunks; each is unfolded when one of its texts is
// first shown, and the last few are kept.
const texts = {
  chunks: [],
  open: new Map(),
  find() {
    this.chunks = [...document.querySelectorAll("script.texts")].map((node) => ({ first: Number(node.dataset.first), node }));
  },
  async get(i) {
    if (i < 0) return "";
    let at = this.chunks.length - 1;
    while (at > 0 && this.chunks[at].first > i) at--;
    if (at < 0) return "";
    if (!this.open.has(at)) {
      if (this.open.size >= 24) this.open.delete(this.open.keys().next().value);
      this.open.set(at, unfold(this.chunks[at].node.textContent));
    }
    const list = await this.open.get(at);
    return list[i - this.chunks[at].first] || "";
  },
};

async function unfold(base64) {
  const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(plain).text());
}

// themeSwitch is a button that goes through the system's theme, the light one and the dark one.
function themeSwitch() {
  const themes = ["auto", "light", "dark"];
  let at = 0;
  const button = el("button", { type: "button", class: "button", click: () => set(at + 1) });
  function set(to) {
    at = to % themes.length;
    document.documentElement.dataset.theme = themes[at];
    button.textContent = "Theme: " + themes[at];
  }
  set(0);
  return button;
}

let lastId = 0;

// freshId is an id that no other element has.
function freshId(what) {
  lastId++;
  return what + "-" + lastId;
}

// panel is a titled region of the page.
function panel(title, about, ...children) {
  const id = freshId("panel");
  return el("section", { class: "panel", "aria-labelledby": id, tabindex: -1 }, el("h2", { id }, title), about && el("p", { class: "about" }, about), ...children);
}

// scrollable is a box that scrolls sideways where its content is wider, and can be reached with the keyboard.
function scrollable(label, child) {
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, child);
}

// later runs a function once after the current work, however often it is asked to.
function later(run) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      run();
    });
  };
}

// fitted is a box that is drawn for its width, in pixels, and again when that changes.
function fitted(draw) {
  const box = el("div", { class: "fitted" });
  let width = 0;
  new ResizeObserver(later(() => {
    const now = Math.max(Math.round(box.clientWidth), 260);
    if (now === width || !box.isConnected) return;
    width = now;
    append(clear(box), [draw(width)]);
  })).observe(box);
  return box;
}
