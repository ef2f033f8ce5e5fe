"use strict";
/* The data of a run and the figures that follow from it. This file does not touch the page. */

/* Calls of a model that the page shows one by one. */
const LATEST_CALLS = 24;

/* The lower limit of an interval, or its value without one. */
function lowOf(x) { return x[1] === null ? x[0] : x[1]; }

/* Compares by the rank that kforge gave each figure. A candidate with a figure comes first, and of
 * equal ones the older. */
function byRank(a, b) {
  if (!a.x || !b.x) return (b.x ? 1 : 0) - (a.x ? 1 : 0) || a.first.n - b.first.n;
  const i = a.rank.findIndex((key, at) => key !== b.rank[at]);
  return i < 0 ? a.id - b.id : b.rank[i] - a.rank[i];
}

class Model {
  constructor() {
    this.run = null;
    this.attempts = [];
    this.calls = [];
    /* Money spent after each call, and the times of the calls. */
    this.spent = [];
    this.nodes = new Map();
    this.byNumber = new Map();
    this.callById = new Map();
    this.results = new Map();
    this.models = new Map();
    /* {t, cost, node, x, verified}: the best from a moment on. */
    this.steps = [];
    this.top = null;
    this.attempt = 0;
    this.call = 0;
  }

  /* Takes an answer of the server, or the data of the file. */
  take(news) {
    this.run = news.run;
    news.calls.forEach(call => this.takeCall(call));
    news.attempts.forEach(attempt => this.takeAttempt(attempt));
    this.attempt = news.attempt;
    this.call = news.call;
  }

  takeCall(call) {
    const before = this.spent.length ? this.spent[this.spent.length - 1].cost : 0;
    this.calls.push(call);
    this.callById.set(call.id, call);
    const m = this.modelOf(call);
    m.count++;
    m.outcomes.set(call.outcome, (m.outcomes.get(call.outcome) || 0) + 1);
    m.cost += call.cost || 0;
    m.unpriced = m.unpriced || (typeof call.cost !== "number" && call.outcome !== "failed");
    m.tokensIn += call.in || 0;
    m.tokensOut += call.out || 0;
    if (call.outcome !== "ok" && call.text) m.fault = call.text;
    m.latest.push(call);
    if (m.latest.length > LATEST_CALLS) m.latest.shift();
    this.spent.push({t: call.t, cost: before + (call.cost || 0)});
  }

  /* The money spent until a time. */
  costAt(t) {
    let low = 0, high = this.spent.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.spent[middle].t <= t)
        low = middle + 1;
      else
        high = middle;
    }
    return low ? this.spent[low - 1].cost : 0;
  }

  takeAttempt(a) {
    const again = a.outcome === "reverified";
    a.result = a.status || a.outcome;
    this.attempts.push(a);
    this.byNumber.set(a.n, a);
    this.credit(a);
    if (!again) this.results.set(a.result, (this.results.get(a.result) || 0) + 1);
    if (!a.c) return;
    let node = this.nodes.get(a.c);
    if (!node) {
      node = {
        id: a.c,
        first: a,
        parent: null,
        children: [],
        x: null,
        rank: [],
        again: false,
        verified: false,
        refuted: false,
        result: a.result,
        at: a.t
      };
      this.nodes.set(a.c, node);
      const parent = a.from && this.nodes.get(a.from[0]);
      if (parent && parent !== node) {
        node.parent = parent;
        parent.children.push(node);
      }
    }
    if (a.status) this.judge(node, a, again);
  }

  /* Takes a verdict on a candidate, as agent/show/refuted.c does. One that was measured again stands
   * as that says, unless the machine, the task or the judge failed. */
  judge(node, a, again) {
    if ((node.again && !again) || (a.blame && node.x)) return;
    const before = node.x;
    node.again = again;
    node.result = a.result;
    node.x = a.status === "correct" && a.x ? a.x : null;
    node.rank = a.rank || [];
    node.verified = again && !!node.x && !!a.agrees;
    const high = node.x ? node.x[2] : null;
    node.refuted = again && before !== null && (!node.verified || (high !== null && high < lowOf(before)));
    if (node.first.step !== "baseline") this.rank(node, a);
  }

  rank(node, a) {
    if (this.top === node) {
      this.top = null;
      this.nodes.forEach(other => {
        if (other.x && other.first.step !== "baseline" &&
            (!this.top || byRank(other, this.top) < 0))
          this.top = other;
      });
    } else if (node.x && (!this.top || byRank(node, this.top) < 0)) {
      this.top = node;
    }
    const last = this.steps[this.steps.length - 1], top = this.top;
    if (last ? last.node === top && top && last.verified === top.verified : !top) return;
    this.steps.push({
      t: a.t,
      cost: this.costAt(a.t),
      node: top,
      x: top && top.x,
      verified: top ? top.verified : false
    });
  }

  /* Rows of the family: {node, depth}, parents before their children. */
  family() {
    const rows = [], open = [];
    const roots = Array.from(this.nodes.values()).filter(node => !node.parent);
    for (let i = roots.length - 1; i >= 0; i--) open.push({node: roots[i], depth: 0});
    while (open.length) {
      const row = open.pop(), children = row.node.children;
      rows.push(row);
      for (let i = children.length - 1; i >= 0; i--)
        open.push({node: children[i], depth: row.depth + 1});
    }
    return rows;
  }

  ranking() {
    return Array.from(this.nodes.values()).sort(byRank).map(node => ({node, depth: 0}));
  }

  /* The ancestors of the best, oldest first. */
  line() {
    const rows = [];
    for (let node = this.best(); node; node = node.parent) rows.unshift({node, depth: 0});
    return rows.map((row, depth) => ({node: row.node, depth}));
  }

  log() {
    return this.attempts.map(attempt => ({attempt, node: this.nodes.get(attempt.c)})).reverse();
  }

  /* The best as the store says. */
  best() { return this.nodes.get(this.run.best) || null; }

  /* The records of the models, most calls first. */
  modelList() { return Array.from(this.models.values()).sort((a, b) => b.count - a.count); }

  /* Returns the record of the model that was called. */
  modelOf(call) {
    const named = call.provider && call.model && call.provider !== call.model;
    const name = named ? call.provider + ":" + call.model :
                                               call.model || call.provider || "?";
    if (!this.models.has(name))
      this.models.set(name, {
        name,
        count: 0,
        latest: [],
        outcomes: new Map(),
        unusable: 0,
        correct: 0,
        cost: 0,
        unpriced: false,
        tokensIn: 0,
        tokensOut: 0,
        fault: ""
      });
    return this.models.get(name);
  }

  /* Counts the result of a reply. */
  credit(a) {
    const call = this.callById.get(a.call);
    if (!call || a.outcome === "reverified") return;
    const m = this.modelOf(call);
    if (a.outcome === "no_source" || a.outcome === "bad_edit") m.unusable++;
    if (a.status === "correct") m.correct++;
  }
}

/* Splits a unified difference into rows {kind, left, right, leftLine, rightLine} with removed lines
 * next to the added ones that replace them. */
function sideBySide(diff) {
  const rows = [];
  let left = 0, right = 0, gone = [], came = [];
  const flush = () => {
    for (let i = 0; i < Math.max(gone.length, came.length); i++)
      rows.push({
        kind: "change",
        left: gone[i],
        right: came[i],
        leftLine: gone[i] === undefined ? "" : left++,
        rightLine: came[i] === undefined ? "" : right++
      });
    gone = [];
    came = [];
  };
  let inside = false;
  diff.split("\n").forEach(line => {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (hunk) {
      flush();
      inside = true;
      left = Number(hunk[1]);
      right = Number(hunk[2]);
      rows.push({kind: "gap", left: "line " + left});
    } else if (!inside || line.startsWith("\\")) {
      return;
    } else if (line.startsWith("-")) {
      gone.push(line.slice(1));
    } else if (line.startsWith("+")) {
      came.push(line.slice(1));
    } else if (line.startsWith(" ")) {
      flush();
      rows.push({
        kind: "same",
        left: line.slice(1),
        right: line.slice(1),
        leftLine: left++,
        rightLine: right++
      });
    }
  });
  flush();
  return rows;
}
