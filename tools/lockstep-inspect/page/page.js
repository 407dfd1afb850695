//===- page.js - what the page shows --------------------------------------===//

//===-- Programs --------------------------------------------------------===//

const hasServers = data.roles.length > 1;
const titleOf = program => hasServers ? program.name + " of " + program.role : program.name;

function show(program) {
  for (const button of byId("programs").children) button.classList.toggle("on", button.textContent === titleOf(program));
  const schedule = element("div", {class: "scroll tall"}, table([
    ["pc", c => c.pc, "right"], ["command", c => (c.once && c.op !== "end_once" ? "\u2003" : "") + c.text, "mono"],
    ["in flight", c => c.in_flight.join(", ")], ["flops", c => c.op === "launch" ? count(c.flops) : "", "right"],
    ["bytes", c => c.bytes ? bytes(c.bytes) : "", "right"],
    ["buffers", c => [(c.reads ?? []).map(b => "%" + b).join(" "), (c.writes ?? []).map(b => "%" + b).join(" ")].filter(t => t).join(" > "), "mono"],
    ["line", c => c.line]], program.commands));
  const select = i => {
    for (const row of schedule.querySelectorAll("tr.on")) row.classList.remove("on");
    const row = schedule.querySelector(`tr[data-row="${i}"]`);
    row.classList.add("on");
    schedule.scrollTop = row.offsetTop - schedule.clientHeight / 2;
  };
  const collectives = program.collectives.map(c => ({...c, hidden: c.between.flops / (program.totals.flops || 1)}));
  const operands = program.collectives.flatMap(c => c.operands.map(o => ({channel: c.channel, ...o, info: program.buffers[o.buffer]})));
  const remarks = data.remarks.filter(r => r.program === program.name || r.program === null);
  const totals = program.totals;
  const order = [legend([["var(--kernel)", "kernel"], ["var(--shared)", "kernel, once for all replicas"], ["var(--wire)", "collective"], ["var(--copy)", "copy"], ["var(--control)", "control"]]),
                 ...zoomable(zoom => drawSchedule(program, select, zoom))];
  byId("program").replaceChildren(
    ...simulationSection(program),
    ...titled("Work of a replica", ""),
    element("div", {class: "tiles"}, tile(totals.launches, "kernel launches"), tile(count(totals.flops), "flops"),
      tile(bytes(program.memory.replica.size), "a replica"), tile(bytes(program.memory.shared.size), "a process"),
      tile(program.collectives.length, "collectives"), tile(bytes(totals.communicated_bytes), "given by each replica"),
      tile(collectives.filter(c => c.between.launches.length).length, "hidden by kernels"), tile(bytes(totals.copied_bytes), "copied"),
      tile(totals.once_sections, "once sections"),
      ...program.exchanges.flatMap(e => [tile(bytes(e.to), "to " + e.role), tile(bytes(e.from), "from " + e.role)])),
    ...titled("Commands in their order", "From left to right as a replica executes them. Boxes are as wide as kernels compute or move; exchanges are drawn from their start to their wait.", ...order),
    ...(collectives.length === 0 ? [] : titled("Collectives", "Bytes are those of each replica; kernels between start and wait are what an exchange can hide behind.",
      element("div", {class: "scroll"}, table([
        ["channel", c => c.channel, "right"], ["collective", c => c.kind + " " + (c.reduction ?? "") + (c.root === null ? "" : " root " + c.root)], ["group", c => c.group],
        ["operands", c => c.operands.length, "right"], ["bytes", c => bytes(c.bytes), "right"], ["start", c => c.start, "right"], ["wait", c => c.waits.join(", "), "right"],
        ["kernels between", c => c.between.launches.length || "none: exposed", "right"], ["of all flops", c => (100 * c.hidden).toFixed(1) + " %", "right"],
        ["line", c => c.line]], collectives)),
      element("h3", {}, "Operands, and when they are ready"),
      element("div", {class: "scroll tall"}, table([
        ["channel", o => o.channel, "right"], ["buffer", o => "%" + o.buffer, "mono"], ["type", o => o.info.type, "mono"], ["bytes", o => bytes(o.info.size), "right"],
        ["ready", o => o.ready ?? "always", "right"], ["by", o => o.ready === null ? "" : program.commands[o.ready].text, "mono"],
        ["line", o => o.ready === null ? "" : program.commands[o.ready].line]], operands)))),
    ...titled("Memory", "Across: commands. Down: offsets. Red: operands and results of collectives. Dashed: where most bytes are in use.",
      ...drawMemory(program, "replica", select), ...drawMemory(program, "shared", select)),
    ...titled("Commands", "", schedule),
    ...(remarks.length === 0 ? [] : titled("Remarks", "What the compiler decided and why; red: what could not be done.", element("div", {class: "scroll tall"}, table([
      ["stage", r => r.stage], ["kind", r => r.kind], ["line", r => r.line], ["remark", r => r.message, "wide"]], remarks, r => r.kind)))),
    ...titled("Buffers", "", element("div", {class: "scroll tall"}, table([
      ["buffer", b => "%" + b.index, "mono"], ["space", b => b.space], ["offset", b => b.offset, "right"], ["size", b => b.size, "right"], ["type", b => b.type, "mono"],
      ["in use by", b => live(b.live)], ["name", b => b.name]], program.buffers))));
}

//===-- Page ------------------------------------------------------------===//

document.title = data.name + " - Lockstep artifact";
byId("name").textContent = data.name || data.file;
byId("digest").textContent = "sha256 " + data.digest + ", format version " + data.format_version + (data.signer ? ", signed by key " + data.signer : ", not signed");
byId("summary").append(tile(data.replicas, "replicas"), tile(data.binaries.map(b => b.target).join(", "), "targets"), tile(bytes(data.file_size), "file"),
  tile(bytes(data.memory.variable), "variables a process"), tile(bytes(data.memory.replica_variable), "variables a replica"), tile(bytes(data.memory.constant), "constants"));
for (const program of data.programs) {
  const button = element("button", {}, titleOf(program));
  button.addEventListener("click", () => show(program));
  byId("programs").append(button);
}
byId("variables").append(table([["name", v => v.name, "mono"], ["type", v => v.type, "mono"], ["bytes", v => bytes(v.bytes), "right"], ["space", v => v.space], ["offset", v => v.offset, "right"],
  ["synchronization", v => v.synchronization], ["aggregation", v => v.aggregation], ["initial value", v => v.initial ? "in the artifact" : "by --init"],
  ...(hasServers ? [["role", v => v.role], ["rows", v => v.shard ? `${v.shard.first_row} to ${v.shard.first_row + v.shard.rows - 1} of ${v.shard.of}` : ""]] : [])],
  data.variables));
if (hasServers)
  byId("roles").append(element("h2", {}, "Roles"), element("div", {class: "scroll"}, table([["role", r => r.name],
    ["ranks", r => r.ranks === 1 ? r.first_rank : r.first_rank + " to " + (r.first_rank + r.ranks - 1)],
    ["variables a process", r => bytes(r.memory.variable), "right"], ["variables a rank", r => bytes(r.memory.replica_variable), "right"],
    ["programs", r => r.programs.join(", ")]], data.roles)));
byId("proofs").append(table([["program", p => p.program], ["verdict", p => p.verdict], ["method", p => p.method],
  ["decided when it runs", p => p.dynamic.map(d => d.line || "command " + d.command + " of " + d.role).join(", "), "wide"]],
  data.proofs));
byId("scalars").append(table([["name", s => s.name, "mono"], ["type", s => s.type, "mono"], ["default", s => s.default ?? "given by the host"]], data.scalars));
byId("kernels").append(table([["symbol", k => k.symbol, "mono"], ["launches", k => k.launches, "right"], ["grid", k => k.grid, "right"], ["flops", k => count(k.flops), "right"],
  ["bytes", k => bytes(k.bytes), "right"], ["line", k => k.line]], data.kernels));
for (const code of data.gpu_code)
  byId("gpu-code").append(element("h2", {}, "Grids of kernels for " + code.target), element("div", {class: "scroll tall"},
    table([["grid", g => g.function, "mono"], ["blocks", g => g.blocks, "right"], ["threads", g => g.threads, "right"], ["shared memory of a block", g => bytes(g.shared_bytes), "right"],
      ...(code.grids.some(g => g.registers !== null) ? [["registers of a thread", g => g.registers, "right"], ["spilled", g => bytes(g.spilled_bytes), "right"],
        ["occupancy", g => (100 * g.occupancy).toFixed(0) + " %", "right"]] : [])], code.grids)));
if (data.programs.length > 0) show(data.programs[0]);
