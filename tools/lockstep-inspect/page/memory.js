//===- memory.js - buffers by command and offset --------------------------===//

function drawMemory(program, space, select) {
  const buffers = program.buffers.filter(b => b.space === space && b.live && b.size > 0);
  if (buffers.length === 0) return [];
  const memory = program.memory[space], left = 96, width = Math.max(860, byId("program").clientWidth - 130), height = 260, top = 8, commands = program.commands.length;
  const x = command => left + width * command / commands, y = offset => top + height * offset / memory.size;
  const svg = shape("svg", {width: left + width + 20, height: top + height + 24});
  svg.append(shape("rect", {x: left, y: top, width, height, fill: "var(--shade)"}));
  const operands = new Set(program.collectives.flatMap(c => [...c.operands.map(o => o.buffer), ...c.results]));
  for (const buffer of buffers) {
    const hint = `%${buffer.index}  ${buffer.type}${buffer.name ? "  " + buffer.name : ""}\n${bytes(buffer.size)} at ${buffer.offset}\nin use by ${live(buffer.live)}`;
    svg.append(shape("rect", {x: x(buffer.live.first), y: y(buffer.offset), width: x(buffer.live.last + 1) - x(buffer.live.first),
                              height: Math.max(y(buffer.offset + buffer.size) - y(buffer.offset) - 0.5, 0.8),
                              fill: operands.has(buffer.index) ? "var(--wire)" : space === "shared" ? "var(--shared)" : "var(--kernel)",
                              opacity: 0.75, stroke: "var(--paper)", "stroke-width": 0.5}, hint, () => select(buffer.live.first)));
  }
  for (let i = 0; i <= 4; ++i) svg.append(label(left - 6, y(memory.size * i / 4) + 4, bytes(Math.round(memory.size * i / 4)), "end"));
  svg.append(shape("line", {x1: x(memory.peak_command + 0.5), x2: x(memory.peak_command + 0.5), y1: top, y2: top + height, stroke: "var(--select)", "stroke-dasharray": "3 3"}));
  for (let i = 0, step = Math.max(10, Math.ceil(commands / 200) * 10); i < commands; i += step) svg.append(label(x(i), top + height + 16, i));
  return [element("h3", {}, `${space === "replica" ? "Each replica" : "Shared by the replicas of a process"}: ${bytes(memory.size)}, ` +
                  `at most ${bytes(memory.peak)} in use (command ${memory.peak_command})`), element("div", {class: "scroll"}, svg)];
}

