//===- PtxLexer.cpp - words of PTX ----------------------------------------===//

#include "PtxLexer.h"

#include <cctype>
#include <charconv>

#include <fmt/format.h>

namespace lockstep::standin {

namespace {

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  std::vector<Token> run() {
    for (;;) {
      skipSpace();
      Token token = next();
      tokens.push_back(token);
      if (token.kind == Token::Kind::End)
        return std::move(tokens);
    }
  }

private:
  char at(size_t index) const { return index < text.size() ? text[index] : 0; }

  static bool isWordStart(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_' ||
           c == '$' || c == '%' || c == '.';
  }
  static bool isWordPart(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           c == '$' || c == '.';
  }

  void skipSpace() {
    for (;;) {
      char c = at(position);
      if (c == '\n')
        ++line;
      if (c && std::isspace(static_cast<unsigned char>(c))) {
        ++position;
      } else if (text.substr(position, 2) == "//") {
        while (at(position) && at(position) != '\n')
          ++position;
      } else if (text.substr(position, 2) == "/*") {
        size_t end = text.find("*/", position);
        if (end == std::string_view::npos)
          throw PtxError(line, "the comment does not end");
        for (; position < end + 2; ++position)
          line += text[position] == '\n';
      } else {
        return;
      }
    }
  }

  Token take(Token::Kind kind, size_t length) {
    Token token{kind, text.substr(position, length), 0, line};
    position += length;
    return token;
  }

  Token next() {
    char c = at(position);
    if (!c)
      return take(Token::Kind::End, 0);
    if (isWordStart(c))
      return word();
    if (std::isdigit(static_cast<unsigned char>(c)) ||
        (c == '-' &&
         std::isdigit(static_cast<unsigned char>(at(position + 1)))))
      return number();
    if (c == '"') {
      size_t end = text.find('"', position + 1);
      if (end == std::string_view::npos)
        throw PtxError(line, "the string does not end");
      return take(Token::Kind::String, end + 1 - position);
    }
    return take(Token::Kind::Punctuation, 1);
  }

  Token word() {
    size_t end = position + 1;
    for (;;) {
      if (isWordPart(at(end)))
        ++end;
      else if (text.substr(end, 2) == "::" && isWordPart(at(end + 2)))
        end += 2;
      else
        return take(Token::Kind::Word, end - position);
    }
  }

  Token number() {
    size_t end = position + 1;
    while (std::isalnum(static_cast<unsigned char>(at(end))))
      ++end;
    Token token = take(Token::Kind::Number, end - position);
    std::string_view digits = token.text;
    // A directive such as `.version 8.0` has a fraction, of which its reader
    // takes care.
    bool isNegative = digits.front() == '-';
    digits.remove_prefix(isNegative);
    if (digits.back() == 'U')
      digits.remove_suffix(1);
    int base = 10;
    if (digits.size() > 2 && digits.front() == '0') {
      char second = digits[1];
      if (second == 'f' || second == 'F' || second == 'd' || second == 'D' ||
          second == 'x' || second == 'X') {
        base = 16;
        digits.remove_prefix(2);
      } else if (second == 'b') {
        base = 2;
        digits.remove_prefix(2);
      }
    }
    auto [rest, error] = std::from_chars(
        digits.data(), digits.data() + digits.size(), token.bits, base);
    if (error != std::errc() || rest != digits.data() + digits.size())
      throw PtxError(line, fmt::format("'{}' is not a number", token.text));
    if (isNegative)
      token.bits = 0 - token.bits;
    return token;
  }

  std::string_view text;
  size_t position = 0;
  unsigned line = 1;
  std::vector<Token> tokens;
};

} // namespace

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).run(); }

} // namespace lockstep::standin
