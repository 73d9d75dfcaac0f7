// Views: what a request sends, rebuilt from the raw history and what each request changed. The data is a trace
// (replay/trace): view = raw + edits.

class Views {
  constructor(trace) {
    this.trace = trace;
    this.restart();
  }

  restart() {
    this.at = -1; // the step that is applied last
    this.order = []; // items sent
    this.state = new Map(); // block -> state
    this.left = new Map(); // item -> the edit that took it out
  }

  // go applies the steps up to a request (from 0).
  go(step) {
    if (step < this.at) this.restart();
    const { steps } = this.trace;
    while (this.at < step && this.at + 1 < steps.length) {
      const s = steps[++this.at];
      for (const [at, remove, ...insert] of s.s || []) {
        this.order.splice(at, remove, ...insert);
        for (const item of insert) this.left.delete(item);
      }
      for (const [edit, ...items] of s.l || []) for (const item of items) this.left.set(item, edit);
      const c = s.c || [];
      for (let i = 0; i < c.length; i += 2) c[i + 1] < 0 ? this.state.delete(c[i]) : this.state.set(c[i], c[i + 1]);
    }
    return this;
  }

  name(i) {
    return this.trace.names[i];
  }

  // item describes a message.
  item(i) {
    const [role, kind, about, line, outside, first, count, tag, edit] = this.trace.items[i];
    return { i, role: role ? "assistant" : "user", kind: this.name(kind), about: this.name(about), line, outside: outside === 1, first, count, tag, edit };
  }

  // edit describes an edit.
  edit(i) {
    if (i < 0) return null;
    const [request, stage, kind, reason] = this.trace.edits[i];
    return { request, stage: this.name(stage), kind: this.name(kind), reason: this.name(reason) };
  }

  // block describes a block as recorded and as it is sent.
  block(b) {
    const t = this.trace;
    const one = { b, kind: this.name(t.kind[b]), tool: this.name(t.tool[b]), group: this.name(t.class[b]), raw: t.tokens[b], rawText: t.text[b], sent: t.tokens[b], sentText: t.text[b], edit: null };
    const state = this.state.get(b);
    if (state !== undefined) {
      const [edit, tokens, text] = t.states[state];
      one.sent = tokens;
      one.sentText = text;
      one.edit = this.edit(edit);
    }
    return one;
  }

  blocks(item) {
    const list = [];
    for (let b = item.first; b < item.first + item.count; b++) list.push(this.block(b));
    if (item.tag >= 0 && this.state.has(item.tag)) list.push(this.block(item.tag));
    return list;
  }

  // joined is how many messages there are before the request.
  joined() {
    return this.at < 0 ? 0 : this.trace.steps[this.at].j;
  }

  // rows lists the messages of the raw history and of the payload in one order: what left stands where it was.
  rows() {
    const sent = new Set(this.order);
    const list = [];
    let next = 0;
    const flush = (to) => {
      for (; next < to; next++) {
        const fields = this.trace.items[next];
        if (fields.length === 0 || fields[4] === 1 || sent.has(next)) continue;
        list.push({ item: this.item(next), status: "gone", edit: this.edit(this.left.has(next) ? this.left.get(next) : -1) });
      }
    };
    for (const i of this.order) {
      const item = this.item(i);
      if (!item.outside) flush(i);
      const changed = this.blocks(item).some((block) => block.edit);
      list.push({ item, status: item.outside ? "made" : changed ? "changed" : "kept", edit: this.edit(item.edit) });
    }
    flush(this.joined());
    return list;
  }

  // texts are the indexes of the texts of a message, as recorded and as sent.
  texts(item) {
    return this.blocks(item).flatMap((block) => [block.rawText, block.sentText]).filter((text) => text >= 0);
  }

  // shares sums a payload up by the categories of "stats", calls and results by tool: [{group, name, tokens, blocks}].
  shares(payload) {
    const sums = new Map();
    let left = payload;
    const add = (group, name, tokens, blocks) => {
      const key = group + "\n" + name;
      const sum = sums.get(key) || { group, name, tokens: 0, blocks: 0 };
      sum.tokens += tokens;
      sum.blocks += blocks;
      sums.set(key, sum);
      left -= tokens;
    };
    const step = this.trace.steps[this.at];
    add("system prompt and tools", "system prompt and tools", step.o, 0);
    if (step.e) add("history before the file", "history before the file", step.e, 0);
    for (const i of this.order) {
      for (const block of this.blocks(this.item(i))) {
        const byTool = block.group === "tool calls" || block.group === "tool results";
        add(block.group, (byTool && block.tool) || block.group, block.sent, 1);
      }
    }
    if (left !== 0) add("on no line of the file", "on no line of the file", left, 0);
    return [...sums.values()];
  }
}

// holding are those of a list of texts that hold a word, in small letters.
async function holding(list, word) {
  const found = new Set();
  for (const i of new Set(list)) if ((await texts.get(i)).toLowerCase().includes(word)) found.add(i);
  return found;
}

// pairRows lists messages under two views in one order: {left, right}, rows of views as rows() has them. What a policy
// made is on its side alone.
function pairRows(a, b) {
  const list = [], [left, right] = [a.rows(), b.rows()];
  let i = 0, k = 0;
  const raw = (row) => row && !row.item.outside;
  while (i < left.length || k < right.length) {
    if (i < left.length && !raw(left[i])) list.push({ left: left[i++], right: null });
    else if (k < right.length && !raw(right[k])) list.push({ left: null, right: right[k++] });
    else if (!right[k] || left[i] && left[i].item.i < right[k].item.i) list.push({ left: left[i++], right: null });
    else if (!left[i] || right[k].item.i < left[i].item.i) list.push({ left: null, right: right[k++] });
    else list.push({ left: left[i++], right: right[k++] });
  }
  return list;
}
