//===- NumberParser.h - numbers on command lines of LLVM --------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_SUPPORT_NUMBERPARSER_H
#define LOCKSTEP_TOOLS_SUPPORT_NUMBERPARSER_H

#include "tools/support/Numbers.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/CommandLine.h"

#include <limits>

namespace lockstep::tools {

/// Reads an option of a tool that is built on LLVM as `checkNumber` does for
/// other tools. `fail` prints the error. `T` is `long long` or `unsigned long
/// long`: LLVM's parsers of other integers are final.
template <typename T, int (*fail)(const llvm::Twine &)>
class NumberParser : public llvm::cl::parser<T> {
public:
  using llvm::cl::parser<T>::parser;

  /// Returns true on an error.
  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text,
             T &value) {
    std::string wrong =
        checkNumber(text, std::numeric_limits<T>::min(),
                    static_cast<uint64_t>(std::numeric_limits<T>::max()));
    if (wrong.empty())
      return text.getAsInteger(10, value);
    fail("--" + option.ArgStr + ": " + wrong + " (see --help)");
    return true;
  }

  llvm::StringRef getValueName() const override { return "number"; }
};

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_SUPPORT_NUMBERPARSER_H
