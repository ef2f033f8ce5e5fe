"""The pages of kforge in headless Chromium. Usage: pages.py BIN [FOLDER for screenshots]

No errors on the console, no requests elsewhere, no scrolling to the side, hostile texts as texts,
the keyboard, and frames with 10,000 candidates. Of their times only the order of the processor time
is checked, since other work on the machine does not count there. The times by the clock are printed.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser, find

BIN = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("KFORGE_")}
WIDTHS = ((1280, False), (1280, True), (400, False), (400, True))
# Load on the machine also costs processor time, so the limit is wide.
MOST_FRAME_SECONDS = 0.5
MANY = 11300  # attempts, of which more than 10,000 bring a candidate


def kforge(*arguments):
    return subprocess.run([os.path.join(BIN, "kforge"), *arguments], env=ENVIRONMENT, check=True,
                          capture_output=True, text=True).stdout


def make_run(store, *arguments):
    command = [os.path.join(BIN, "../tests/make_run"), store, os.path.join(ROOT, "tasks/axpy"), *map(str, arguments)]
    made = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    made.run = made.stdout.readline().strip()
    return made


class Watch:
    def __init__(self, store):
        self.process = subprocess.Popen([os.path.join(BIN, "kforge"), "watch", "--store", store],
                                        env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.process.stdout.close()


def check_look(browser, address, name, folder, ready):
    """Opens a page at each size and in both colours."""
    for width, dark in WIDTHS:
        browser.size(width, dark=dark)
        browser.open(address)
        browser.wait(ready)
        wide = browser.value("document.documentElement.scrollWidth")
        assert wide <= width, (name, width, wide)
        # A cell that is cut off is no better than a page that scrolls.
        cut = browser.value("[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length")
        assert cut == 0, (name, width, "tables that scroll to the side", cut)
        misplaced = browser.value(MISPLACED)
        assert misplaced == [], (name, width, misplaced)
        path = os.path.join(folder, f"{name}-{width}{'-dark' if dark else ''}.png")
        browser.screenshot(path)
        print(f"{name}, {width} px{', dark' if dark else ''}: {os.path.getsize(path)} bytes")
        assert os.path.getsize(path) > 10000
        assert browser.complaints() == [], browser.complaints()


# Cells of a table that stand under no heading of their own.
MISPLACED = """[...document.querySelectorAll('table')].flatMap(table => {
  const shown = (row, name) => [...row.querySelectorAll(':scope > ' + name)].filter(e => getComputedStyle(e).display === 'table-cell');
  const head = table.tHead && shown(table.tHead.rows[0], 'th');
  if (!head || !head.length) return [];
  return [...table.tBodies[0].rows].map(row => shown(row, 'td, :scope > th')).filter(cells => cells.every(c => c.colSpan === 1) && cells.length)
      .flatMap(cells => cells.length !== head.length ? [head.length + ' headings, ' + cells.length + ' cells: ' + cells[0].textContent] :
          cells.filter((c, i) => Math.abs(c.getBoundingClientRect().left - head[i].getBoundingClientRect().left) > 1).map(c => c.textContent));
})"""


def check_hostile(browser):
    """The texts of make_run are on the page as texts."""
    assert browser.value("document.title").startswith("axpy"), browser.value("document.title")
    assert browser.value("document.images.length") == 0 and browser.value("document.scripts.length") == 3
    assert "</script><img src=x" in browser.value("document.getElementById('models').innerText")


def open_part(browser, name):
    browser.value("[...document.querySelectorAll('[role=tab]')].find(t => t.textContent === '%s').click()" % name)
    return browser.value("document.querySelector('[role=tabpanel]').innerText")


def check_detail(browser):
    browser.wait("document.querySelector('[role=tabpanel]')")
    assert "axpy_kernel" in open_part(browser, "Source")
    if browser.value("[...document.querySelectorAll('[role=tab]')].some(t => t.textContent === 'Prompt')"):
        assert "</script><img src=x" in open_part(browser, "Prompt")
        assert "```cuda" in open_part(browser, "Reply")
    assert "ragged" in open_part(browser, "Verdict")
    assert "axpy_kernel" in open_part(browser, "Change")


def check_keys(browser):
    browser.value("document.getElementById('list').focus()")
    browser.key("Home")
    first = browser.value("location.hash")
    for _ in range(3):
        browser.key("ArrowDown")
    assert browser.value("location.hash") != first
    browser.key("End")
    assert browser.value("document.querySelector('.row[aria-selected=true]') !== null")
    browser.key("Enter")
    assert browser.value("document.activeElement.id") == "detail"
    # Each control can be reached and has a name.
    nameless = browser.value("[...document.querySelectorAll('button, input, [tabindex=\"0\"]')].filter(e => !(e.textContent.trim() || e.getAttribute('aria-label'))).length")
    assert nameless == 0, nameless


def check_figures(browser, store):
    """The page has the digits of the terminal."""
    shown = kforge("show", "last", "--store", store)
    best, speedup, interval = re.search(r"^best +(c\d+), (\S+) (\[.*?\])", shown, re.M).groups()
    tile = browser.value("document.querySelector('#tiles .tile').innerText")
    assert tile.split("\n")[0] == speedup and f"{best} {interval}" in tile, (tile, speedup, interval)
    top = re.search(rf"^{best} +(\S+) +(\[.*?\]) ", shown, re.M).groups()
    assert top == (speedup, interval), (top, speedup, interval)
    proposers = shown.split("PROPOSER")[1].split("\n\n")[0]
    assert re.search(rf" {re.escape(speedup)}( |$)", proposers, re.M), (speedup, proposers)
    # A triple, and the digits that the terminal gives it.
    for triple, words in (([1.6, 0.4, 4.3], "1.6x [0.4, 4.3]"), ([1.604, 1.6, 1.61], "1.60x [1.60, 1.61]"),
                          ([42.14, 25.72, 66.11], "42x [26, 66]"), ([0.05, 0.04, 0.06], "0.05x [0.04, 0.06]")):
        got = browser.value(f"times({triple}) + ' ' + range({triple})")
        assert got == words, (triple, got)
    assert browser.value("cost(0, true) + ', ' + cost(1, true) + ', ' + cost(1, false)") == "cost unknown, at least $1.00, $1.00"


def frame(browser, action):
    """Returns the processor time of the page's thread from an action to the end of its frame, and the
    time by the clock, which other work on the machine makes longer."""
    before = browser.processor_seconds()
    wall = browser.value("(async () => { await new Promise(requestAnimationFrame); const t = performance.now(); %s; "
                         "await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame); "
                         "return performance.now() - t; })()" % action)
    return browser.processor_seconds() - before, wall


# Texts of the selected elements that touch.
TOUCHING = """(selector => {
  const all = [...document.querySelectorAll(selector)].map(e => {
    const range = document.createRange();
    range.selectNodeContents(e);
    return [e.textContent, range.getBoundingClientRect()];
  }).filter(([, r]) => r.width);
  return all.flatMap(([a, r], i) => all.slice(i + 1).filter(([, s]) => r.left < s.right && s.left < r.right &&
      r.top < s.bottom && s.top < r.bottom).map(([b]) => a + " | " + b));
})('%s')"""


def check_tiles(browser):
    """No tile is wider than another."""
    widths = browser.value("[...document.querySelectorAll('.tile')].map(t => Math.round(t.getBoundingClientRect().width))")
    assert max(widths) - min(widths) <= 1, widths


def check_labels(browser):
    """Points of a roofline at one place share a label, and those apart have their own."""
    for width in (400, 1280):
        browser.size(width)
        roof = browser.value("[...document.querySelectorAll('#roofline svg text')].map(t => t.textContent)")
        assert "memory 20.0 GB/s" in roof and "arithmetic 40.0 GFLOP/s" in roof, roof
        touching = browser.value(TOUCHING % "#roofline svg text")
        assert touching == [], (width, touching)
    browser.value("drawRoofline({c: 1, bandwidth: 2e10, points: [[1, 1], [1, 1.01], [1, 1.02], [1, 1.03], [1, 9]].map("
                  "([f, s], i) => ({name: 'w' + i, flops: 1e9 * f, bytes: 4e9, seconds: s}))})")
    labels = browser.value("[...document.querySelectorAll('#roofline text.point')].map(t => t.textContent)")
    assert labels == ["1, 2, 3 +1", "5"], labels
    touching = browser.value(TOUCHING % "#roofline svg text")
    assert touching == [], touching


def check_cut(browser):
    """An interval that the chart cuts is marked, and no other."""
    for triple, cut in (([1.6, 0.9, 40], True), ([1.6, 0.001, 1.7], True), ([1.6, 1.5, 1.7], False)):
        shown = browser.value("(() => { const steps = model.steps; model.steps = [Object.assign({}, steps[0], {x: %s})]; drawChart(); "
                              "const shown = byId('cut').getBoundingClientRect().width > 0; model.steps = steps; drawChart(); return shown; })()" % triple)
        assert shown == cut, (triple, shown)


def check_counts(browser, store):
    """Attempts and candidates have the numbers of the terminal, and durations its digits."""
    shown = kforge("show", "last", "--store", store)
    attempts, = re.search(r"^attempts  (\d+)", shown, re.M).groups()
    candidates, correct = re.search(r"^verdicts  (\d+) candidates: .*?(\d+) correct", shown, re.M).groups()
    tiles = browser.value("[...document.querySelectorAll('#tiles .tile')].map(t => t.innerText.replace('\\n', ' '))")
    assert f"{attempts} attempts" in tiles and f"{correct} of {candidates} candidates correct" in tiles, (tiles, shown)
    for value, words in ((174.6, "2 min 55 s"), (3661, "1 h 01 min"), (0.000927, "927 us"), (2e-9, "2.00 ns"), (59.94, "59.9 s")):
        got = browser.value(f"seconds({value})")
        assert got == words, (value, got)


def check_frames(browser, store):
    """More than 10,000 candidates, and a writer that goes on."""
    writer = make_run(store, MANY, 6, 900)
    with Watch(store) as watch:
        browser.size(1280)
        browser.open(watch.address)
        browser.wait(f"typeof model !== 'undefined' && model.attempts.length >= {MANY} && !view.dirty")
        candidates = browser.value("model.nodes.size")
        assert candidates >= 10000, candidates
        elements = browser.value("document.querySelectorAll('*').length")
        assert elements < 1500, elements
        browser.value("selectCandidate(model.run.best)")
        browser.wait("document.querySelector('[role=tabpanel]')")
        # The writer's attempts come one by one.
        seen = browser.value("model.attempts.length")
        browser.wait(f"model.attempts.length > {seen} || model.run.state !== 'running'")
        times = {}
        more = "const a = model.attempts[model.attempts.length - 1]; take({run: model.run, calls: [], " \
               "attempts: [Object.assign({}, a, {n: a.n + 1e6})], attempt: model.attempt, call: model.call})"
        part = "const a = model.attempts[model.attempts.length - 1], all = Array.from({length: 1000}, (_, i) => " \
               "Object.assign({}, a, {n: a.n + 2e6 + i, c: (a.c || 1) + 2e6 + i, outcome: 'judged', status: 'correct', x: [2, 1.9, 2.1]})); " \
               "take({run: model.run, calls: [], attempts: all, attempt: model.attempt, call: model.call})"
        for name, action in (("1,000 attempts of the first answers", part), ("news", more), ("scrolling", "byId('list').scrollTop += 3000"),
                             ("best first", "document.querySelector('[data-order=rank]').click()"),
                             ("log", "document.querySelector('[data-order=log]').click()"),
                             ("family", "document.querySelector('[data-order=family]').click()"),
                             ("money", "document.querySelector('[data-axis=money]').click()"),
                             ("another candidate", "selectCandidate(5000)")):
            frames = [frame(browser, action) for _ in range(5)]
            times[name] = max(cpu for cpu, _ in frames), max(wall for _, wall in frames)
        print(f"frames with {candidates} candidates, {elements} elements; longest of 5, ms of processor time and by the clock: " +
              ", ".join(f"{name} {1000 * cpu:.0f} {wall:.0f}" for name, (cpu, wall) in times.items()))
        assert max(cpu for cpu, _ in times.values()) < MOST_FRAME_SECONDS, times
        assert browser.complaints() == [], browser.complaints()
    writer.kill()
    writer.wait()
    writer.stdout.close()


def check_live(browser, folder, store):
    """A real search while the page looks on."""
    fake = os.path.join(BIN, "../tests/fake_worker")
    run = subprocess.Popen([os.path.join(BIN, "kforge"), "optimize", os.path.join(ROOT, "tasks/axpy"), "-n", "60",
                            "--time", "100s", "--workers", fake, "--store", store],
                           env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    until = time.monotonic() + 60
    while subprocess.run([os.path.join(BIN, "kforge"), "show", "--store", store], env=ENVIRONMENT,
                         capture_output=True).returncode:
        assert time.monotonic() < until, "the run never began"
        time.sleep(0.05)
    with Watch(store) as watch:
        browser.size(1280)
        browser.open(watch.address)
        browser.wait("typeof model !== 'undefined' && model.run && model.run.state !== 'running'")
        assert run.wait(120) == 0
        browser.wait("model.attempts.length === model.run.attempts && !view.dirty")
        wanted = kforge("show", "--store", store).split("best      c")[1].split(",")[0]
        assert browser.value("String(model.run.best)") == wanted
        assert browser.complaints() == [], browser.complaints()
        print(f"a run of {browser.value('model.run.attempts')} attempts was followed to its end")


def check_terminal(store):
    """The view in terminals of three widths: no line is wrapped by the terminal."""
    if not shutil.which("tmux"):
        print("skipped the view in the terminal: no tmux")
        return
    tmux = ["tmux", "-L", f"kforge-pages-{os.getpid()}"]
    command = f"KFORGE_CONFIG=none '{BIN}/kforge' watch --terminal --store '{store}'; sleep 60"
    try:
        for width in (40, 80, 160):
            name = f"w{width}"
            subprocess.run([*tmux, "new-session", "-d", "-s", name, "-x", str(width), "-y", "60", command], check=True)
            until, text = time.monotonic() + 60, ""
            while "replies" not in text or "ATTEMPT " not in text:
                assert time.monotonic() < until, (width, text)
                time.sleep(0.1)
                text = subprocess.run([*tmux, "capture-pane", "-p", "-J", "-t", name], check=True, text=True,
                                      capture_output=True).stdout
            lines = text.rstrip().split("\n")
            assert lines[0].rstrip() == "axpy" and max(map(len, lines)) <= width, (width, text)
            for words in ("best ", "compile_error", "━", "█", "PROPOSER"):
                assert words in text, (words, text)
            print(f"terminal of {width} columns: {len(lines)} lines, the longest has {max(map(len, lines))}")
    finally:
        subprocess.run([*tmux, "kill-server"], stderr=subprocess.DEVNULL)


def check_bench(browser, folder, shots):
    fake, page, store = os.path.join(BIN, "../tests/fake_worker"), os.path.join(folder, "bench.html"), os.path.join(folder, "bench.db")
    ENVIRONMENT["FAKE_CEILINGS"] = "2e10 4e10"
    kforge("bench", os.path.join(ROOT, "tasks"), "--only", "axpy", "--only", "transpose", "--samples", "2", "--model",
           f"replay:{ROOT}/tests/replay/{{task}}.jsonl", "--workers", fake, "--store", store, "--html", page)
    check_look(browser, "file://" + page, "bench", shots, "document.querySelector('#problems td')")
    # The heads of the intervals' axis do not touch, nor do labels of a chart.
    for width in (400, 1280):
        browser.size(width)
        assert browser.value("document.querySelectorAll('thead svg.forest text').length") > 0
        for part in ("table.forest thead text, table.forest thead th.number, table.forest thead th:first-child", "figure svg text"):
            touching = browser.value(TOUCHING % part)
            assert touching == [], (width, touching)
        check_tiles(browser)
    # The roofline has both ceilings by name, within the picture.
    roof = browser.value("[...document.querySelectorAll('figure svg')].map(s => [...s.querySelectorAll('text')].filter(t => "
                         "t.getBBox().x >= 0 && t.getBBox().y >= 0).map(t => t.textContent)).find(all => all.some(t => t.startsWith('memory')))")
    assert roof and "memory 20 GB/s" in roof and "arithmetic 40 GFLOP/s" in roof, roof
    browser.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    text = browser.value("document.body.innerText")
    assert re.search(r"95 % \[\d+, \d+\]", text) and "```cuda" in text and "--- the baseline" in text
    assert browser.complaints() == []


def main():
    program = find()
    if not program:
        print("skipped: no Chromium (Debian: chromium)")
        sys.exit(77)
    folder = tempfile.mkdtemp(prefix="kforge-pages.")
    shots = sys.argv[2] if len(sys.argv) > 2 else folder
    os.makedirs(shots, exist_ok=True)
    store = os.path.join(folder, "some.db")
    try:
        make_run(store, 150).communicate()
        check_terminal(store)
        kforge("show", "last", "--store", store, "--html", os.path.join(folder, "run.html"))
        with Browser(program) as browser:
            check_look(browser, "file://" + os.path.join(folder, "run.html"), "file", shots, "document.querySelector('[role=tabpanel]')")
            check_hostile(browser)
            check_detail(browser)
            with Watch(store) as watch:
                check_look(browser, watch.address, "watch", shots, "document.querySelectorAll('.row').length > 5 && document.querySelector('#roofline table')")
                browser.size(1280)
                browser.open(watch.address + "#c9")
                browser.wait("document.querySelector('.row')")
                check_hostile(browser)
                check_detail(browser)
                check_keys(browser)
                check_figures(browser, store)
                check_counts(browser, store)
                check_tiles(browser)
                check_cut(browser)
                check_labels(browser)
                assert browser.complaints() == [], browser.complaints()
            check_bench(browser, folder, shots)
            check_live(browser, folder, os.path.join(folder, "live.db"))
            check_frames(browser, os.path.join(folder, "many.db"))
    finally:
        shutil.rmtree(folder)


main()
