//===- Agreement.h - facts that executors compare ---------------*- C++ -*-===//
//
// Executors compare their programs and options at the start, and the contents
// of their copies of mirrored variables periodically. Each posts its own text,
// reads those of all, and compares them by itself, so all find the same error,
// which names the executors that differ: the minority, if there is one.
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

/// Names and values, in the same order in all executors.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Serialization as text, and its inverse.
std::string toText(const Facts &facts);
Facts factsOf(const std::string &text);

/// The text that an executor has posted.
struct Post {
  uint32_t executor = 0;
  RankRange ranks;
  std::string text;
};

/// Compares texts of `toText`. Error: they differ; it names the fact and the
/// executors with each value.
Status compareFacts(std::span<const Post> posts);

/// A SHA-256 of a variable's bytes.
using Fingerprint = std::array<char, 32>;
Fingerprint fingerprintOf(std::span<const std::byte> bytes);

/// Each text is a sequence of fingerprints, of the variables `names`.
/// Error: some differ; `when` describes since when they may.
Status compareCopies(std::span<const Post> posts,
                     std::span<const std::string> names,
                     const std::string &when);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_AGREEMENT_H
