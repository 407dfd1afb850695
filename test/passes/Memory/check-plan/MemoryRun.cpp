//===- MemoryRun.cpp - Runs a program on memory, as terms -----------------===//
//
// One replica represents all: shared memory is written only after a rendezvous
// of all replicas, so that none is overtaken.
//
//===----------------------------------------------------------------------===//

#include "MemoryRun.h"

#include "TensorRun.h"

#include "llvm/ADT/TypeSwitch.h"

#include <map>
#include <optional>

using namespace lockstep;
using namespace lockstep::test;
using namespace mlir;

namespace {

/// Bytes of one memory.
struct Range {
  device::Space space;
  int64_t begin, end;

  bool operator==(const Range &other) const = default;
  bool overlaps(const Range &other) const {
    return space == other.space && begin < other.end && other.begin < end;
  }
};

Range getRange(device::Space space, int64_t offset, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  int64_t elementSize = llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
  return {space, offset, offset + tensor.getNumElements() * elementSize};
}

Range getRange(Value buffer) {
  auto slice = buffer.getDefiningOp<device::SliceOp>();
  return getRange(slice.getSpace(), slice.getOffset(),
                  slice.getResult().getType().getTensor());
}

Range getRange(device::VariableOp variable) {
  return getRange(variable.getSpace(), variable.getOffset(),
                  variable.getType());
}

SmallVector<Range> getRanges(ValueRange buffers) {
  return llvm::map_to_vector(buffers,
                             [](Value buffer) { return getRange(buffer); });
}

class MemoryRun {
public:
  MemoryRun(device::ProgramOp program, ModuleOp before, int64_t replicas,
            Terms &terms)
      : program(program), module(program->getParentOfType<ModuleOp>()),
        before(before), replicas(replicas), terms(terms) {}

  FailureOr<Trace> run() {
    if (failed(initialize()))
      return failure();
    Block *block = &program.getBody().front();
    // Every iteration ends at a jump; the decisions of the run on tensors bound
    // their number.
    while (block) {
      for (Operation &op : *block)
        if (failed(runCommand(&op)))
          return failure();
      if (failed(advance(block)))
        return failure();
    }
    if (!flights.empty())
      return program.emitError("a collective is in flight at the end");
    for (auto variable : module.getOps<device::VariableOp>()) {
      FailureOr<Term> term = read(program, getRange(variable));
      if (failed(term))
        return failure();
      trace.results[("variable " + variable.getSymName()).str()] = *term;
    }
    return std::move(trace);
  }

private:
  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  struct Entry {
    Range range;
    Term term;
  };

  /// The initial contents of memory: variables, scalars, inputs and the rank.
  LogicalResult initialize() {
    for (auto variable : module.getOps<device::VariableOp>()) {
      bool isPrivate = variable.getSpace() == device::Space::ReplicaVariable;
      if (isPrivate != isPerReplica(before, variable.getSymName()))
        return variable.emitError("is in space '")
               << device::stringifySpace(variable.getSpace()) << "'";
      if (failed(
              place(variable, getRange(variable),
                    outside(terms, before, "variable", variable.getSymName()))))
        return failure();
    }
    for (auto scalar : module.getOps<device::ScalarOp>()) {
      Range range =
          getRange(device::Space::Scalar, scalar.getOffset(), scalar.getType());
      if (failed(place(scalar, range,
                       outside(terms, before, "scalar", scalar.getName()))))
        return failure();
    }
    memory.push_back(
        {{device::Space::Rank, 0, 4}, outside(terms, before, "rank", "")});
    for (auto slice : program.getOps<device::SliceOp>())
      if (slice.getInput() &&
          failed(place(slice, getRange(slice),
                       outside(terms, before, "batch", *slice.getInput()))))
        return failure();
    return success();
  }

  LogicalResult place(Operation *op, const Range &range, Term term) {
    for (const Entry &entry : memory)
      if (entry.range.overlaps(range))
        return op->emitError("overlaps with ") << terms.print(entry.term);
    memory.push_back({range, term});
    return success();
  }

  /// The values that are next to each other in exactly the bytes of `range`, as
  /// one; nullopt if there are none.
  std::optional<Term> readAdjacent(const Range &range) {
    std::map<int64_t, const Entry *> parts;
    for (const Entry &entry : memory)
      if (entry.range.overlaps(range))
        parts[entry.range.begin] = &entry;
    SmallVector<Term> operands;
    int64_t next = range.begin;
    for (auto [begin, part] : parts) {
      if (begin != next)
        return std::nullopt;
      next = part->range.end;
      operands.push_back(part->term);
    }
    if (operands.size() < 2 || next != range.end)
      return std::nullopt;
    return terms.apply("concat", operands);
  }

  /// The value in exactly the bytes of `range`.
  FailureOr<Term> read(Operation *op, const Range &range) {
    for (const Flight &flight : flights)
      for (const Range &result : flight.results)
        if (result.overlaps(range))
          return op->emitError("reads what the collective of channel ")
                 << flight.channel << " is writing";
    if (range.space == device::Space::Constant)
      return readConstant(op, range);
    for (const Entry &entry : memory)
      if (entry.range == range)
        return entry.term;
    if (std::optional<Term> adjacent = readAdjacent(range))
      return *adjacent;
    InFlightDiagnostic diag = op->emitError("reads bytes ")
                              << range.begin << " to " << range.end
                              << " of space '"
                              << device::stringifySpace(range.space)
                              << "', which do not hold one value";
    for (const Entry &entry : memory)
      if (entry.range.overlaps(range))
        diag.attachNote() << "bytes " << entry.range.begin << " to "
                          << entry.range.end << " hold "
                          << terms.print(entry.term);
    return diag;
  }

  FailureOr<Term> readConstant(Operation *op, const Range &range) {
    for (auto constants : module.getOps<device::ConstantsOp>()) {
      std::string bytes =
          getConstantBytes(cast<DenseElementsAttr>(constants.getBytes()));
      if (range.end <= static_cast<int64_t>(bytes.size()))
        return terms.constant(StringRef(bytes).slice(range.begin, range.end));
    }
    return op->emitError("reads outside of the constants");
  }

  LogicalResult write(Operation *op, const Range &range, Term term) {
    switch (range.space) {
    case device::Space::Replica:
    case device::Space::ReplicaVariable:
      break;
    case device::Space::Shared:
    case device::Space::Variable:
      if (replicas > 1 && !isa<device::OnceOp>(op->getParentOp()) &&
          !isa<device::WaitOp>(op))
        return op->emitError(
            "writes to memory that replicas share without having met");
      if (replicas > 1 && !terms.isUniform(term))
        return op->emitError("writes to memory that replicas share what "
                             "differs between them: ")
               << terms.print(term);
      break;
    default:
      return op->emitError("writes to space '")
             << device::stringifySpace(range.space) << "'";
    }
    for (const Flight &flight : flights)
      for (ArrayRef<Range> ranges :
           {ArrayRef<Range>(flight.operands), ArrayRef<Range>(flight.results)})
        for (const Range &other : ranges)
          if (other.overlaps(range))
            return op->emitError(
                       "writes what belongs to the collective of channel ")
                   << flight.channel;
    llvm::erase_if(memory, [&](const Entry &entry) {
      return entry.range.overlaps(range);
    });
    memory.push_back({range, term});
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Commands
  //===--------------------------------------------------------------------===//

  LogicalResult runCommand(Operation *op) {
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case<device::LaunchOp, device::StartOp, device::WaitOp,
              device::BarrierOp, device::OnceOp, device::CopyOp,
              device::OutputOp, device::SetRegisterOp, device::AddRegisterOp,
              device::LoadRegisterOp>([&](auto typed) { return run(typed); })
        .Default([](Operation *) { return success(); });
  }

  LogicalResult run(device::LaunchOp launch) {
    auto kernel = module.lookupSymbol<device::KernelOp>(launch.getKernel());
    SmallVector<Term> operands;
    for (Value buffer : launch.getReads()) {
      FailureOr<Term> term = read(launch, getRange(buffer));
      if (failed(term))
        return failure();
      operands.push_back(*term);
    }
    std::string name = launch.getKernel().str();
    for (int64_t index : launch.getRegisters().value_or(ArrayRef<int64_t>()))
      name += "[" + std::to_string(registers[index]) + "]";
    if (failed(expectApart(launch, kernel)))
      return failure();
    for (auto [i, buffer] : llvm::enumerate(launch.getWrites()))
      if (failed(write(launch, getRange(buffer),
                       terms.apply(Twine(name) + "/" + Twine(i), operands))))
        return failure();
    // The contents of scratch are not a value afterwards.
    for (Value buffer : launch.getScratch())
      if (failed(
              write(launch, getRange(buffer), terms.intern("scratch", true))))
        return failure();
    return success();
  }

  /// The buffers of a launch share bytes only where the kernel works in place.
  LogicalResult expectApart(device::LaunchOp launch, device::KernelOp kernel) {
    SmallVector<Value> written(launch.getWrites());
    llvm::append_range(written, launch.getScratch());
    for (auto [i, buffer] : llvm::enumerate(written)) {
      std::optional<unsigned> inPlace;
      if (i < launch.getWrites().size())
        inPlace = kernel.getInPlaceArgument(i);
      for (auto [j, other] : llvm::enumerate(launch.getReads()))
        if (getRange(buffer).overlaps(getRange(other)) &&
            !(inPlace == j && getRange(buffer) == getRange(other)))
          return launch.emitError("result ")
                 << i << " overlaps with operand " << j;
      for (auto [j, other] : llvm::enumerate(written))
        if (j < i && getRange(buffer).overlaps(getRange(other)))
          return launch.emitError("result ")
                 << i << " overlaps with result " << j;
    }
    return success();
  }

  struct Flight {
    int64_t channel;
    std::string text;
    SmallVector<Range> operands, results;
  };

  LogicalResult run(device::StartOp start) {
    Flight flight{static_cast<int64_t>(start.getChannel()), "",
                  getRanges(start.getInputs()), getRanges(start.getOutputs())};
    flight.text = (collective::stringifyKind(start.getKind()) + " " +
                   collective::stringifyReduction(start.getReduction()) + " @" +
                   start.getGroup() + " channel " + Twine(start.getChannel()) +
                   " axis " + Twine(start.getAxis().value_or(0)))
                      .str();
    for (const Range &operand : flight.operands) {
      FailureOr<Term> term = read(start, operand);
      if (failed(term))
        return failure();
      flight.text += " #" + std::to_string(*term);
    }
    trace.exchanges.push_back(flight.text);
    if (failed(expectAdjacent(start, "operand", flight.operands)) ||
        failed(expectAdjacent(start, "result", flight.results)))
      return failure();
    for (const Range &result : flight.results) {
      for (const Range &operand : flight.operands)
        if (operand.overlaps(result))
          return start.emitError("a result overlaps with an operand");
      // The old contents go when the first member writes.
      llvm::erase_if(memory, [&](const Entry &entry) {
        return entry.range.overlaps(result);
      });
      for (const Flight &other : flights)
        for (ArrayRef<Range> ranges :
             {ArrayRef<Range>(other.operands), ArrayRef<Range>(other.results)})
          if (llvm::any_of(ranges, [&](const Range &range) {
                return range.overlaps(result);
              }))
            return start.emitError(
                       "writes what belongs to the collective of channel ")
                   << other.channel;
    }
    flights.push_back(std::move(flight));
    return success();
  }

  /// Members of a bucket are contiguous, each at the next cache line.
  LogicalResult expectAdjacent(device::StartOp start, StringRef what,
                               ArrayRef<Range> ranges) {
    for (unsigned i = 1; i < ranges.size(); ++i) {
      int64_t expected = llvm::alignTo(ranges[i - 1].end, 64);
      if (ranges[i].space != ranges[0].space || ranges[i].begin != expected)
        return start.emitError("expected ")
               << what << " " << i << " at byte " << expected
               << ", found it at " << ranges[i].begin;
    }
    return success();
  }

  LogicalResult run(device::WaitOp wait) {
    auto it = llvm::find_if(flights, [&](const Flight &flight) {
      return flight.channel == static_cast<int64_t>(wait.getChannel());
    });
    if (it == flights.end())
      return wait.emitError("waits for what has not started");
    Flight flight = std::move(*it);
    flights.erase(it);
    for (auto [i, range] : llvm::enumerate(flight.results))
      if (failed(
              write(wait, range,
                    terms.intern(flight.text + "/" + std::to_string(i), true))))
        return failure();
    return success();
  }

  LogicalResult run(device::BarrierOp barrier) {
    trace.exchanges.push_back(("barrier @" + barrier.getGroup() + " channel " +
                               Twine(barrier.getChannel()))
                                  .str());
    return success();
  }

  LogicalResult run(device::OnceOp once) {
    for (Operation &op : once.getBody().front())
      if (failed(runCommand(&op)))
        return failure();
    return success();
  }

  LogicalResult run(device::CopyOp copy) {
    FailureOr<Term> term = read(copy, getRange(copy.getSource()));
    if (failed(term))
      return failure();
    return write(copy, getRange(copy.getDestination()), *term);
  }

  LogicalResult run(device::OutputOp output) {
    FailureOr<Term> term = read(output, getRange(output.getBuffer()));
    if (failed(term))
      return failure();
    trace.results[(device::stringifyBindingKind(output.getBinding().getKind()) +
                   " " + output.getBinding().getName())
                      .str()] = *term;
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Registers and jumps
  //===--------------------------------------------------------------------===//

  LogicalResult run(device::SetRegisterOp set) {
    registers[set.getIndex()] = set.getValue();
    return success();
  }

  LogicalResult run(device::AddRegisterOp add) {
    registers[add.getIndex()] += registers[add.getSource()];
    return success();
  }

  LogicalResult run(device::LoadRegisterOp load) {
    FailureOr<int64_t> number = repeat(load, load.getSource());
    if (failed(number))
      return failure();
    registers[load.getIndex()] = *number;
    return success();
  }

  /// The decision of the run on tensors about the value in `buffer`.
  FailureOr<int64_t> repeat(Operation *op, Value buffer) {
    FailureOr<Term> term = read(op, getRange(buffer));
    if (failed(term))
      return failure();
    if (std::optional<int64_t> decision = terms.repeat(*term))
      return *decision;
    return op->emitError("decides on ")
           << terms.print(*term) << ", on which the step decides nothing now";
  }

  /// The block that comes after `block`; null at the end.
  LogicalResult advance(Block *&block) {
    Operation *terminator = block->getTerminator();
    if (auto jump = dyn_cast<device::JumpOp>(terminator)) {
      block = jump.getTarget();
    } else if (auto branch =
                   dyn_cast<device::BranchGreaterEqualOp>(terminator)) {
      block = registers[branch.getLhs()] >= registers[branch.getRhs()]
                  ? branch.getTarget()
                  : branch.getNext();
    } else if (auto branch = dyn_cast<device::BranchUnlessOp>(terminator)) {
      FailureOr<int64_t> condition = repeat(branch, branch.getCondition());
      if (failed(condition))
        return failure();
      block = *condition ? branch.getNext() : branch.getTarget();
    } else {
      block = nullptr;
    }
    return success();
  }

  device::ProgramOp program;
  ModuleOp module, before;
  int64_t replicas;
  Terms &terms;
  Trace trace;
  std::vector<Entry> memory;
  std::vector<Flight> flights;
  std::map<int64_t, int64_t> registers;
};

} // namespace

FailureOr<Trace> lockstep::test::runMemory(device::ProgramOp program,
                                           ModuleOp before, int64_t replicas,
                                           Terms &terms) {
  return MemoryRun(program, before, replicas, terms).run();
}
