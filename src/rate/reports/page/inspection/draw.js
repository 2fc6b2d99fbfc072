"use strict";
// Drawing: elements, line plots and heat maps. Texts are only ever set as text, never as markup.

function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function svgEl(tag, attributes = {}, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const round = (value) => (value === null ? "not a number" : value.toFixed(2));
const styleOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const within = (value, low, high) => Math.max(low, Math.min(high, value));

// Colours of values: from pale to strong, or to either side of 0. They differ in lightness, not in hue alone.
function colours() {
  const rgb = (name) => [1, 3, 5].map((at) => parseInt(styleOf(name).slice(at, at + 2), 16));
  const [low, high, minus, zero, plus] = ["--low", "--high", "--minus", "--zero", "--plus"].map(rgb);
  const mixed = (from, to, share) => {
    const channels = from.map((channel, at) => Math.round(channel + (to[at] - channel) * within(share, 0, 1)));
    return `rgb(${channels.join(",")})`;
  };
  return {
    grows: (share) => mixed(low, high, share),
    signed: (value) => mixed(zero, value < 0 ? minus : plus, Math.abs(value)),
  };
}

// ------------------------------------------------------------------------------------------------- heat maps

// A heat map of rows x columns. value(row, column) -> number or null, paint(number) -> colour; `mark` is the column
// that is framed, `dividers` are columns with a line before them, `names` stand beside rows, `below` are
// [column, text]; pick(column) is called by a click, say(row, column) -> text when the mouse is over a cell.
function heat(host, { names = [], below = [], ...map }) {
  const canvas = el("canvas", { role: "img" });
  const beside = el("div", { class: "names" }, ...names.map((name) => el("span", {}, name)));
  const place = (at) => (at > 0.75 * map.columns
    ? `right:${100 - (100 * (at + 1)) / map.columns}%`
    : `left:${(100 * at) / map.columns}%`);
  const foot = el("div", { class: "below" }, ...below.map(([at, text]) => el("span", { style: place(at) }, text)));
  host.append(el("div", { class: names.length ? "heat" : "heat bare" }, beside, canvas, ...(below.length ? [foot] : [])));
  paintCells(canvas, map);
  const cell = (event) => {
    const box = canvas.getBoundingClientRect();
    const index = (share, count) => within(Math.floor(share * count), 0, count - 1);
    const [down, along] = [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width];
    return [index(down, map.rows), index(along, map.columns)];
  };
  if (map.say) canvas.addEventListener("mousemove", (event) => { canvas.title = map.say(...cell(event)); });
  if (map.pick) canvas.addEventListener("click", (event) => map.pick(cell(event)[1]));
}

function paintCells(canvas, { rows, columns, value, paint, dividers = [], height = 12, mark = null, square = false }) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(1, canvas.clientWidth);
  const tall = square ? width : Math.max(height * rows, 12);
  canvas.style.height = `${tall}px`;
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(tall * ratio)];
  const pen = canvas.getContext("2d");
  const [wide, high] = [canvas.width / columns, canvas.height / rows];
  for (let row = 0; row < rows; row++) {
    for (let at = 0; at < columns; at++) {
      const found = value(row, at);
      if (found === null) continue;
      pen.fillStyle = paint(found);
      const [left, top] = [Math.floor(at * wide), Math.floor(row * high)];
      pen.fillRect(left, top, Math.ceil((at + 1) * wide) - left, Math.ceil((row + 1) * high) - top);
    }
  }
  pen.fillStyle = styleOf("--ink");
  for (const at of dividers) pen.fillRect(Math.round(at * wide - ratio / 2), 0, Math.ceil(1.5 * ratio), canvas.height);
  if (mark === null || mark >= columns) return;
  const broad = Math.max(wide, 2 * ratio);
  const left = within(mark * wide, ratio, canvas.width - broad - ratio);
  pen.strokeStyle = styleOf("--mark");
  pen.lineWidth = 2 * ratio;
  pen.strokeRect(left, ratio, broad, canvas.height - 2 * ratio);
}

// ------------------------------------------------------------------------------------------------- line plots

const EDGE = { left: 36, right: 8, top: 10, bottom: 24 };

// A plot of shares over steps. A series is {points: [[x, y]], band: [[x, low, high]], colour, dash, wide, stairs}.
function plot(host, { series, steps, floor, level, at, height, pick, label }) {
  const width = Math.max(240, host.clientWidth);
  const x = (step) => EDGE.left + ((width - EDGE.left - EDGE.right) * step) / Math.max(1, steps);
  const y = (value) => EDGE.top + (height - EDGE.top - EDGE.bottom) * (1 - (value - floor) / (1 - floor));
  const drawing = svgEl("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": label });
  const across = { x1: EDGE.left, x2: width - EDGE.right };
  for (const value of [0, 0.25, 0.5, 0.75, 1].filter((one) => one >= floor)) {
    drawing.append(svgEl("line", { ...across, y1: y(value), y2: y(value), stroke: "var(--grid)" }));
    drawing.append(svgEl("text", { x: EDGE.left - 6, y: y(value) + 4, "text-anchor": "end" }, String(value)));
  }
  const every = niceStep(steps, Math.max(2, Math.floor(width / 90)));
  for (let step = 0; step <= steps; step += every) {
    const place = { x: x(step), y: height - 6, "text-anchor": step ? "middle" : "start" };
    drawing.append(svgEl("text", place, step ? String(step) : "step 0"));
  }
  const dotted = { stroke: "var(--soft)", "stroke-dasharray": "2 4" };
  drawing.append(svgEl("line", { ...across, y1: y(level), y2: y(level), ...dotted }));
  for (const one of series) drawing.append(...drawnSeries(one, x, y));
  const cursor = { x1: x(at), x2: x(at), y1: EDGE.top, y2: height - EDGE.bottom };
  drawing.append(svgEl("line", { ...cursor, stroke: "var(--mark)", "stroke-width": 1.5 }));
  drawing.addEventListener("click", (event) => {
    const box = drawing.getBoundingClientRect();
    const share = (((event.clientX - box.left) / box.width) * width - EDGE.left) / (width - EDGE.left - EDGE.right);
    pick(Math.round(within(share, 0, 1) * steps));
  });
  host.append(drawing);
}

function drawnSeries({ points, band, colour, dash, wide, stairs }, x, y) {
  // Stairs go on at one height until the next point.
  const corners = (line) => line.flatMap(([px, py], n) => (n ? [[px, line[n - 1][1]], [px, py]] : [[px, py]]));
  const walked = (line) => (stairs ? corners(line) : line);
  const path = (line) => line.map(([px, py], n) => `${n ? "L" : "M"}${x(px)},${y(py)}`).join("");
  const upper = walked(band.map(([step, , high]) => [step, high]));
  const lower = walked(band.map(([step, low]) => [step, low]));
  const stroke = { stroke: colour, "stroke-width": wide, "stroke-dasharray": dash };
  return [
    svgEl("path", { d: `${path([...upper, ...lower.reverse()])}Z`, fill: colour, opacity: 0.16 }),
    svgEl("path", { d: path(walked(points)), fill: "none", ...stroke }),
  ];
}

function niceStep(range, marks) {
  const rough = Math.max(1, range / marks);
  const unit = 10 ** Math.floor(Math.log10(rough));
  return Math.round([1, 2, 5, 10].find((one) => one * unit >= rough) * unit);
}
