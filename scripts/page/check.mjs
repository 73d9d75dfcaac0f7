// Opens pages in Chromium and uses them: node check.mjs [--shots DIR] PAGE...
//
// Of every page: no message on the console, no request, no dialog (hostile.jsonl is a session with markup and code in
// every field), nothing wider than the window at 375 pixels, no violation that
// axe-core finds, in either theme and at either width, and of the first page with the same sections (with CTXKIT_LONG
// of each) in both themes at both widths; it opens within 2 seconds, or as much for each 8 MB; the contents lead to its sections. Of a
// timeline: a click and the keyboard choose a request; it zooms at both ends and by time; the address keeps what is
// chosen; a small one stays in sight. Of a replay: the payload of a request is shown, and adds up to its tokens; the
// search finds a word; the filter of events works. Of a comparison: intervals and the requests of a session are drawn,
// and of one session two payloads. Exit code 1 and a line for each failure.
import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const chromium = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => path && existsSync(path));

const args = process.argv.slice(2);
const shots = args[0] === "--shots" ? args.splice(0, 2)[1] : "";
let failures = 0, passed = 0;

function check(ok, page, what) {
  if (ok) passed++;
  else {
    failures++;
    console.log(`${page}: ${what}`);
  }
}

const pause = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 60)))));

// open loads a page in a window of a width and a theme, and notes what it says and asks for.
async function open(browser, path, width, theme, hash = "") {
  const page = await browser.newPage();
  const name = basename(path);
  page.on("console", (m) => check(false, name, `the console says: ${m.text()}`));
  page.on("pageerror", (e) => check(false, name, `an error: ${e.message}`));
  page.on("dialog", (d) => { check(false, name, `a dialog: ${d.message()}`); d.dismiss(); });
  page.on("request", (r) => check(r.url().split("#")[0] === pathToFileURL(path).href, name, `it asks for ${r.url().slice(0, 100)}`));
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  await page.setViewport({ width, height: 900 });
  const begun = Date.now();
  await page.goto(pathToFileURL(path).href + hash, { waitUntil: "load" });
  await page.waitForSelector("html[data-ready]", { timeout: 30000 });
  page.took = Date.now() - begun;
  await pause(page);
  await page.evaluate(() => new Promise((done) => setTimeout(done, 300)));
  return page;
}

// accessible runs axe-core. Its code comes through the debugger, which the page's content security policy allows.
async function accessible(page, name, where) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await axe.run(document, { resultTypes: ["violations"] })).violations.map((v) => `${v.id} (${v.nodes.length}): ${v.nodes[0].html.slice(0, 120)} ${v.nodes[0].failureSummary || ""}`));
  check(found.length === 0, name, `axe-core, ${where}: ${found.join("; ")}`);
}

async function look(page, name, where) {
  const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  check(wide <= window, name, `${where}: ${wide} pixels wide in a window of ${window}`);
  if (shots) {
    const height = await page.evaluate(() => Math.min(document.documentElement.scrollHeight, 3400));
    await page.screenshot({ path: join(shots, `${name.replace(/\.html$/, "")}-${where}.png`), clip: { x: 0, y: 0, width: window, height }, captureBeyondViewport: true });
  }
}

// useBar follows a link of the contents.
async function useBar(page, name) {
  const titles = await page.$$eval(".bar a", (list) => list.map((n) => n.textContent));
  if (titles.length < 2) return;
  await page.evaluate(() => [...document.querySelectorAll(".bar a")].at(-1).click());
  await pause(page);
  const [focused, top, bar] = await page.evaluate(() => [document.activeElement.querySelector("h2")?.textContent, document.activeElement.getBoundingClientRect().top, document.querySelector(".bar").getBoundingClientRect().toJSON()]);
  check(focused === titles.at(-1) && top >= bar.bottom - 1, name, `the contents lead to ${focused} at ${top}, not to ${titles.at(-1)}`);
  check(bar.top >= 0 && bar.height < 100, name, `the contents are at ${bar.top} and ${bar.height} high`);
  if (await page.$(".plot")) {
    const [bottom, hidden] = await page.evaluate(() => [document.querySelector(".plot").getBoundingClientRect().bottom, document.querySelector(".bar-strip").hidden]);
    check(hidden === bottom > bar.bottom, name, `the timeline ends at ${bottom}, and the small one is ${hidden ? "hidden" : "shown"}`);
  }
}

async function useTimeline(page, name, path, browser) {
  const chosen = () => page.$eval(".plot", (n) => Number(n.getAttribute("aria-valuenow")));
  const hash = async () => {
    await page.evaluate(() => address.write());
    return new URLSearchParams(new URL(page.url()).hash.slice(1));
  };
  const requests = await page.$eval(".plot", (n) => Number(n.getAttribute("aria-valuemax")));
  const drawn = await page.$$eval(".plot path.payload, .plot path.raw, .plot path.series", (list) => list.map((n) => n.getBoundingClientRect().width));
  check(drawn.length >= 2 && drawn.every((w) => w > 200 || requests < 3), name, "the timeline is not drawn");
  // A click in the middle of the plot chooses a request near the middle.
  await page.$eval(".plot", (n) => n.scrollIntoView({ block: "center" }));
  const plot = await (await page.$(".plot path.raw")).boundingBox();
  const before = await chosen();
  await page.mouse.click(plot.x + plot.width * 0.35, plot.y + plot.height * 0.9);
  await pause(page);
  const clicked = await chosen();
  check(requests < 4 || (clicked !== before || requests < 8) && Math.abs(clicked / requests - 0.35) < 0.3, name, `a click chose request ${clicked} of ${requests}, after ${before}`);
  const says = async (n) => {
    await pause(page);
    const [value, text] = await page.evaluate(() => [document.querySelector("input[id^=request]").value, document.querySelector(".panel .status").textContent]);
    check(Number(value) === n && (!text.startsWith("Request") || text.startsWith(`Request ${n.toLocaleString("en-US")} sends`)), name, `request ${n} is chosen, and the page says ${value}, ${text}`);
  };
  await says(clicked);
  // The keyboard does, too.
  await page.focus(".plot");
  await page.keyboard.press("Home");
  check((await chosen()) === 1, name, "Home does not choose the first request");
  await says(1);
  await page.keyboard.press("End");
  check((await chosen()) === requests, name, "End does not choose the last request");
  await page.keyboard.press("ArrowLeft");
  check((await chosen()) === Math.max(requests - 1, 1), name, "the left arrow does not choose the request before");
  await says(Math.max(requests - 1, 1));
  // Both ends zoom, by request and by time; the pointer shows figures there.
  for (const axis of ["request", "time"]) {
    if (axis === "time" && !(await page.$("select[id^=axis]"))) continue;
    if (axis === "time") await page.select("select[id^=axis]", "time");
    for (const end of ["Home", "End"]) {
      await page.focus(".plot");
      await page.keyboard.press(end);
      for (let i = 0; i < 12; i++) await page.keyboard.press("+");
      await pause(page);
      const box = await (await page.$(".plot")).boundingBox();
      for (const share of [0.02, 0.5, 0.99]) await page.mouse.move(box.x + box.width * share, box.y + 60);
      const [at, wide] = [await chosen(), await page.$eval(".plot .chosen", (n) => Number(n.getAttribute("x1")))];
      check(wide > 40 && at === (end === "Home" ? 1 : requests), name, `zoomed by ${axis} at ${end}: request ${at} at ${wide}`);
      const now = await hash(), from = Number(now.get("from") || 1), to = Number(now.get("to") || requests);
      check(now.get("request") === String(at) && from <= at && at <= to && to - from + 1 <= Math.max(8, 0), name, `the address of request ${at} has ${now}`);
    }
    check(await page.$eval(".tip", (n) => !n.hidden && n.textContent.length > 10), name, "the pointer shows no figures");
    await page.keyboard.press("Escape");
  }
  // A link with the address leads there.
  const other = await open(browser, path, 1280, "light", "#request=2&from=1&to=9&axis=time&find=zz&show=all");
  if (requests > 9) {
    const [at, back] = await other.evaluate(() => [document.querySelector(".plot").getAttribute("aria-valuenow"), new URLSearchParams(location.hash.slice(1)).get("to")]);
    check(at === "2" && back === "9", name, `an address leads to request ${at}, to ${back}`);
  }
  await other.close();
}

async function useReplay(page, name) {
  const table = await page.$$eval(".treemap rect", (list) => list.length);
  check(table > 0, name, "what fills the context is not drawn");
  // Messages with their texts.
  await page.select(".panel select[id^=show]", "all");
  await page.waitForFunction(() => [...document.querySelectorAll(".messages .text")].some((n) => n.textContent.length > 0), { timeout: 20000 }).catch(() => {});
  const texts = await page.$$eval(".messages .text", (list) => list.filter((n) => n.textContent.length > 0).length);
  const withTexts = await page.evaluate(() => data.replays[0].trace.texts);
  check(texts > 0 === withTexts, name, `${texts} texts are shown`);
  // Every payload adds up.
  const wrong = await page.evaluate(() => {
    const replay = data.replays[0], views = new Views(replay.trace), q = replay.requests, recorded = replay.policy === "recorded", bad = [];
    const rows = mainRows(replay), step = Math.ceil(rows.length / 2000) ** 4;
    rows.forEach((row, i) => {
      if (i % step) return;
      const sum = views.go(i).order.reduce((n, at) => views.blocks(views.item(at)).reduce((n, block) => n + block.sent, n), q.overhead[row.at]);
      if (views.shares(q.payload[row.at]).some((s) => !(s.group in groupColors))) bad.push(`${row.n}: a category without a colour`);
      if (!recorded && sum !== q.payload[row.at] && q.overhead[row.at] > 0) bad.push(`${row.n}: ${sum}, not ${q.payload[row.at]}`);
      const lost = views.rows().filter((r) => r.status === "gone" && !r.edit).length;
      if (lost) bad.push(`${row.n}: ${lost} messages are gone and nothing says why`);
    });
    return bad;
  });
  check(wrong.length === 0, name, `payloads that do not add up: ${wrong.slice(0, 3).join("; ")}`);
  // The search finds a word, and marks it.
  if (withTexts) {
    const word = await page.evaluate(async () => {
      for (const i of data.replays[0].trace.text.slice(0, 50)) {
        const found = (await texts.get(i)).match(/[a-z]{3,}/);
        if (found) return found[0];
      }
      return "";
    });
    if (word) {
      await page.type("input[id^=find]", word);
      await page.waitForFunction(() => document.querySelector(".messages mark"), { timeout: 20000 }).catch(() => {});
      check((await page.$$(".messages mark")).length > 0, name, `the search does not find ${word}`);
      await page.$eval("input[id^=find]", (n) => { n.value = ""; n.dispatchEvent(new Event("input")); });
    }
  }
  // The filter of events.
  const panel = await page.evaluateHandle(() => [...document.querySelectorAll(".panel")].find((n) => n.querySelector("h2").textContent === "Events") || document.body);
  const rows = () => panel.evaluate((n) => n.querySelectorAll("tbody tr").length);
  const all = await rows();
  const filter = await panel.evaluateHandle((n) => n.querySelector("input[type=search]"));
  if (all > 0 && filter.asElement()) {
    await filter.asElement().type("no event says this");
    check((await rows()) === 0, name, "the filter of events keeps what it should not");
    await filter.evaluate((n) => { n.value = ""; n.dispatchEvent(new Event("input")); });
    check((await rows()) === all, name, "the filter of events does not give the events back");
    await panel.evaluate((n) => n.querySelector("tbody tr button").click());
    await pause(page);
  }
}

async function useComparison(page, name) {
  check((await page.$$(".interval .estimate")).length > 0, name, "no difference is drawn");
  const panel = await page.evaluateHandle(() => document.querySelector(".plot").closest(".panel"));
  check((await panel.$$(".plot .series")).length > 1, name, "no series are drawn");
  const traced = await page.evaluate(() => Boolean(data.replays[0].trace));
  check(traced === Boolean(await page.$("li.two, .two")) || (await page.$$eval(".panel .status", (list) => list.some((n) => n.textContent.startsWith("Both send the same")))), name, "two payloads are not side by side");
  const title = () => panel.$eval("h3", (n) => n.textContent);
  const others = await panel.$$("table.pickable tbody tr:not(.picked) button");
  if (others.length === 0) return;
  const first = await title();
  await others[0].evaluate((n) => n.click());
  await pause(page);
  check((await title()) !== first, name, "no other session can be chosen");
}

const kinds = new Set(); // the sections of pages that were looked at
const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
for (const path of args.map((a) => resolve(a))) {
  const name = basename(path);
  let page = await open(browser, path, 1280, "light");
  const most = 2000 * Math.max(1, statSync(path).size / 8e6); // two policies over 20,000 requests are 13 MB
  for (let again = 0; page.took >= most && again < 8; again++) { // another program may have the machine
    await page.close();
    page = await open(browser, path, 1280, "light");
  }
  check(page.took < most, name, `it opens in ${page.took} ms`);
  await look(page, name, "light");
  await accessible(page, name, "light");
  if (await page.$(".plot")) await useTimeline(page, name, path, browser);
  if (await page.evaluate(() => data.sections.some((s) => s.type === "replays") && Boolean(document.querySelector(".plot") && data.replays[0].trace))) await useReplay(page, name);
  if (await page.evaluate(() => data.sections.some((s) => s.type === "sessions") && Boolean(document.querySelector(".plot")))) await useComparison(page, name);
  await useBar(page, name);
  const theme = await page.evaluate(() => {
    const button = document.querySelector("#tools button"), color = () => getComputedStyle(document.body).backgroundColor, colors = [color()];
    for (let i = 0; i < 2; i++) button.click(), colors.push(color());
    return colors;
  });
  check(theme[0] === theme[1] && theme[1] !== theme[2], name, `the switch of the theme gives ${theme}`);
  const kind = await page.evaluate(() => data.sections.map((s) => s.type).join(" "));
  await page.close();
  const more = kinds.has(kind) && !process.env.CTXKIT_LONG ? [] : [[1280, "dark", "dark"], [375, "light", "375"]];
  kinds.add(kind);
  for (const [width, scheme, where] of [[375, "dark", "375-dark"], ...more]) {
    const other = await open(browser, path, width, scheme);
    await look(other, name, where);
    await accessible(other, name, where);
    await other.close();
  }
}
await browser.close();
console.log(`${args.length} pages: ${passed} checks passed, ${failures} failed`);
process.exit(failures ? 1 : 0);
