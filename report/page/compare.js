// A session under several policies: one timeline, the figures of a request under each, and two payloads side by side.

// comparedPage draws replays of one session.
function comparedPage(replays) {
  const rows = replays.map(mainRows);
  const traced = replays.every((replay) => replay.trace);
  const views = replays.map((replay) => (replay.trace ? new Views(replay.trace) : null));
  let at = -1;
  if (rows.every((list) => list.length === 0)) return el("p", { class: "about" }, "The session has no request.");
  const timeline = new Timeline(replays, choose);
  const number = requestField(timeline.last, choose);
  const figures = el("div"), events = el("div");
  const pair = traced && replays.length > 1 ? pairPanel(replays, views) : null;

  function choose(i) {
    if (i === at || !(i >= 0 && i <= timeline.last)) return;
    at = i;
    timeline.set(i);
    redraw();
  }
  const redraw = later(() => {
    address.set("request", at + 1);
    number.draw(at);
    const here = rows.map((list) => list[at]);
    const n = here.find((row) => row).n;
    append(clear(figures), [factsTable(replays, here).node]);
    append(clear(events), replays.map((replay, p) => {
      const list = eventList(replay, n);
      return list && [el("h3", {}, `${letter(p)} ${replay.policy}: what happened before it`), list];
    }));
    if (pair) {
      views.forEach((view, p) => here[p] && view.go(here[p].n - 1));
      pair.draw();
    }
    bar.follow(timeline, at, n, replays.map((replay, p) => here[p] && `${letter(p)} ${short(replay.requests.payload[here[p].at])}`).filter(Boolean).join(" · "));
  });
  const wanted = address.number("request", 0) - 1;
  choose(wanted >= 0 && wanted <= timeline.last ? wanted : apart(replays, rows));
  return el("div", {}, timeline.node, el("h3", {}, "One request under each policy"), number.node, figures, events, pair && pair.node);
}

// apart is the request at which the first policies differ most.
function apart(replays, rows) {
  let best = 0, most = -1;
  rows[0].forEach((row, i) => {
    const list = rows.map((one, p) => (one[i] ? replays[p].requests.payload[one[i].at] : 0));
    const by = Math.max(...list) - Math.min(...list);
    if (by > most) (best = i), (most = by);
  });
  return best;
}

// factsTable has a row for each figure of a request and a column for each policy.
function factsTable(replays, here) {
  const names = [], facts = here.map((row, p) => new Map(row ? factsOf(replays[p], row) : []));
  for (const one of facts) for (const name of one.keys()) if (!names.includes(name)) names.push(name);
  const columns = [{ title: "Figure" }, ...replays.map((replay, p) => ({ title: `${letter(p)} ${replay.policy}`, number: true }))];
  return dataTable({ columns, rows: names.map((name) => [name, ...facts.map((one) => one.get(name) || "")]) }, { label: "One request under each policy" });
}

// pairPanel shows what two policies send of each message.
function pairPanel(replays, views) {
  const two = ["a", "b"].map((name, side) => {
    const id = freshId("side");
    const given = replays.findIndex((_, p) => letter(p) === address.get(name));
    const select = el("select", { id, change: () => {
      address.set(name, letter(Number(select.value)));
      messages.draw();
    } }, replays.map((replay, p) => el("option", { value: p }, `${letter(p)} ${replay.policy}`)));
    select.value = given >= 0 ? given : side;
    return { select, node: field(side ? "Right" : "Left", id, select), p: () => Number(select.value) };
  });
  const side = (row, k) => {
    if (!row) return "absent";
    if (row.status === "gone") return "gone";
    return views[two[k].p()].blocks(row.item).map((block) => block.sentText + ":" + block.sent).join(" ");
  };
  const differs = (row) => {
    const [left, right] = [side(row.left, 0), side(row.right, 1)];
    return left !== right && !(left === "gone" && right === "absent") && !(left === "absent" && right === "gone");
  };
  const messages = messagesPanel({
    title: "Two payloads, message by message", about: "What each of two policies sends of the same messages.", traces: replays.map((replay) => replay.trace),
    shows: { differs: ["what differs", differs], all: ["everything", () => true] },
    none: "Both send the same up to this request.",
    rows: () => pairRows(views[two[0].p()], views[two[1].p()]),
    texts: (row) => [row.left && views[two[0].p()].texts(row.left.item), row.right && views[two[1].p()].texts(row.right.item)].flat().filter((i) => i >= 0),
    draw: (row, word) => {
      const half = (one, k) => (one ? message(views[two[k].p()], one, replays[two[k].p()].trace.texts, word, true) : el("div", { class: "box none" }, "no such message"));
      return el("li", { class: "two" }, half(row.left, 0), half(row.right, 1));
    },
  });
  messages.node.querySelector(".controls").prepend(two[0].node, two[1].node);
  return messages;
}
