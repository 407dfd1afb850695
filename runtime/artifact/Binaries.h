//===- Binaries.h - devices of the binaries of an artifact ------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_BINARIES_H
#define LOCKSTEP_RUNTIME_ARTIFACT_BINARIES_H

#include "runtime/schema/artifact_generated.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace lockstep::runtime {

/// The kind of the device that executes a binary.
inline std::string_view deviceOf(const artifact::Binary &binary) {
  return binary.device() ? binary.device()->string_view() : "cpu";
}

/// "'cpu' ('x86-64-v3'), 'cuda' ('sm_90')", for an artifact that has binaries.
inline std::string listBinaries(const artifact::Artifact &tables) {
  std::string list;
  for (const artifact::Binary *binary : *tables.binaries())
    list += fmt::format("{}'{}' ('{}')", list.empty() ? "" : ", ",
                        deviceOf(*binary), binary->target()->string_view());
  return list;
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_BINARIES_H
