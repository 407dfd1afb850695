//===- Summary.h - what is proven about an artifact -------------*- C++ -*-===//

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
struct MeetingInfo {
  uint32_t command = 0, channel = 0;
  std::string kind, reduction, group, line;
  /// The rank that gives or gets what the others get or give.
  std::optional<uint32_t> root;
  /// Of the operands of one member, or where it has none, of the results.
  uint64_t bytes = 0;
};

struct RoleInfo {
  std::string name;
  uint32_t firstRank = 0, ranks = 0, commands = 0;
  std::vector<MeetingInfo> sequence;
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
  /// Those in which the programs meet.
  std::vector<GroupInfo> groups;

  bool isProven() const { return proof.isProven; }
};

/// Proves all programs anew. Error: the artifact contradicts itself.
runtime::Expected<std::vector<ProgramSummary>>
summarize(const artifact::Artifact &artifact);

std::string toText(const std::vector<ProgramSummary> &programs,
                   const std::string &file);
std::string toJson(const std::vector<ProgramSummary> &programs,
                   const std::string &file);

/// What is known of a program for which there is no artifact.
struct Refusal {
  /// It was understood and refused: an error has a class ("E_..."). Else
  /// nothing is known about it: it could not be read, or the compiler did not
  /// come to its end.
  bool isVerdict = false;
  std::string json;
};

/// `errors` is the file of `lockstep-compile --errors`; where it says nothing,
/// `failure` is what happened.
Refusal describeRefusal(const std::string &file, const std::string &errors,
                        const std::string &failure);

} // namespace lockstep::verify

#endif // LOCKSTEP_TOOLS_LOCKSTEP_VERIFY_SUMMARY_H
