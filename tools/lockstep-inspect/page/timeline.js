//===- timeline.js - the simulated schedule over time ---------------------===//
//
// Lanes: the kernels and waits of a replica, the operands that become ready,
// and the link. All lanes have the color of their bucket.
//
//===----------------------------------------------------------------------===//

const bucketColors = ["#7b61c4", "#1b998b", "#d9822b", "#c2528b", "#5a9e3a", "#2f7fc1", "#a0703c", "#64879a"];
const bucketColor = index => bucketColors[index % bucketColors.length];

function seconds(value) {
  for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["us", 1e-6]])
    if (value >= 0.9995 * size || unit === "us") {
      const n = value / size;
      return n === 0 ? "0 s" : n.toFixed(n < 9.995 ? 2 : n < 99.95 ? 1 : 0) + " " + unit;
    }
}
const unitOf = total => total >= 1 ? ["s", 1] : total >= 1e-3 ? ["ms", 1e-3] : ["us", 1e-6];
/// A time after the start of a program of `total` seconds: with as many digits as tell its events apart.
function moment(time, total) {
  if (time > 0 && time < total / 1000) return seconds(time);
  const [unit, size] = unitOf(total);
  return (time / size).toFixed(Math.max(0, Math.min(6, 4 - Math.ceil(Math.log10(Math.max(total, 1e-9) / size))))) + " " + unit;
}
const percent = (part, whole) => (whole > 0 ? 100 * part / whole : 0).toFixed(1) + " %";
const plural = (n, noun) => n + " " + noun + (n === 1 ? "" : "s");

/// What is drawn of a program: its events, and its buckets with their operands and when these are ready.
function timelineOf(program) {
  const simulation = program.simulation, ends = new Map();
  const model = {program, simulation, total: simulation.seconds, replica: [], link: [], buckets: []};
  const indexOf = new Map(program.collectives.map((c, i) => [c.start, i]));
  for (const event of simulation.events) {
    if (event.kind === "kernel") ends.set(event.pc, event.end);
    if (event.kind !== "collective") {
      model.replica.push(event);
      continue;
    }
    const index = indexOf.get(event.pc);
    model.link.push({...event, bucket: index});
    if (index === undefined || model.buckets[index]) continue;
    const collective = program.collectives[index];
    model.buckets[index] = {
      ...collective, ...simulation.collectives[index], index,
      members: collective.operands.map((o, i) => ({...o, index: i, info: program.buffers[o.buffer], time: o.ready === null ? 0 : ends.get(o.ready) ?? 0}))};
  }
  model.buckets = model.buckets.filter(b => b);
  return model;
}
const nameOf = bucket => bucket.kind + (bucket.reduction ? " " + bucket.reduction : "") + " of " +
  (bucket.members.length === 1 ? bucket.members[0].info.type : bucket.members.length + " tensors");

/// The variables and outputs of a bucket's members.
function variablesOf(bucket, most) {
  const names = bucket.members.flatMap(m => m.updates.slice(0, 1));
  return names.slice(0, most).join(", ") + (names.length > most ? ` and ${names.length - most} more` : "");
}

/// Round times between `from` and `to`, about `most` of them.
function ticks(from, to, most) {
  const rough = (to - from) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= rough), result = [];
  for (let i = Math.ceil(from / step); i * step <= to; ++i) result.push(i * step);
  return result;
}
/// A time on an axis, with the digits of the step between ticks.
function tickText(time, step, total) {
  const [unit, size] = unitOf(total);
  return (time / size).toFixed(Math.max(0, Math.min(6, -Math.floor(Math.log10(step / size) + 1e-9)))) + " " + unit;
}

/// The events between two times. Those that are narrower than a pixel are drawn together, as what takes most of their time.
function merged(events, from, to, perPixel) {
  const result = [];
  let last = null;
  for (const event of events) {
    if (event.end < from || event.begin > to || event.end === event.begin) continue;
    const key = event.kind + (event.bucket ?? ""), time = event.end - event.begin, isNarrow = time < perPixel;
    if (!last?.isNarrow || !isNarrow || event.end - last.begin > 1.5 * perPixel) {
      last = {...event, isNarrow, events: [], times: {}};
      result.push(last);
    }
    last.end = event.end;
    last.events.push(event);
    last.critical ||= event.critical;
    last.times[key] = (last.times[key] ?? 0) + time;
    if (last.times[key] >= Math.max(...Object.values(last.times))) Object.assign(last, {kind: event.kind, bucket: event.bucket});
  }
  return result;
}
function describeEvents(model, box) {
  const time = `${moment(box.begin, model.total)} to ${moment(box.end, model.total)}, ${seconds(box.end - box.begin)}`;
  const commands = model.program.commands;
  if (box.events.length > 1)
    return `${[...new Set(box.events.map(e => e.kind))].map(kind => plural(box.events.filter(e => e.kind === kind).length, kind)).join(", ")}, ${time}\n` + [...new Set(box.events.map(e => commands[e.pc].line))].slice(0, 8).join("\n");
  const command = commands[box.pc];
  if (box.kind === "wait") return `the replica waits in ${command.text}, ${time}`;
  return `${command.kernel ?? command.text}   ${command.line}\n${time}` + (command.flops ? `\n${count(command.flops)} flops, ${bytes(command.bytes)}` : "");
}
function describeBucket(model, bucket) {
  const at = time => moment(time, model.total);
  return `channel ${bucket.channel}: ${nameOf(bucket)}, ${bytes(bucket.bytes)}   ${bucket.line}\n` +
    (bucket.members.some(m => m.updates.length) ? `for ${variablesOf(bucket, 5)}\n` : "") +
    `ready ${at(bucket.first_ready)} to ${at(bucket.start)}, sent ${at(bucket.begin)} to ${at(bucket.end)}\n` +
    (bucket.exposed_seconds > 0 ? `replicas wait ${seconds(bucket.exposed_seconds)} for it` : `needed at ${at(bucket.needed)}: hidden`) +
    (bucket.members.length > 1 ? "\nclick: its members, and why" : "");
}

const lanes = {axis: 4, kernels: 30, ready: 82, link: 122, height: 178}, laneHeight = 32;

/// The lanes between two times. `width` is that of the page.
function drawLanes(model, from, to, width, chosen, choose) {
  const left = 104, right = width - 14, x = time => left + (right - left) * (time - from) / (to - from);
  const clipped = time => Math.max(left, Math.min(right, x(time))), inside = time => time >= from && time <= to;
  const svg = shape("svg", {width, height: lanes.height, class: "timeline"}), perPixel = (to - from) / (right - left);
  const box = (begin, end, y, height, attributes, hint, pick) => {
    const a = clipped(begin), b = clipped(end);
    const node = shape("rect", {x: a, y, width: Math.max(b - a - (b - a > 4 ? 0.6 : 0), 0.7), height, ...attributes}, hint, pick);
    svg.append(node);
    return b - a;
  };
  const times = ticks(from, to, 9);
  for (const time of times) {
    svg.append(shape("line", {x1: x(time), x2: x(time), y1: lanes.axis + 16, y2: lanes.height - 8, stroke: "var(--line)"}));
    svg.append(label(x(time), lanes.axis + 11, tickText(time, times.length > 1 ? times[1] - times[0] : time, to),
                     x(time) > right - 24 ? "end" : "middle"));
  }
  svg.append(label(8, lanes.kernels + 20, "each replica"), label(8, lanes.ready + 14, "operands ready"), label(8, lanes.link + 20, "link"));

  for (const each of merged(model.replica, from, to, perPixel)) {
    const isWait = each.kind === "wait";
    const width = box(each.begin, each.end, lanes.kernels, laneHeight, {fill: isWait ? "var(--wait)" : "var(--kernel)", class: each.kind, rx: isWait ? 2 : 0}, describeEvents(model, each));
    if (isWait && width > 64) svg.append(caption((clipped(each.begin) + clipped(each.end)) / 2, lanes.kernels + 20, "waits " + seconds(each.end - each.begin)));
    else if (!isWait && width > 90 && each.events.length === 1)
      svg.append(caption((clipped(each.begin) + clipped(each.end)) / 2, lanes.kernels + 20, fit(model.program.commands[each.pc].line, width)));
    if (each.critical) box(each.begin, each.end, lanes.kernels + laneHeight + 2, 4, {fill: "var(--critical)", class: "critical"});
  }

  for (const bucket of model.buckets) {
    const color = bucketColor(bucket.index), y = lanes.ready + 10, pick = () => choose(bucket);
    if (bucket.first_ready <= to && bucket.start >= from)
      box(bucket.first_ready, bucket.start, y - 1.5, 3, {fill: color, opacity: 0.5});
    for (const member of bucket.members)
      if (inside(member.time))
        svg.append(shape("circle", {cx: x(member.time), cy: y, r: 4, fill: color, stroke: "var(--paper)"}, `${member.updates.join(", ") || "%" + member.buffer}: ${member.info.type}, ` +
          `ready at ${moment(member.time, model.total)}\nchannel ${bucket.channel}`, pick));
    // From the last operand to the begin of the transfer, and from its end to where it is needed.
    if (inside(bucket.start))
      svg.append(shape("path", {d: `M${x(bucket.start)} ${y + 5} L${clipped(bucket.begin)} ${lanes.link}`, stroke: color, fill: "none", "stroke-width": 1.5}));
    if (inside(bucket.needed))
      svg.append(shape("path", {d: `M${x(bucket.needed)} ${lanes.kernels + laneHeight + 8} l-5 8 h10 z`, fill: color},
                       `channel ${bucket.channel} is needed here, at ${moment(bucket.needed, model.total)}` +
                       (bucket.needed > bucket.end ? `: ${seconds(bucket.needed - bucket.end)} after it has ended` : `: ${seconds(bucket.end - bucket.needed)} before it has ended`), pick));
  }

  // A row for each stream that carries something.
  const streams = 1 + Math.max(0, ...model.link.map(e => e.stream)), row = laneHeight / streams;
  for (let stream = 0; stream < streams; ++stream) for (const each of merged(model.link.filter(e => e.stream === stream), from, to, perPixel)) {
    const bucket = model.buckets.find(b => b.index === each.bucket), isChosen = bucket && bucket === chosen && !each.isNarrow;
    const width = box(each.begin, each.end, lanes.link + stream * row, Math.max(row - (streams > 1 ? 1 : 0), 1),
      {fill: bucket ? bucketColor(bucket.index) : "var(--control)", class: "transfer", rx: each.isNarrow ? 0 : 2, ...(isChosen ? {stroke: "var(--ink)", "stroke-width": 2} : {})},
      bucket && each.events.length === 1 ? describeBucket(model, bucket) : describeEvents(model, each), bucket ? () => choose(bucket) : undefined);
    if (bucket && width > 20 && row >= 10) {
      const texts = [`channel ${bucket.channel}: ${nameOf(bucket)}, ${bytes(bucket.bytes)}`, `channel ${bucket.channel}: ${bytes(bucket.bytes)}`, `channel ${bucket.channel}`, `${bucket.channel}`];
      svg.append(caption((clipped(each.begin) + clipped(each.end)) / 2, lanes.link + stream * row + row / 2 + 4, texts.find(t => t.length * 6.2 < width - 6) ?? ""));
    }
    if (each.critical) box(each.begin, each.end, lanes.link + laneHeight + 2, 4, {fill: "var(--critical)", class: "critical"});
  }
  return {svg, timeAt: pixel => from + (to - from) * (Math.max(left, Math.min(right, pixel)) - left) / (right - left)};
}
function caption(x, y, text) {
  const node = label(x, y, text, "middle");
  node.classList.add("caption");
  return node;
}
const fit = (text, width) => text.length * 6.2 < width - 6 ? text : "";

/// Where the exchange happens, if that is a small part of the step.
function exchangeWindow(model) {
  const begin = Math.min(...model.buckets.map(b => b.start)), end = Math.max(...model.buckets.map(b => Math.max(b.end, b.needed)));
  const margin = 0.06 * (end - begin);
  return model.buckets.length && end - begin < 0.2 * model.total ? [Math.max(0, begin - margin), Math.min(model.total, end + margin)] : [0, model.total];
}

/// The whole step, and below it a part of it that the user chooses: by dragging, or with buttons.
function timeline(model, choose) {
  const width = Math.max(760, byId("program").clientWidth - 2), all = element("div", {class: "scroll"}), part = element("div", {class: "scroll"});
  const note = element("div", {class: "soft"}), buttons = element("div", {class: "legend buttons"});
  let [from, to] = exchangeWindow(model), chosen = null;

  const show = (newFrom, newTo) => {
    const least = model.total * 1e-5;
    from = Math.max(0, Math.min(newFrom, model.total - least));
    to = Math.min(model.total, Math.max(newTo, from + least));
    draw();
  };
  const selectable = (drawn) => {
    const {svg, timeAt} = drawn;
    let begin = null, mark = null;
    const place = event => event.clientX - svg.getBoundingClientRect().left;
    svg.addEventListener("pointerdown", event => { begin = place(event); });
    svg.addEventListener("pointermove", event => {
      if (begin === null || Math.abs(place(event) - begin) < 5) return;
      mark?.remove();
      mark = shape("rect", {x: Math.min(begin, place(event)), y: 0, width: Math.abs(place(event) - begin), height: lanes.height, class: "mark"});
      svg.append(mark);
    });
    svg.addEventListener("pointerup", event => {
      const first = begin, last = place(event);
      begin = null;
      mark?.remove();
      if (first !== null && Math.abs(last - first) >= 5) show(timeAt(Math.min(first, last)), timeAt(Math.max(first, last)));
    });
    svg.addEventListener("dblclick", () => show(0, model.total));
    return svg;
  };
  function draw() {
    const isPart = from > 0 || to < model.total, whole = drawLanes(model, 0, model.total, width, chosen, choose);
    if (isPart) {
      const left = 104, right = width - 14, x = time => left + (right - left) * time / model.total;
      whole.svg.append(shape("rect", {x: x(from), y: 18, width: Math.max(x(to) - x(from), 2), height: lanes.height - 26, class: "window"}));
    }
    all.replaceChildren(selectable(whole));
    part.hidden = note.hidden = !isPart;
    if (isPart) {
      note.textContent = `Enlarged: ${moment(from, model.total)} to ${moment(to, model.total)}, ${percent(to - from, model.total)} of the step`;
      part.replaceChildren(selectable(drawLanes(model, from, to, width, chosen, choose)));
    }
  }
  for (const [name, act] of [["whole step", () => show(0, model.total)], ["exchange", () => show(...exchangeWindow(model))],
                             ["closer", () => show(from + (to - from) / 4, to - (to - from) / 4)], ["wider", () => show(from - (to - from) / 2, to + (to - from) / 2)],
                             ["\u2190", () => show(Math.max(0, from - (to - from) / 2), Math.max(to - from, to - (to - from) / 2))],
                             ["\u2192", () => show(Math.min(model.total - (to - from), from + (to - from) / 2), to + (to - from) / 2)]]) {
    const button = element("button", {}, name);
    button.addEventListener("click", act);
    buttons.append(button);
  }
  buttons.append(element("span", {}, "or drag over a part of the timeline; a double click shows the whole step"));
  draw();
  return {
    elements: [legend([["var(--kernel)", "kernel"], ["var(--wait)", "replica waits: exposed"], [bucketColor(0), "collective, a color for each"],
                       ["var(--critical)", "critical path: what determines the time"]], "\u25b2 where its result is needed"), all, buttons, note, part],
    choose: bucket => {
      chosen = bucket;
      draw();
    }};
}
