//===- Slice.cpp - finds the values that decide paths ---------------------===//

#include "runtime/verification/Slice.h"

#include "runtime/schema/Tables.h"
#include "runtime/verification/Model.h"
#include "runtime/verification/Operands.h"

#include <algorithm>
#include <map>

namespace lockstep::runtime::verification {

using artifact::count;

namespace {

/// Bytes of a memory, as disjoint, non-adjacent ranges.
class Ranges {
public:
  bool overlaps(uint64_t begin, uint64_t end) const {
    auto after = ranges.lower_bound(end);
    return after != ranges.begin() && begin < end &&
           std::prev(after)->second > begin;
  }
  /// Returns whether the set has changed.
  bool add(uint64_t begin, uint64_t end) {
    if (begin >= end)
      return false;
    auto at = ranges.upper_bound(begin);
    if (at != ranges.begin() && std::prev(at)->second >= begin)
      --at;
    if (at != ranges.end() && at->first <= begin && at->second >= end)
      return false;
    while (at != ranges.end() && at->first <= end) {
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      at = ranges.erase(at);
    }
    ranges[begin] = end;
    return true;
  }
  bool empty() const { return ranges.empty(); }

private:
  std::map<uint64_t, uint64_t> ranges;
};

constexpr size_t spaces = size_t(artifact::Space::MAX) + 1;

struct Needs {
  Ranges memory[spaces];
  std::vector<bool> registers;
  std::vector<bool> blockWrites;
};

/// False for the start and the wait of a collective whose results do not decide
/// which path a rank takes, as is the case for most.
bool mayAffectPaths(const Model &model, const Op &op) {
  return (op.kind != OpKind::start && op.kind != OpKind::wait) ||
         model.channels[op.channel].carriesDecisions;
}

class SliceFinder {
public:
  SliceFinder(Model &model, ProofRule brokenRule)
      : model(model), brokenRule(brokenRule) {}

  void find() {
    needs.resize(model.programs.size());
    for (Program &program : model.programs) {
      needs[program.index].registers.resize(program.tables->registers());
      needs[program.index].blockWrites.resize(program.flow.blocks.size());
      program.slice.relevant.resize(program.ops.size());
    }
    bool any = false;
    for (Program &program : model.programs)
      for (const Branch &branch : program.flow.branches)
        if (!branch.local)
          any |= markNeeded(program, program.ops[branch.op]);
    for (bool changed = any; changed;) {
      changed = false;
      for (Program &program : model.programs)
        changed |= pass(program);
    }
    if (any)
      findCommonCuts();
    for (Program &program : model.programs) {
      if (any)
        makeSlots(program);
      skipLocalBranches(program);
      if (program.slice.empty())
        continue;
      findRegionWrites(program);
      for (uint32_t i = 0; i < uint32_t(program.ops.size()); ++i)
        if (program.ops[i].kind == OpKind::once)
          findSection(program, i);
    }
  }

private:
  static const artifact::Buffer &buffer(const Program &program,
                                        uint32_t index) {
    return *program.tables->buffers()->Get(index);
  }

  bool isNeeded(const Program &program, uint32_t index) const {
    const artifact::Buffer &b = buffer(program, index);
    return needs[program.index].memory[size_t(b.space())].overlaps(
        b.offset(), b.offset() + b.size());
  }

  /// Marks what an op reads as needed. Returns whether anything was not before.
  bool markNeeded(const Program &program, const Op &op) {
    operands.collect(program, op);
    bool changed = false;
    Needs &own = needs[program.index];
    for (uint32_t index : operands.reads) {
      const artifact::Buffer &b = buffer(program, index);
      changed |=
          own.memory[size_t(b.space())].add(b.offset(), b.offset() + b.size());
    }
    for (uint32_t index : operands.readRegisters)
      if (!own.registers[index])
        changed = own.registers[index] = true;
    return changed;
  }

  bool needsWritable(const Program &program) const {
    using artifact::Space;
    const Needs &own = needs[program.index];
    return !own.memory[size_t(Space::replica)].empty() ||
           !own.memory[size_t(Space::shared)].empty() ||
           !own.memory[size_t(Space::variable)].empty() ||
           !own.memory[size_t(Space::replica_variable)].empty();
  }

  bool writesNeeded(const Program &program, const Op &op) {
    operands.collect(program, op);
    for (uint32_t index : operands.writes)
      if (isNeeded(program, index))
        return true;
    for (uint32_t index : operands.writtenRegisters)
      if (needs[program.index].registers[index])
        return true;
    return false;
  }

  /// One pass over the commands, backwards, so that a single one is enough
  /// without loops and other roles. Returns whether another one is needed.
  bool pass(Program &program) {
    bool changed = false, writable = needsWritable(program);
    Slice &slice = program.slice;
    for (uint32_t i = uint32_t(program.ops.size()); i-- > 0;) {
      const Op &op = program.ops[i];
      // The common case: no memory that the command could write is needed.
      if ((op.kind == OpKind::compute || op.kind == OpKind::wait) && !writable)
        continue;
      if (op.kind == OpKind::start) {
        if (model.channels[op.channel].carriesDecisions &&
            markNeeded(program, op)) {
          changed = true;
          writable = needsWritable(program);
        }
        continue;
      }
      if (op.kind == OpKind::next &&
          !needs[program.index].memory[size_t(artifact::Space::input)].empty())
        needs[program.index].blockWrites[program.flow.blockOf[i]] =
            slice.relevant[i] = true;
      if (changesVariables(model, program, op) &&
          !needs[program.index]
               .memory[size_t(artifact::Space::variable)]
               .empty())
        needs[program.index].blockWrites[program.flow.blockOf[i]] = true;
      if (op.kind == OpKind::branch || op.kind == OpKind::jump ||
          (!slice.relevant[i] && !writesNeeded(program, op)))
        continue;
      if (op.kind == OpKind::wait &&
          !model.channels[op.channel].carriesDecisions)
        changed = model.channels[op.channel].carriesDecisions = true;
      slice.relevant[i] = true;
      needs[program.index].blockWrites[program.flow.blockOf[i]] = true;
      if (markNeeded(program, op)) {
        changed = true;
        writable = needsWritable(program);
      }
    }
    for (Branch &branch : program.flow.branches)
      if (!branch.region.empty() && leavesSomething(program, branch))
        changed |= markNeeded(program, program.ops[branch.op]);
    return changed;
  }

  bool leavesSomething(const Program &program, const Branch &branch) const {
    return std::any_of(branch.region.begin(), branch.region.end(),
                       [&](uint32_t block) {
                         return needs[program.index].blockWrites[block];
                       });
  }

  /// All roles split memory whose contents they share at the same positions, so
  /// that a piece has the same bounds in all of them.
  void findCommonCuts() {
    for (const Program &program : model.programs)
      for (uint32_t i = 0; i < count(program.tables->buffers()); ++i)
        if (isNeeded(program, i) && isCommon(buffer(program, i).space()))
          addCuts(commonCuts[size_t(buffer(program, i).space())],
                  buffer(program, i));
  }

  static bool isCommon(artifact::Space space) {
    return space == artifact::Space::scalar ||
           space == artifact::Space::constant;
  }

  static void addCuts(std::vector<uint64_t> &cuts,
                      const artifact::Buffer &buffer) {
    cuts.push_back(buffer.offset());
    cuts.push_back(buffer.offset() + buffer.size());
  }

  /// Splits the needed memory into slots at the bounds of all needed buffers.
  void makeSlots(Program &program) {
    Slice &slice = program.slice;
    slice.registerSlots.assign(program.tables->registers(), none);
    for (uint32_t i = 0; i < program.tables->registers(); ++i)
      if (needs[program.index].registers[i]) {
        slice.registerSlots[i] = uint32_t(slice.slots.size());
        slice.slots.push_back({true});
      }
    uint32_t buffers = count(program.tables->buffers());
    std::vector<uint64_t> cuts[spaces];
    for (size_t space = 0; space < spaces; ++space)
      cuts[space] = commonCuts[space];
    for (uint32_t i = 0; i < buffers; ++i)
      if (isNeeded(program, i))
        addCuts(cuts[size_t(buffer(program, i).space())], buffer(program, i));
    uint32_t firstAtom[spaces];
    for (size_t space = 0; space < spaces; ++space) {
      auto &list = cuts[space];
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      firstAtom[space] = uint32_t(slice.slots.size());
      for (size_t i = 0; i + 1 < list.size(); ++i)
        slice.slots.push_back(
            {false, artifact::Space(space), list[i], list[i + 1] - list[i]});
    }
    slice.bufferSlots.resize(buffers);
    for (uint32_t i = 0; i < buffers; ++i)
      if (isNeeded(program, i)) {
        const artifact::Buffer &b = buffer(program, i);
        const auto &list = cuts[size_t(b.space())];
        auto at = [&](uint64_t offset) {
          return uint32_t(std::lower_bound(list.begin(), list.end(), offset) -
                          list.begin());
        };
        uint32_t first = at(b.offset()), last = at(b.offset() + b.size());
        if (brokenRule == ProofRule::overlapsAreIgnored && last - first > 1)
          last = first;
        slice.bufferSlots[i] = {firstAtom[size_t(b.space())] + first,
                                last - first};
      }
  }

  /// Replaces a branch without communication before its join, if it writes no
  /// slot, by a jump to the join.
  void skipLocalBranches(Program &program) {
    for (Op &op : program.ops) {
      if (op.kind != OpKind::branch || op.branch == none)
        continue;
      const Branch &branch = program.flow.branches[op.branch];
      if (!branch.local || leavesSomething(program, branch))
        continue;
      op.kind = branch.join == none ? OpKind::ret : OpKind::jump;
      op.target = branch.join;
    }
  }

  void findRegionWrites(Program &program) {
    Slice &slice = program.slice;
    slice.regionWrites.resize(program.flow.branches.size());
    for (uint32_t i = 0; i < program.flow.branches.size(); ++i) {
      std::vector<uint32_t> &writes = slice.regionWrites[i];
      for (uint32_t block : program.flow.branches[i].region)
        for (uint32_t j = program.flow.blocks[block].begin;
             j < program.flow.blocks[block].end; ++j)
          if (!slice.skips(program.ops[j], j))
            visitSlots(
                model, program, program.ops[j], [](uint32_t) {},
                [&](uint32_t slot) { writes.push_back(slot); });
      std::sort(writes.begin(), writes.end());
      writes.erase(std::unique(writes.begin(), writes.end()), writes.end());
    }
  }

  /// A once section, executed by one replica, writes shared memory and
  /// variables for all replicas of its process. What it writes to registers and
  /// private memory is seen by that replica only.
  void findSection(Program &program, uint32_t begin) {
    using artifact::Space;
    std::vector<uint32_t> own;
    uint32_t end = program.table(program.ops[begin]).body_as_Once()->end();
    for (uint32_t i = begin + 1; i < end; ++i)
      visitSlots(
          model, program, program.ops[i], [](uint32_t) {},
          [&](uint32_t slot) {
            const Slot &written = program.slice.slots[slot];
            bool common =
                !written.isRegister && (written.space == Space::shared ||
                                        written.space == Space::variable);
            if (!common)
              own.push_back(slot);
          });
    program.ops[end].branch = uint32_t(program.slice.sectionWrites.size());
    program.slice.sectionWrites.push_back(std::move(own));
  }

  Model &model;
  ProofRule brokenRule;
  std::vector<Needs> needs;
  std::vector<uint64_t> commonCuts[spaces];
  Operands operands;
};

} // namespace

bool Slice::skips(const Op &op, uint32_t index) const {
  return op.kind == OpKind::compute && !relevant[index];
}

bool changesVariables(const Model &model, const Program &program,
                      const Op &op) {
  bool waits = op.kind == OpKind::wait || op.kind == OpKind::barrier ||
               op.kind == OpKind::once;
  return waits && model.serversAreShared && program.firstRank > 0;
}

void visitSlots(const Model &model, const Program &program, const Op &op,
                const std::function<void(uint32_t)> &read,
                const std::function<void(uint32_t)> &write) {
  const Slice &slice = program.slice;
  if (slice.empty() ||
      (op.kind == OpKind::compute && !slice.relevant[op.command]))
    return;
  auto visit = [](SlotRange range, const std::function<void(uint32_t)> &call) {
    for (uint32_t i = 0; i < range.count; ++i)
      call(range.first + i);
  };
  if (op.kind == OpKind::next)
    for (uint32_t i = 0; i < slice.slots.size(); ++i)
      if (!slice.slots[i].isRegister &&
          slice.slots[i].space == artifact::Space::input)
        write(i);
  if (changesVariables(model, program, op))
    for (uint32_t i = 0; i < slice.slots.size(); ++i)
      if (!slice.slots[i].isRegister &&
          slice.slots[i].space == artifact::Space::variable)
        write(i);
  if (!mayAffectPaths(model, op))
    return;
  thread_local Operands operands;
  operands.collect(program, op);
  for (uint32_t index : operands.reads)
    visit(slice.bufferSlots[index], read);
  for (uint32_t index : operands.readRegisters)
    if (slice.registerSlots[index] != none)
      read(slice.registerSlots[index]);
  for (uint32_t index : operands.writes)
    visit(slice.bufferSlots[index], write);
  for (uint32_t index : operands.writtenRegisters)
    if (slice.registerSlots[index] != none)
      write(slice.registerSlots[index]);
}

void findSlices(Model &model, ProofRule brokenRule) {
  SliceFinder(model, brokenRule).find();
}

} // namespace lockstep::runtime::verification
