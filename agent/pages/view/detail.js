/* One attempt: its change, source, verdict, reply and prompt. */

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
  detailOf(a.n).then(
      detail => {
        if (view.selected === row) drawDetail(row, a, detail);
      },
      error => {
        view.details.delete(a.n);
        if (view.selected === row)
          byId("detail").replaceChildren(make(
              "p", {class: "bad"}, "The texts of this attempt can't be read: " + error.message));
      });
}

function link(node) {
  const anchor =
      make("a", {href: "#c" + node.id}, "c" + node.id + (node.x ? " " + times(node.x) : ""));
  anchor.addEventListener("click", event => {
    event.preventDefault();
    selectCandidate(node.id);
  });
  return anchor;
}

function textBlock(text) { return make("pre", {class: "text"}, visible(text)); }

function sourceBlock(text) {
  const lines = visible(text).replace(/\n$/, ""), n = lines.split("\n").length;
  return make(
      "div", {class: "numbered"},
      make(
          "pre", {class: "numbers", "aria-hidden": "true"},
          Array.from({length: n}, (_, i) => i + 1).join("\n")),
      make("pre", {class: "lines"}, lines));
}

function diffTable(diff, parent, child) {
  const rows = sideBySide(diff), narrow = innerWidth < 640;
  if (!rows.length)
    return make("p", {class: "soft"}, "The sources are equal; the flags or the values differ.");
  const cell = (kind, text) => make("td", {class: kind}, text === undefined ? "" : visible(text));
  const body = make("tbody");
  rows.slice(0, MOST_DIFF_ROWS).forEach(row => {
    const changed = row.kind === "change";
    if (row.kind === "gap") {
      body.append(make("tr", {class: "gap"}, make("td", {colspan: narrow ? 2 : 4}, row.left)));
    } else if (!narrow) {
      body.append(make(
          "tr", {}, cell("line", String(row.leftLine)),
          cell(changed && row.left !== undefined ? "gone" : "", row.left),
          cell("line", String(row.rightLine)),
          cell(changed && row.right !== undefined ? "came" : "", row.right)));
    } else {
      if (row.left !== undefined)
        body.append(make(
            "tr", {}, cell("line", String(row.leftLine)),
            cell(changed ? "gone" : "", (changed ? "\u2212 " : "  ") + row.left)));
      if (changed && row.right !== undefined)
        body.append(
            make("tr", {}, cell("line", String(row.rightLine)), cell("came", "+ " + row.right)));
    }
  });
  const columns = narrow ? [["line"], [""]] : [["line"], [""], ["line"], [""]];
  return make(
      "table", {class: "diff"},
      make(
          "caption", {class: "soft"},
          parent + " \u2192 " + child + (rows.length > MOST_DIFF_ROWS ? ", its first lines" : "")),
      make("colgroup", {}, ...columns.map(([kind]) => make("col", kind ? {class: kind} : {}))),
      body);
}

function verdictBlock(verdict) {
  const box = make("div");
  box.append(make(
      "p", {}, make("span", {class: "status " + classOf(verdict.status)}, words(verdict.status)),
      (verdict.message ? ": " + visible(verdict.message) : "")));
  if (verdict.workloads.length) {
    const body = make("tbody");
    verdict.workloads.forEach(
        w => body.append(make(
            "tr", {}, make("td", {}, visible(w.name || "")),
            make("td", {class: classOf(w.status)}, words(w.status)),
            make(
                "td", {class: "number"}, w.x ? times(w.x) : "-",
                w.x ? make("small", {}, range(w.x)) : null),
            make("td", {class: "number"}, seconds(w.baseline)),
            make("td", {class: "number"}, seconds(w.candidate)),
            make(
                "td", {class: "number minor"},
                w.floor && w.candidate ? Math.round(100 * w.floor / w.candidate) + " %" : "-"))));
    box.append(make(
        "div", {class: "scroll"},
        make(
            "table", {},
            make(
                "thead", {},
                make(
                    "tr", {},
                    ...[["Workload", ""], ["Status", ""], ["Speedup", "number"],
                        ["Baseline", "number"], ["Candidate", "number"],
                        ["Of the limit", "number minor"]]
                        .map(([name, kind]) => make("th", {scope: "col", class: kind}, name)))),
            body)));
  }
  if (verdict.findings.length) {
    const list = make("ul");
    verdict.findings.forEach(
        f => list.append(make(
            "li", {}, make("code", {}, f.rule || ""),
            " " + (f.workload ? visible(f.workload) + ": " : "") + visible(f.text || "") +
                (f.measured !== undefined ? " (measured " + f.measured.toPrecision(4) +
                         (f.limit !== undefined ? ", limit " + f.limit.toPrecision(4) : "") + ")" :
                                            ""))));
    box.append(make("h4", {}, "Findings"), list);
  }
  if (verdict.flags.length)
    box.append(make("p", {class: "facts"}, "Flags: " + visible(verdict.flags.join(", "))));
  if (verdict.log) box.append(make("h4", {}, "Compiler"), textBlock(verdict.log));
  return box;
}

/* The parts of a detail that exist: [name, function that makes it]. */
function partsOf(a, detail) {
  const parts = [];
  if (!detail) return parts;
  if (detail.parents && detail.parents.length)
    parts.push([
      "Change",
      () => make(
          "div", {}, ...detail.parents.map(p => diffTable(p.diff || "", "c" + p.c, "c" + detail.c)))
    ]);
  if (detail.source !== undefined) parts.push(["Source", () => sourceBlock(detail.source)]);
  if (detail.verdict) parts.push(["Verdict", () => verdictBlock(detail.verdict)]);
  if (detail.reply !== undefined) parts.push(["Reply", () => textBlock(detail.reply)]);
  if (detail.prompt !== undefined)
    parts.push([
      "Prompt",
      () => make(
          "div", {}, textBlock(detail.prompt),
          detail.system ?
              make("details", {}, make("summary", {}, "System prompt"), textBlock(detail.system)) :
              null)
    ]);
  return parts;
}

function drawDetail(row, a, detail) {
  const node = row.node, parts = partsOf(a, detail), box = byId("detail"),
        content = make("div", {role: "tabpanel"});
  const shown = row.attempt && !node ? a.result : node.result, x = node ? node.x : null;
  const call = model.callById.get(a.call);
  const facts = [
    "attempt " + a.n, words(a.step), ...(proposerOf(a) ? ["by " + visible(proposerOf(a))] : []),
    "after " + seconds(Math.round(a.t))
  ];
  if (call) facts.push("call " + call.id + (call.cost ? " for " + money(call.cost) : ""));
  if (detail && detail.flags) facts.push(visible(detail.flags));
  const relatives = make("p", {class: "facts"});
  if (node && node.parent) relatives.append("from ", link(node.parent), " ");
  if (node && node.children.length) {
    relatives.append("parent of ");
    node.children.slice(0, 12).forEach((child, i) => relatives.append(i ? ", " : "", link(child)));
    if (node.children.length > 12)
      relatives.append(" and " + (node.children.length - 12) + " more");
  }
  const tabs = make("div", {class: "choice", role: "tablist"});
  const open = name => {
    view.part = name;
    Array.from(tabs.children)
        .forEach(tab => tab.setAttribute("aria-selected", String(tab.textContent === name)));
    content.replaceChildren(parts.find(part => part[0] === name)[1]());
  };
  parts.forEach(([name]) => {
    const tab = make("button", {type: "button", role: "tab", "aria-selected": "false"}, name);
    tab.addEventListener("click", () => open(name));
    tabs.append(tab);
  });
  box.replaceChildren(
      make(
          "h3", {}, (a.c ? "c" + a.c : "Attempt " + a.n) + " ",
          make("span", {class: "status " + classOf(shown)}, words(shown)),
          x ? " " + times(x) + " " + range(x) + (node.verified ? ", measured twice" : "") : ""),
      make("p", {class: "facts"}, facts.join(" \u00b7 ")));
  if (node && node.refuted)
    box.append(make("p", {class: "bad"}, "Measuring again did not confirm its first speedup."));
  if (relatives.childNodes.length) box.append(relatives);
  if (a.text) box.append(make("p", {}, visible(a.text)));
  if (!detail)
    box.append(make(
        "p", {class: "soft"},
        "This file leaves out its texts; \"kforge show " + (a.c ? "c" + a.c : model.run.id) +
            "\" prints them."));
  if (detail && detail.cut) box.append(make("p", {class: "soft"}, "Its longest text is cut."));
  if (!parts.length) return;
  box.append(tabs, content);
  open(parts.some(part => part[0] === view.part) ? view.part : parts[0][0]);
  box.scrollTop = 0;
}

