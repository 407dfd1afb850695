//===- Parsing.cpp - Parsing of modules -----------------------------------===//

#include "dialect/Interfaces/Parsing.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace lockstep;
using namespace mlir;

/// The end of the string or comment that begins at `at`; `at` if none begins
/// there.
static size_t skipTextAt(StringRef text, size_t at) {
  if (text.substr(at).starts_with("//"))
    return std::min(text.find('\n', at), text.size());
  if (text[at] != '"')
    return at;
  for (size_t end = at + 1; end < text.size(); ++end) {
    if (text[end] == '\\')
      ++end;
    else if (text[end] == '"' || text[end] == '\n')
      return end;
  }
  return text.size();
}

namespace {

/// Computes the nesting depth of brackets, including those of the definitions
/// of aliases: in
///
///   #a = loc(callsite("f" at "g"))
///   #b = loc(callsite("h" at #a))
///
/// the depth is 2 after `#a =`, and 4 after `#b =`.
class NestingCounter {
public:
  explicit NestingCounter(StringRef text) : text(text) {}

  /// The position of the first bracket or alias that is nested deeper than
  /// `most`; nullopt if there is none.
  std::optional<size_t> findDeeper(unsigned most) {
    for (size_t i = 0; i < text.size(); ++i) {
      i = skipTextAt(text, i);
      if (i == text.size())
        break;
      size_t begin = i;
      unsigned inner = 0;
      if (text[i] == '#' || text[i] == '!') {
        StringRef name = nameAt(i);
        i += name.size() - 1;
        if (depth == 0 && isDefined(name, begin))
          defined = name;
        else
          inner = depths.lookup(name);
      } else {
        count(i);
      }
      if (depth + inner > most)
        return begin;
      if (!defined.empty()) {
        unsigned &deepest = depths[defined];
        deepest = std::max(deepest, depth + inner);
      }
    }
    return std::nullopt;
  }

private:
  /// The alias that begins at `at`, or its first character if no name follows.
  StringRef nameAt(size_t at) const {
    return text.substr(at).take_front(1 + text.substr(at + 1)
                                              .take_while([](char c) {
                                                return llvm::isAlnum(c) ||
                                                       c == '_' || c == '$' ||
                                                       c == '.';
                                              })
                                              .size());
  }

  bool isDefined(StringRef name, size_t at) const {
    return (at == 0 || text[at - 1] == '\n') &&
           text.substr(at + name.size()).ltrim(' ').starts_with("=");
  }

  void count(size_t i) {
    // Arrows and comparisons are not brackets.
    bool isBeforeEqual = i + 1 < text.size() && text[i + 1] == '=',
         isBehindMinus = i > 0 && text[i - 1] == '-';
    switch (text[i]) {
    case '<':
      depth += !isBeforeEqual;
      break;
    case '>':
      depth -= depth > 0 && !isBeforeEqual && !isBehindMinus;
      break;
    case '(':
    case '[':
    case '{':
      ++depth;
      break;
    case ')':
    case ']':
    case '}':
      depth -= depth > 0;
      break;
    case '\n':
      if (depth == 0)
        defined = StringRef();
      break;
    }
  }

  StringRef text;
  unsigned depth = 0;
  /// The alias whose definition is being scanned, or empty.
  StringRef defined;
  /// The nesting depth of the definition of each alias.
  llvm::StringMap<unsigned> depths;
};

} // namespace

LogicalResult lockstep::checkNesting(llvm::MemoryBufferRef buffer) {
  if (isBytecode(buffer))
    return success();
  StringRef text = buffer.getBuffer();
  std::optional<size_t> place = NestingCounter(text).findDeeper(kMostNesting);
  if (!place)
    return success();
  StringRef before = text.take_front(*place);
  llvm::errs() << buffer.getBufferIdentifier() << ':' << before.count('\n') + 1
               << ':' << *place - (before.rfind('\n') + 1) + 1
               << ": error: expected brackets that are nested at most "
               << kMostNesting << " deep, found more\n";
  return failure();
}

OwningOpRef<ModuleOp> lockstep::parseModule(llvm::SourceMgr &sources,
                                            MLIRContext *context) {
  if (failed(checkNesting(*sources.getMemoryBuffer(sources.getMainFileID()))))
    return nullptr;
  return parseSourceFile<ModuleOp>(sources, context);
}
