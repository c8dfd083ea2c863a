// Zoom into the predictions and read values off. The page is complete without this script.
(() => {
  "use strict";
  const SIZE = 1000;
  // Below this number of rows each one is visible: dots may be larger.
  const FEW = 150;
  const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const DAY = 86400;
  const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
    DAY, 2 * DAY, 3 * DAY, 7 * DAY];
  // Parts of the run that were chosen by hand, by chart: a live page keeps them when it is replaced.
  const chosen = new Map();

  const niceStep = (span, most) => {
    const raw = span / most, power = 10 ** Math.floor(Math.log10(raw));
    return [1, 2, 5, 10].map((m) => m * power).find((step) => raw <= step * (1 + 1e-9));
  };

  const ticks = (low, high, most, whole) => {
    let step = niceStep(high - low, most);
    if (whole) step = Math.max(step, 1);
    const values = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) values.push(i * step);
    return { values, step };
  };

  // Adding zero makes −0 zero.
  const fixed = (value, places) =>
    (value + 0).toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places }).replace("-", "−");

  const places = (step) => Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));

  const short = (value) => {
    if (value === null) return "not known yet";
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e7 || size < 1e-4)) return value.toExponential(4).replace("-", "−");
    return value.toLocaleString("en-US", { maximumSignificantDigits: 6 }).replace("-", "−");
  };

  const percent = (share) => (share === null ? "not known yet" : `${(100 * share).toFixed(1)} %`);

  const two = (value) => String(value).padStart(2, "0");

  /** Such as 3 Mar 2024 14:00. */
  const dateAndTime = (seconds) => {
    const at = new Date(1000 * seconds), rest = at.getUTCSeconds() ? `:${two(at.getUTCSeconds())}` : "";
    const day = `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]} ${at.getUTCFullYear()}`;
    return `${day} ${two(at.getUTCHours())}:${two(at.getUTCMinutes())}${rest}`;
  };

  const timeLabel = (seconds, step) => {
    const at = new Date(1000 * seconds);
    if (seconds % DAY === 0) return `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]}`;
    return `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}${step < 60 ? `:${two(at.getUTCSeconds())}` : ""}`;
  };

  /** Round times and their labels, as in clock.py. */
  const timeTicks = (low, high, most) => {
    const found = [], step = SECONDS.find((own) => (high - low) / own <= most);
    if (step) {
      // 1970 began on a Thursday.
      const origin = step === 7 * DAY ? 4 * DAY : 0;
      for (let i = Math.ceil((low - origin) / step); origin + i * step <= high; i++)
        found.push([origin + i * step, timeLabel(origin + i * step, step)]);
      return found;
    }
    const months = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600].find((n) => (high - low) / (30.4 * DAY * n) <= most) ?? 1200;
    const begin = new Date(1000 * low);
    let number = 12 * begin.getUTCFullYear() + begin.getUTCMonth();
    for (number -= number % months; ; number += months) {
      const at = Date.UTC(Math.floor(number / 12), number % 12, 1) / 1000;
      if (!(at <= high)) return found;
      if (at >= low) found.push([at, number % 12 ? MONTHS[number % 12] : String(number / 12)]);
    }
  };

  /** First place in the sorted `rows` that is not below `row`. */
  const placeOf = (rows, row) => {
    let low = 0, high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle] < row) low = middle + 1; else high = middle;
    }
    return low;
  };

  /** Value of `ys` where the increasing `xs` reach `x`, between two of them in proportion. */
  const between = (xs, ys, x) => {
    const i = Math.min(Math.max(placeOf(xs, x), 1), xs.length - 1), span = xs[i] - xs[i - 1];
    const share = span > 0 ? (x - xs[i - 1]) / span : 1;
    return ys[i - 1] + Math.min(1, Math.max(0, share)) * (ys[i] - ys[i - 1]);
  };

  /** Ends of the central 95 %, as in label_range.py. */
  const most = (column) => {
    const known = column.filter((value) => value !== null).sort((a, b) => a - b), last = known.length - 1;
    return last >= 2 ? [known[Math.ceil(0.025 * last)], known[Math.floor(0.975 * last)]] : known;
  };

  class Zoom {
    constructor(root, number) {
      this.root = root;
      this.number = number;
      this.data = JSON.parse(root.querySelector("script").textContent);
      this.chart = root.querySelector(".chart");
      this.plot = this.chart.querySelector(".plot");
      this.svg = this.plot.querySelector("svg");
      this.tools = root.querySelector(".tools");
      this.strip = root.querySelector(".overview .plot");
      this.view = [...this.data.view];
      this.cursor = this.overlay("cursor");
      this.range = this.overlay("range");
      this.tip = this.overlay("tip");
      if (this.data.time) {
        const known = this.data.time.map((time, i) => [this.data.row[i], time]).filter(([, time]) => time !== null);
        this.clock = { row: known.map(([row]) => row), time: known.map(([, time]) => time) };
      }
      this.tools.hidden = false;
      root.classList.add("live");
      this.listen();
      if (chosen.has(number)) this.show(...chosen.get(number)); else this.mark();
    }

    get isWhole() { return this.view[0] <= this.data.x[0] && this.view[1] >= this.data.x[1]; }

    overlay(name) {
      const made = document.createElement("div");
      made.className = name;
      made.hidden = true;
      this.plot.append(made);
      return made;
    }

    listen() {
      this.plot.addEventListener("pointerdown", (event) => this.press(event));
      this.plot.addEventListener("pointermove", (event) => this.move(event));
      this.plot.addEventListener("pointerup", (event) => this.release(event));
      this.plot.addEventListener("pointercancel", () => this.forget());
      this.plot.addEventListener("pointerleave", () => { if (this.start === undefined) this.hide(); });
      this.plot.addEventListener("dblclick", () => this.choose(...this.data.x));
      this.tools.addEventListener("click", (event) => this.go(event.target.dataset.go));
      if (!this.strip) return;
      this.window = document.createElement("div");
      this.window.className = "window";
      this.strip.append(this.window);
      this.strip.addEventListener("pointerdown", (event) => {
        this.strip.setPointerCapture(event.pointerId);
        this.centre(event);
      });
      this.strip.addEventListener("pointermove", (event) => { if (event.buttons & 1) this.centre(event); });
    }

    share(event, plot = this.plot) {
      const box = plot.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    }

    rowAt(share) { return this.view[0] + share * (this.view[1] - this.view[0]); }

    /** Move the part that is shown to the pointer on the overview. */
    centre(event) {
      const [first, last] = this.data.x, at = first + this.share(event, this.strip) * (last - first);
      const span = this.isWhole ? this.data.view[1] - this.data.view[0] : this.view[1] - this.view[0];
      this.choose(at - span / 2, at + span / 2);
    }

    press(event) {
      if (event.button !== 0) return;
      this.start = this.share(event);
      this.plot.setPointerCapture(event.pointerId);
    }

    move(event) {
      const share = this.share(event);
      if (this.start !== undefined) {
        const [low, high] = [this.start, share].sort((a, b) => a - b);
        this.range.style.left = `${100 * low}%`;
        this.range.style.width = `${100 * (high - low)}%`;
        this.range.hidden = false;
      }
      this.read(share);
    }

    release(event) {
      if (this.start === undefined) return;
      const ends = [this.start, this.share(event)].sort((a, b) => a - b);
      const wide = (ends[1] - ends[0]) * this.plot.clientWidth > 6;
      this.forget();
      if (wide) this.choose(...ends.map((end) => this.rowAt(end)));
      else this.read(this.share(event));
    }

    forget() { this.start = undefined; this.range.hidden = true; }
    hide() { this.cursor.hidden = this.tip.hidden = true; }

    go(where) {
      const [low, high] = this.view, span = high - low, middle = (low + high) / 2;
      if (where === "all") this.choose(...this.data.x);
      if (where === "in") this.choose(middle - span / 4, middle + span / 4);
      if (where === "out") this.choose(middle - span, middle + span);
      if (where === "back") this.choose(low - span / 2, high - span / 2);
      if (where === "on") this.choose(low + span / 2, high + span / 2);
    }

    choose(low, high) {
      this.show(low, high);
      chosen.set(this.number, this.view);
    }

    /** Show rows low to high, or as near to that as there are rows. */
    show(low, high) {
      const [first, last] = this.data.x, step = low < this.data.recent ? this.data.step : 1;
      const span = Math.min(last - first, Math.max(high - low, 4 * step));
      low = Math.min(Math.max((low + high - span) / 2, first), last - span);
      this.view = [low, low + span];
      this.hide();
      this.draw();
      this.mark();
    }

    /** Range of the rows in view, as in label_range.py; probabilities keep 0 to 1. */
    heights(from, to) {
      const { data } = this;
      if (data.names || this.isWhole) return data.y;
      const { label, lower, upper } = data, core = [];
      for (let i = from; i < to; i++)
        if (label[i] !== null && lower[i] !== null && lower[i] <= label[i] && label[i] <= upper[i]) core.push(label[i]);
      for (const column of [label, data.mean, lower, upper]) core.push(...most(column.slice(from, to)));
      let low = Math.min(...core), high = Math.max(...core);
      if (!(high > low)) return data.y;
      const reach = 0.5 * (high - low);
      const near = label.slice(from, to).filter((value) => value !== null && value >= low - reach && value <= high + reach);
      low = Math.min(low, ...near);
      high = Math.max(high, ...near);
      const margin = 0.04 * (high - low);
      return [low - margin, high + margin];
    }

    draw() {
      const { data } = this, [left, right] = this.view;
      const from = Math.max(placeOf(data.row, left) - 1, 0), to = Math.min(placeOf(data.row, right + 1e-9) + 1, data.row.length);
      const [low, high] = this.heights(from, to);
      const x = (row) => ((SIZE * (row - left)) / (right - left)).toFixed(2);
      const y = (value) => (SIZE - (SIZE * (value - low)) / (high - low)).toFixed(2);
      this.svg.classList.toggle("near", to - from <= FEW);
      for (const own of this.svg.querySelectorAll(".dots")) own.classList.toggle("big", to - from <= FEW);
      if (data.names) this.drawClasses(from, to, x, y); else this.drawNumbers(from, to, x, y);
      if (!data.names) this.drawEdges(from, to, low, high);
      this.set(".change", data.changes.filter((row) => row >= left && row <= right).map((row) => `M${x(row)} 0V${SIZE}`).join(""));
      this.drawAxes(low, high, x, y);
    }

    set(name, d) { this.svg.querySelector(name)?.setAttribute("d", d); }

    drawNumbers(from, to, x, y) {
      const { row, label, mean, lower, upper } = this.data, top = [], bottom = [], dots = [];
      let line = "", pen = "M";
      for (let i = from; i < to; i++) {
        if (lower[i] !== null && upper[i] !== null) {
          top.push(`${x(row[i])} ${y(upper[i])}`);
          bottom.unshift(`${x(row[i])} ${y(lower[i])}`);
        }
        if (label[i] !== null) dots.push(`M${x(row[i])} ${y(label[i])}h0`);
        if (mean[i] === null) { pen = "M"; continue; }
        line += `${pen}${x(row[i])} ${y(mean[i])}`;
        pen = "L";
      }
      this.set(".band", top.length > 1 ? `M${[...top, ...bottom].join("L")}Z` : "");
      this.set(".ours", line);
      this.set(".truth", dots.join(""));
    }

    /** Triangles at the edge for labels outside the axis, and how many there are. */
    drawEdges(from, to, low, high) {
      const { row, label } = this.data, [left, right] = this.view, made = [];
      for (let i = from; i < to; i++) {
        if (label[i] === null || row[i] < left || row[i] > right || (label[i] >= low && label[i] <= high)) continue;
        const edge = document.createElement("i");
        edge.className = `edge ${label[i] < low ? "below" : "above"}`;
        edge.style.left = `${(100 * (row[i] - left)) / (right - left)}%`;
        made.push(edge);
      }
      for (const old of this.plot.querySelectorAll(".edge")) old.remove();
      this.plot.append(...made);
      const note = this.chart.querySelector(".outside");
      note.hidden = made.length === 0;
      note.querySelector("span").textContent = `${fixed(made.length, 0)} label${made.length === 1 ? "" : "s"} outside the axis`;
    }

    drawClasses(from, to, x, y) {
      const { row, label, predicted, p_label: p } = this.data, dots = { right: "", wrong: "" };
      for (let i = from; i < to; i++)
        if (p[i] !== null) dots[label[i] === predicted[i] ? "right" : "wrong"] += `M${x(row[i])} ${y(p[i])}h0`;
      for (const name of ["right", "wrong"]) this.set(`.${name}`, dots[name]);
    }

    drawAxes(low, high, x, y) {
      const [left, right] = this.view, across = this.rowTicks();
      this.chart.querySelector(".x-ticks").replaceChildren(...across.map(([row, text], i) => {
        const at = (row - left) / (right - left), end = at > 0.97 ? "at-end" : at < 0.03 ? "at-start" : "inside";
        return this.label(text, "left", 100 * at, `${end} ${i % 2 ? "odd" : "even"}`);
      }));
      const up = this.data.names ? { values: [0, 0.25, 0.5, 0.75, 1] } : ticks(low, high, 5, false);
      if (!this.data.names) this.drawHeights(up, low, high);
      this.svg.querySelector(".grid").setAttribute("d", up.values.map((value) => `M0 ${y(value)}H${SIZE}`).join("")
        + across.map(([row]) => `M${x(row)} 0V${SIZE}`).join(""));
    }

    /** Rows and labels of the ticks: times, where rows have times. */
    rowTicks() {
      const { clock } = this, [left, right] = this.view;
      if (!clock) return ticks(left, right, 5, true).values.map((row) => [row, fixed(row, 0)]);
      const low = between(clock.row, clock.time, left), high = between(clock.row, clock.time, right);
      this.chart.querySelector(".x-title").textContent = `${dateAndTime(low)} to ${dateAndTime(high)}`;
      const kept = [];
      for (const [time, text] of timeTicks(low, high, 6)) {
        const row = between(clock.time, clock.row, time);
        if (!kept.length || row - kept.at(-1)[0] > 0.08 * (right - left)) kept.push([row, text]);
      }
      return kept;
    }

    drawHeights(up, low, high) {
      const scale = 10 ** this.data.power, digits = places(up.step / scale);
      const labels = up.values.map((value) => fixed(value / scale, digits));
      const spans = labels.map((text, i) => this.label(text, "top", (100 * (high - up.values[i])) / (high - low), ""));
      this.chart.querySelector(".y-ticks").replaceChildren(...spans);
      this.chart.style.setProperty("--labels", `${Math.max(...labels.map((text) => text.length)) + 0.5}ch`);
    }

    label(text, side, place, name) {
      const made = document.createElement("span");
      made.textContent = text;
      made.className = name;
      made.style[side] = `${place}%`;
      return made;
    }

    /** Say which part is shown: on the overview, on the buttons, and to scripts. */
    mark() {
      const [first, last] = this.data.x, [low, high] = this.view;
      const button = (go) => this.tools.querySelector(`[data-go="${go}"]`);
      for (const go of ["all", "out"]) button(go).disabled = this.isWhole;
      button("back").disabled = low <= first;
      button("on").disabled = high >= last;
      this.root.dataset.view = this.view.map((row) => row.toFixed(1)).join(" ");
      if (!this.window) return;
      this.window.style.left = `${(100 * (low - first)) / (last - first)}%`;
      this.window.style.width = `${(100 * (high - low)) / (last - first)}%`;
    }

    /** Show the values of the row nearest to the pointer. */
    read(share) {
      const rows = this.data.row, wanted = this.rowAt(share);
      let i = Math.min(placeOf(rows, wanted), rows.length - 1);
      if (i > 0 && wanted - rows[i - 1] < rows[i] - wanted) i -= 1;
      const at = (rows[i] - this.view[0]) / (this.view[1] - this.view[0]);
      if (at < 0 || at > 1) { this.hide(); return; }
      this.cursor.style.left = `${100 * at}%`;
      this.tip.textContent = [...this.when(i), ...(this.data.names ? this.classLines(i) : this.numberLines(i))].join("\n");
      this.tip.style.left = at < 0.5 ? `calc(${100 * at}% + 10px)` : "auto";
      this.tip.style.right = at < 0.5 ? "auto" : `calc(${100 - 100 * at}% + 10px)`;
      this.cursor.hidden = this.tip.hidden = false;
    }

    when(i) {
      const time = this.data.time?.[i] ?? null;
      return [`row ${fixed(this.data.row[i], 0)}`, ...(time === null ? [] : [dateAndTime(time)])];
    }

    numberLines(i) {
      const { label, mean, lower, upper } = this.data;
      const lines = [`came\t${short(label[i])}`, `predicted\t${short(mean[i])}`];
      return lower[i] === null ? lines : [...lines, `interval\t${short(lower[i])} to ${short(upper[i])}`];
    }

    classLines(i) {
      const { label, predicted, confidence, p_label: own, names } = this.data;
      const lines = [`predicted ${names[predicted[i]] ?? "nothing"}, ${percent(confidence[i])}`];
      if (label[i] < 0) return [...lines, "true class not known yet"];
      return [...lines, `true class ${names[label[i]] ?? "another"}, ${percent(own[i])}`];
    }
  }

  const start = () => document.querySelectorAll(".zoomable").forEach((root, number) => new Zoom(root, number));
  document.addEventListener("report-replaced", start);
  start();
})();
