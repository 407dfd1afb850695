//===- PtxLexer.h - words of PTX --------------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_PTXLEXER_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_PTXLEXER_H

#include "Ptx.h"

namespace lockstep::standin {

struct Token {
  enum class Kind { Word, Number, String, Punctuation, End };
  Kind kind = Kind::End;
  std::string_view text;
  /// Of a number: its value, or the bits of a floating-point one.
  uint64_t bits = 0;
  unsigned line = 0;

  bool is(std::string_view expected) const {
    return kind != Kind::String && text == expected;
  }
};

/// The words of a module; the last one is of kind End. They refer to the text.
/// Throws PtxError.
std::vector<Token> tokenize(std::string_view text);

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_PTXLEXER_H
