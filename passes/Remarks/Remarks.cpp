//===- Remarks.cpp - Texts of remarks -------------------------------------===//

#include "passes/Remarks/Remarks.h"
#include "dialect/Interfaces/ElementBytes.h"

#include "passes/Analysis/UserLocation.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace lockstep;
using namespace mlir;

remark::RemarkOpts lockstep::decision(Stage stage, StringRef name,
                                      StringRef function) {
  return remark::RemarkOpts::name(name)
      .category(stringifyStage(stage))
      .function(function);
}

/// A value from 0 to 1023 with three digits, and its unit.
static std::string quantityText(double value, StringRef unit) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.*f ",
                                                 value < 10    ? 2
                                                 : value < 100 ? 1
                                                               : 0,
                                                 value)
                                 << unit;
  return text;
}

std::string lockstep::bytesText(int64_t bytes) {
  if (bytes < 1024)
    return (Twine(bytes) + " B").str();
  double value = static_cast<double>(bytes);
  StringRef unit;
  for (StringRef next : {"KiB", "MiB", "GiB", "TiB"}) {
    value /= 1024;
    unit = next;
    if (value < 1023.5)
      break;
  }
  return quantityText(value, unit);
}

std::string lockstep::secondsText(double seconds) {
  double value = seconds * 1e6;
  StringRef unit = "us";
  for (StringRef next : {"ms", "s"}) {
    if (value < 999.5)
      break;
    value /= 1000;
    unit = next;
  }
  return quantityText(value, unit);
}

std::string lockstep::typeText(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t size : type.getShape())
    (ShapedType::isDynamic(size) ? os << "?" : os << size) << "x";
  os << type.getElementType();
  return text;
}

std::string lockstep::collectiveText(collective::StartOp start) {
  std::string text = stringifyKind(start.getKind()).str();
  if (start.getReduction() != collective::Reduction::None)
    text += (" " + stringifyReduction(start.getReduction())).str();
  // A rank without operands receives results: describe those.
  SmallVector<Type> types(
      start.getInputs().empty()
          ? TypeRange(start.getPending().getType().getResults())
          : TypeRange(start.getInputs()));
  text += " of " + (types.size() == 1
                        ? typeText(cast<RankedTensorType>(types.front()))
                        : countText(types.size(), "tensor"));
  if (std::optional<uint64_t> root = start.getRoot()) {
    bool isFromRoot =
        start.getKindProperties().operandHolders == runtime::Holders::root;
    text += (isFromRoot ? " from rank " : " to rank ") + std::to_string(*root);
  }
  if (llvm::all_of(types, [](Type type) {
        return cast<RankedTensorType>(type).hasStaticShape();
      })) {
    int64_t bytes = 0;
    for (Type type : types)
      bytes += getByteSize(cast<RankedTensorType>(type));
    text += " (" + bytesText(bytes) + ")";
  }
  return text;
}

std::string lockstep::valueText(Value value) {
  return typeText(cast<RankedTensorType>(value.getType())) +
         atLine(value.getLoc());
}

std::string lockstep::operationText(Operation *op) {
  auto invoke = dyn_cast<device::InvokeOp>(op);
  std::string name = invoke ? ("@" + invoke.getKernel()).str()
                            : ("'" + op->getName().getStringRef() + "'").str();
  return name + atLine(op->getLoc());
}

std::string lockstep::countText(int64_t count, StringRef noun) {
  return (Twine(count) + " " + noun + (count == 1 ? "" : "s")).str();
}

std::string lockstep::atLine(Location location) {
  std::string line = userLocation(location);
  return line.empty() ? line : " (" + line + ")";
}

/// Collects the lines of all parts of fused locations; of chains of calls only
/// the innermost.
static void
collectLines(Location location,
             llvm::SetVector<std::pair<StringRef, unsigned>> &lines) {
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      collectLines(part, lines);
  } else if (std::optional<FileLineColLoc> found = findUserLocation(location)) {
    lines.insert({found->getFilename().getValue(), found->getLine()});
  }
}

size_t lockstep::countLines(Location location) {
  llvm::SetVector<std::pair<StringRef, unsigned>> lines;
  collectLines(location, lines);
  return lines.size();
}

std::string lockstep::linesText(Location location) {
  llvm::SetVector<std::pair<StringRef, unsigned>> lines;
  collectLines(location, lines);
  SmallVector<std::string> texts;
  StringRef file;
  for (auto [name, line] : lines) {
    texts.push_back(
        (name == file ? Twine(line) : name + ":" + Twine(line)).str());
    file = name;
  }
  return listText(texts);
}

std::string lockstep::listText(ArrayRef<std::string> texts, size_t most) {
  return listText(texts.size(), [&](size_t i) { return texts[i]; }, most);
}

std::string lockstep::listText(size_t count,
                               function_ref<std::string(size_t)> textOf,
                               size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(count, most); ++i)
    text += (i ? ", " : "") + textOf(i);
  if (count > most)
    text += " and " + std::to_string(count - most) + " more";
  return text;
}
