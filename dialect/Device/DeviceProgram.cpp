//===- DeviceProgram.cpp - Verifiers of whole programs --------------------===//
//
// The same rules are checked on the artifact whenever it is loaded
// (runtime/artifact); checked here, they detect an error of a compiler stage
// right after it.
//
//===----------------------------------------------------------------------===//

#include "dialect/Device/DeviceDialect.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace lockstep;
using namespace lockstep::device;
using namespace mlir;

namespace {

class ProgramVerifier {
public:
  explicit ProgramVerifier(ProgramOp program) : program(program) {}

  LogicalResult verify() {
    for (auto [name, value] :
         {std::pair("replica", program.getReplicaSizeAttr()),
          std::pair("shared", program.getSharedSizeAttr()),
          std::pair("input", program.getInputSizeAttr()),
          std::pair("registers", program.getRegistersAttr()),
          std::pair("channels", program.getChannelsAttr())})
      if (value.getInt() < 0)
        return program.emitOpError("expected '")
               << name << "' not to be negative, found " << value.getInt();
    WalkResult result = program.getBody().walk(
        [&](Operation *op) { return WalkResult(verifyCommand(op)); });
    return failure(result.wasInterrupted() || failed(verifyWaits()));
  }

private:
  LogicalResult verifyCommand(Operation *op) {
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](SliceOp slice) { return verifySlice(slice); })
        .Case([&](LaunchOp launch) {
          return verifyRegisters(
              launch, launch.getRegisters().value_or(ArrayRef<int64_t>()));
        })
        .Case([&](LoadRegisterOp load) {
          return verifyRegisters(load, load.getIndexAttr().getInt());
        })
        .Case([&](SetRegisterOp set) {
          return verifyRegisters(set, set.getIndexAttr().getInt());
        })
        .Case([&](AddRegisterOp add) {
          return verifyRegisters(
              add, {add.getIndexAttr().getInt(), add.getSourceAttr().getInt()});
        })
        .Case([&](BranchGreaterEqualOp branch) {
          return verifyRegisters(branch, {branch.getLhsAttr().getInt(),
                                          branch.getRhsAttr().getInt()});
        })
        .Case<StartOp, BarrierOp, OnceOp>([&](auto typed) {
          return addChannel(typed, typed.getChannelAttr().getInt());
        })
        .Case([&](WaitOp wait) {
          waits.push_back(wait);
          return verifyChannel(wait, wait.getChannelAttr().getInt());
        })
        .Case<OutputOp, CopyOp, NextOp, JumpOp, BranchUnlessOp, ReturnOp>(
            [](auto) { return success(); })
        .Default([](Operation *other) {
          return other->emitOpError(
              "expected a command of the device dialect in a program");
        });
  }

  /// The size of a memory space of the program; nullopt for those of the
  /// artifact.
  std::optional<int64_t> getSize(Space space) {
    switch (space) {
    case Space::Replica:
      return program.getReplicaSizeAttr().getInt();
    case Space::Shared:
      return program.getSharedSizeAttr().getInt();
    case Space::Input:
      return program.getInputSizeAttr().getInt();
    default:
      return std::nullopt;
    }
  }

  LogicalResult verifySlice(SliceOp slice) {
    SmallVector<int64_t> registers;
    for (int64_t index : slice.getSizeRegisters().value_or(ArrayRef<int64_t>()))
      if (index >= 0)
        registers.push_back(index);
    if (failed(verifyRegisters(slice, registers)))
      return failure();
    std::optional<int64_t> size = getSize(slice.getSpace());
    if (!size)
      return success();
    int64_t end = slice.getOffsetAttr().getInt() + slice.getByteSize();
    if (end > *size)
      return slice.emitOpError("ends at byte ")
             << end << ", outside of the " << *size << " bytes of space '"
             << stringifySpace(slice.getSpace()) << "'";
    return success();
  }

  LogicalResult verifyRegisters(Operation *op, ArrayRef<int64_t> indices) {
    int64_t count = program.getRegistersAttr().getInt();
    for (int64_t index : indices)
      if (index < 0 || index >= count)
        return op->emitOpError("expected a register in [0, ")
               << count << "), found " << index;
    return success();
  }

  LogicalResult verifyChannel(Operation *op, int64_t channel) {
    int64_t count = program.getChannelsAttr().getInt();
    if (channel < 0 || channel >= count)
      return op->emitOpError("expected a channel in [0, ")
             << count << "), found " << channel;
    return success();
  }

  /// Registers the operation that owns a channel: one start, one barrier or one
  /// once section.
  LogicalResult addChannel(Operation *op, int64_t channel) {
    if (failed(verifyChannel(op, channel)))
      return failure();
    auto [it, added] = owners.try_emplace(channel, op);
    if (added)
      return success();
    InFlightDiagnostic diag = op->emitOpError("uses channel ")
                              << channel << ", which has an owner already";
    diag.attachNote(it->second->getLoc())
        << "the channel is that of this '" << it->second->getName() << "'";
    return diag;
  }

  LogicalResult verifyWaits() {
    llvm::DenseSet<int64_t> waited;
    for (WaitOp wait : waits) {
      int64_t channel = wait.getChannelAttr().getInt();
      waited.insert(channel);
      if (!isa_and_nonnull<StartOp>(owners.lookup(channel)))
        return wait.emitOpError("waits for channel ")
               << channel << ", on which nothing starts";
    }
    for (auto &[channel, op] : owners)
      if (isa<StartOp>(op) && !waited.contains(channel))
        return op->emitOpError("starts channel ")
               << channel << ", for which nothing waits";
    return success();
  }

  ProgramOp program;
  llvm::MapVector<int64_t, Operation *> owners;
  SmallVector<WaitOp> waits;
};

} // namespace

LogicalResult ProgramOp::verifyRegions() {
  return ProgramVerifier(*this).verify();
}

LogicalResult OnceOp::verifyRegions() {
  for (Operation &op : getBody().front()) {
    ValueRange written;
    if (auto launch = dyn_cast<LaunchOp>(op))
      written = launch.getWrites();
    else if (auto copy = dyn_cast<CopyOp>(op))
      written = copy->getOperands().drop_front();
    else
      return op.emitOpError("expected launches and copies in 'device.once'");
    for (Value buffer : written) {
      Space space = buffer.getDefiningOp<SliceOp>().getSpace();
      if (space != Space::Shared && space != Space::Variable)
        return op.emitOpError("writes to space '")
               << stringifySpace(space)
               << "' in 'device.once', but only one replica would have the "
                  "result";
    }
  }
  return success();
}
