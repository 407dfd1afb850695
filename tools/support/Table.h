//===- Table.h - aligned columns of text ------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_SUPPORT_TABLE_H
#define LOCKSTEP_TOOLS_SUPPORT_TABLE_H

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::tools {

/// Rows of cells, each column as wide as its widest cell. A heading that starts
/// with '>' aligns its column to the right.
class Table {
public:
  explicit Table(std::vector<std::string> headings);
  void add(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }
  bool empty() const { return rows.empty(); }
  /// Lines indented by two spaces, without spaces at their ends.
  std::string text() const;

private:
  std::vector<std::string> headings;
  std::vector<bool> right;
  std::vector<std::vector<std::string>> rows;
};

/// "516 B", "37.5 KiB"
std::string bytesText(uint64_t bytes);
/// "310 us", "1.25 ms"
std::string secondsText(double seconds);
/// "165.54 ms": a time after the start of something that takes `total` seconds,
/// in the unit of the latter and with four of its digits; short ones in their
/// own.
std::string momentText(double seconds, double total);
/// "16.4 %": the share of `part` in `whole`; of nothing, 0.
std::string percentText(double part, double whole);
/// "0", "262 k", "1.05 M"
std::string countText(uint64_t count);

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_SUPPORT_TABLE_H
