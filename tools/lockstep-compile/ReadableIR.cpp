//===- ReadableIR.cpp - Print IR for a reader -----------------------------===//
//
// The text that MLIR prints is laid out again line by line. Locations are
// printed by MLIR as `loc(#locN)`, with the definitions of these aliases in
// lines of their own, and become comments here.
//
//===----------------------------------------------------------------------===//

#include "tools/lockstep-compile/ReadableIR.h"
#include "dialect/Interfaces/ElementBytes.h"
#include "tools/lockstep-compile/ValueNames.h"

#include "passes/Analysis/UserLocation.h"
#include "passes/Remarks/Remarks.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

using namespace lockstep;
using namespace mlir;

/// The columns of a line, and those by which a continued line is indented.
static constexpr size_t kColumns = 120, kContinuation = 4;

/// The position behind the string literal that begins at `begin`.
static size_t skipString(StringRef text, size_t begin) {
  size_t i = begin + 1;
  while (i < text.size() && text[i] != '"')
    i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

/// The position of `what` outside of string literals, from `begin` on.
static size_t findOutsideStrings(StringRef text, StringRef what,
                                 size_t begin = 0) {
  for (size_t i = begin; i < text.size();)
    if (text[i] == '"')
      i = skipString(text, i);
    else if (text.substr(i).starts_with(what))
      return i;
    else
      ++i;
  return StringRef::npos;
}

/// The position of the closing bracket for the opening one at `begin`, or the
/// end of the text; calls `atComma` with the position of each comma directly
/// between them.
static size_t findClosing(StringRef text, size_t begin,
                          function_ref<void(size_t)> atComma) {
  size_t depth = 0;
  for (size_t i = begin; i < text.size();) {
    if (text[i] == '"') {
      i = skipString(text, i);
      continue;
    }
    // The > of an arrow is no bracket.
    bool isArrow = text[i] == '>' && i > 0 && text[i - 1] == '-';
    if (StringRef("([{<").contains(text[i]))
      ++depth;
    else if (StringRef(")]}>").contains(text[i]) && !isArrow && --depth == 0)
      return i;
    else if (text[i] == ',' && depth == 1)
      atComma(i);
    ++i;
  }
  return text.size();
}

namespace {

class Printer {
public:
  Printer(raw_ostream &os, bool withLines) : os(os), withLines(withLines) {}

  /// Describes the operands of the starts of `module` in printed order.
  void describe(ModuleOp module, ArrayRef<MemberNames> names) {
    module->walk<WalkOrder::PreOrder>([&](collective::StartOp start) {
      if (members.size() < names.size())
        members.push_back(commentsOf(start, names[members.size()]));
    });
  }

  void print(StringRef text) {
    SmallVector<StringRef> lines;
    text.split(lines, '\n');
    for (StringRef line : lines)
      readAlias(line);
    while (!lines.empty() && lines.back().empty())
      lines.pop_back();
    for (StringRef line : lines)
      if (!line.starts_with("#loc"))
        printLine(line);
  }

private:
  static std::vector<std::string> commentsOf(collective::StartOp start,
                                             const MemberNames &names) {
    std::vector<std::string> comments;
    for (auto [operand, variable] :
         llvm::zip_equal(start.getInputs(), names.variables)) {
      SmallVector<std::string> parts;
      if (!variable.empty())
        parts.push_back(variable);
      auto type = cast<RankedTensorType>(operand.getType());
      parts.push_back(type.hasStaticShape() ? bytesText(getByteSize(type))
                                            : "size at run time");
      if (Operation *producer = operand.getDefiningOp())
        if (std::string line = userLocation(producer->getLoc()); !line.empty())
          parts.push_back(line);
      // A line break in a name would end the comment.
      std::string comment = llvm::join(parts, ", ");
      for (char &c : comment)
        c = static_cast<unsigned char>(c) < ' ' ? ' ' : c;
      comments.push_back(std::move(comment));
    }
    return comments;
  }

  /// `#loc3 = loc("model.py":37:8)`, `#loc4 = loc("matmul"(#loc3))`; those with
  /// a name come after what they refer to, or before.
  void readAlias(StringRef line) {
    if (!line.starts_with("#loc"))
      return;
    auto [name, location] = line.split(" = loc(");
    location.consume_back(")");
    aliases[name] = location.str();
  }

  /// The line of the user's program in a location: an alias, a line, or a name
  /// with another location. Empty if there is none.
  std::string lineOf(StringRef location) const {
    if (location.starts_with("#")) {
      auto it = aliases.find(location);
      return it == aliases.end() ? "" : lineOf(it->second);
    }
    if (!location.starts_with("\""))
      return "";
    size_t end = skipString(location, 0);
    StringRef rest = location.substr(end);
    // A name, and the location that has it.
    if (rest.consume_front("("))
      return lineOf(rest.drop_back());
    StringRef number = rest.consume_front(":") ? rest.split(':').first : "";
    // Without a line it is the file that is compiled.
    if (number.empty() || number == "0")
      return "";
    return (llvm::sys::path::filename(location.slice(1, end - 1)) + ":" +
            number)
        .str();
  }

  void printLine(StringRef line) {
    std::string text, comment;
    // The last location is that of the operation; others are of arguments.
    size_t begin = 0;
    for (;;) {
      size_t at = findOutsideStrings(line, " loc(", begin);
      text += line.slice(begin, at);
      if (at == StringRef::npos)
        break;
      size_t end = findClosing(line, at, [](size_t) {});
      comment = end + 1 == line.size() ? lineOf(line.slice(at + 5, end)) : "";
      begin = end + 1;
    }
    if (!withLines || StringRef(text).ltrim().starts_with("}"))
      comment.clear();
    // Comments of MLIR cannot be continued on another line.
    if (findOutsideStrings(text, "//") != StringRef::npos) {
      os << text << '\n';
      return;
    }
    if (findOutsideStrings(text, "collective.start ") != StringRef::npos &&
        next < members.size()) {
      const std::vector<std::string> &comments = members[next++];
      if (comments.size() > 1 && printMembers(text, comment, comments))
        return;
    }
    if (StringRef(text).ltrim().starts_with("func.func") &&
        text.size() > kColumns)
      return printSignature(text);
    wrap(text, comment, indentOf(text) + kContinuation);
  }

  /// Prints the first line of a function with one line for each argument and
  /// each result.
  void printSignature(StringRef text) {
    size_t indent = indentOf(text) + kContinuation, begin = 0;
    auto printUpTo = [&](size_t end) {
      StringRef part = text.slice(begin, end);
      if (begin > 0)
        wrap(std::string(indent, ' ') + part.ltrim().str(), "",
             indent + kContinuation);
      else
        os << part << '\n';
      begin = end;
    };
    size_t open = findOutsideStrings(text, "(");
    while (open != StringRef::npos) {
      printUpTo(open + 1);
      size_t close =
          findClosing(text, open, [&](size_t comma) { printUpTo(comma + 1); });
      printUpTo(close);
      open = text.substr(close).starts_with(") -> (") ? close + 5
                                                      : StringRef::npos;
    }
    printUpTo(text.size());
  }

  static size_t indentOf(StringRef text) {
    return text.size() - text.ltrim().size();
  }

  /// Prints the start of a collective with one line for each operand.
  bool printMembers(StringRef text, const std::string &comment,
                    ArrayRef<std::string> comments) {
    size_t open = findOutsideStrings(text, "(%"),
           close = findOutsideStrings(text, " : ", open);
    if (open == StringRef::npos || close == StringRef::npos)
      return false;
    SmallVector<StringRef> operands;
    text.slice(open + 1, close).split(operands, ", ");
    if (operands.size() != comments.size())
      return false;
    size_t indent = indentOf(text) + kContinuation, widest = 0;
    for (StringRef operand : operands)
      if (indent + operand.size() < kColumns / 2)
        widest = std::max(widest, operand.size() + 1);
    wrap(text.take_front(open + 1), comment, indent);
    for (auto [i, operand] : llvm::enumerate(operands)) {
      std::string member =
          (operand + (i + 1 < operands.size() ? "," : "")).str();
      os.indent(indent) << llvm::left_justify(member, unsigned(widest))
                        << "  // " << comments[i] << '\n';
    }
    wrap(std::string(indent, ' ') + text.substr(close + 1).str(), "", indent);
    return true;
  }

  /// Prints a line with a comment, broken at spaces so that it fits.
  void wrap(StringRef text, StringRef comment, size_t indent) {
    size_t first = indentOf(text);
    std::string remainder;
    while (text.size() > kColumns) {
      // The last space outside of strings at which a line fits, or the first.
      size_t cut = StringRef::npos;
      for (size_t i = first; i < text.size();) {
        if (text[i] == '"') {
          i = skipString(text, i);
          continue;
        }
        if (text[i] == ' ') {
          if (i > kColumns && cut != StringRef::npos)
            break;
          cut = i;
        }
        ++i;
      }
      if (cut == StringRef::npos)
        break;
      os << text.take_front(cut) << '\n';
      // `text` may be the remainder so far.
      remainder = std::string(indent, ' ') + text.substr(cut + 1).str();
      text = remainder;
      first = indent;
    }
    os << text;
    if (!comment.empty()) {
      if (text.size() + 5 + comment.size() > kColumns)
        os << '\n' << std::string(indent, ' ') << "// " << comment;
      else
        os << "  // " << comment;
    }
    os << '\n';
  }

  raw_ostream &os;
  bool withLines;
  llvm::StringMap<std::string> aliases;
  std::vector<std::vector<std::string>> members;
  size_t next = 0;
};

} // namespace

void lockstep::printReadable(ModuleOp module, raw_ostream &os, bool withLines) {
  std::vector<MemberNames> names = nameValues(module);
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(64);
  flags.printNameLocAsPrefix();
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, flags);
  Printer printer(os, withLines);
  printer.describe(module, names);
  printer.print(text);
}
