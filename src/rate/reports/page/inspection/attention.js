// Where the token that chooses the action looks: bytes of weights, in the order of steps, layers, heads and slots.

async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const GROUPS = ["memory", "cache", "fact", "earlier steps", "this step"];

async function prepareAttention(attention) {
  attention.bytes = await unpack(attention.weights);
  const heads = sum(attention.heads);
  let from = 0;
  attention.offsets = attention.slots.map((counts) => {
    from += heads * sum(counts);
    return from - heads * sum(counts);
  });
  attention.shares = attention.slots.map((_, step) => sharesAt(attention, step));
  attention.groups = GROUPS.filter((group) => attention.shares.some((shares) => shares[group] > 0));
}

// What the slots of a step are, oldest first: {group, name}, and of tokens their step.
function slotsOf(attention, step) {
  const [cache, fact, memory, tokens] = attention.slots[step];
  const each = attention.kinds.length;
  const many = (count, make) => Array.from({ length: count }, (_, at) => make(at));
  return [
    ...many(cache, (at) => ({ group: "cache", name: `cached row ${at}` })),
    ...many(fact, () => ({ group: "fact", name: "the fact that it is told" })),
    ...many(memory, (at) => ({ group: "memory", name: `memory row ${at}` })),
    ...many(tokens, (at) => {
      const place = step * each + attention.observed - (tokens - 1 - at);
      const of = Math.floor(place / each);
      const group = of === step ? "this step" : "earlier steps";
      return { group, name: `${attention.kinds[place - of * each]} of step ${of}`, step: of };
    }),
  ];
}

// The rows of a step: {layer, head, weights}.
function rowsOf(attention, step) {
  const slots = sum(attention.slots[step]);
  let from = attention.offsets[step];
  return attention.heads.flatMap((heads, layer) => Array.from({ length: heads }, (_, head) => {
    from += slots;
    return { layer, head, weights: attention.bytes.subarray(from - slots, from) };
  }));
}

// How much of the attention goes to each group, the mean over all layers and heads.
function sharesAt(attention, step) {
  const slots = slotsOf(attention, step);
  const sums = Object.fromEntries(GROUPS.map((group) => [group, 0]));
  for (const { weights } of rowsOf(attention, step)) {
    weights.forEach((weight, at) => { sums[slots[at].group] += weight; });
  }
  const total = sum(Object.values(sums)) || 1;
  return Object.fromEntries(GROUPS.map((group) => [group, sums[group] / total]));
}

function showLook(run, place, step, paint, pick) {
  const [now, course] = [place.querySelector(".now"), place.querySelector(".course")];
  now.replaceChildren();
  course.replaceChildren();
  const attention = run.attention;
  if (!attention) return now.append(hint(`${run.model} has no attention that tells its weights.`));
  showWeights(attention, now, Math.min(step, lengthOf(run) - 1), paint);
  const share = (row, at) => attention.shares[at][attention.groups[row]];
  course.append(label("where attention goes at every step, the mean over heads"));
  heat(course, {
    rows: attention.groups.length, columns: attention.shares.length, value: share, paint: paint.grows, mark: step, pick,
    height: 16, names: attention.groups, below: ends(run),
    say: (row, at) => `step ${at}, ${attention.groups[row]}: ${round(share(row, at))}`,
  });
}

function showWeights(attention, host, step, paint) {
  const [slots, rows] = [slotsOf(attention, step), rowsOf(attention, step)];
  const peaks = rows.map(({ weights }) => Math.max(...weights));
  const peak = Math.max(1, ...peaks);
  const tell = (row, slot) => {
    const { layer, head, weights } = rows[row];
    return `layer ${layer + 1}, head ${head + 1} to ${slots[slot].name}, ${round(weights[slot] / 255)}`;
  };
  const few = rows.length <= 24;
  const short = ({ layer, head }) => `${layer + 1}.${head + 1}`;
  const starts = slots.flatMap((slot, at) => (at && slot.group === slots[at - 1].group ? [] : [at]));
  host.append(label(`attention of the token that chooses the action of step ${step}`));
  heat(host, {
    rows: rows.length, columns: slots.length, value: (row, slot) => rows[row].weights[slot] / peak, paint: paint.grows,
    height: few ? 14 : 7, say: tell, dividers: starts.filter((at) => at > 0), below: groupsBelow(slots, starts),
    names: few ? rows.map(short) : attention.heads.map((_, layer) => `layer ${layer + 1}`),
  });
  const best = peaks.indexOf(Math.max(...peaks));
  const strongest = tell(best, rows[best].weights.indexOf(peaks[best]));
  host.append(hint(`Strongest: ${strongest}. Rows are layer.head; the strongest colour is ${round(peak / 255)}.`));
}

// The name of each group of slots where it begins, as far as there is room for it.
function groupsBelow(slots, starts) {
  const named = ({ group, step }) => ({ "this step": "now", "earlier steps": `from step ${step}` })[group] || group;
  const fits = (n) => n === 0 || (starts[n + 1] ?? Infinity) - starts[n] > slots.length / 12;
  return starts.filter((_, n) => fits(n)).map((at) => [at, named(slots[at])]);
}
