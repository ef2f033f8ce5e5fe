/* Elements and figures. */

function byId(id) { return document.getElementById(id); }

/* Makes an element: make("b", {class: "x"}, child, …). Children are elements or texts. */
function make(name, attributes, ...children) {
  const svg = ["svg", "path", "circle", "text", "title"].includes(name);
  const element = svg && name !== "title" ?
      document.createElementNS("http://www.w3.org/2000/svg", name) :
      document.createElement(name);
  Object.entries(attributes || {}).forEach(([key, value]) => element.setAttribute(key, value));
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

/* Marks characters that a reader can't see. */
function visible(text) {
  return text.replace(
      /[\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
      c => "\u27e8U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + "\u27e9");
}

/* ---- figures --------------------------------------------------------------------------------- */

function digits(value) { return value >= 100 ? 0 : value >= 10 ? 1 : 2; }
/* The decimals of [value, low, high], as in the terminal: three digits, or two if the interval is
 * wider than the third digit says. */
function decimalsOf(x) {
  const most = x[0] < 0.0995 ? 3 : digits(x[0]), half = (x[2] - x[1]) / 2;
  const known = typeof x[1] === "number" && typeof x[2] === "number";
  return most > 0 && known && half > 5.5 * Math.pow(10, -most) ? most - 1 : most;
}
function times(x) { return x[0].toFixed(decimalsOf(x)) + "x"; }
function range(x) {
  if (!x || x[1] === null || x[2] === null) return "";
  const n = decimalsOf(x);
  return "[" + x[1].toFixed(n) + ", " + x[2].toFixed(n) + "]";
}
function seconds(s) {
  if (s === undefined || s === null) return "-";
  if (s === 0) return "0 s";
  const parts = whole => [Math.floor(whole / 60), String(whole % 60).padStart(2, "0")];
  if (s >= 3600) return parts(Math.floor(s / 60 + 0.5)).join(" h ") + " min";
  if (s >= 120) return parts(Math.floor(s + 0.5)).join(" min ") + " s";
  const unit = s >= 0.9995 ? ["s", 1] :
      s >= 0.9995e-3       ? ["ms", 1e3] :
      s >= 0.9995e-6       ? ["us", 1e6] :
                             ["ns", 1e9],
        v = s * unit[1];
  return v.toFixed(v === 0 ? 0 : digits(v)) + " " + unit[0];
}
function money(usd) { return "$" + usd.toFixed(usd < 0.1 && usd > 0 ? 3 : 2); }
/* A cost, of which calls without a price are no part. */
function cost(usd, unpriced) {
  if (unpriced && !usd) return "cost unknown";
  return (unpriced ? "at least " : "") + money(usd);
}
function count(n) { return n.toLocaleString("en"); }
function words(name) { return (name || "").replace(/_/g, " "); }

/* The proposer. The baseline and second measurements have none. */
function proposerOf(a) { return a.step === "baseline" || a.by === "judge" ? "" : a.by || ""; }

/* The class that colours a result. */
function classOf(result) {
  if (result === "correct") return "good";
  if (["wrong_result", "contract_violation", "crash", "timeout", "launch_failure"].includes(result))
    return "bad";
  if (["cheating", "impossible"].includes(result)) return "odd";
  return result === "compile_error" ? "other" : "soft";
}

