// Zoom into the predictions and read values off. The page is complete without this script.
(() => {
  "use strict";
  const SIZE = 1000;
  // Below this number of rows each one is visible: dots may be larger.
  const FEW = 150;

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

  const fixed = (value, places) =>
    value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places }).replace("-", "−");

  const places = (step) => Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));

  const short = (value) => {
    if (value === null) return "not known yet";
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e7 || size < 1e-4)) return value.toExponential(4).replace("-", "−");
    return value.toLocaleString("en-US", { maximumSignificantDigits: 6 }).replace("-", "−");
  };

  const percent = (share) => (share === null ? "not known yet" : `${(100 * share).toFixed(1)} %`);

  /** First place in the sorted `rows` that is not below `row`. */
  const placeOf = (rows, row) => {
    let low = 0, high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle] < row) low = middle + 1; else high = middle;
    }
    return low;
  };

  class Zoom {
    constructor(root) {
      this.data = JSON.parse(root.querySelector("script").textContent);
      this.chart = root.querySelector(".chart");
      this.plot = root.querySelector(".plot");
      this.svg = root.querySelector("svg");
      this.tools = root.querySelector(".tools");
      this.static = { x: this.xTicks.innerHTML, y: this.yTicks.innerHTML, grid: this.grid.getAttribute("d"),
        labels: this.chart.style.getPropertyValue("--labels") };
      this.view = [...this.data.x];
      this.cursor = this.overlay("cursor");
      this.range = this.overlay("range");
      this.tip = this.overlay("tip");
      this.tools.hidden = false;
      root.classList.add("live");
      this.listen();
      this.draw();
    }

    get xTicks() { return this.chart.querySelector(".x-ticks"); }
    get yTicks() { return this.chart.querySelector(".y-ticks"); }
    get grid() { return this.svg.querySelector(".grid"); }
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
      this.plot.addEventListener("dblclick", () => this.show(...this.data.x));
      this.tools.addEventListener("click", (event) => this.go(event.target.dataset.go));
    }

    share(event) {
      const box = this.plot.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    }

    rowAt(share) { return this.view[0] + share * (this.view[1] - this.view[0]); }

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
      if (wide) this.show(...ends.map((end) => this.rowAt(end)));
      else this.read(this.share(event));
    }

    forget() { this.start = undefined; this.range.hidden = true; }
    hide() { this.cursor.hidden = this.tip.hidden = true; }

    go(where) {
      const [low, high] = this.view, span = high - low, middle = (low + high) / 2;
      if (where === "all") this.show(...this.data.x);
      if (where === "in") this.show(middle - span / 4, middle + span / 4);
      if (where === "out") this.show(middle - span, middle + span);
      if (where === "back") this.show(low - span / 2, high - span / 2);
      if (where === "on") this.show(low + span / 2, high + span / 2);
    }

    /** Show rows low to high, or as near to that as there are rows. */
    show(low, high) {
      const [first, last] = this.data.x, rows = this.data.row;
      const step = rows.length > 1 ? rows[1] - rows[0] : 1;
      const span = Math.min(last - first, Math.max(high - low, 4 * step));
      low = Math.min(Math.max((low + high - span) / 2, first), last - span);
      this.view = [low, low + span];
      this.hide();
      this.draw();
    }

    /** Values in view, so that the figure fills the panel; probabilities keep 0 to 1. */
    heights() {
      const { data } = this;
      if (data.names || this.isWhole) return data.y;
      const from = placeOf(data.row, this.view[0]), to = placeOf(data.row, this.view[1] + 1e-9);
      let low = Infinity, high = -Infinity;
      for (const column of [data.label, data.mean, data.lower, data.upper])
        for (let i = from; i < to; i++)
          if (column[i] !== null) { low = Math.min(low, column[i]); high = Math.max(high, column[i]); }
      if (!(high > low)) return data.y;
      const margin = 0.05 * (high - low);
      return [low - margin, high + margin];
    }

    draw() {
      const { data } = this, [x0, x1] = data.x, [y0, y1] = data.y, [low, high] = this.heights();
      const px = (row) => (SIZE * (row - x0)) / (x1 - x0), py = (value) => SIZE - (SIZE * (value - y0)) / (y1 - y0);
      const box = [px(this.view[0]), py(high), px(this.view[1]) - px(this.view[0]), py(low) - py(high)];
      this.svg.setAttribute("viewBox", box.join(" "));
      const shown = placeOf(data.row, this.view[1] + 1e-9) - placeOf(data.row, this.view[0]);
      this.svg.classList.toggle("near", shown <= FEW);
      this.enable();
      if (this.isWhole) { this.restore(); return; }
      const across = ticks(...this.view, 5, true);
      this.xTicks.replaceChildren(...across.values.map((row, i) => {
        const at = (row - this.view[0]) / (this.view[1] - this.view[0]);
        return this.label(fixed(row, 0), "left", 100 * at, `${i % 2 ? "odd" : "even"}${at > 0.97 ? " at-end" : ""}`);
      }));
      const up = data.names ? null : ticks(low, high, 5, false);
      if (up) this.drawHeights(up, low, high);
      const levels = up ? up.values : [0, 0.25, 0.5, 0.75, 1];
      this.grid.setAttribute("d", levels.map((value) => `M${box[0]} ${py(value)}h${box[2]}`).join("")
        + across.values.map((row) => `M${px(row)} ${box[1]}v${box[3]}`).join(""));
    }

    drawHeights(up, low, high) {
      const scale = 10 ** this.data.power, digits = places(up.step / scale);
      const labels = up.values.map((value) => fixed(value / scale, digits));
      const spans = labels.map((text, i) => this.label(text, "top", (100 * (high - up.values[i])) / (high - low), ""));
      this.yTicks.replaceChildren(...spans);
      this.chart.style.setProperty("--labels", `${Math.max(...labels.map((text) => text.length)) + 0.5}ch`);
    }

    label(text, side, place, name) {
      const made = document.createElement("span");
      made.textContent = text;
      made.className = name;
      made.style[side] = `${place}%`;
      return made;
    }

    restore() {
      this.xTicks.innerHTML = this.static.x;
      this.yTicks.innerHTML = this.static.y;
      this.grid.setAttribute("d", this.static.grid);
      this.chart.style.setProperty("--labels", this.static.labels);
    }

    enable() {
      const whole = this.isWhole, button = (go) => this.tools.querySelector(`[data-go="${go}"]`);
      for (const go of ["all", "out"]) button(go).disabled = whole;
      button("back").disabled = this.view[0] <= this.data.x[0];
      button("on").disabled = this.view[1] >= this.data.x[1];
    }

    /** Show the values of the row nearest to the pointer. */
    read(share) {
      const rows = this.data.row, wanted = this.rowAt(share);
      let i = Math.min(placeOf(rows, wanted), rows.length - 1);
      if (i > 0 && wanted - rows[i - 1] < rows[i] - wanted) i -= 1;
      const at = (rows[i] - this.view[0]) / (this.view[1] - this.view[0]);
      if (at < 0 || at > 1) { this.hide(); return; }
      this.cursor.style.left = `${100 * at}%`;
      this.tip.textContent = (this.data.names ? this.classLines(i) : this.numberLines(i)).join("\n");
      this.tip.style.left = at < 0.5 ? `calc(${100 * at}% + 10px)` : "auto";
      this.tip.style.right = at < 0.5 ? "auto" : `calc(${100 - 100 * at}% + 10px)`;
      this.cursor.hidden = this.tip.hidden = false;
    }

    numberLines(i) {
      const { row, label, mean, lower, upper } = this.data;
      return [`row ${fixed(row[i], 0)}`, `truth\t${short(label[i])}`, `predicted\t${short(mean[i])}`,
        `interval\t${short(lower[i])} to ${short(upper[i])}`];
    }

    classLines(i) {
      const { row, label, predicted, confidence, p_label: own, names } = this.data;
      const lines = [`row ${fixed(row[i], 0)}`, `predicted ${names[predicted[i]] ?? "nothing"}, ${percent(confidence[i])}`];
      if (label[i] < 0) return [...lines, "true class not known yet"];
      return [...lines, `true class ${names[label[i]] ?? "another"}, ${percent(own[i])}`];
    }
  }

  for (const root of document.querySelectorAll(".zoomable")) new Zoom(root);
})();
