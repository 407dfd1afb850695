//===- Summary.h - proofs about an artifact ---------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_VERIFY_SUMMARY_H
#define LOCKSTEP_TOOLS_LOCKSTEP_VERIFY_SUMMARY_H

#include "runtime/artifact/Artifact.h"
#include "runtime/verification/Verification.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::verify {

/// A start or a barrier of one role's program, in the order of its commands.
struct RendezvousInfo {
  uint32_t command = 0, channel = 0;
  std::string kind, reduction, group, line;
  /// The root rank.
  std::optional<uint32_t> root;
  /// Bytes of the operands of one member, or without operands, of the results.
  uint64_t bytes = 0;
};

struct RoleInfo {
  std::string name;
  uint32_t firstRank = 0, ranks = 0, commands = 0;
  std::vector<RendezvousInfo> sequence;
};

struct GroupInfo {
  std::string name;
  std::vector<uint32_t> ranks;
};

/// The programs of one name.
struct ProgramSummary {
  std::string name;
  runtime::verification::Proof proof;
  std::vector<RoleInfo> roles;
  /// Groups of the programs' collectives and barriers.
  std::vector<GroupInfo> groups;

  bool isProven() const { return proof.isProven; }
};

/// Repeats the proofs of all programs. Error: the artifact is inconsistent.
runtime::Expected<std::vector<ProgramSummary>>
summarize(const artifact::Artifact &artifact);

std::string toText(const std::vector<ProgramSummary> &programs,
                   const std::string &file);
std::string toJson(const std::vector<ProgramSummary> &programs,
                   const std::string &file);

/// A program for which there is no artifact.
struct Refusal {
  /// The compiler rejected the program with an error of a class ("E_...").
  /// Otherwise there is no verdict: the program could not be read, or the
  /// compiler failed.
  bool isVerdict = false;
  std::string json;
};

/// `errors` is the file of `lockstep-compile --errors`; if it has no errors,
/// `failure` is the reason.
Refusal describeRefusal(const std::string &file, const std::string &errors,
                        const std::string &failure);

} // namespace lockstep::verify

#endif // LOCKSTEP_TOOLS_LOCKSTEP_VERIFY_SUMMARY_H
