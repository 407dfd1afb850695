//===- ProgramDeclarations.h - declarations of a case -----------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_VERIFICATION_PROGRAMDECLARATIONS_H
#define LOCKSTEP_TEST_RUNTIME_VERIFICATION_PROGRAMDECLARATIONS_H

#include "runtime/schema/artifact_generated.h"

#include <map>
#include <string>
#include <vector>

namespace lockstep::runtime::verification::test {

using Words = std::vector<std::string>;

struct Memory {
  artifact::Space space = artifact::Space::replica;
  artifact::ElementType element = artifact::ElementType::i1;
  uint64_t offset = 0, size = 1;
  bool isWide = false;
};

/// The text of a case, line by line, and the tables of what it declares: roles,
/// groups and memories.
class ProgramDeclarations {
protected:
  void read(const std::string &text);
  /// Throws, with the line.
  [[noreturn]] void fail(const std::string &message) const;
  /// The current line, if it is not empty.
  void declaration();
  /// The kernel of that name, which is there from its first use on.
  uint32_t kernelNumber(const std::string &name);
  /// Places the memory at the next offset in its space.
  void place(Memory &memory);

  std::vector<Words> lines;
  size_t at = 0;
  artifact::ArtifactT tables;
  std::map<std::string, Memory> memories;
  std::map<std::string, uint32_t> groups;

private:
  void role(const std::string &name, uint32_t ranks);

  uint32_t nextRank = 0;
  std::map<artifact::Space, uint64_t> ends;
  std::map<std::string, uint32_t> kernels;
};

} // namespace lockstep::runtime::verification::test

#endif // LOCKSTEP_TEST_RUNTIME_VERIFICATION_PROGRAMDECLARATIONS_H
