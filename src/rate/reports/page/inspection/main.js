// The page: reads the values, and shows all panels at the step that the scrubber is at.

const byId = (name) => document.getElementById(name);
const { runs } = JSON.parse(byId("values").textContent);
const last = Math.max(...runs.map(lengthOf));
const [main, slider, panels] = [document.querySelector("main"), byId("step"), byId("runs")];
let playing = null;

const colourOf = (number) => `var(${number ? "--second" : "--first"})`;

function build() {
  panels.classList.toggle("alone", runs.length === 1);
  runs.forEach((run, number) => {
    const place = byId("run").content.firstElementChild.cloneNode(true);
    place.style.setProperty("--own", colourOf(number));
    place.querySelector("h2").textContent = run.model;
    place.querySelector(".about").textContent = `${run.name}: ${run.about}; ${lengthOf(run)} steps${verdict(run)}`;
    // The words of an observation may be the picture itself, or too long to be looked at every time.
    const [told, texts] = [place.querySelector("details"), run.told.different.map((one) => one.text)];
    told.hidden = run.pictures.different.every((one, at) => one.text === texts[at]);
    told.open = texts.every((text) => text.length < 120 && text.split("\n").length < 4);
    panels.append(place);
  });
}

// A curve as a series: a colour per run, a line style per thing that is probed.
function seriesOf(run, number, curve) {
  const memory = curve.of === "memory";
  const points = curve.steps.map((step, at) => [step, ...curve.accuracy[at]]);
  if (memory) points.push([lengthOf(run), ...curve.accuracy.at(-1)]); // what it holds then it holds to the end
  return {
    curve, name: `${run.model}, ${curve.of}`, colour: colourOf(number),
    dash: memory ? "none" : "6 4", wide: memory ? 4 : 2, stairs: memory,
    points: points.map(([step, value]) => [step, value]),
    band: points.map(([step, , low, high]) => [step, low, high]),
  };
}

function showKnowledge(step) {
  const known = runs.map((run) => run.knowledge).find((one) => one);
  byId("knows").hidden = !known;
  if (!known) return;
  byId("knows-title").textContent = `What it knows: ${known.fact}`;
  const host = byId("curves");
  const series = runs.flatMap((run, number) => {
    const curves = run.knowledge ? run.knowledge.curves : [];
    return curves.filter((curve) => curve.steps.length).map((curve) => seriesOf(run, number, curve));
  });
  const lowest = Math.min(known.chance, ...series.flatMap((one) => one.band.map(([, low]) => low)));
  host.replaceChildren();
  plot(host, {
    series, steps: last, at: step, level: known.chance, floor: lowest < 0.25 ? 0 : 0.25, pick: go,
    height: host.clientWidth < 500 ? 190 : 240, label: `Accuracy of probes for ${known.fact} over the steps`,
  });
  byId("curves-legend").replaceChildren(...series.map((one) => legendOf(one, step)));
}

function legendOf({ curve, name, colour, dash, wide }, step) {
  const line = svgEl("svg", { viewBox: "0 0 32 12", "aria-hidden": "true" });
  const stroke = { stroke: colour, "stroke-width": wide, "stroke-dasharray": dash };
  line.append(svgEl("line", { x1: 0, x2: 32, y1: 6, y2: 6, ...stroke }));
  const at = curve.steps.filter((probed) => probed <= step).length - 1;
  if (at < 0) return el("span", {}, line, name);
  const [value, low, high] = curve.accuracy[at].map(round);
  const guess = curve.guesses[at] === null ? "" : `, here ${curve.guesses[at]}`;
  return el("span", {}, line, `${name}: ${value} [${low}, ${high}]${guess}`);
}

function show(step) {
  const paint = colours();
  slider.value = step;
  byId("where").textContent = `step ${step} of ${last}`;
  slider.setAttribute("aria-valuetext", `step ${step} of ${last}`);
  showKnowledge(step);
  runs.forEach((run, number) => {
    const part = (name) => panels.children[number].querySelector(name);
    showSeen(run, part(".see"), step);
    showChoice(run, part(".choose"), step, paint, go);
    showLook(run, part(".look"), step, paint, go);
    showMemory(run, part(".memory"), step, paint, go);
  });
  document.documentElement.dataset.step = step;
}

function go(step) {
  const to = within(step, 0, last);
  history.replaceState(null, "", `#${to}`);
  show(to);
}

function play(on) {
  clearInterval(playing);
  playing = on ? setInterval(() => (+slider.value < last ? go(+slider.value + 1) : play(false)), 150) : null;
  byId("play").textContent = on ? "Stop" : "Play";
}

const KEYS = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
const ON_SLIDER = { ...KEYS, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10 }; // elsewhere these scroll the page

function onKey(event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const keys = event.target === slider ? ON_SLIDER : KEYS;
  if (event.key in keys) {
    event.preventDefault();
    play(false);
    go(+slider.value + keys[event.key]);
  } else if (event.key === " " && !["BUTTON", "SUMMARY"].includes(event.target.tagName)) {
    event.preventDefault();
    play(!playing);
  }
}

function listen() {
  document.addEventListener("keydown", onKey);
  slider.addEventListener("input", () => go(+slider.value));
  byId("back").addEventListener("click", () => go(+slider.value - 1));
  byId("on").addEventListener("click", () => go(+slider.value + 1));
  byId("play").addEventListener("click", () => play(!playing));
  let width = main.clientWidth;
  new ResizeObserver(() => requestAnimationFrame(() => { // not at once: drawing changes the height that is observed
    if (width !== main.clientWidth) show(+slider.value);
    width = main.clientWidth;
  })).observe(main);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(+slider.value));
}

async function begin() {
  for (const { attention } of runs) if (attention) await prepareAttention(attention);
  slider.max = last;
  build();
  listen();
  show(within(parseInt(location.hash.slice(1), 10) || 0, 0, last));
}

begin();
