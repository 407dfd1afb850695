//===- commands.js - the commands in their order --------------------------===//

/// How long a command takes is not known: the wider a box, the more it computes or moves.
function widths(program, total) {
  const weight = command => command.op === "launch" ? Math.max(command.flops, command.bytes) : command.op === "copy" ? 2 * command.bytes : 0;
  const sum = program.commands.reduce((all, command) => all + weight(command), 0) || 1;
  const least = Math.min(7, 0.6 * total / program.commands.length), free = total - least * program.commands.length;
  return program.commands.map(command => least + free * weight(command) / sum);
}
const laneOf = command => command.once ? 1 : 0;
function colorOf(command) {
  if (command.op === "launch") return command.once ? "var(--shared)" : "var(--kernel)";
  if (command.op === "copy") return "var(--copy)";
  return ["start", "wait", "barrier"].includes(command.op) ? "var(--wire)" : "var(--control)";
}
function describe(command) {
  const lines = [command.pc + "  " + command.text + (command.line ? "   " + command.line : "")];
  if (command.op === "launch") lines.push(count(command.flops) + " flops, " + bytes(command.bytes));
  else if (command.bytes) lines.push(bytes(command.bytes));
  if (command.reads || command.writes)
    lines.push((command.reads ?? []).map(b => "%" + b).join(" ") + " > " + (command.writes ?? []).map(b => "%" + b).join(" "));
  return lines.join("\n");
}
function drawSchedule(program, select, zoom) {
  const left = 96, row = 26, top = 20, size = widths(program, Math.max(860, byId("program").clientWidth - 220) * zoom), x = [left];
  size.forEach((width, i) => x.push(x[i] + width));
  const flights = program.collectives.filter(c => c.waits.length > 0);
  const lanes = [];
  for (const flight of flights) {
    const wait = flight.waits.find(w => w > flight.start) ?? flight.start + 1;
    let lane = lanes.findIndex(end => end < flight.start);
    if (lane < 0) lane = lanes.push(0) - 1;
    lanes[lane] = wait;
    flight.lane = lane;
    flight.wait = wait;
  }
  const rows = 2 + lanes.length, height = top + rows * row + 22, right = x[x.length - 1];
  const svg = shape("svg", {width: right + 110, height});
  ["each replica", "once", ...lanes.map((_, i) => i === 0 ? "in flight" : "")].forEach((text, i) => svg.append(label(8, top + i * row + 14, text)));
  for (const loop of program.loops) {
    const from = x[loop.commands.first], to = x[loop.commands.last + 1];
    svg.append(shape("rect", {x: from, y: 2, width: to - from, height: height - 20, fill: "var(--control)", opacity: 0.15}));
    svg.append(label(from + 4, 13, "loop" + (loop.trips === null ? "" : ", " + loop.trips + " times")));
  }
  for (const command of program.commands) {
    const i = command.pc;
    svg.append(shape("rect", {x: x[i], y: top + laneOf(command) * row, width: Math.max(size[i] - 1, 0.8 * size[i]), height: row - 6, rx: Math.min(2, size[i] / 4),
                              fill: colorOf(command)}, describe(command), () => select(i)));
  }
  for (const flight of flights) {
    const from = x[flight.start], to = x[flight.wait + 1], y = top + (2 + flight.lane) * row;
    const hint = `channel ${flight.channel}: ${flight.kind} ${flight.reduction ?? ""}, ${bytes(flight.bytes)}   ${flight.line}\n` +
      (flight.between.launches.length ? `${flight.between.launches.length} kernels can hide it` : "no kernel hides it");
    svg.append(shape("rect", {x: from, y, width: to - from, height: row - 6, rx: 2, fill: "var(--wire)", opacity: flight.between.launches.length ? 0.45 : 0.9},
                     hint, () => select(flight.start)));
    svg.append(label(to + 4, y + 14, "channel " + flight.channel));
  }
  for (let i = 0, last = -100; i < program.commands.length; i += 10)
    if (x[i] - last > 40) {
      svg.append(label(x[i], height - 6, i));
      last = x[i];
    }
  return svg;
}
/// The drawing, and buttons to make it wider.
function zoomable(draw) {
  const scroll = element("div", {class: "scroll"}, draw(1)), buttons = element("div", {class: "legend"}, "zoom");
  for (const zoom of [1, 2, 4, 8, 16]) {
    const button = element("button", {}, zoom + "\u00d7");
    button.addEventListener("click", () => scroll.replaceChildren(draw(zoom)));
    buttons.append(button);
  }
  return [scroll, buttons];
}

