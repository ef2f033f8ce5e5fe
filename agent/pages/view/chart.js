/* The charts: the best so far on a canvas, the roofline as SVG. */

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
function placeOf(t) { return view.axis === "time" ? t : model.costAt(t); }

/* Steps of an axis: 1, 2 or 5 times a power of ten. */
function stepsOf(high, most) {
  const raw = high / most, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].find(f => f * power >= raw) * power, ticks = [];
  for (let v = 0; v <= high * 1.0001; v += step) ticks.push(v);
  return ticks;
}

function speedTicks(low, high) {
  const all = [],
        factors = high / low > 30 ? [1] :
      high / low > 6              ? [1, 2, 5] :
                                    [1, 1.5, 2, 3, 4, 5, 7];
  for (let power = -3; power < 6; power++) factors.forEach(f => all.push(f * Math.pow(10, power)));
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
  model.steps.forEach(step => {
    if (step.x && step.x[2]) high = Math.max(high, Math.min(step.x[2], step.x[0] * 2));
  });
  /* Slow candidates lie at the lower edge, so that they leave the fast ones their room. */
  low = Math.max(low, high / 12) / 1.06;
  high = Math.max(high * 1.06, low * 1.25);
  const widest = Math.max(placeOf(elapsed()), 1e-6), left = 48, right = box.width - 10, top = 8,
        bottom = box.height - 26;
  return {
    context,
    left,
    right,
    top,
    bottom,
    low,
    high,
    widest,
    colours: coloursOf(),
    x: place => left + place / widest * (right - left),
    y: v => bottom -
        Math.log(Math.min(Math.max(v, low), high) / low) / Math.log(high / low) * (bottom - top)
  };
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
    c.fillText(times([v]), f.left - 6, f.y(v));
  });
  c.textAlign = "center";
  c.textBaseline = "alphabetic";
  const ticks = stepsOf(f.widest, Math.max(2, Math.floor((f.right - f.left) / 110)));
  ticks.forEach(v => {
    const text = view.axis === "money" ? money(v) : v ? seconds(v) : "0";
    c.fillText(text, Math.min(f.x(v), f.right - c.measureText(text).width / 2), f.bottom + 18);
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

function hasInterval(step) { return step.x && step.x[1] !== null && step.x[2] !== null; }

/* True for an interval that does not end within the chart, above or below. */
function isCut(x, f) { return x[2] > f.high * 1.0001 || x[1] < f.low / 1.0001; }

/* Marks where an interval goes on beyond the chart, with its limit if there is room. */
function drawCut(f, step, from, to) {
  const c = f.context, x = Math.min((from + to) / 2, f.right - 8);
  const mark = (sign, limit, y) => {
    const text = sign + " " + limit.toFixed(decimalsOf(step.x)) + "x";
    const fits = c.measureText(text).width < to - from;
    c.fillText(fits ? text : sign, x, y);
  };
  c.textAlign = "center";
  c.fillStyle = f.colours.ink;
  if (step.x[2] > f.high * 1.0001) mark("\u25b2", step.x[2], f.top + 12);
  if (step.x[1] < f.low / 1.0001) mark("\u25bc", step.x[1], f.bottom - 4);
}

function drawSteps(f) {
  const c = f.context, steps = model.steps;
  byId("cut").hidden = !steps.some(step => hasInterval(step) && isCut(step.x, f));
  steps.forEach((step, i) => {
    if (!step.x) return;
    const from = f.x(placeOf(step.t)),
          to = i + 1 < steps.length ? f.x(placeOf(steps[i + 1].t)) : f.x(f.widest);
    if (hasInterval(step)) {
      c.fillStyle = f.colours["accent-soft"];
      c.globalAlpha = 0.8;
      c.fillRect(
          from, f.y(step.x[2]), Math.max(to - from, 1),
          Math.max(f.y(step.x[1]) - f.y(step.x[2]), 1));
      c.globalAlpha = 1;
      drawCut(f, step, from, to);
    }
  });
  let before = null;
  steps.forEach((step, i) => {
    if (!step.x) {
      before = null;
      return;
    }
    const from = f.x(placeOf(step.t)),
          to = i + 1 < steps.length ? f.x(placeOf(steps[i + 1].t)) : f.x(f.widest),
          y = f.y(step.x[0]);
    c.strokeStyle = step.verified ? f.colours.accent : f.colours.mark;
    c.lineWidth = 2.4;
    c.setLineDash(step.verified ? [] : [6, 4]);
    c.beginPath();
    if (before !== null)
      c.moveTo(from, before);
    else
      c.moveTo(from, y);
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
  canvas.setAttribute(
      "aria-label",
      run.bestSpeedup ? "Best so far: " + times(run.bestSpeedup) + " " + range(run.bestSpeedup) +
              " after " + seconds(Math.round(elapsed())) :
                        "No correct candidate");
}

function nearest(event) {
  const box = byId("chart").getBoundingClientRect(), x = event.clientX - box.left,
        y = event.clientY - box.top;
  let best = null, least = 400;
  view.points.forEach(p => {
    const d = (p.x - x) * (p.x - x) + (p.y - y) * (p.y - y);
    if (d < least) least = d, best = p.node;
  });
  return best;
}

/* ---- the roofline ---------------------------------------------------------------------------- */

function askRoofline() {
  const best = model.run.best || 0;
  if (view.roofFor === best) return;
  view.roofFor = best;
  if (file) return drawRoofline(file.roofline);
  fetch("roofline").then(answer => answer.json()).then(drawRoofline, () => {
    view.roofFor = -1;
  });
}

function rate(perSecond, unit) {
  const scale = perSecond >= 1e12 ? [1e12, "T"] : perSecond >= 1e9 ? [1e9, "G"] : [1e6, "M"];
  return (perSecond / scale[0]).toPrecision(3) + " " + scale[1] + unit;
}

/* Adds the number of a point. Points with labels that would touch share one. */
function addLabel(labels, x, y, number) {
  const width = text => 7.5 * text.length;
  const near = labels.find(
      label => x < label.x + width(textOfLabel(label)) && label.x < x + width(String(number)) &&
          Math.abs(y - label.y) < 13);
  if (near)
    near.numbers.push(number);
  else
    labels.push({x, y, numbers: [number]});
}

function textOfLabel(label) {
  const more = label.numbers.length - 3;
  return label.numbers.slice(0, 3).join(", ") + (more > 0 ? " +" + more : "");
}

function roofChart(roof) {
  const points = roof.points.filter(p => p.flops > 0 && p.bytes > 0);
  if (!points.length) return null;
  const at = p => Math.log10(p.flops / p.bytes), up = (p, s) => Math.log10(p.flops / s),
        width = 560, height = 330;
  const xs = points.map(at),
        ys = points.flatMap(p => [up(p, p.seconds), up(p, p.baseline || p.seconds)]);
  const ridge = roof.bandwidth && roof.peak ? Math.log10(roof.peak / roof.bandwidth) : null;
  const lowX = Math.floor(Math.min(...xs) - 0.3),
        highX = Math.ceil(Math.max(...xs, ridge === null ? -9 : ridge) + 0.3);
  const roofY = x => Math.min(
      roof.bandwidth ? x + Math.log10(roof.bandwidth) : Infinity,
      roof.peak ? Math.log10(roof.peak) : Infinity);
  const tops = [lowX, highX].map(roofY).filter(isFinite);
  const lowY = Math.floor(Math.min(...ys) - 0.1),
        highY = Math.ceil(
            Math.max(
                ...ys, roof.peak ? Math.log10(roof.peak) : Math.max(...ys) + 0.5,
                tops.length ? Math.min(...tops) : -9) +
            0.1);
  const x = v => 56 + (v - lowX) / (highX - lowX) * (width - 70),
        y = v => height - 50 - (v - lowY) / (highY - lowY) * (height - 66);
  const svg =
      make("svg", {viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": "Roofline"});
  const power = v => v >= 0 ?
      ["1", "10", "100"][v % 3] + ["", "k", "M", "G", "T", "P"][Math.floor(v / 3)] :
      String(Math.pow(10, v));
  for (let v = lowX; v <= highX; v++)
    svg.append(
        make("path", {class: "grid", d: "M" + x(v) + " 16V" + (height - 50)}),
        make("text", {x: x(v), y: height - 27, "text-anchor": "middle"}, power(v)));
  for (let v = lowY; v <= highY; v++)
    svg.append(
        make("path", {class: "grid", d: "M56 " + y(v) + "H" + (width - 14)}),
        make("text", {x: 50, y: y(v) + 4, "text-anchor": "end"}, power(v)));
  svg.append(
      make("text", {x: width / 2, y: height - 5, "text-anchor": "middle"}, "operations a byte"));
  if (roof.bandwidth) {
    const shift = Math.log10(roof.bandwidth), from = Math.max(lowX, lowY - shift),
          to = Math.min(ridge === null ? highX : Math.min(ridge, highX), highY - shift);
    if (from < to) {
      /* Its name is to the left of the line, where no point is, or below it if there is no room. */
      const high = from + (to - from) * 0.6, fits = x(high) - 56 > 130,
            at = fits ? high : from + (to - from) * 0.12;
      svg.append(
          make("path", {
            class: "roof",
            d: "M" + x(from) + " " + y(from + shift) + "L" + x(to) + " " + y(to + shift)
          }),
          make(
              "text", {
                x: x(at) - (fits ? 8 : 0),
                y: y(at + shift) + (fits ? 0 : 20),
                "text-anchor": fits ? "end" : "start"
              },
              "memory " + rate(roof.bandwidth, "B/s")));
    }
  }
  if (roof.peak)
    svg.append(
        make("path", {
          class: "roof",
          d: "M" + x(Math.max(lowX, ridge === null ? lowX : ridge)) + " " +
              y(Math.log10(roof.peak)) + "H" + (width - 14)
        }),
        make(
            "text", {x: width - 16, y: y(Math.log10(roof.peak)) - 7, "text-anchor": "end"},
            "arithmetic " + rate(roof.peak, "FLOP/s")));
  const labels = [];
  points.forEach(p => {
    if (p.baseline)
      svg.append(make("circle", {class: "dot base", cx: x(at(p)), cy: y(up(p, p.baseline)), r: 4}));
    svg.append(
        make("circle", {class: "dot", cx: x(at(p)), cy: y(up(p, p.seconds)), r: 5}));
    addLabel(labels, x(at(p)) + 8, y(up(p, p.seconds)) + 4, roof.points.indexOf(p) + 1);
  });
  labels.forEach(
      label => svg.append(
          make("text", {class: "point", x: label.x, y: label.y}, textOfLabel(label))));
  return make(
      "figure", {},
      make(
          "figcaption", {}, make("b", {}, "Roofline"),
          " operations a second over operations a byte; hollow: the baseline"),
      svg);
}

function drawRoofline(roof) {
  const section = byId("roofline");
  if (!roof || !roof.points || !roof.points.length) return section.replaceChildren();
  const body = make("tbody");
  roof.points.forEach((p, i) => {
    const share = p.floor && p.seconds ? p.floor / p.seconds : null,
          cell = make("td", {class: "number"}, "-");
    if (share !== null) {
      const bar = make("i");
      bar.style.width = Math.min(100, 100 * share) + "%";
      cell.replaceChildren(
          make("span", {class: "meter"}, bar), " " + Math.round(100 * share) + " %");
    }
    body.append(make(
        "tr", {}, make("td", {class: "number"}, String(i + 1)),
        make("td", {}, visible(p.name || "")), make("td", {class: "number"}, seconds(p.seconds)),
        make("td", {class: "number minor"}, seconds(p.baseline)),
        make("td", {class: "number minor"}, p.bytes ? rate(p.bytes / p.seconds, "B/s") : "-"),
        cell));
  });
  const table = make(
      "div", {class: "scroll"},
      make(
          "table", {},
          make(
              "thead", {},
              make(
                  "tr", {},
                  ...[["#", "number"], ["Workload", ""], ["Time", "number"],
                      ["Baseline", "number minor"], ["Traffic", "number minor"],
                      ["Of the limit", "number"]]
                      .map(([name, kind]) => make("th", {scope: "col", class: kind}, name)))),
          body));
  const chart = roofChart(roof);
  section.replaceChildren(
      make("h2", {}, "Limits of the device, c" + roof.c),
      chart ? make("div", {class: "pair"}, table, chart) : table);
}

