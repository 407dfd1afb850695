//===- Agreement.h - what executors must have in common ---------*- C++ -*-===//
//
// Executors that share nothing but a network tell each other, at the start,
// what they run and how; and now and then, what their copies of mirrored
// variables hold. Each compares what all have told by itself, so all of them
// come to the same error, which names who differs: the minority, if there is
// one.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_AGREEMENT_H
#define LOCKSTEP_RUNTIME_EXECUTOR_AGREEMENT_H

#include "runtime/support/RankRange.h"
#include "runtime/support/Status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::runtime {

/// Names and values, in an order that is the same everywhere.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// As text that can be sent, and back.
std::string toText(const Facts &facts);
Facts factsOf(const std::string &text);

/// What the executor with the number `executor` has told.
struct Statement {
  uint32_t executor = 0;
  RankRange ranks;
  std::string text;
};

/// Error: statements, each the text of facts, differ. Tells what in, and who
/// has what.
Status compareFacts(std::span<const Statement> statements);

/// A SHA-256 of a variable's bytes.
using Fingerprint = std::array<char, 32>;
Fingerprint fingerprintOf(std::span<const std::byte> bytes);

/// Statements are fingerprints one after the other, of the variables `names`.
/// Error: some differ; `when` says since when they may.
Status compareCopies(std::span<const Statement> statements,
                     std::span<const std::string> names,
                     const std::string &when);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_AGREEMENT_H
