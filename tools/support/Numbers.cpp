//===- Numbers.cpp - numbers on command lines -----------------------------===//

#include "tools/support/Numbers.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <string_view>

std::string lockstep::tools::checkNumber(std::string_view text, int64_t least,
                                         uint64_t most) {
  bool hasMinus = text.starts_with('-');
  std::string_view digits = text.substr(hasMinus ? 1 : 0);
  bool isDecimal = !digits.empty() && digits.find_first_not_of("0123456789") ==
                                          std::string_view::npos;
  // CLI11 would parse a leading zero as octal.
  if (!isDecimal || (digits.front() == '0' && digits.size() > 1))
    return fmt::format("expected a number, found '{}'", text);
  uint64_t number = 0;
  bool isTooLong =
      std::from_chars(digits.data(), digits.data() + digits.size(), number)
          .ec == std::errc::result_out_of_range;
  bool isBelowZero = hasMinus && (isTooLong || number > 0);
  uint64_t mostBelowZero = least < 0 ? -static_cast<uint64_t>(least) : 0;
  if (isBelowZero
          ? isTooLong || number > mostBelowZero
          : !isTooLong && least > 0 && number < static_cast<uint64_t>(least))
    return fmt::format("expected a number of at least {}, found {}", least,
                       text);
  if (!isBelowZero && (isTooLong || number > most))
    return fmt::format("expected a number of at most {}, found {}", most, text);
  return "";
}

std::string lockstep::tools::checkReal(std::string_view text, bool mayBeZero,
                                       double most) {
  double number = 0;
  const char *end = text.data() + text.size();
  std::from_chars_result parsed = std::from_chars(text.data(), end, number);
  bool isNumber = parsed.ec == std::errc() && parsed.ptr == end,
       isInRange = number > 0 || (mayBeZero && number == 0);
  if (!isNumber || !isInRange || number > most)
    return fmt::format(
        "expected {} of at most {}, found '{}'",
        mayBeZero ? "0 or a positive number" : "a positive number", most, text);
  return "";
}

std::string lockstep::tools::describeUsageError(std::string message) {
  // Errors begin in lower case. An upper-case letter begins a word if a
  // lower-case one follows: "Could not ..." is changed, "-O: ..." is not.
  if (message.size() > 1 &&
      std::islower(static_cast<unsigned char>(message[1])))
    message[0] =
        static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  return message + " (see --help)";
}
