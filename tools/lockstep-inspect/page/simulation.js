//===- simulation.js - what the simulation shows, and what would help -----===//

/// The remarks about a bucket, each with the question that it answers.
function remarksOf(model, bucket) {
  const message = i => data.remarks[i].message, found = [];
  const add = (question, index) => found.push({question, message: message(index), kind: data.remarks[index].kind});
  const next = model.program.collectives[bucket.index + 1]?.begin_remark ?? null;
  if (bucket.begin_remark !== null) add("Why it begins here", bucket.begin_remark);
  for (const index of bucket.remarks)
    add(data.remarks[index].stage === "bucket" ? "What travels together" : message(index).startsWith("its bucket") ? "What its members wait for"
        : "When it starts, and what hides it", index);
  if (next !== null) add("Why it ends here", next);
  return found;
}

/// The times of a bucket, in a sentence.
function timesOf(model, bucket) {
  const at = time => moment(time, model.total);
  const parts = [`${bytes(bucket.bytes)} of each replica, ready from ${at(bucket.first_ready)} to ${at(bucket.start)}`];
  if (bucket.behind !== null) parts.push(`on the link ${seconds(bucket.begin - bucket.start)} later, behind channel ${bucket.behind}`);
  parts.push(`transferred from ${at(bucket.begin)} to ${at(bucket.end)} (${seconds(bucket.end - bucket.begin)})`);
  parts.push(bucket.exposed_seconds > 0 ? `needed at ${at(bucket.needed)}: replicas wait ${seconds(bucket.exposed_seconds)}`
             : `needed at ${at(bucket.needed)}, ${seconds(bucket.needed - bucket.end)} after its end: hidden behind kernels`);
  if (bucket.executions > 1) parts.push(`executed ${bucket.executions} times; the times are those of the first, the wait that of all`);
  return parts.join("; ") + ".";
}

function bucketDetails(model, bucket) {
  const title = element("h3", {}, `Channel ${bucket.channel}: ${nameOf(bucket)}`), mark = element("i", {class: "swatch"});
  mark.style.background = bucketColor(bucket.index);
  title.prepend(mark);
  const commands = model.program.commands, at = time => moment(time, model.total);
  return [title, element("p", {}, timesOf(model, bucket)),
    ...remarksOf(model, bucket).map(r => element("p", {class: "remark " + r.kind}, element("b", {}, r.question + ". "), r.message + ".")),
    element("div", {class: "scroll members"}, table([
      ["for", m => m.updates.join(", ") || "\u2013", "mono"], ["type", m => m.info.type, "mono"], ["bytes", m => bytes(m.info.size), "right"], ["ready", m => at(m.time), "right"],
      ["waits for the others", m => seconds(bucket.start - m.time), "right"], ["computed by", m => m.ready === null ? "" : commands[m.ready].kernel ?? commands[m.ready].text, "mono"],
      ["line", m => m.ready === null ? "" : commands[m.ready].line]], bucket.members))];
}

function bar(value, most, color) {
  const outer = element("div", {class: "bar"}), inner = element("div");
  inner.style.width = (most > 0 ? 100 * value / most : 0) + "%";
  inner.style.background = color;
  outer.append(inner);
  return outer;
}

/// Kernels and waits of a step, as parts of a bar.
function timeBar(each, most) {
  const outer = bar(each.compute_seconds, most, "var(--kernel)"), wait = element("div");
  wait.style.width = 100 * Math.max(0, each.seconds - each.compute_seconds) / most + "%";
  wait.style.background = "var(--wait)";
  outer.append(wait);
  return outer;
}

function alternativesTable(simulation) {
  const base = {...simulation, name: `on '${simulation.topology}'`, isBase: true}, rows = [base, ...simulation.alternatives];
  const most = Math.max(...rows.map(r => r.seconds));
  return table([["", r => r.name + (r.isBase ? " (this artifact)" : "")], ["step", r => seconds(r.seconds), "right"],
    ["change", r => r.isBase ? "" : Math.abs(r.seconds / base.seconds - 1) < 0.0005 ? "none" : (r.seconds > base.seconds ? "+" : "\u2212") + percent(Math.abs(r.seconds - base.seconds), base.seconds), "right"],
    ["kernels", r => seconds(r.compute_seconds), "right"], ["link", r => seconds(r.communication_seconds), "right"], ["exposed", r => seconds(r.exposed_seconds), "right"],
    ["", r => timeBar(r, most)]], rows, r => r.isBase ? "base" : "");
}

function criticalTable(simulation) {
  const rows = simulation.critical_lines.slice(0, 12), rest = simulation.critical_lines.slice(12);
  const links = simulation.collectives.filter(c => c.critical_seconds > 0)
    .map(c => ({line: `channel ${c.channel}`, seconds: c.critical_seconds, executions: c.executions, isLink: true}));
  const all = [...rows, ...links].sort((a, b) => b.seconds - a.seconds);
  if (rest.length) all.push({line: `${rest.length} other lines`, seconds: rest.reduce((s, r) => s + r.seconds, 0), executions: rest.reduce((s, r) => s + r.executions, 0)});
  const most = Math.max(...all.map(r => r.seconds));
  return table([["line", r => r.line || "(none)"], ["executions", r => r.executions, "right"], ["time", r => seconds(r.seconds), "right"],
    ["of the step", r => percent(r.seconds, simulation.seconds), "right"], ["", r => bar(r.seconds, most, r.isLink ? "var(--wire)" : "var(--kernel)")]], all);
}

/// Everything about the time of a program.
function simulationSection(program) {
  const simulation = program.simulation;
  if (simulation.refused !== null)
    return titled("Time", `The program is not simulated: ${simulation.refused}.`);
  const model = timelineOf(program), details = element("div", {id: "bucket"}), at = time => moment(time, model.total), least = simulation.least_seconds;
  const plans = data.remarks.filter(r => r.stage === "bucket" && r.program === program.name && r.kind === "analysis");
  let buckets = null;
  const choose = bucket => {
    details.replaceChildren(...bucketDetails(model, bucket));
    drawn.choose(bucket);
    for (const row of buckets.querySelectorAll("tbody tr")) row.classList.toggle("on", model.buckets[row.dataset.row] === bucket);
  };
  const drawn = timeline(model, choose);
  const content = [
    element("div", {class: "tiles"}, tile(seconds(simulation.seconds), "a step of " + plural(simulation.replicas, "replica")), tile(seconds(simulation.compute_seconds), "in kernels"),
      tile(seconds(simulation.communication_seconds), "on the link"), tile(simulation.communication_seconds > 0 ? percent(simulation.hidden_seconds, simulation.communication_seconds) : "\u2013", "of it hidden behind kernels"),
      tile(seconds(simulation.exposed_seconds), "exposed: replicas wait"), tile(seconds(least), "least, for any order"), tile((least > 0 ? simulation.seconds / least : 1).toFixed(3), "times the least")),
    element("ul", {class: "findings"}, ...simulation.findings.map(f => element("li", {}, f + "."))), ...(simulation.seconds > 0 ? drawn.elements : [])];
  if (model.buckets.length) {
    buckets = element("div", {class: "scroll members"}, table([
      ["channel", b => b.channel, "right"], ["collective", b => nameOf(b)], ["for", b => variablesOf(b, 2)], ["bytes", b => bytes(b.bytes), "right"], ["ready from", b => at(b.first_ready), "right"],
      ["to", b => at(b.start), "right"], ["sent from", b => at(b.begin), "right"], ["to", b => at(b.end), "right"], ["takes", b => seconds(b.end - b.begin), "right"],
      ["needed", b => at(b.needed), "right"], ["exposed", b => seconds(b.exposed_seconds), "right"], ["critical", b => seconds(b.critical_seconds), "right"],
      ["line", b => b.line]], model.buckets, () => "hit"));
    for (const row of buckets.querySelectorAll("tbody tr")) row.addEventListener("click", () => choose(model.buckets[row.dataset.row]));
    content.push(element("h3", {}, "What travels together"), ...plans.map(r => element("p", {}, r.message + ".")), buckets, details);
    const order = [...model.buckets].sort((a, b) => b.exposed_seconds - a.exposed_seconds || b.bytes - a.bytes);
    choose(order[0]);
  }
  if (simulation.seconds > 0) content.push(element("div", {class: "columns"},
    element("div", {}, element("h3", {}, "The critical path by source line"), element("div", {class: "scroll"}, criticalTable(simulation))),
    element("div", {}, element("h3", {}, "What would help: the same kernels and buckets elsewhere"), element("div", {class: "scroll"}, alternativesTable(simulation)),
      element("div", {class: "soft"}, "lockstep-compile --topology=NAME makes a schedule for another topology."))));
  return titled(`Time, simulated on '${simulation.topology}'`, "Time passes from left to right. All replicas do the same at the same time; the link carries " +
    (simulation.streams > 1 ? `${simulation.streams} collectives at a time, each on a stream.` : "one collective at a time."), ...content);
}
