//===- Modes.cpp ----------------------------------------------------------===//

#include "tools/lockstep-compile/Modes.h"

using namespace lockstep;

bool lockstep::readBucketMode(llvm::StringRef mode, CompileOptions &options) {
  options.bucket = mode != "none";
  options.planBuckets = mode == "optimal";
  if (mode == "none" || mode == "optimal")
    return true;
  return mode.consume_front("bytes:") &&
         !mode.getAsInteger(10, options.bytesPerPack) &&
         options.bytesPerPack > 0;
}

bool lockstep::readSplitMode(llvm::StringRef mode, CompileOptions &options) {
  options.splitVariables = mode == "auto";
  if (mode == "none" || mode == "auto")
    return true;
  llvm::SmallVector<llvm::StringRef> splits;
  mode.split(splits, ',');
  return llvm::all_of(splits, [&](llvm::StringRef text) {
    auto [name, count] = text.rsplit(':');
    int64_t pieces = 0;
    if (name.empty() || count.getAsInteger(10, pieces) || pieces < 2)
      return false;
    return options.pieces.try_emplace(name.str(), pieces).second;
  });
}
