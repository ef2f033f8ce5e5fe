/* Draws the run. Texts come from models and candidates: they are set as text, never as markup. */

const ROW_HEIGHT = 28, MOST_DIFF_ROWS = 4000, FILE_PART = 1000;

/* ---- state ----------------------------------------------------------------------------------- */

const model = new Model();
const view = {
  order: "family",
  axis: "time",
  word: "",
  result: "",
  rows: [],
  selected: null,
  details: new Map(),
  roofFor: 0,
  drawn: -1,
  dirty: true,
  points: [],
  connected: true
};
let file = null;

let asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    draw();
  });
}

function draw() {
  if (!model.run) return;
  drawHead();
  if (view.dirty) {
    view.dirty = false;
    drawTiles();
    drawMix();
    drawModels();
    listRows();
    drawChart();
  }
  drawRows();
  askRoofline();
}

/* ---- head and tiles -------------------------------------------------------------------------- */

function isLive() { return model.run.state === "running"; }

/* The seconds of the run, without pauses before it was resumed. All times `t` count so, too. */
function elapsed() {
  const run = model.run;
  return run.seconds + (isLive() && !file ? Date.now() / 1000 - run.seenAt : 0);
}

function elapsedWords() { return isLive() ? seconds(Math.round(elapsed())) : seconds(elapsed()); }

function drawHead() {
  const run = model.run, state = byId("state");
  document.title =
      run.task + (run.bestSpeedup ? " " + times(run.bestSpeedup) : "") + " \u2013 kforge";
  byId("task").textContent = visible(run.task);
  const words = file && isLive() ? "running when this file was written" : run.state;
  state.textContent = view.connected ? words : "not connected";
  state.className = "badge" + (!view.connected ? " lost" : isLive() && !file ? " live" : "");
  byId("about").textContent = "Run " + run.id + " on " + visible(run.device) + ", begun " +
      new Date(run.started * 1000).toLocaleString() + ".";
  const time = byId("elapsed");
  if (time) time.textContent = elapsedWords();
}

function tile(value, name, id) {
  return make("div", {class: "tile"}, make("b", id ? {id} : {}, value), make("span", {}, name));
}

function drawTiles() {
  const run = model.run, tiles = [], judged = model.nodes.size;
  if (run.bestSpeedup) {
    const faster = run.bestSpeedup[0] > 1;
    const box = tile(
        times(run.bestSpeedup),
        (faster ? "best, c" : "not faster than the baseline: c") + run.best + " " +
            range(run.bestSpeedup) +
            (run.bestVerified ? ", measured twice" : ", not confirmed"));
    if (run.bestVerified && faster) box.querySelector("b").className = "good";
    tiles.push(box);
  } else {
    tiles.push(tile("-", "no correct candidate" + (isLive() ? " yet" : "")));
  }
  tiles.push(tile(count(model.attempts.length), "attempts"));
  const correct = Array.from(model.nodes.values()).filter(node => node.result === "correct").length;
  tiles.push(tile(count(correct) + " of " + count(judged), "candidates correct"));
  const calls = count(run.calls) + (run.calls === 1 ? " model call" : " model calls");
  if (run.calls) tiles.push(tile(cost(run.cost, run.unpriced), calls));
  tiles.push(tile(elapsedWords(), isLive() ? "so far" : "of time", "elapsed"));
  tiles.push(tile(seconds(run.deviceSeconds), "of devices"));
  byId("tiles").replaceChildren(...tiles);
}

/* ---- results --------------------------------------------------------------------------------- */

function drawMix() {
  const all = Array.from(model.results.entries()).sort((a, b) => b[1] - a[1]);
  const most = all.length ? all[0][1] : 1;
  const focused = document.activeElement && document.activeElement.dataset.result;
  byId("attempts").textContent = "of " + count(all.reduce((sum, [, n]) => sum + n, 0)) +
      " attempts, without second measurements; choose one to filter the list";
  byId("mix").replaceChildren(...all.map(([result, n]) => {
    const bar = make("span", {class: "bar " + classOf(result)});
    bar.style.width = 100 * n / most + "%";
    const button = make(
        "button",
        {type: "button", "data-result": result, "aria-pressed": String(view.result === result)},
        make("span", {class: "name"}, words(result)), bar,
        make("span", {class: "count"}, count(n)));
    button.addEventListener("click", () => {
      view.result = view.result === result ? "" : result;
      view.dirty = true;
      redraw();
    });
    return button;
  }));
  if (focused) {
    const again = byId("mix").querySelector("[data-result=\"" + CSS.escape(focused) + "\"]");
    if (again) again.focus();
  }
}

/* ---- models ---------------------------------------------------------------------------------- */

function median(values) {
  const sorted = values.slice().sort((a, b) => a - b);
  return sorted.length ? sorted[sorted.length >> 1] : undefined;
}

function drawModels() {
  const models = model.modelList(), section = byId("models");
  if (!models.length) return section.replaceChildren();
  const body = make("tbody");
  models.forEach(m => {
    const latest = make("span", {class: "calls", role: "img", "aria-label": "latest calls"});
    m.latest.forEach(call => latest.append(make("i", {
      class: call.outcome === "ok"     ? "good" :
          call.outcome === "truncated" ? "other" :
                                         "bad",
      title: "call " + call.id + ": " + call.outcome
    })));
    const outcomes =
        Array.from(m.outcomes).map(([name, n]) => count(n) + " " + words(name)).join(", ");
    body.append(make(
        "tr", {}, make("td", {}, visible(m.name)), make("td", {}, latest),
        make(
            "td", {},
            outcomes + (m.unusable ? ", " + count(m.unusable) + " without usable code" : "")),
        make("td", {class: "number", "data-label": "correct"}, count(m.correct)),
        make(
            "td", {class: "number", "data-label": "tokens in / out"},
            count(m.tokensIn) + " / " + count(m.tokensOut)),
        make(
            "td", {class: "number", "data-label": "median"},
            seconds(median(m.latest.map(call => call.seconds).filter(s => s !== undefined)))),
        make("td", {class: "number", "data-label": "cost"}, cost(m.cost, m.unpriced))));
    if (m.fault)
      body.append(make("tr", {}, make("td", {colspan: 7, class: "bad"}, visible(m.fault))));
  });
  const head = make(
      "tr", {},
      ...[["Model", ""], ["Latest calls", ""], ["Outcomes", ""], ["Correct", "number"],
          ["Tokens in / out", "number"], ["Median time", "number"], ["Cost", "number"]]
          .map(([name, kind]) => make("th", {scope: "col", class: kind}, name)));
  section.replaceChildren(
      make("h2", {}, "Models"),
      make(
          "div", {class: "scroll"},
          make("table", {class: "stacked"}, make("thead", {}, head), body)));
}

/* ---- the list -------------------------------------------------------------------------------- */

function textOf(row) {
  const a = row.attempt || row.node.first, node = row.node;
  return [
    "c" + (a.c || ""), a.by, a.step, a.text, a.flags,
    words(node && !row.attempt ? node.result : a.result)
  ].join(" ")
      .toLowerCase();
}

/* Makes the rows of the list in the chosen order. */
function listRows() {
  let rows = model[{family: "family", rank: "ranking", line: "line", log: "log"}[view.order]]();
  if (view.result) rows = rows.filter(row => (row.attempt || row.node).result === view.result);
  if (view.word) rows = rows.filter(row => textOf(row).includes(view.word));
  view.flat = Boolean(view.result || view.word);
  view.rows = rows;
  byId("rows").style.height = rows.length * ROW_HEIGHT + "px";
  byId("count").textContent = rows.length === 1 ? "1 row" : count(rows.length) + " rows";
  view.drawn = -1;
}

function isSame(row, other) {
  return Boolean(row && other) &&
      (row.attempt ? row.attempt === other.attempt : !other.attempt && row.node === other.node);
}

function makeRow(row, index) {
  const node = row.node, a = row.attempt || node.first,
        result = row.attempt ? a.result : node.result;
  const x = row.attempt ? a.x : node.x,
        verified = row.attempt ? a.outcome === "reverified" : node.verified;
  const label = make(
      "span", {}, make("i", {class: "mark " + classOf(result) + (verified ? " twice" : "")}),
      make(
          "span", {class: "id"},
          (row.attempt ? "#" + a.n + (a.c ? " " : "") : "") + (a.c ? "c" + a.c : "")),
      make(
          "span", {class: "origin"},
          " " + (result === "correct" ? "" : words(result) + " \u00b7 ") +
              (row.attempt && a.outcome === "reverified" ? "measured again" : words(a.step)) +
              (proposerOf(a) ? " \u00b7 " + visible(proposerOf(a)) : "") +
              (row.attempt && a.text ? " \u00b7 " + visible(a.text) :
                   a.flags           ? " \u00b7 " + visible(a.flags) :
                                       "")));
  const step = innerWidth < 640 ? 8 : 12, depth = view.flat ? 0 : Math.min(row.depth || 0, 14);
  label.style.paddingLeft = 4 + depth * step + "px";
  const element = make(
      "div", {
        class: "row" + (node && node.refuted ? " refuted" : "") +
            (node && node.id === model.run.best ? " top" : ""),
        role: "option",
        id: "row" + index,
        "aria-selected": String(isSame(row, view.selected))
      },
      label, make("span", {class: "value"}, x ? times(x) : ""),
      make("span", {class: "range"}, range(x)));
  element.style.top = index * ROW_HEIGHT + "px";
  element.addEventListener("click", () => select(row));
  return element;
}

/* Draws the rows in sight, and some above and below. */
function drawRows() {
  const list = byId("list"), first = Math.max(0, Math.floor(list.scrollTop / ROW_HEIGHT) - 8);
  const last = Math.min(view.rows.length, first + Math.ceil(list.clientHeight / ROW_HEIGHT) + 16);
  if (view.drawn === first) return;
  view.drawn = first;
  const rows = [];
  for (let i = first; i < last; i++) rows.push(makeRow(view.rows[i], i));
  byId("rows").replaceChildren(...rows);
  const at = view.rows.findIndex(row => isSame(row, view.selected));
  if (at >= first && at < last)
    list.setAttribute("aria-activedescendant", "row" + at);
  else
    list.removeAttribute("aria-activedescendant");
}

function reveal(index) {
  const list = byId("list"), top = index * ROW_HEIGHT;
  if (top < list.scrollTop)
    list.scrollTop = top;
  else if (top + ROW_HEIGHT > list.scrollTop + list.clientHeight)
    list.scrollTop = top + ROW_HEIGHT - list.clientHeight;
}

function moveBy(event) {
  const page = Math.max(1, Math.floor(byId("list").clientHeight / ROW_HEIGHT) - 1);
  const moves =
      {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};
  if (event.key === "Enter") return byId("detail").focus();
  if (!(event.key in moves) || !view.rows.length) return;
  event.preventDefault();
  const at = view.rows.findIndex(row => isSame(row, view.selected));
  const next = Math.min(view.rows.length - 1, Math.max(0, (at < 0 ? -1 : at) + moves[event.key]));
  select(view.rows[next]);
  reveal(next);
}

/* ---- news ------------------------------------------------------------------------------------ */

function pause(milliseconds) { return new Promise(done => setTimeout(done, milliseconds)); }

function take(news) {
  model.take(news);
  model.run.seenAt = Date.now() / 1000;
  view.dirty = true;
  redraw();
}

/* Takes the data of the file in parts, and draws between them. Then it opens the best. */
async function takeFile() {
  for (let i = 0; i === 0 || i < file.attempts.length; i += FILE_PART) {
    take(Object.assign(
        {}, file, {calls: i ? [] : file.calls, attempts: file.attempts.slice(i, i + FILE_PART)}));
    await pause(20);
  }
  byId("left").textContent =
      file.left ? "The texts of " + count(file.left) + " attempts are not in this file." : "";
  openNamed();
  if (!view.selected && model.best()) selectCandidate(model.run.best);
}

/* Asks for news again and again. */
async function follow() {
  for (;;) {
    const state = model.run ? "&state=" + encodeURIComponent(model.run.state) : "";
    try {
      const answer =
          await fetch("news?attempt=" + model.attempt + "&call=" + model.call + state + "&wait=25");
      if (!answer.ok) throw new Error(String(answer.status));
      const news = await answer.json();
      view.connected = true;
      take(news);
      await pause(news.more ? 0 : 100);
    } catch (error) {
      view.connected = false;
      redraw();
      await pause(3000);
    }
  }
}

/* Opens the candidate or attempt that the address names, once it is there. */
function openNamed() {
  const named = /^#([ca])(\d+)$/.exec(location.hash);
  if (!named || view.selected) return;
  if (named[1] === "c") return selectCandidate(Number(named[2]));
  const attempt = model.byNumber.get(Number(named[2]));
  if (attempt) select({attempt, node: model.nodes.get(attempt.c)});
}

/* Presses one button of a group. */
function choose(buttons, pressed) {
  buttons.forEach(button => button.setAttribute("aria-pressed", String(button === pressed)));
  view.dirty = true;
  redraw();
}

function listen() {
  const axes = Array.from(document.querySelectorAll("[data-axis]")),
        orders = Array.from(document.querySelectorAll("[data-order]"));
  axes.forEach(button => button.addEventListener("click", () => {
    view.axis = button.dataset.axis;
    choose(axes, button);
  }));
  orders.forEach(button => button.addEventListener("click", () => {
    view.order = button.dataset.order;
    byId("list").scrollTop = 0;
    choose(orders, button);
  }));
  byId("filter").addEventListener("input", event => {
    view.word = event.target.value.trim().toLowerCase();
    byId("list").scrollTop = 0;
    listRows();
    redraw();
  });
  byId("list").addEventListener("scroll", redraw, {passive: true});
  byId("list").addEventListener("keydown", moveBy);
  byId("chart").addEventListener("pointermove", event => {
    const node = nearest(event);
    byId("near").textContent =
        node ? "c" + node.id + " " + times(node.x) + " " + range(node.x) : "";
  });
  byId("chart").addEventListener("click", event => {
    const node = nearest(event);
    if (node) selectCandidate(node.id);
  });
  addEventListener("resize", () => {
    view.dirty = true;
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    view.dirty = true;
    redraw();
  });
  addEventListener("hashchange", openNamed);
}

addEventListener("DOMContentLoaded", () => {
  listen();
  file = JSON.parse(byId("data").textContent);
  if (file) return takeFile();
  follow();
  setInterval(() => {
    if (!model.run) return;
    openNamed();
    if (isLive()) redraw();
  }, 1000);
});
