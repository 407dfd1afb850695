//===- Parsing.cpp - modules from text ------------------------------------===//

#include "dialect/Interfaces/Parsing.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace lockstep;
using namespace mlir;

/// Where the string or comment that begins at `at` ends; `at` if none begins
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

LogicalResult lockstep::checkNesting(llvm::MemoryBufferRef buffer) {
  if (isBytecode(buffer))
    return success();
  StringRef text = buffer.getBuffer();
  unsigned depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    i = skipTextAt(text, i);
    if (i == text.size())
      break;
    // Arrows and comparisons are no brackets.
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
    default:
      continue;
    }
    if (depth > kMostNesting) {
      StringRef before = text.take_front(i);
      llvm::errs() << buffer.getBufferIdentifier() << ':'
                   << before.count('\n') + 1 << ':'
                   << i - (before.rfind('\n') + 1) + 1
                   << ": error: expected brackets that are nested at most "
                   << kMostNesting << " deep, found more\n";
      return failure();
    }
  }
  return success();
}

OwningOpRef<ModuleOp> lockstep::parseModule(llvm::SourceMgr &sources,
                                            MLIRContext *context) {
  if (failed(checkNesting(*sources.getMemoryBuffer(sources.getMainFileID()))))
    return nullptr;
  return parseSourceFile<ModuleOp>(sources, context);
}
