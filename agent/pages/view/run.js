/* Draws the run. Texts come from models and candidates: they are set as text, never as markup. */

const ROW_HEIGHT = 28, MOST_DIFF_ROWS = 4000, FILE_PART = 1000;

function byId(id) { return document.getElementById(id); }

/* Makes an element: make("b", {class: "x"}, child, …). Children are elements or texts. */
function make(name, attributes, ...children) {
  const svg = ["svg", "path", "circle", "text", "title"].includes(name);
  const element = svg && name !== "title" ? document.createElementNS("http://www.w3.org/2000/svg", name)
                                          : document.createElement(name);
  Object.entries(attributes || {}).forEach(([key, value]) => element.setAttribute(key, value));
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

/* Marks characters that a reader can't see. */
function visible(text) {
  return text.replace(/[\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    c => "\u27e8U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + "\u27e9");
}

/* ---- figures --------------------------------------------------------------------------------- */

function digits(value) { return value >= 100 ? 0 : value >= 10 ? 1 : 2; }
function times(value) { return value.toFixed(value < 0.0995 ? 3 : digits(value)) + "x"; }
function range(x) {
  if (!x || x[1] === null || x[2] === null) return "";
  const n = x[0] < 0.0995 ? 3 : digits(x[0]);
  return "[" + x[1].toFixed(n) + ", " + x[2].toFixed(n) + "]";
}
function seconds(s) {
  if (s === undefined || s === null) return "-";
  if (s === 0) return "0 s";
  if (s >= 3600) return Math.floor(s / 3600) + " h " + Math.floor(s / 60 % 60) + " min";
  if (s >= 120) return Math.floor(s / 60) + " min " + Math.floor(s % 60) + " s";
  const unit = s >= 0.9995 ? ["s", 1] : s >= 0.9995e-3 ? ["ms", 1e3] : ["\u00b5s", 1e6], v = s * unit[1];
  return v.toFixed(v === 0 ? 0 : digits(v)) + " " + unit[0];
}
function money(usd) { return "$" + usd.toFixed(usd < 0.1 && usd > 0 ? 3 : 2); }
function count(n) { return n.toLocaleString("en"); }
function words(name) { return (name || "").replace(/_/g, " "); }

/* The class that colours a result. */
function classOf(result) {
  if (result === "correct") return "good";
  if (["wrong_result", "contract_violation", "crash", "timeout", "launch_failure"].includes(result)) return "bad";
  if (["cheating", "impossible"].includes(result)) return "odd";
  return result === "compile_error" ? "other" : "soft";
}

/* ---- state ----------------------------------------------------------------------------------- */

const model = new Model();
const view = {order: "family", axis: "time", word: "", result: "", rows: [], selected: null,
              details: new Map(), roofline: undefined, roofFor: 0, drawn: -1, dirty: true,
              points: [], connected: true};
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

function elapsed() {
  const run = model.run, end = run.ended || (isLive() ? run.now + (Date.now() / 1000 - run.seenAt) : run.updated);
  return Math.max(0, end - run.started);
}

function drawHead() {
  const run = model.run, state = byId("state");
  document.title = run.task + (run.bestSpeedup ? " " + times(run.bestSpeedup[0]) : "") + " \u2013 kforge";
  byId("task").textContent = visible(run.task);
  state.textContent = view.connected ? run.state : "not connected";
  state.className = "badge" + (!view.connected ? " lost" : isLive() ? " live" : "");
  byId("about").textContent = "Run " + run.id + " on " + visible(run.device) + ", begun " +
    new Date(run.started * 1000).toLocaleString() + ".";
  const time = byId("elapsed");
  if (time) time.textContent = seconds(Math.round(elapsed()));
}

function tile(value, name, id) {
  return make("div", {class: "tile"}, make("b", id ? {id} : {}, value), make("span", {}, name));
}

function drawTiles() {
  const run = model.run, tiles = [], judged = model.nodes.size;
  if (run.bestSpeedup) {
    const box = tile(times(run.bestSpeedup[0]) , "best, c" + run.best + " " + range(run.bestSpeedup) +
                     (run.bestVerified ? ", measured twice" : ", not confirmed"));
    if (run.bestVerified) box.querySelector("b").className = "good";
    tiles.push(box);
  } else {
    tiles.push(tile("-", "no correct candidate yet"));
  }
  tiles.push(tile(count(model.attempts.length), "attempts, " + count(judged) + " candidates"));
  tiles.push(tile(count(model.results.get("correct") || 0), "correct"));
  if (run.calls) tiles.push(tile(money(run.cost), count(run.calls) + " model calls"));
  tiles.push(tile(seconds(Math.round(elapsed())), isLive() ? "so far" : "of time", "elapsed"));
  tiles.push(tile(seconds(run.deviceSeconds), "of devices"));
  byId("tiles").replaceChildren(...tiles);
}

/* ---- best so far ----------------------------------------------------------------------------- */

/* Reads the colours of the page once for a drawing. */
function coloursOf() {
  const style = getComputedStyle(document.documentElement), colours = {};
  ["line", "soft", "mark", "accent", "accent-soft", "ink"].forEach(name => {
    colours[name] = style.getPropertyValue("--" + name).trim();
  });
  return colours;
}

/* Where a moment is on the chosen axis. */
function placeOf(t) { return view.axis === "time" ? t - model.run.started : model.costAt(t); }

/* Steps of an axis: 1, 2 or 5 times a power of ten. */
function stepsOf(high, most) {
  const raw = high / most, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].find(f => f * power >= raw) * power, ticks = [];
  for (let v = 0; v <= high * 1.0001; v += step) ticks.push(v);
  return ticks;
}

function speedTicks(low, high) {
  const all = [], factors = high / low > 30 ? [1] : high / low > 6 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 7];
  for (let power = -3; power < 6; power++)
    factors.forEach(f => all.push(f * Math.pow(10, power)));
  const within = all.filter(v => v >= low && v <= high);
  if (within.length > 1) return within;
  return [0, 1, 2, 3].map(i => low * Math.pow(high / low, i / 3));
}

/* The size of the chart and its scales. */
function frameOf(canvas) {
  const box = canvas.getBoundingClientRect(), scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(box.width * scale);
  canvas.height = Math.round(box.height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  let low = 1, high = 1;
  model.nodes.forEach(node => {
    if (!node.x || node.x[0] <= 0) return;
    low = Math.min(low, node.x[0]);
    high = Math.max(high, node.x[0]);
  });
  model.steps.forEach(step => { if (step.x && step.x[2]) high = Math.max(high, Math.min(step.x[2], step.x[0] * 2)); });
  /* Slow candidates lie at the lower edge, so that they leave the fast ones their room. */
  low = Math.max(low, high / 12) / 1.06;
  high = Math.max(high * 1.06, low * 1.25);
  const end = isLive() ? model.run.started + elapsed() : model.run.updated;
  const widest = Math.max(placeOf(end), 1e-6), left = 48, right = box.width - 10, top = 8, bottom = box.height - 26;
  return {context, left, right, top, bottom, low, high, widest, colours: coloursOf(),
          x: place => left + place / widest * (right - left),
          y: v => bottom - Math.log(Math.min(Math.max(v, low), high) / low) / Math.log(high / low) * (bottom - top)};
}

function drawAxes(f) {
  const c = f.context;
  c.font = "12px system-ui, sans-serif";
  c.lineWidth = 1;
  c.textAlign = "right";
  c.textBaseline = "middle";
  speedTicks(f.low, f.high).forEach(v => {
    c.strokeStyle = f.colours.line;
    c.beginPath();
    c.moveTo(f.left, f.y(v));
    c.lineTo(f.right, f.y(v));
    c.stroke();
    c.fillStyle = f.colours.soft;
    c.fillText(times(v), f.left - 6, f.y(v));
  });
  c.textAlign = "center";
  c.textBaseline = "alphabetic";
  const ticks = stepsOf(f.widest, Math.max(2, Math.floor((f.right - f.left) / 110)));
  ticks.forEach((v, i) => {
    if (i === ticks.length - 1 && i) c.textAlign = "right";
    c.fillText(view.axis === "time" ? (v ? seconds(v) : "0") : money(v), i ? Math.min(f.x(v) + 20, f.right) : f.left, f.bottom + 18);
  });
  c.strokeStyle = f.colours.mark;
  c.setLineDash([4, 3]);
  c.beginPath();
  c.moveTo(f.left, f.y(1));
  c.lineTo(f.right, f.y(1));
  c.stroke();
  c.setLineDash([]);
}

/* All candidates as dots. They are remembered for the pointer. */
function drawDots(f) {
  const c = f.context, small = model.nodes.size > 1500;
  view.points = [];
  c.globalAlpha = small ? 0.35 : 0.55;
  model.nodes.forEach(node => {
    if (!node.x) return;
    const x = f.x(placeOf(node.at)), y = f.y(node.x[0]);
    view.points.push({x, y, node});
    c.fillStyle = f.colours.soft;
    if (small) {
      c.fillRect(x - 1, y - 1, 2.2, 2.2);
    } else {
      c.beginPath();
      c.arc(x, y, 2.6, 0, 7);
      c.fill();
    }
  });
  c.globalAlpha = 1;
}

function drawSteps(f) {
  const c = f.context, steps = model.steps;
  steps.forEach((step, i) => {
    if (!step.x) return;
    const from = f.x(placeOf(step.t)), to = i + 1 < steps.length ? f.x(placeOf(steps[i + 1].t)) : f.x(f.widest);
    if (step.x[1] !== null && step.x[2] !== null) {
      c.fillStyle = f.colours["accent-soft"];
      c.globalAlpha = 0.8;
      c.fillRect(from, f.y(step.x[2]), Math.max(to - from, 1), Math.max(f.y(step.x[1]) - f.y(step.x[2]), 1));
      c.globalAlpha = 1;
    }
  });
  let before = null;
  steps.forEach((step, i) => {
    if (!step.x) { before = null; return; }
    const from = f.x(placeOf(step.t)), to = i + 1 < steps.length ? f.x(placeOf(steps[i + 1].t)) : f.x(f.widest), y = f.y(step.x[0]);
    c.strokeStyle = step.verified ? f.colours.accent : f.colours.mark;
    c.lineWidth = 2.4;
    c.setLineDash(step.verified ? [] : [6, 4]);
    c.beginPath();
    if (before !== null) c.moveTo(from, before); else c.moveTo(from, y);
    c.lineTo(from, y);
    c.lineTo(Math.max(to, from + 1), y);
    c.stroke();
    before = y;
  });
  c.setLineDash([]);
}

function drawChart() {
  const canvas = byId("chart"), f = frameOf(canvas), run = model.run;
  drawDots(f);
  drawAxes(f);
  drawSteps(f);
  if (view.selected && view.selected.node && view.selected.node.x) {
    const node = view.selected.node;
    f.context.strokeStyle = f.colours.ink;
    f.context.lineWidth = 2;
    f.context.beginPath();
    f.context.arc(f.x(placeOf(node.at)), f.y(node.x[0]), 6, 0, 7);
    f.context.stroke();
  }
  canvas.setAttribute("aria-label", run.bestSpeedup
    ? "Best so far: " + times(run.bestSpeedup[0]) + " " + range(run.bestSpeedup) + " after " + seconds(Math.round(elapsed()))
    : "No correct candidate yet");
}

function nearest(event) {
  const box = byId("chart").getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  let best = null, least = 400;
  view.points.forEach(p => {
    const d = (p.x - x) * (p.x - x) + (p.y - y) * (p.y - y);
    if (d < least) least = d, best = p.node;
  });
  return best;
}

/* ---- results --------------------------------------------------------------------------------- */

function drawMix() {
  const all = Array.from(model.results.entries()).sort((a, b) => b[1] - a[1]);
  const most = all.length ? all[0][1] : 1;
  const focused = document.activeElement && document.activeElement.dataset.result;
  byId("mix").replaceChildren(...all.map(([result, n]) => {
    const bar = make("span", {class: "bar " + classOf(result)});
    bar.style.width = 100 * n / most + "%";
    const button = make("button", {type: "button", "data-result": result, "aria-pressed": String(view.result === result)},
      make("span", {class: "name"}, words(result)), bar, make("span", {class: "count"}, count(n)));
    button.addEventListener("click", () => {
      view.result = view.result === result ? "" : result;
      view.dirty = true;
      redraw();
    });
    return button;
  }));
  if (focused) {
    const again = byId("mix").querySelector('[data-result="' + CSS.escape(focused) + '"]');
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
    m.latest.forEach(call => latest.append(
      make("i", {class: call.outcome === "ok" ? "good" : call.outcome === "truncated" ? "other" : "bad",
                 title: "call " + call.id + ": " + call.outcome})));
    const outcomes = Array.from(m.outcomes).map(([name, n]) => count(n) + " " + words(name)).join(", ");
    body.append(make("tr", {},
      make("td", {}, visible(m.name)), make("td", {}, latest),
      make("td", {}, outcomes + (m.unusable ? ", " + count(m.unusable) + " without usable code" : "")),
      make("td", {class: "number", "data-label": "correct"}, count(m.correct)),
      make("td", {class: "number", "data-label": "tokens in / out"}, count(m.tokensIn) + " / " + count(m.tokensOut)),
      make("td", {class: "number", "data-label": "median"}, seconds(median(m.latest.map(call => call.seconds).filter(s => s !== undefined)))),
      make("td", {class: "number", "data-label": "cost"}, money(m.cost))));
    if (m.fault) body.append(make("tr", {}, make("td", {colspan: 7, class: "bad"}, visible(m.fault))));
  });
  const head = make("tr", {}, ...[["Model", ""], ["Latest calls", ""], ["Outcomes", ""], ["Correct", "number"],
    ["Tokens in / out", "number"], ["Median time", "number"], ["Cost", "number"]]
    .map(([name, kind]) => make("th", {scope: "col", class: kind}, name)));
  section.replaceChildren(make("h2", {}, "Models"),
    make("div", {class: "scroll"}, make("table", {class: "stacked"}, make("thead", {}, head), body)));
}

/* ---- the list -------------------------------------------------------------------------------- */

function textOf(row) {
  const a = row.attempt || row.node.first, node = row.node;
  return ["c" + (a.c || ""), a.by, a.step, a.text, a.flags, words(node && !row.attempt ? node.result : a.result)]
    .join(" ").toLowerCase();
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
  return Boolean(row && other) && (row.attempt ? row.attempt === other.attempt : !other.attempt && row.node === other.node);
}

function makeRow(row, index) {
  const node = row.node, a = row.attempt || node.first, result = row.attempt ? a.result : node.result;
  const x = row.attempt ? a.x : node.x, verified = row.attempt ? a.outcome === "reverified" : node.verified;
  const label = make("span", {},
    make("i", {class: "mark " + classOf(result) + (verified ? " twice" : "")}),
    make("span", {class: "id"}, (row.attempt ? "#" + a.n + (a.c ? " " : "") : "") + (a.c ? "c" + a.c : "")),
    make("span", {class: "who"}, " " + (result === "correct" ? "" : words(result) + " \u00b7 ") +
      (row.attempt && a.outcome === "reverified" ? "measured again" : words(a.step)) + " \u00b7 " + visible(a.by || "") +
      (row.attempt && a.text ? " \u00b7 " + visible(a.text) : a.flags ? " \u00b7 " + visible(a.flags) : "")));
  label.style.paddingLeft = (view.flat ? 0 : Math.min(row.depth || 0, 14) * (innerWidth < 640 ? 8 : 12)) + "px";
  const element = make("div", {class: "row" + (node && node.refuted ? " refuted" : "") + (node && node.id === model.run.best ? " top" : ""),
      role: "option", id: "row" + index, "aria-selected": String(isSame(row, view.selected))},
    label, make("span", {class: "value"}, x ? times(x[0]) : ""), make("span", {class: "range"}, range(x)));
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
  if (at >= first && at < last) list.setAttribute("aria-activedescendant", "row" + at);
  else list.removeAttribute("aria-activedescendant");
}

function reveal(index) {
  const list = byId("list"), top = index * ROW_HEIGHT;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW_HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW_HEIGHT - list.clientHeight;
}

function moveBy(event) {
  const page = Math.max(1, Math.floor(byId("list").clientHeight / ROW_HEIGHT) - 1);
  const moves = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};
  if (event.key === "Enter") return byId("detail").focus();
  if (!(event.key in moves) || !view.rows.length) return;
  event.preventDefault();
  const at = view.rows.findIndex(row => isSame(row, view.selected));
  const next = Math.min(view.rows.length - 1, Math.max(0, (at < 0 ? -1 : at) + moves[event.key]));
  select(view.rows[next]);
  reveal(next);
}

/* ---- the detail ------------------------------------------------------------------------------ */

function select(row) {
  view.selected = row;
  view.drawn = -1;
  const a = row.attempt || row.node.first;
  history.replaceState(null, "", "#" + (row.attempt ? "a" + a.n : "c" + row.node.id));
  drawChart();
  redraw();
  showDetail(row);
}

function selectCandidate(id) {
  const node = model.nodes.get(id);
  if (!node) return;
  select({node, depth: 0});
  const at = view.rows.findIndex(row => row.node === node);
  if (at >= 0) reveal(at);
}

/* Gets the texts of an attempt: from the file, or once from the server. */
function detailOf(number) {
  if (file) {
    if (!file.details) file.details = JSON.parse(byId("details").textContent);
    return Promise.resolve(file.details[number] || null);
  }
  if (!view.details.has(number)) {
    if (view.details.size > 200) view.details.clear();
    view.details.set(number, fetch("attempts/" + number).then(answer => {
      if (!answer.ok) throw new Error("the server answers " + answer.status);
      return answer.json();
    }));
  }
  return view.details.get(number);
}

function showDetail(row) {
  const a = row.attempt && !row.node ? row.attempt : row.node.first;
  detailOf(a.n).then(detail => {
    if (view.selected === row) drawDetail(row, a, detail);
  }, error => {
    view.details.delete(a.n);
    if (view.selected === row) byId("detail").replaceChildren(make("p", {class: "bad"}, "The texts of this attempt can't be read: " + error.message));
  });
}

function link(node) {
  const anchor = make("a", {href: "#c" + node.id}, "c" + node.id + (node.x ? " " + times(node.x[0]) : ""));
  anchor.addEventListener("click", event => {
    event.preventDefault();
    selectCandidate(node.id);
  });
  return anchor;
}

function textBlock(text) { return make("pre", {class: "text"}, visible(text)); }

function sourceBlock(text) {
  const lines = visible(text).replace(/\n$/, ""), n = lines.split("\n").length;
  return make("div", {class: "numbered"},
    make("pre", {class: "numbers", "aria-hidden": "true"}, Array.from({length: n}, (_, i) => i + 1).join("\n")),
    make("pre", {class: "lines"}, lines));
}

function diffTable(diff, parent, child) {
  const rows = sideBySide(diff), narrow = innerWidth < 640;
  if (!rows.length) return make("p", {class: "soft"}, "The sources are equal; the flags or the values differ.");
  const cell = (kind, text) => make("td", {class: kind}, text === undefined ? "" : visible(text));
  const body = make("tbody");
  rows.slice(0, MOST_DIFF_ROWS).forEach(row => {
    const changed = row.kind === "change";
    if (row.kind === "gap") {
      body.append(make("tr", {class: "gap"}, make("td", {colspan: narrow ? 2 : 4}, row.left)));
    } else if (!narrow) {
      body.append(make("tr", {}, cell("line", String(row.leftLine)), cell(changed && row.left !== undefined ? "gone" : "", row.left),
        cell("line", String(row.rightLine)), cell(changed && row.right !== undefined ? "came" : "", row.right)));
    } else {
      if (row.left !== undefined) body.append(make("tr", {}, cell("line", String(row.leftLine)), cell(changed ? "gone" : "", (changed ? "\u2212 " : "  ") + row.left)));
      if (changed && row.right !== undefined) body.append(make("tr", {}, cell("line", String(row.rightLine)), cell("came", "+ " + row.right)));
    }
  });
  const columns = narrow ? [["line"], [""]] : [["line"], [""], ["line"], [""]];
  return make("table", {class: "diff"},
    make("caption", {class: "soft"}, parent + " \u2192 " + child + (rows.length > MOST_DIFF_ROWS ? ", its first lines" : "")),
    make("colgroup", {}, ...columns.map(([kind]) => make("col", kind ? {class: kind} : {}))), body);
}

function verdictBlock(verdict) {
  const box = make("div");
  box.append(make("p", {}, make("span", {class: "status " + classOf(verdict.status)}, words(verdict.status)),
    (verdict.message ? ": " + visible(verdict.message) : "")));
  if (verdict.workloads.length) {
    const body = make("tbody");
    verdict.workloads.forEach(w => body.append(make("tr", {}, make("td", {}, visible(w.name || "")),
      make("td", {class: classOf(w.status)}, words(w.status)),
      make("td", {class: "number"}, w.x ? times(w.x[0]) : "-", w.x ? make("small", {}, range(w.x)) : null),
      make("td", {class: "number"}, seconds(w.baseline)), make("td", {class: "number"}, seconds(w.candidate)),
      make("td", {class: "number minor"}, w.floor && w.candidate ? Math.round(100 * w.floor / w.candidate) + " %" : "-"))));
    box.append(make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {},
      ...[["Workload", ""], ["Status", ""], ["Speedup", "number"], ["Baseline", "number"], ["Candidate", "number"], ["Of the limit", "number minor"]]
        .map(([name, kind]) => make("th", {scope: "col", class: kind}, name)))), body)));
  }
  if (verdict.findings.length) {
    const list = make("ul");
    verdict.findings.forEach(f => list.append(make("li", {}, make("code", {}, f.rule || ""),
      " " + (f.workload ? visible(f.workload) + ": " : "") + visible(f.text || "") +
      (f.measured !== undefined ? " (measured " + f.measured.toPrecision(4) + (f.limit !== undefined ? ", limit " + f.limit.toPrecision(4) : "") + ")" : ""))));
    box.append(make("h4", {}, "Findings"), list);
  }
  if (verdict.flags.length) box.append(make("p", {class: "facts"}, "Flags: " + visible(verdict.flags.join(", "))));
  if (verdict.log) box.append(make("h4", {}, "Compiler"), textBlock(verdict.log));
  return box;
}

/* The parts of a detail that exist: [name, function that makes it]. */
function partsOf(a, detail) {
  const parts = [];
  if (!detail) return parts;
  if (detail.parents && detail.parents.length)
    parts.push(["Change", () => make("div", {}, ...detail.parents.map(p => diffTable(p.diff || "", "c" + p.c, "c" + detail.c)))]);
  if (detail.source !== undefined) parts.push(["Source", () => sourceBlock(detail.source)]);
  if (detail.verdict) parts.push(["Verdict", () => verdictBlock(detail.verdict)]);
  if (detail.reply !== undefined) parts.push(["Reply", () => textBlock(detail.reply)]);
  if (detail.prompt !== undefined)
    parts.push(["Prompt", () => make("div", {}, textBlock(detail.prompt),
      detail.system ? make("details", {}, make("summary", {}, "System prompt"), textBlock(detail.system)) : null)]);
  return parts;
}

function drawDetail(row, a, detail) {
  const node = row.node, parts = partsOf(a, detail), box = byId("detail"), content = make("div", {role: "tabpanel"});
  const shown = row.attempt && !node ? a.result : node.result, x = node ? node.x : null;
  const call = model.callById.get(a.call);
  const facts = ["attempt " + a.n, words(a.step), "by " + visible(a.by || "?"),
                 "after " + seconds(Math.round(a.t - model.run.started))];
  if (call) facts.push("call " + call.id + (call.cost ? " for " + money(call.cost) : ""));
  if (detail && detail.flags) facts.push(visible(detail.flags));
  const relatives = make("p", {class: "facts"});
  if (node && node.parent) relatives.append("from ", link(node.parent), " ");
  if (node && node.children.length) {
    relatives.append("parent of ");
    node.children.slice(0, 12).forEach((child, i) => relatives.append(i ? ", " : "", link(child)));
    if (node.children.length > 12) relatives.append(" and " + (node.children.length - 12) + " more");
  }
  const tabs = make("div", {class: "choice", role: "tablist"});
  const open = name => {
    view.part = name;
    Array.from(tabs.children).forEach(tab => tab.setAttribute("aria-selected", String(tab.textContent === name)));
    content.replaceChildren(parts.find(part => part[0] === name)[1]());
  };
  parts.forEach(([name]) => {
    const tab = make("button", {type: "button", role: "tab", "aria-selected": "false"}, name);
    tab.addEventListener("click", () => open(name));
    tabs.append(tab);
  });
  box.replaceChildren(
    make("h3", {}, (a.c ? "c" + a.c : "Attempt " + a.n) + " ", make("span", {class: "status " + classOf(shown)}, words(shown)),
      x ? " " + times(x[0]) + " " + range(x) + (node.verified ? ", measured twice" : "") : ""),
    make("p", {class: "facts"}, facts.join(" \u00b7 ")));
  if (node && node.refuted) box.append(make("p", {class: "bad"}, "Measuring again did not confirm its first speedup."));
  if (relatives.childNodes.length) box.append(relatives);
  if (a.text) box.append(make("p", {}, visible(a.text)));
  if (!detail) box.append(make("p", {class: "soft"}, "This file leaves out its texts; \"kforge show " + (a.c ? "c" + a.c : model.run.id) + "\" prints them."));
  if (detail && detail.cut) box.append(make("p", {class: "soft"}, "Its longest text is cut."));
  if (!parts.length) return;
  box.append(tabs, content);
  open(parts.some(part => part[0] === view.part) ? view.part : parts[0][0]);
  box.scrollTop = 0;
}

/* ---- the roofline ---------------------------------------------------------------------------- */

function askRoofline() {
  const best = model.run.best || 0;
  if (view.roofFor === best) return;
  view.roofFor = best;
  if (file) return drawRoofline(file.roofline);
  fetch("roofline").then(answer => answer.json()).then(drawRoofline, () => { view.roofFor = -1; });
}

function rate(perSecond, unit) {
  const scale = perSecond >= 1e12 ? [1e12, "T"] : perSecond >= 1e9 ? [1e9, "G"] : [1e6, "M"];
  return (perSecond / scale[0]).toPrecision(3) + " " + scale[1] + unit;
}

function roofChart(roof) {
  const points = roof.points.filter(p => p.flops > 0 && p.bytes > 0);
  if (!points.length) return null;
  const at = p => Math.log10(p.flops / p.bytes), up = (p, s) => Math.log10(p.flops / s), width = 560, height = 320;
  const xs = points.map(at), ys = points.flatMap(p => [up(p, p.seconds), up(p, p.baseline || p.seconds)]);
  const ridge = roof.bandwidth && roof.peak ? Math.log10(roof.peak / roof.bandwidth) : null;
  const lowX = Math.floor(Math.min(...xs) - 0.3), highX = Math.ceil(Math.max(...xs, ridge === null ? -9 : ridge) + 0.3);
  const roofY = x => Math.min(roof.bandwidth ? x + Math.log10(roof.bandwidth) : Infinity, roof.peak ? Math.log10(roof.peak) : Infinity);
  const tops = [lowX, highX].map(roofY).filter(isFinite);
  const lowY = Math.floor(Math.min(...ys) - 0.1), highY = Math.ceil(Math.max(...ys, roof.peak ? Math.log10(roof.peak) : Math.max(...ys) + 0.5, tops.length ? Math.min(...tops) : -9) + 0.1);
  const x = v => 56 + (v - lowX) / (highX - lowX) * (width - 70), y = v => height - 40 - (v - lowY) / (highY - lowY) * (height - 56);
  const svg = make("svg", {viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": "Roofline"});
  const power = v => v >= 0 ? ["1", "10", "100"][v % 3] + ["", "k", "M", "G", "T", "P"][Math.floor(v / 3)] : String(Math.pow(10, v));
  for (let v = lowX; v <= highX; v++)
    svg.append(make("path", {class: "grid", d: "M" + x(v) + " 16V" + (height - 40)}), make("text", {x: x(v), y: height - 22, "text-anchor": "middle"}, power(v)));
  for (let v = lowY; v <= highY; v++)
    svg.append(make("path", {class: "grid", d: "M56 " + y(v) + "H" + (width - 14)}), make("text", {x: 50, y: y(v) + 4, "text-anchor": "end"}, power(v)));
  svg.append(make("text", {x: width / 2, y: height - 4, "text-anchor": "middle"}, "operations a byte"));
  if (roof.bandwidth) {
    const shift = Math.log10(roof.bandwidth), from = Math.max(lowX, lowY - shift), to = Math.min(ridge === null ? highX : Math.min(ridge, highX), highY - shift);
    if (from < to) svg.append(make("path", {class: "roof", d: "M" + x(from) + " " + y(from + shift) + "L" + x(to) + " " + y(to + shift)}),
      make("text", {x: x(from + (to - from) * 0.12), y: y(from + (to - from) * 0.12 + shift) + 20}, "memory " + rate(roof.bandwidth, "B/s")));
  }
  if (roof.peak) svg.append(make("path", {class: "roof", d: "M" + x(Math.max(lowX, ridge === null ? lowX : ridge)) + " " + y(Math.log10(roof.peak)) + "H" + (width - 14)}),
    make("text", {x: width - 16, y: y(Math.log10(roof.peak)) - 7, "text-anchor": "end"}, "arithmetic " + rate(roof.peak, "FLOP/s")));
  points.forEach(p => {
    if (p.baseline) svg.append(make("circle", {class: "dot base", cx: x(at(p)), cy: y(up(p, p.baseline)), r: 4}));
    svg.append(make("circle", {class: "dot", cx: x(at(p)), cy: y(up(p, p.seconds)), r: 5}),
      make("text", {x: x(at(p)) + 8, y: y(up(p, p.seconds)) + 4}, String(roof.points.indexOf(p) + 1)));
  });
  return make("figure", {}, make("figcaption", {}, make("b", {}, "Roofline"), " operations a second over operations a byte; hollow: the baseline"), svg);
}

function drawRoofline(roof) {
  const section = byId("roofline");
  if (!roof || !roof.points || !roof.points.length) return section.replaceChildren();
  const body = make("tbody");
  roof.points.forEach((p, i) => {
    const share = p.floor && p.seconds ? p.floor / p.seconds : null, cell = make("td", {class: "number"}, "-");
    if (share !== null) {
      const bar = make("i");
      bar.style.width = Math.min(100, 100 * share) + "%";
      cell.replaceChildren(make("span", {class: "meter"}, bar), " " + Math.round(100 * share) + " %");
    }
    body.append(make("tr", {}, make("td", {class: "number"}, String(i + 1)), make("td", {}, visible(p.name || "")), make("td", {class: "number"}, seconds(p.seconds)),
      make("td", {class: "number minor"}, seconds(p.baseline)), make("td", {class: "number minor"}, p.bytes ? rate(p.bytes / p.seconds, "B/s") : "-"), cell));
  });
  const table = make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {},
    ...[["#", "number"], ["Workload", ""], ["Time", "number"], ["Baseline", "number minor"], ["Traffic", "number minor"], ["Of the limit", "number"]]
      .map(([name, kind]) => make("th", {scope: "col", class: kind}, name)))), body));
  const chart = roofChart(roof);
  section.replaceChildren(make("h2", {}, "Limits of the device, c" + roof.c), chart ? make("div", {class: "pair"}, table, chart) : table);
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
    take(Object.assign({}, file, {calls: i ? [] : file.calls, attempts: file.attempts.slice(i, i + FILE_PART)}));
    await pause(20);
  }
  byId("left").textContent = file.left ? "The texts of " + count(file.left) + " attempts are not in this file." : "";
  openNamed();
  if (!view.selected && model.best()) selectCandidate(model.run.best);
}

/* Asks for what is new, again and again. */
async function follow() {
  for (;;) {
    const state = model.run ? "&state=" + encodeURIComponent(model.run.state) : "";
    try {
      const answer = await fetch("news?attempt=" + model.attempt + "&call=" + model.call + state + "&wait=25");
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

/* Opens what the address names, once it is there. */
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
  const axes = Array.from(document.querySelectorAll("[data-axis]")), orders = Array.from(document.querySelectorAll("[data-order]"));
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
    byId("near").textContent = node ? "c" + node.id + " " + times(node.x[0]) + " " + range(node.x) : "";
  });
  byId("chart").addEventListener("click", event => {
    const node = nearest(event);
    if (node) selectCandidate(node.id);
  });
  addEventListener("resize", () => { view.dirty = true; redraw(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { view.dirty = true; redraw(); });
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
