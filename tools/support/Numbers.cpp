//===- Numbers.cpp - numbers on command lines -----------------------------===//

#include "tools/support/Numbers.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

std::string lockstep::tools::checkNumber(const std::string &text, uint64_t least, uint64_t most) {
  bool isNegative = text.starts_with('-');
  std::string_view digits = std::string_view(text).substr(isNegative ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return "";
  uint64_t number = 0;
  bool isTooLarge = std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc::result_out_of_range;
  if ((isNegative && (number != 0 || isTooLarge)) || (!isTooLarge && number < least))
    return fmt::format("expected a number of at least {}, found {}", least, text);
  if (isTooLarge || number > most)
    return fmt::format("expected a number of at most {}, found {}", most, text);
  return "";
}
