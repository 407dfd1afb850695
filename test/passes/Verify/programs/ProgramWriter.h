//===- ProgramWriter.h - Text of a random program ---------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_PROGRAMWRITER_H
#define LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_PROGRAMWRITER_H

#include <cstdint>
#include <random>
#include <string>

namespace lockstep::test {

/// Shared by generators of programs: random numbers, lines of text with fresh
/// names, and the one place where a program is mutated.
class ProgramWriter {
protected:
  explicit ProgramWriter(uint64_t seed) : random(seed) {
    mayMutate = chance(50);
  }

  // Not the distributions of the standard library, whose results are not
  // specified.
  uint64_t below(uint64_t bound) { return random() % bound; }
  bool chance(uint64_t percent) { return below(100) < percent; }
  template <typename List> const auto &any(const List &list) {
    return list[below(list.size())];
  }

  std::string fresh() { return "%" + std::to_string(serial++); }
  void line(const std::string &code) {
    text += std::string(2 * (depth + 1), ' ') + code + "\n";
  }
  /// `NAME = code`
  std::string value(const std::string &code) {
    std::string name = fresh();
    line(name + " = " + code);
    return name;
  }
  void open(const std::string &code) {
    line(code);
    ++depth;
  }
  void close(const std::string &code = "}") {
    --depth;
    line(code);
  }
  /// The end of one region and the beginning of the next.
  void reopen(const std::string &code) {
    close(code);
    ++depth;
  }
  /// The arguments of a block, which are less indented than its contents.
  void label(const std::string &code) {
    --depth;
    line(code);
    ++depth;
  }

  /// True at the one place where the program is mutated.
  bool mutatesHere(uint64_t percent) {
    if (!mayMutate || isMutated || !chance(percent))
      return false;
    return isMutated = true;
  }

  std::mt19937_64 random;
  std::string text;
  bool isMutated = false;

private:
  uint64_t serial = 0;
  int depth = 0;
  bool mayMutate = false;
};

} // namespace lockstep::test

#endif
