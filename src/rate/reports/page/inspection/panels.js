// Panels of one run at one step: what it sees, what it does, what its memory does.
// `run` are its values, `place` is the element, `paint` has the colours, and pick(step) goes to a step.

const lengthOf = (run) => run.actions.length;
const verdict = (run) => (run.success === null ? "" : run.success ? ": success" : ": no success");
const ends = (run) => [[0, "step 0"], [lengthOf(run) - 1, String(lengthOf(run) - 1)]];
const hint = (text) => el("p", { class: "hint" }, text);
const label = (text) => el("p", { class: "label" }, text);

function showSeen(run, place, step) {
  const at = Math.min(step, lengthOf(run));
  const picture = run.pictures.different[run.pictures.at[at]];
  const alt = `What is seen at step ${at} of ${run.name}`;
  const shown = picture.image ? el("img", { src: picture.image, alt }) : el("pre", {}, picture.text);
  place.querySelector(".picture").replaceChildren(shown);
  place.querySelector(".told").textContent = run.told.different[run.told.at[at]].text;
  const total = +sum(run.rewards.slice(0, at)).toFixed(3);
  place.querySelector(".did").textContent = at < lengthOf(run)
    ? `step ${at}: takes action ${run.actions[at]}, reward ${run.rewards[at]}; return so far ${total}`
    : `over after ${lengthOf(run)} steps, return ${total}${verdict(run)}`;
}

function showChoice(run, place, step, paint, pick) {
  const [bars, course] = [place.querySelector(".bars"), place.querySelector(".course")];
  bars.replaceChildren();
  course.replaceChildren();
  if (!run.probabilities[0].length) {
    const taken = step < lengthOf(run) ? `Action ${run.actions[step]}.` : "The episode is over.";
    return bars.append(hint(`Actions are numbers: there are no probabilities. ${taken}`));
  }
  const now = run.probabilities[Math.min(step, lengthOf(run) - 1)];
  const several = now.length > 1;
  const choices = now.flatMap((shares, part) => shares.map((share, choice) => ({
    part, choice, share, likely: share === Math.max(...shares), name: several ? `${part}: ${choice}` : String(choice),
  })));
  for (const { name, share, likely } of choices) {
    const parts = [el("span", {}, `action ${name}`), el("span", {}, el("i", { style: `width:${100 * share}%` }))];
    bars.append(el("div", { class: likely ? "bar chosen" : "bar" }, ...parts, el("span", {}, share.toFixed(3))));
  }
  const at = (row, column) => run.probabilities[column][choices[row].part][choices[row].choice];
  course.append(label("probability of each action at every step"));
  heat(course, {
    rows: choices.length, columns: lengthOf(run), value: at, paint: paint.grows, mark: step, pick,
    names: choices.length <= 24 ? choices.map(({ name }) => name) : [], below: ends(run),
    say: (row, column) => `step ${column}, action ${choices[row].name}: ${at(row, column)}`,
  });
}

function showMemory(run, place, step, paint, pick) {
  const now = place.querySelector(".now");
  now.replaceChildren();
  const memory = run.memory;
  if (!memory) {
    return now.append(hint(run.carries_memory
      ? "The episode is shorter than a segment: memory was not written."
      : `${run.model} carries no memory embeddings from segment to segment. What it knows is read from the hidden ` +
        "vector from which it predicts its action."));
  }
  const made = memory.steps.filter((before) => before <= step).length; // updates until now
  showUpdates(memory, now, made, paint, pick);
  showLikeness(memory, now, made, paint, pick);
  const [count, before] = [memory.steps.length, memory.steps[made - 1]];
  const change = made ? round(sum(memory.change[made - 1]) / memory.change[0].length) : null;
  now.append(hint(made
    ? `Memory ${made} of ${count}, made before step ${before}: change ${change}, mean over rows.`
    : `The learnt start, which is the same in every episode, until step ${memory.steps[0]}.`));
}

const MEASURES = { wrote: "written by the segment", through: "let through by the valve", change: "change of memory" };

// Rows x updates of each measure.
function showUpdates(memory, host, made, paint, pick) {
  const rows = memory.change[0].length;
  const most = Math.max(1e-9, ...Object.keys(MEASURES).flatMap((name) => memory[name].flat()));
  const count = memory.steps.length;
  const steps = [[0, `before step ${memory.steps[0]}`], [count - 1, String(memory.steps.at(-1))]].slice(0, count);
  for (const [name, text] of Object.entries(MEASURES)) {
    host.append(label(`${text}: each row at each update`));
    heat(host, {
      rows, columns: count, mark: made ? made - 1 : null, paint: paint.grows, height: within(90 / rows, 4, 10),
      value: (row, at) => (memory[name][at][row] === null ? null : memory[name][at][row] / most),
      say: (row, at) => `row ${row}, update ${at + 1} before step ${memory.steps[at]}: ${round(memory[name][at][row])}`,
      pick: (at) => pick(memory.steps[at]),
      below: name === "change" ? steps : [],
    });
  }
  host.append(el("div", { class: "scale" }, "0", el("i"), `${most.toFixed(2)}, relative to the length of a row`));
  host.append(hint("Written: how far what the segment wrote lies from the memory before it. Let through: how far " +
    "what is kept lies from what would have been kept if nothing new had been written. Change: how far what is kept " +
    "lies from the memory before."));
}

// Cosines between the rows of the memory of now, and between the memories of all segments.
function showLikeness(memory, host, made, paint, pick) {
  const [rows, all] = [memory.rows_alike[made], memory.memories_alike];
  const left = el("div", {}, label(`rows of memory ${made} to each other`));
  const right = el("div", {}, label("memories to each other"));
  host.append(el("div", { class: "squares" }, left, right));
  heat(left, {
    rows: rows.length, columns: rows.length, square: true, paint: paint.signed, value: (row, at) => rows[row][at],
    say: (row, at) => `rows ${row} and ${at}: cosine ${round(rows[row][at])}`,
  });
  heat(right, {
    rows: all.length, columns: all.length, square: true, paint: paint.signed, value: (row, at) => all[row][at],
    mark: made, pick: (at) => pick(at ? memory.steps[at - 1] : 0),
    say: (row, at) => `memories ${row} and ${at}: cosine ${round(all[row][at])}`,
  });
  host.append(el("div", { class: "scale" }, "cosine −1", el("i", { class: "both" }), "1"));
}
