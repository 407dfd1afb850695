//===- RemarkCollector.cpp - Remarks of one compilation -------------------===//

#include "passes/Remarks/RemarkCollector.h"

#include "dialect/Device/DeviceDialect.h"
#include "passes/Analysis/UserLocation.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Regex.h"

using namespace lockstep;
using namespace mlir;

static StringRef getKind(const remark::detail::Remark &remark) {
  switch (remark.getRemarkType()) {
  case llvm::remarks::Type::Passed:
    return "passed";
  case llvm::remarks::Type::Missed:
    return "missed";
  case llvm::remarks::Type::Failure:
    return "failed";
  default:
    return "analysis";
  }
}

/// Receives the remarks of all passes, which may run on different functions in
/// parallel.
class RemarkCollector::Streamer
    : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Streamer(RemarkCollector &collector) : collector(collector) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    std::optional<Stage> stage = symbolizeStage(remark.getCategoryName());
    // Ignore remarks of upstream's passes.
    if (!stage)
      return;
    std::string message;
    for (const remark::detail::Remark::Arg &argument : remark.getArgs())
      message += argument.val;
    // MLIR's text for a remark about the whole module.
    StringRef function = remark.getFunction();
    function.consume_front("<unknown function>");
    std::lock_guard lock(collector.mutex);
    collector.entries.push_back({*stage, getKind(remark).str(), message,
                                 function.str(), remark.getLocation()});
  }

private:
  RemarkCollector &collector;
};

LogicalResult RemarkCollector::install(MLIRContext &context) {
  remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis =
      categories.failed = ".*";
  return remark::enableOptimizationRemarks(
      context, std::make_unique<Streamer>(*this),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

std::vector<RemarkCollector::Entry> RemarkCollector::take() {
  std::lock_guard lock(mutex);
  return std::exchange(entries, {});
}

void RemarkCollector::add(std::vector<Entry> taken) {
  std::lock_guard lock(mutex);
  llvm::append_range(entries, std::move(taken));
}

std::vector<RemarkCollector::Entry>
RemarkCollector::getEntries(ModuleOp module) const {
  llvm::StringMap<unsigned> order;
  for (Operation &op : *module.getBody())
    if (auto symbol = dyn_cast<SymbolOpInterface>(op))
      order.try_emplace(symbol.getName(), order.size());
  std::lock_guard lock(mutex);
  // The remarks of one stage about one program are emitted by one thread, so
  // their order is deterministic.
  std::vector<std::tuple<Stage, unsigned, size_t>> keys;
  for (auto [i, entry] : llvm::enumerate(entries))
    keys.push_back({entry.stage, order.lookup(entry.program), i});
  llvm::sort(keys);
  std::vector<Entry> sorted;
  for (auto [stage, program, i] : keys)
    sorted.push_back(entries[i]);
  return sorted;
}

void RemarkCollector::record(ModuleOp module) const {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  for (const Entry &entry : getEntries(module))
    device::RemarkOp::create(
        builder, entry.location, stringifyStage(entry.stage), entry.kind,
        entry.message,
        entry.program.empty() ? StringAttr()
                              : builder.getStringAttr(entry.program));
}

LogicalResult RemarkCollector::print(ModuleOp module, StringRef filter,
                                     raw_ostream &os,
                                     std::string &error) const {
  std::optional<Stage> stage = symbolizeStage(filter);
  llvm::Regex regex(stage ? StringRef() : filter);
  if (!filter.empty() && !stage && !regex.isValid(error))
    return failure();
  for (const Entry &entry : getEntries(module)) {
    std::string line = userLocation(entry.location);
    std::string text = (Twine(line.empty() ? "<unknown>" : line) + ": " +
                        (entry.kind == "missed" ? "missed" : "remark") + " [" +
                        stringifyStage(entry.stage) + "]: " + entry.message)
                           .str();
    if (stage ? entry.stage == *stage : filter.empty() || regex.match(text))
      os << text << "\n";
  }
  return success();
}
