//===- ProgramText.h - small programs as text -------------------*- C++ -*-===//
//
// A case is a few lines. Roles with their numbers of ranks come first, then
// groups and buffers, then the program of each role:
//
//   role worker 2                     ranks 0 and 1; the next role has the next
//                                     ranks
//   group pair 0 1                    there is a group "all" of all ranks of
//                                     the first role
//   scalar flag                       a buffer of one i1; also input, replica,
//   shared, variable,
//                                     private (a replica's variable), constant
//   int scalar trips                  the same of i32; `int rank me` is the
//   rank's number wide replica bucket 4             4 elements of i1; `part
//   grad bucket 2`:
//                                     element 2 of it
//   program worker {
//     start c broadcast pair root 0 x -> y
//                                     also without operands, or without results
//     wait c
//     barrier b pair
//     once o { ... }
//     if flag { ... } else { ... }    a buffer, or `if %r < 3`, `if %r < %s`
//     while flag { ... }
//     repeat 3 { ... }                a number, a register or an i32 buffer
//     break                           out of the innermost loop
//     set %r 3 / add %r %s / load %r me
//     launch kernel x y %r -> z
//     copy x -> y
//     next / return
//   }
//
// Channels and registers are named freely; an unknown buffer is a `replica`.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_RUNTIME_VERIFICATION_PROGRAMTEXT_H
#define LOCKSTEP_TEST_RUNTIME_VERIFICATION_PROGRAMTEXT_H

#include "runtime/schema/artifact_generated.h"
#include "test/support/Suite.h"

#include <string>
#include <vector>

namespace lockstep::runtime::verification::test {

/// The tables of a case; its programs are called "step". Throws
/// std::runtime_error with the line.
std::vector<uint8_t> assemble(const std::string &text);

inline const artifact::Artifact &tablesOf(const std::vector<uint8_t> &bytes) {
  return *artifact::GetArtifact(bytes.data());
}

/// "== VERDICT: NAME", then the lines of the case.
struct Case : lockstep::test::SuiteCase {
  /// The expected verdict; all but the first are rejected.
  enum class Verdict : uint8_t {
    proven,
    /// Ranks wait for each other forever on some data.
    blocks,
    /// Roles declare a channel differently.
    mismatch,
    /// Correct, but not provable.
    unknown,
  } verdict = Verdict::unknown;

  bool isProven() const { return verdict == Verdict::proven; }
  bool isWrong() const {
    return verdict == Verdict::blocks || verdict == Verdict::mismatch;
  }
};
std::vector<Case> readCases(const std::string &path);

} // namespace lockstep::runtime::verification::test

#endif // LOCKSTEP_TEST_RUNTIME_VERIFICATION_PROGRAMTEXT_H
