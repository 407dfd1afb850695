//===- Table.cpp ----------------------------------------------------------===//

#include "tools/support/Table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace lockstep::tools {

/// Characters on the screen: bytes that do not continue a UTF-8 sequence.
static size_t width(const std::string &text) {
  return std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  });
}

Table::Table(std::vector<std::string> headings)
    : headings(std::move(headings)) {
  for (std::string &heading : this->headings) {
    right.push_back(heading.starts_with('>'));
    if (right.back())
      heading.erase(0, 1);
  }
}

std::string Table::text() const {
  std::vector<size_t> widths(headings.size());
  auto measure = [&](const std::vector<std::string> &cells) {
    for (size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], width(cells[i]));
  };
  measure(headings);
  for (const auto &row : rows)
    measure(row);

  std::string result;
  auto write = [&](const std::vector<std::string> &cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      std::string padding(widths[i] - width(cells[i]), ' ');
      line += "  " + (right[i] ? padding + cells[i] : cells[i] + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  };
  write(headings);
  for (const auto &row : rows)
    write(row);
  return result;
}

/// Three digits that count, in the largest unit below the value.
static std::string scaled(double value, double base, const char *const *units,
                          const char *separator) {
  while (value >= base * (1 - 0.0005) && units[1]) {
    value /= base;
    ++units;
  }
  int digits = value < 10 ? 2 : value < 100 ? 1 : 0;
  return fmt::format("{:.{}f}{}{}", value, digits, separator, *units);
}

std::string bytesText(uint64_t bytes) {
  static constexpr const char *units[] = {"KiB", "MiB", "GiB", "TiB", nullptr};
  return bytes < 1024
             ? fmt::format("{} B", bytes)
             : scaled(static_cast<double>(bytes) / 1024, 1024, units, " ");
}

std::string secondsText(double seconds) {
  static constexpr const char *units[] = {"us", "ms", "s", nullptr};
  return scaled(seconds * 1e6, 1000, units, " ");
}

std::string momentText(double seconds, double total) {
  if (seconds > 0 && seconds < total / 1000)
    return secondsText(seconds);
  auto [unit, size] = total >= 1      ? std::pair("s", 1.0)
                      : total >= 1e-3 ? std::pair("ms", 1e-3)
                                      : std::pair("us", 1e-6);
  double whole = std::clamp(total, 1e-9, 1e9) / size;
  int digits =
      std::clamp(4 - static_cast<int>(std::ceil(std::log10(whole))), 0, 6);
  return fmt::format("{:.{}f} {}", seconds / size, digits, unit);
}

std::string percentText(double part, double whole) {
  return fmt::format("{:.1f} %", whole > 0 ? 100 * part / whole : 0.0);
}

std::string countText(uint64_t count) {
  static constexpr const char *units[] = {"k", "M", "G", "T", nullptr};
  return count < 1000
             ? fmt::format("{}", count)
             : scaled(static_cast<double>(count) / 1000, 1000, units, " ");
}

} // namespace lockstep::tools
