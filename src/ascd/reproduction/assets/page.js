"use strict";
// Draws every chart of the page as SVG from the data in the page; a choice in the toolbar redraws all of them.
(function () {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const choice = { x: "", xs: "linear", y: "log", right: "on" };
  const hidden = {};
  const LEFT = 62, RIGHT = 58, TOP = 12, BOTTOM = 42, FLOOR = 1e-14;
  const NS = "http://www.w3.org/2000/svg";

  function node(name, attributes, parent) {
    const made = document.createElementNS(NS, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (parent) parent.appendChild(made);
    return made;
  }

  function ink(color) { return color === "#222222" ? "var(--ink)" : color; }  // black is the text's colour, dark or light

  function format(value) {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    if (value === 0) return "0";
    if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace("e+", "e");
    return String(Number(value.toPrecision(size >= 100 ? 5 : 3)));
  }

  function escaped(text) {
    const holder = document.createElement("span");
    holder.textContent = text;
    return holder.innerHTML;
  }

  function worded(text) {  // what follows a letter and an underscore is an index
    return escaped(text).replace(/(?<![\p{L}\d_])(\p{L})_(∞|[\p{L}\d]+)(?![\p{L}\d_])/gu, "$1<sub>$2</sub>");
  }

  function tickLabel(value) {
    const size = Math.abs(value);
    if (size >= 1e6 || (size > 0 && size < 1e-2)) return value.toExponential(value.toPrecision(1) == value ? 0 : 1).replace("e+", "e");
    return size >= 1e4 ? value.toLocaleString("en") : String(Number(value.toPrecision(4)));
  }

  function linearTicks(low, high, count) {
    const raw = (high - low) / count || 1, power = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(k * step);
    return ticks;
  }

  function logTicks(low, high) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const every = Math.max(1, Math.ceil((last - first + 1) / 8)), ticks = [];
    for (let e = last; e >= first; e -= every) ticks.push(Math.pow(10, e));
    return ticks.length > 1 ? ticks : linearTicks(low, high, 5).filter((t) => t > 0);
  }

  function scale(low, high, from, to, log) {
    if (log) { low = Math.log10(low); high = Math.log10(high); }
    const span = high - low || 1;
    return (value) => from + ((log ? Math.log10(value) : value) - low) / span * (to - from);
  }

  function extent(lists, keep) {
    let low = Infinity, high = -Infinity;
    for (const list of lists) for (const value of list) {
      if (value === null || !keep(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return low > high ? [0, 1] : [low, high];
  }

  function path(xs, ys, f, sy, keep) {
    const sx = f.sx;
    let text = "", pen = "M";
    for (let k = 0; k < xs.length; k++) {
      if (ys[k] === null || xs[k] === null || !keep(ys[k]) || !f.reachable(xs[k])) { pen = "M"; continue; }
      text += pen + sx(xs[k]).toFixed(1) + " " + sy(ys[k]).toFixed(1);
      pen = "L";
    }
    return text;
  }

  function band(xs, low, high, f) {
    const clip = (value) => f.sy(value === null ? f.yRange[0] : Math.max(value, f.yRange[0])).toFixed(1);
    const shown = xs.map((x, k) => k).filter((k) => f.reachable(xs[k]));
    const there = shown.map((k) => f.sx(xs[k]).toFixed(1) + " " + clip(high[k]));
    const back = shown.map((k) => f.sx(xs[k]).toFixed(1) + " " + clip(low[k])).reverse();
    return "M" + there.concat(back).join("L") + "Z";
  }

  function tall(width) { return width > 900 ? 420 : 330; }

  function axisOf(chart) { return chart.axes.find((axis) => axis.key === choice.x) || chart.axes[0]; }

  function frame(chart, shown, width) {
    const axis = axisOf(chart), log = chart.log && choice.y === "log";
    const keep = log ? (value) => value > FLOOR : () => true;
    const right = choice.right === "on" && shown.some((series) => series.right.length);
    const far = choice.xs === "log" && chart.axes.length > 1, reachable = far ? (value) => value > 0 : () => true;
    const xRange = extent(shown.map((series) => series.x[axis.key]), reachable);
    if (xRange[0] === xRange[1]) xRange[1] = xRange[0] + 1;
    let yRange = extent(shown.map((series) => series.y), keep);
    if (!log) { const pad = (yRange[1] - yRange[0]) * 0.05; yRange = [chart.log ? 0 : yRange[0] - pad, yRange[1] + pad]; }
    else if (yRange[0] === yRange[1]) yRange = [yRange[0] / 10, yRange[1] * 10];
    const rRange = right ? [0, extent(shown.map((series) => series.right), () => true)[1] * 1.05 || 1] : [0, 1];
    const edge = right ? width - RIGHT : width - 18, H = tall(width);
    return {
      width, H, axis, log, far, keep, reachable, right, edge, xRange, yRange, rRange,
      sx: scale(xRange[0], xRange[1], LEFT, edge, far),
      sy: scale(yRange[0], yRange[1], H - BOTTOM, TOP, log),
      sr: scale(rRange[0], rRange[1], H - BOTTOM, TOP, false),
    };
  }

  function drawAxes(svg, chart, f) {
    const H = f.H;
    for (const tick of f.log ? logTicks(...f.yRange) : linearTicks(...f.yRange, 5)) {
      const y = f.sy(tick);
      node("line", { class: "rule", x1: LEFT, x2: f.edge, y1: y, y2: y }, svg);
      node("text", { x: LEFT - 7, y: y + 4, "text-anchor": "end" }, svg).textContent = tickLabel(tick);
    }
    for (const tick of f.far ? logTicks(...f.xRange) : linearTicks(...f.xRange, f.width < 420 ? 4 : 6)) {
      const x = f.sx(tick);
      node("line", { class: "axis", x1: x, x2: x, y1: H - BOTTOM, y2: H - BOTTOM + 4 }, svg);
      node("text", { x, y: H - BOTTOM + 17, "text-anchor": "middle" }, svg).textContent = tickLabel(tick);
    }
    if (f.right) for (const tick of linearTicks(...f.rRange, 4)) {
      node("text", { x: f.edge + 7, y: f.sr(tick) + 4 }, svg).textContent = tickLabel(tick);
    }
    node("path", { class: "axis", fill: "none", d: `M${LEFT} ${TOP}V${H - BOTTOM}H${f.edge}` + (f.right ? `V${TOP}` : "") }, svg);
    node("text", { x: (LEFT + f.edge) / 2, y: H - 6, "text-anchor": "middle" }, svg).textContent = f.axis.label;
    const middle = (TOP + H - BOTTOM) / 2;
    node("text", { transform: `translate(12 ${middle}) rotate(-90)`, "text-anchor": "middle" }, svg).textContent = chart.y_label;
    if (f.right) node("text", { transform: `translate(${f.width - 6} ${middle}) rotate(-90)`, "text-anchor": "middle" }, svg).textContent = chart.right_label;
  }

  function drawCurves(svg, shown, f) {
    for (const series of shown) {
      const xs = series.x[f.axis.key];
      if (series.low.length) node("path", { class: "band", fill: ink(series.color), d: band(xs, series.low, series.high, f) }, svg);
      if (f.right && series.right.length) node("path", { class: "curve right", stroke: ink(series.color), d: path(xs, series.right, f, f.sr, () => true) }, svg);
      const style = { class: "curve" + (series.thin ? " thin" : ""), stroke: ink(series.color), d: path(xs, series.y, f, f.sy, f.keep) };
      if (series.dash) style["stroke-dasharray"] = "6 4";
      node("path", style, svg);
    }
  }

  function nearest(xs, value) {
    let best = 0;
    for (let k = 1; k < xs.length; k++) if (Math.abs(xs[k] - value) < Math.abs(xs[best] - value)) best = k;
    return best;
  }

  function describe(chart, shown, f, value) {
    const rows = shown.filter((series) => !series.thin).map((series) => {
      const xs = series.x[f.axis.key];
      if (value > xs[xs.length - 1] * 1.02) return "";
      const k = nearest(xs, value), active = f.right && series.right.length ? format(series.right[k]) : "";
      return `<tr><td style="color:${ink(series.color)}">●</td><td>${worded(series.name)}</td><td class="n">${format(series.y[k])}</td><td class="n">${active}</td></tr>`;
    });
    const head = f.right ? "<tr><td></td><td></td><td class='n'>value</td><td class='n'>active</td></tr>" : "";
    return `<b>${f.axis.label}: ${format(value)}</b><table>${head}${rows.join("")}</table>`;
  }

  function hover(holder, svg, chart, shown, f) {
    const cursor = node("line", { class: "cursor", y1: TOP, y2: f.H - BOTTOM, visibility: "hidden" }, svg);
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    holder.appendChild(tip);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) * f.width / box.width;
      if (x < LEFT || x > f.edge) { svg.dispatchEvent(new Event("pointerleave")); return; }
      const share = (x - LEFT) / (f.edge - LEFT), [low, high] = f.xRange;
      const value = f.far ? low * Math.pow(high / low, share) : low + share * (high - low);
      cursor.setAttribute("x1", x); cursor.setAttribute("x2", x); cursor.setAttribute("visibility", "visible");
      tip.innerHTML = describe(chart, shown, f, value);
      tip.hidden = false;
      const left = event.clientX - box.left, flip = left + tip.offsetWidth + 24 > box.width;
      tip.style.left = Math.max(0, flip ? left - tip.offsetWidth - 14 : left + 14) + "px";
      tip.style.top = "10px";
    });
    svg.addEventListener("pointerleave", () => { tip.hidden = true; cursor.setAttribute("visibility", "hidden"); });
  }

  function drawLegend(figure, chart, f) {
    const legend = figure.querySelector(".legend");
    legend.replaceChildren();
    for (const series of chart.series) {
      if (series.thin || series.y.every((value) => value === null)) continue;  // the key below names what is dotted only
      const absent = !series.x[f.axis.key];
      const off = hidden[chart.key].has(series.name), button = document.createElement("button");
      button.type = "button";
      button.className = off ? "off" : absent ? "absent" : "";
      button.title = absent ? "not drawn against this axis" : off ? "show this curve" : "hide this curve";
      button.setAttribute("aria-pressed", String(!off));
      const mark = document.createElement("i");
      mark.className = series.dash ? "dash" : "";
      mark.style.borderColor = ink(series.color);
      const name = document.createElement("span");
      name.innerHTML = worded(series.name);
      button.append(mark, name);
      button.addEventListener("click", () => {
        if (off) hidden[chart.key].delete(series.name); else hidden[chart.key].add(series.name);
        draw(figure);
      });
      legend.appendChild(button);
    }
    if (f.right) {
      const note = document.createElement("span"), mark = document.createElement("i");
      note.className = "key";
      mark.className = "dots";
      note.append(mark, chart.right_label.replace(" (dotted)", "") + " (dotted, right axis)");
      legend.appendChild(note);
    }
  }

  function draw(figure) {
    const chart = charts[figure.dataset.chart], holder = figure.querySelector(".plot");
    hidden[chart.key] = hidden[chart.key] || new Set();
    const key = axisOf(chart).key;
    const shown = chart.series.filter((series) => series.x[key] && !hidden[chart.key].has(series.name));
    const width = Math.max(280, holder.clientWidth || 560);  // a unit is a pixel: text keeps its size on small screens
    const f = frame(chart, shown, width);
    const svg = node("svg", { viewBox: `0 0 ${width} ${f.H}`, role: "img", "aria-label": chart.title, "data-axis": f.axis.key, "data-scale": f.log ? "log" : "linear", "data-far": String(f.far) });
    drawAxes(svg, chart, f);
    drawCurves(svg, shown, f);
    holder.replaceChildren(svg);
    hover(holder, svg, chart, shown, f);
    drawLegend(figure, chart, f);
  }

  function drawAll() { document.querySelectorAll("figure[data-chart]").forEach(draw); }

  const HELP = {
    x: ["against", "The horizontal axis: steps in passes of n, columns read, or time."],
    xs: ["horizontal", "Scale of the horizontal axis; logarithmic spreads small values."],
    y: ["vertical", "Scale of the vertical axis; logarithmic gives every power of ten the same height."],
    right: ["active set", "Dotted lines, right axis: how many coordinates may still be the steepest."],
  };
  const HINT = "Move over a chart to read values; press a name to hide its curve.";
  const BUTTONS = { epochs: "epochs", reads: "column reads", on: "shown", off: "hidden" };

  function switches() {  // those that some chart reacts to, each with its values: the first is chosen
    const all = Object.values(charts), several = all.filter((chart) => chart.axes.length > 1), found = {};
    if (several.length) {
      found.x = several[0].axes.map((axis) => axis.key);
      found.xs = several.some((chart) => chart.far) ? ["log", "linear"] : ["linear", "log"];
    }
    if (all.some((chart) => chart.log)) found.y = ["log", "linear"];
    if (several.some((chart) => chart.series.some((series) => series.right.length))) found.right = ["on", "off"];
    return found;
  }

  function group(key, values) {
    const made = document.createElement("div"), [title, text] = HELP[key];
    made.className = "group";
    made.dataset.choice = key;
    made.setAttribute("role", "group");
    made.setAttribute("aria-label", title);
    const buttons = values.map((value) => `<button type="button" data-value="${value}">${BUTTONS[value] || value}</button>`);
    made.innerHTML = `<div><b>${title}</b>${buttons.join("")}</div><small>${text}</small>`;
    const choose = (value) => {
      choice[key] = value;
      made.querySelectorAll("button").forEach((button) => {
        button.classList.toggle("on", button.dataset.value === value);
        button.setAttribute("aria-pressed", String(button.dataset.value === value));
      });
    };
    choose(values[0]);
    made.addEventListener("click", (event) => {
      if (!event.target.dataset.value) return;
      choose(event.target.dataset.value);
      drawAll();
    });
    return made;
  }

  const chosen = Object.entries(switches());
  if (chosen.length) {
    const bar = document.getElementById("toolbar"), hint = document.createElement("span");
    hint.className = "hint";
    hint.textContent = HINT;
    bar.append(...chosen.map(([key, values]) => group(key, values)), hint);
    bar.hidden = false;
  }
  document.querySelectorAll("details.numbers").forEach((numbers) => { numbers.open = false; });
  let waiting = 0;
  window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 100); });
  drawAll();
})();
