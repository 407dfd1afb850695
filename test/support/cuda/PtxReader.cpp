//===- PtxReader.cpp - modules of PTX from text ---------------------------===//

#include "PtxLexer.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include <fmt/format.h>

namespace lockstep::standin {

namespace {

class Reader {
public:
  explicit Reader(std::string_view text) : tokens(tokenize(text)) {}

  PtxModule run() {
    while (peek().kind != Token::Kind::End)
      readDirective();
    if (!module.version)
      throw PtxError(1, "expected .version");
    return std::move(module);
  }

private:
  //===--------------------------------------------------------------------===//
  // Tokens
  //===--------------------------------------------------------------------===//

  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(position + ahead, tokens.size() - 1)];
  }
  Token take() {
    Token token = peek();
    if (position + 1 < tokens.size())
      ++position;
    return token;
  }
  bool accept(std::string_view text) {
    if (!peek().is(text))
      return false;
    take();
    return true;
  }
  [[noreturn]] void fail(const Token &token, std::string_view expected) const {
    throw PtxError(token.line, fmt::format("expected {}, found '{}'", expected,
                                           token.text));
  }
  void expect(std::string_view text) {
    if (!accept(text))
      fail(peek(), fmt::format("'{}'", text));
  }
  std::string word() {
    if (peek().kind != Token::Kind::Word)
      fail(peek(), "a name");
    return std::string(take().text);
  }
  uint64_t number() {
    if (peek().kind != Token::Kind::Number)
      fail(peek(), "a number");
    return take().bits;
  }
  void skipLine() {
    unsigned line = peek().line;
    while (peek().kind != Token::Kind::End && peek().line == line)
      take();
  }
  void skipBraces() {
    while (!peek().is("{"))
      if (take().kind == Token::Kind::End)
        fail(peek(), "'{'");
    unsigned depth = 0;
    do {
      Token token = take();
      if (token.kind == Token::Kind::End)
        fail(token, "'}'");
      depth += token.is("{");
      depth -= token.is("}");
    } while (depth);
  }

  //===--------------------------------------------------------------------===//
  // Modules
  //===--------------------------------------------------------------------===//

  void readDirective() {
    const Token &first = peek();
    if (accept(".version")) {
      module.version = unsigned(number()) * 10;
      // The lexer reads `8.0` as a number and the word `.0`.
      module.version += unsigned(word().back() - '0');
    } else if (accept(".target")) {
      std::string target = word();
      // Some have a letter behind the number: sm_90a.
      const char *end = target.data() + target.size();
      if (!target.starts_with("sm_") ||
          std::from_chars(target.data() + 3, end, module.target).ec !=
              std::errc())
        throw PtxError(first.line, "unknown target '" + target + "'");
      while (accept(","))
        word();
    } else if (accept(".address_size")) {
      if (number() != 64)
        throw PtxError(first.line, "expected addresses of 64 bits");
    } else if (first.is(".file") || first.is(".loc")) {
      skipLine();
    } else if (first.is(".section")) {
      skipBraces();
    } else if (accept(".pragma")) {
      while (!accept(";"))
        take();
    } else {
      readDeclaration();
    }
  }

  void readDeclaration() {
    bool isExtern = false;
    while (peek().is(".visible") || peek().is(".extern") ||
           peek().is(".weak") || peek().is(".common"))
      isExtern |= take().is(".extern");
    if (peek().is(".entry") || peek().is(".func")) {
      readFunction();
      return;
    }
    std::optional<Space> space = spaceNamed(peek().text);
    if (!space)
      fail(peek(), "a directive");
    for (Variable &variable : readVariables())
      (variable.isExtern = isExtern), module.variables.push_back(variable);
  }

  static std::optional<Space> spaceNamed(std::string_view word) {
    if (word == ".global")
      return Space::Global;
    if (word == ".shared")
      return Space::Shared;
    if (word == ".const")
      return Space::Const;
    if (word == ".local")
      return Space::Local;
    if (word == ".param")
      return Space::Param;
    return std::nullopt;
  }

  //===--------------------------------------------------------------------===//
  // Variables
  //===--------------------------------------------------------------------===//

  /// `.space .align 4 .b8 name[16] = {...}`, without what separates variables.
  Variable readVariable() {
    Variable variable;
    variable.line = peek().line;
    variable.space = *spaceNamed(take().text);
    bool hasAlignment = false, hasType = false;
    while (peek().kind == Token::Kind::Word && peek().text.front() == '.') {
      Token attribute = take();
      if (attribute.is(".align")) {
        variable.alignment = number();
        hasAlignment = true;
      } else if (attribute.is(".ptr")) {
        // What a pointer points to is of no interest, with its alignment.
        while (peek().is(".global") || peek().is(".shared") ||
               peek().is(".const") || peek().is(".local") ||
               peek().is(".align"))
          if (take().is(".align"))
            number();
      } else if (std::optional<Type> type =
                     typeNamed(attribute.text.substr(1))) {
        variable.type = *type;
        hasType = true;
      } else {
        fail(attribute, "a type");
      }
    }
    if (!hasType)
      fail(peek(), "a type");
    if (!hasAlignment)
      variable.alignment = variable.type.bytes();
    if (!std::has_single_bit(variable.alignment))
      fail(peek(), "a power of two as alignment");
    variable.name = word();
    variable.bytes = variable.type.bytes();
    while (accept("[")) {
      if (accept("]")) {
        variable.isDynamic = true;
        variable.bytes = 0;
        continue;
      }
      variable.bytes *= number();
      expect("]");
    }
    if (accept("="))
      readInitializer(variable.initializer);
    return variable;
  }

  std::vector<Variable> readVariables() {
    std::vector<Variable> variables = {readVariable()};
    while (accept(",")) {
      Variable next = variables.front();
      next.name = word();
      variables.push_back(next);
    }
    expect(";");
    return variables;
  }

  void readInitializer(std::vector<Initializer> &parts) {
    if (accept("{")) {
      while (!accept("}")) {
        readInitializer(parts);
        accept(",");
      }
      return;
    }
    Initializer part;
    if (peek().kind == Token::Kind::Number) {
      part.bits = take().bits;
      if (accept("(")) {
        // 0xFF00(symbol): the mask names a byte.
        unsigned byte = 0;
        while (byte < 8 && (part.bits >> 8 * byte & 0xFF) == 0)
          ++byte;
        part.byte = byte;
        part.bits = 0;
        readSymbolInitializer(part);
        expect(")");
      }
    } else {
      readSymbolInitializer(part);
    }
    parts.push_back(std::move(part));
  }

  void readSymbolInitializer(Initializer &part) {
    if (accept("generic")) {
      expect("(");
      part.symbol = word();
      expect(")");
    } else {
      part.symbol = word();
    }
    if (accept("+"))
      part.bits = number();
    else if (peek().kind == Token::Kind::Number)
      part.bits = number();
  }

  //===--------------------------------------------------------------------===//
  // Functions
  //===--------------------------------------------------------------------===//

  std::vector<Variable> readParameters() {
    std::vector<Variable> parameters;
    expect("(");
    while (!accept(")")) {
      if (!peek().is(".param"))
        fail(peek(), "'.param'");
      parameters.push_back(readVariable());
      accept(",");
    }
    return parameters;
  }

  void readFunction() {
    Function function;
    function.line = peek().line;
    function.isEntry = take().is(".entry");
    if (!function.isEntry && peek().is("("))
      function.results = readParameters();
    function.name = word();
    if (peek().is("("))
      function.parameters = readParameters();
    for (;;) {
      if (accept(".maxntid")) {
        function.maxThreads = product();
      } else if (accept(".reqntid")) {
        function.requiredThreads = product();
      } else if (accept(".minnctapersm") || accept(".maxnctapersm") ||
                 accept(".maxnreg")) {
        number();
      } else if (accept(".noreturn")) {
        continue;
      } else {
        break;
      }
    }
    if (accept("{")) {
      function.hasBody = true;
      readBody(function);
    } else {
      expect(";");
    }
    module.functions.push_back(std::move(function));
  }

  uint64_t product() {
    uint64_t result = number();
    while (accept(","))
      result *= number();
    return result;
  }

  void readBody(Function &function) {
    for (unsigned depth = 1; depth;) {
      const Token &first = peek();
      if (accept("{")) {
        ++depth;
      } else if (accept("}")) {
        --depth;
      } else if (first.is(".reg")) {
        readRegisters(function);
      } else if (first.is(".loc") || first.is(".file")) {
        skipLine();
      } else if (accept(".pragma")) {
        while (!accept(";"))
          take();
      } else if (spaceNamed(first.text)) {
        for (Variable &variable : readVariables())
          declare(function, variable);
      } else if (first.kind == Token::Kind::Word && peek(1).is(":")) {
        std::string label = word();
        take();
        if (accept(".branchtargets"))
          readJumpTable(function.jumpTables[label]);
        else
          function.body.push_back({label, {}});
      } else {
        function.body.push_back({"", readInstruction()});
      }
    }
  }

  /// Parameters of calls have the same names in each scope; the largest one
  /// serves all.
  void declare(Function &function, const Variable &variable) {
    for (Variable &other : function.variables)
      if (other.name == variable.name) {
        if (variable.space != Space::Param || other.space != Space::Param)
          throw PtxError(variable.line,
                         "'" + variable.name + "' is already declared");
        other.bytes = std::max(other.bytes, variable.bytes);
        other.alignment = std::max(other.alignment, variable.alignment);
        return;
      }
    function.variables.push_back(variable);
  }

  void readJumpTable(std::vector<std::string> &labels) {
    do
      labels.push_back(word());
    while (accept(","));
    expect(";");
  }

  void readRegisters(Function &function) {
    take();
    Token token = take();
    std::optional<Type> type =
        typeNamed(token.text.substr(token.text.empty() ? 0 : 1));
    if (!type)
      fail(token, "a type of registers");
    do {
      std::string name = word();
      if (accept("<")) {
        uint64_t count = number();
        expect(">");
        constexpr uint64_t most = 1 << 20;
        if (count > most)
          throw PtxError(token.line, "there are too many registers");
        for (uint64_t i = 0; i < count; ++i)
          function.registers.emplace(name + std::to_string(i), *type);
      } else {
        function.registers.emplace(name, *type);
      }
    } while (accept(","));
    expect(";");
  }

  Instruction readInstruction() {
    Instruction instruction;
    instruction.line = peek().line;
    if (accept("@")) {
      instruction.isGuardNegated = accept("!");
      instruction.guard = word();
    }
    std::string words = word();
    size_t dot = words.find('.');
    instruction.opcode = words.substr(0, dot);
    while (dot != std::string::npos) {
      size_t next = words.find('.', dot + 1);
      instruction.modifiers.push_back(words.substr(
          dot + 1, next == std::string::npos ? next : next - dot - 1));
      dot = next;
    }
    while (!accept(";")) {
      instruction.operands.push_back(readOperand());
      if (!peek().is(";"))
        expect(",");
    }
    return instruction;
  }

  Operand readOperand() {
    Operand operand = readPlainOperand();
    if (!peek().is("|"))
      return operand;
    take();
    Operand pair;
    pair.kind = Operand::Kind::Pair;
    pair.elements = {std::move(operand), readPlainOperand()};
    return pair;
  }

  Operand readPlainOperand() {
    Operand operand;
    if (accept("!")) {
      operand = readPlainOperand();
      operand.isNegated = true;
    } else if (accept("[")) {
      operand.kind = Operand::Kind::Address;
      if (peek().kind == Token::Kind::Word) {
        operand.name = word();
        operand.isRegisterBase = operand.name.front() == '%';
      }
      accept("+");
      if (peek().kind == Token::Kind::Number)
        operand.offset = int64_t(number());
      expect("]");
    } else if (peek().is("{") || peek().is("(")) {
      bool isVector = take().is("{");
      operand.kind = isVector ? Operand::Kind::Vector : Operand::Kind::List;
      while (!accept(isVector ? "}" : ")")) {
        operand.elements.push_back(readOperand());
        accept(",");
      }
    } else if (peek().kind == Token::Kind::Number) {
      operand.kind = Operand::Kind::Immediate;
      operand.bits = number();
    } else {
      operand.name = word();
      operand.kind = operand.name == "_"           ? Operand::Kind::Sink
                     : operand.name.front() == '%' ? Operand::Kind::Register
                                                   : Operand::Kind::Symbol;
      if (operand.kind == Operand::Kind::Symbol && accept("+"))
        operand.offset = int64_t(number());
    }
    return operand;
  }

  std::vector<Token> tokens;
  size_t position = 0;
  PtxModule module;
};

} // namespace

PtxModule readPtx(std::string_view text) { return Reader(text).run(); }

} // namespace lockstep::standin
