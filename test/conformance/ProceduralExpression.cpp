//===- ProceduralExpression.cpp - expressions in procedural cases ---------===//

#include "ProceduralExpression.h"

#include "ProceduralFunctions.h"

#include <fmt/format.h>

#include <cctype>
#include <regex>

namespace lockstep::conformance {

namespace {

/// Parses and evaluates at once, by recursive descent.
class Evaluator {
public:
  Evaluator(std::string text, Environment environment)
      : text(std::move(text)), environment(std::move(environment)) {}

  Expected<CaseValue> run() {
    Expected<CaseValue> value = definition();
    if (value && peek() != '\0')
      return error("the end");
    return value;
  }

private:
  Status error(const std::string &expected) const {
    return runtime::invalidArgument(fmt::format(
        "'{}', at {}: expected {}, found {}", text, at, expected,
        at < text.size() ? "'" + text.substr(at, 8) + "'" : "the end"));
  }

  char peek() {
    while (at < text.size() &&
           std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
    return at < text.size() ? text[at] : '\0';
  }

  bool take(char symbol) {
    if (peek() != symbol)
      return false;
    ++at;
    return true;
  }

  std::string name() {
    peek();
    size_t begin = at;
    while (
        at < text.size() &&
        (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_'))
      ++at;
    return text.substr(begin, at - begin);
  }

  /// name=value, value=value or a value.
  Expected<CaseValue> definition() {
    size_t begin = at;
    if (std::isalpha(static_cast<unsigned char>(peek()))) {
      std::string defined = name();
      if (take('=')) {
        Expected<CaseValue> value = sum();
        if (value)
          environment.values[defined] = *value;
        return value;
      }
      at = begin;
    }
    Expected<CaseValue> value = sum();
    if (!value || !take('='))
      return value;
    Expected<CaseValue> stated = sum();
    if (stated && stated->toJson() != value->toJson())
      return error("a value of " + value->toJson().dump() + " before");
    return stated;
  }

  Expected<CaseValue> sum() {
    Expected<CaseValue> left = product();
    while (left && (peek() == '+' || peek() == '-')) {
      char operation = text[at++];
      left = applied(operation, *left, product());
    }
    return left;
  }

  Expected<CaseValue> product() {
    Expected<CaseValue> left = unary();
    while (left && (peek() == '*' || peek() == '/')) {
      char operation = text[at++];
      left = applied(operation, *left, unary());
    }
    return left;
  }

  Expected<CaseValue> applied(char operation, const CaseValue &left,
                              const Expected<CaseValue> &right) {
    return right ? arithmetic(operation, left, *right) : right;
  }

  Expected<CaseValue> unary() {
    if (take('-'))
      return applied('-', hostValue(0), unary());
    take('+');
    Expected<CaseValue> value = atom();
    while (value && (peek() == '[' || peek() == '.')) {
      if (take('[')) {
        Expected<CaseValue> position = sum();
        if (!position)
          return position;
        if (!take(']'))
          return error("']'");
        value = indexed(*value, *position);
        continue;
      }
      ++at;
      std::string method = name();
      Expected<std::vector<CaseValue>> arguments = argumentsOfCall();
      if (!arguments)
        return arguments.status();
      value = callMethod(method, *value, *arguments);
    }
    return value;
  }

  Expected<CaseValue> atom() {
    char next = peek();
    if (next == '(')
      return nest('(', ')', CaseValue::Kind::tuple);
    if (next == '[')
      return nest('[', ']', CaseValue::Kind::list);
    if (next == '{')
      return dictionary();
    if (std::isdigit(static_cast<unsigned char>(next)))
      return number();
    if (!std::isalpha(static_cast<unsigned char>(next)))
      return error("a value");
    std::string word = name();
    if (isDtype(word) && peek() == '[') {
      Expected<CaseValue> literal = nest('[', ']', CaseValue::Kind::list);
      return literal ? toTensor(*literal, word) : literal;
    }
    if (peek() == '(') {
      Expected<std::vector<CaseValue>> arguments = argumentsOfCall();
      if (!arguments)
        return arguments.status();
      if (auto function = environment.functions.find(word);
          function != environment.functions.end())
        return function->second(*arguments);
      return callFunction(word, *arguments);
    }
    if (auto value = environment.values.find(word);
        value != environment.values.end())
      return value->second;
    if (isDtype(word))
      return hostValue(word);
    return error("a value named '" + word + "'");
  }

  Expected<CaseValue> number() {
    size_t begin = at;
    bool whole = true;
    while (at < text.size() &&
           (std::isdigit(static_cast<unsigned char>(text[at])) ||
            text[at] == '.' || text[at] == 'e')) {
      // ".." is a range and ".f" a call.
      if (text[at] == '.' && at + 1 < text.size() &&
          (text[at + 1] == '.' ||
           std::isalpha(static_cast<unsigned char>(text[at + 1]))))
        break;
      whole &= std::isdigit(static_cast<unsigned char>(text[at])) != 0;
      ++at;
    }
    std::string digits = text.substr(begin, at - begin);
    return whole ? hostValue(std::strtoll(digits.c_str(), nullptr, 10))
                 : hostValue(std::strtod(digits.c_str(), nullptr));
  }

  /// One value in parentheses is that value.
  Expected<CaseValue> nest(char open, char close, CaseValue::Kind kind) {
    CaseValue result{.kind = kind};
    take(open);
    bool comma = false;
    while (!take(close)) {
      Expected<CaseValue> member = definition();
      if (!member)
        return member;
      result.members.push_back(std::move(*member));
      if (take(','))
        comma = true;
      else if (peek() != close)
        return error(fmt::format("',' or '{}'", close));
    }
    if (kind == CaseValue::Kind::tuple && result.members.size() == 1 && !comma)
      return std::move(result.members.front());
    return result;
  }

  Expected<CaseValue> dictionary() {
    CaseValue result{.kind = CaseValue::Kind::dictionary};
    take('{');
    while (!take('}')) {
      bool quoted = take('"') || take('\'');
      result.names.push_back(name());
      if (quoted)
        ++at;
      if (!take(':'))
        return error("':'");
      Expected<CaseValue> member = definition();
      if (!member)
        return member;
      result.members.push_back(std::move(*member));
      if (!take(',') && peek() != '}')
        return error("',' or '}'");
    }
    return result;
  }

  Expected<std::vector<CaseValue>> argumentsOfCall() {
    if (peek() != '(')
      return error("'('");
    // A list, so that one argument stays a list of one.
    Expected<CaseValue> arguments = nest('(', ')', CaseValue::Kind::list);
    if (!arguments)
      return arguments.status();
    return std::move(arguments->members);
  }

  std::string text;
  size_t at = 0;
  Environment environment;
};

} // namespace

Expected<CaseValue> evaluate(std::string_view text, Environment environment) {
  static const std::regex hostNote(R"(\s*\(?\bhost( \w+)?\)?\s*$)");
  return Evaluator(std::regex_replace(std::string(text), hostNote, ""),
                   std::move(environment))
      .run();
}

Expected<int64_t> evaluateInteger(std::string_view text,
                                  Environment environment) {
  Expected<CaseValue> value = evaluate(text, std::move(environment));
  if (!value)
    return value.status();
  if (value->kind != CaseValue::Kind::host || !value->host.is_number_integer())
    return runtime::invalidArgument(
        fmt::format("'{}': expected a whole number, found {}", text,
                    value->toJson().dump()));
  return value->host.get<int64_t>();
}

Expected<CaseTensor> evaluateTensor(std::string_view text,
                                    Environment environment) {
  Expected<CaseValue> value = evaluate(text, std::move(environment));
  if (!value)
    return value.status();
  if (value->kind != CaseValue::Kind::tensor)
    return runtime::invalidArgument(fmt::format(
        "'{}': expected a tensor, found {}", text, value->toJson().dump()));
  return std::move(value->tensor);
}

} // namespace lockstep::conformance
