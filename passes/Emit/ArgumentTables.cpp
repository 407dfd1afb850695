//===- ArgumentTables.cpp -------------------------------------------------===//

#include "passes/Emit/ArgumentTables.h"

#include "runtime/artifact/KernelArguments.h"

using namespace lockstep;
using namespace mlir;

std::unique_ptr<artifact::ArgumentsT>
lockstep::emitArguments(device::ArgumentsAttr arguments) {
  auto table = std::make_unique<artifact::ArgumentsT>();
  ArrayRef<int64_t> reads = arguments.getReads(),
                    writes = arguments.getWrites();
  table->bytes.assign(reads.begin(), reads.end());
  table->bytes.insert(table->bytes.end(), writes.begin(), writes.end());
  table->reads = reads.size();
  table->dynamic.assign(arguments.getDynamic().asArrayRef().begin(),
                        arguments.getDynamic().asArrayRef().end());
  table->in_place.assign(arguments.getInPlace().asArrayRef().begin(),
                         arguments.getInPlace().asArrayRef().end());
  table->scratch = arguments.getScratch();
  table->registers = arguments.getRegisters();
  return table;
}

device::ArgumentsAttr
lockstep::importArguments(MLIRContext *context,
                          const artifact::Arguments &arguments) {
  artifact::ArgumentsT table;
  arguments.UnPackTo(&table);
  Builder builder(context);
  auto integers = [&](const auto &numbers) {
    return builder.getDenseI64ArrayAttr(
        SmallVector<int64_t>(numbers.begin(), numbers.end()));
  };
  ArrayRef<uint64_t> bytes(table.bytes);
  return device::ArgumentsAttr::get(
      context, integers(bytes.take_front(table.reads)),
      integers(bytes.drop_front(table.reads)), integers(table.in_place),
      integers(table.dynamic), static_cast<int64_t>(table.scratch),
      static_cast<int64_t>(table.registers));
}

uint64_t lockstep::getArgumentsCode(device::KernelOp kernel) {
  return runtime::argumentsCode(*emitArguments(kernel.getLaunchArguments()),
                                kernel.getGrid());
}
