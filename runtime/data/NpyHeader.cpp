//===- NpyHeader.cpp - the header of an .npy file -------------------------===//

#include "runtime/data/NpyHeader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>

namespace lockstep::runtime {

using artifact::ElementType;

namespace {

constexpr std::string_view magic = "\x93NUMPY";
/// NumPy rejects more than 10,000 characters by default; structured types,
/// which need more, are not supported here.
constexpr uint64_t maximalHeaderSize = 1 << 16;
/// NumPy's own limit (NPY_MAXDIMS of version 2).
constexpr size_t maximalRank = 64;

struct TypeCode {
  std::string_view code;
  ElementType element;
};
/// Kind and size as in NumPy's `descr`, without the byte order. NumPy has no
/// bfloat16, and writes that of ml_dtypes, which JAX uses, as opaque bytes.
constexpr TypeCode typeCodes[] = {
    {"b1", ElementType::i1},   {"i1", ElementType::i8},
    {"i2", ElementType::i16},  {"i4", ElementType::i32},
    {"i8", ElementType::i64},  {"u1", ElementType::u8},
    {"u2", ElementType::u16},  {"u4", ElementType::u32},
    {"u8", ElementType::u64},  {"f2", ElementType::f16},
    {"f4", ElementType::f32},  {"f8", ElementType::f64},
    {"V2", ElementType::bf16},
};

/// Reads the forms of Python literals that a header can contain. The first
/// error is kept.
class LiteralReader {
public:
  explicit LiteralReader(std::string_view text) : text(text) {}

  /// Consumes `symbol` if it comes next.
  bool take(char symbol) {
    skipSpace();
    if (position >= text.size() || text[position] != symbol)
      return false;
    ++position;
    return true;
  }

  bool atEnd() {
    skipSpace();
    return position == text.size();
  }

  /// 'text' or "text", without escapes: no valid header has any.
  std::optional<std::string_view> string() {
    skipSpace();
    if (position >= text.size() ||
        (text[position] != '\'' && text[position] != '"'))
      return std::nullopt;
    size_t begin = position + 1;
    size_t end = text.find(text[position], begin);
    if (end == std::string_view::npos)
      return std::nullopt;
    position = end + 1;
    return text.substr(begin, end - begin);
  }

  std::optional<bool> boolean() {
    skipSpace();
    for (bool value : {false, true}) {
      std::string_view word = value ? "True" : "False";
      if (text.substr(position).starts_with(word)) {
        position += word.size();
        return value;
      }
    }
    return std::nullopt;
  }

  /// (), (3,) or (3, 4); dimensions are not negative.
  std::optional<std::vector<int64_t>> tuple() {
    std::vector<int64_t> result;
    if (!take('('))
      return std::nullopt;
    while (!take(')')) {
      skipSpace();
      int64_t dimension = 0;
      const char *end = text.data() + text.size();
      auto [next, error] =
          std::from_chars(text.data() + position, end, dimension);
      if (error != std::errc() || dimension < 0 || result.size() == maximalRank)
        return std::nullopt;
      position = next - text.data();
      result.push_back(dimension);
      if (!take(',') && (position >= text.size() || text[position] != ')'))
        return std::nullopt;
    }
    return result;
  }

private:
  void skipSpace() {
    while (position < text.size() &&
           (text[position] == ' ' || text[position] == '\n'))
      ++position;
  }

  std::string_view text;
  size_t position = 0;
};

Expected<ElementType> parseDescr(std::string_view descr) {
  char order = descr.empty() ? '\0' : descr.front();
  std::string_view code = descr.empty() ? descr : descr.substr(1);
  for (const TypeCode &entry : typeCodes) {
    if (entry.code != code)
      continue;
    bool hasNoOrder = elementSize(entry.element) == 1 || code.front() == 'V';
    if (order == '<' || (order == '|' && hasNoOrder))
      return entry.element;
    return unsupported(
        fmt::format("expected little-endian data, found dtype '{}'", descr));
  }
  // The quoted text comes from the file: print only printable characters.
  std::string printable;
  for (char c : descr.substr(0, 40))
    printable += std::isprint(static_cast<unsigned char>(c)) ? c : '?';
  return unsupported(fmt::format(
      "dtype '{}' is not supported (expected b1, i1 to i8, u1 to u8, "
      "f2, f4, f8, or V2 for bfloat16)",
      printable));
}

Expected<TensorInfo> parseDict(std::string_view text) {
  LiteralReader reader(text);
  Status malformed = corrupted("malformed header of .npy data");
  std::optional<std::string_view> descr;
  std::optional<bool> fortranOrder;
  std::optional<std::vector<int64_t>> shape;
  if (!reader.take('{'))
    return malformed;
  while (!reader.take('}')) {
    std::optional<std::string_view> key = reader.string();
    if (!key || !reader.take(':'))
      return malformed;
    bool understood = false;
    if (*key == "descr" && !descr) {
      if (reader.take('['))
        return unsupported("structured dtypes are not supported");
      understood = (descr = reader.string()).has_value();
    } else if (*key == "fortran_order" && !fortranOrder) {
      understood = (fortranOrder = reader.boolean()).has_value();
    } else if (*key == "shape" && !shape) {
      understood = (shape = reader.tuple()).has_value();
    }
    if (!understood)
      return malformed;
    if (!reader.take(',')) {
      if (!reader.take('}'))
        return malformed;
      break;
    }
  }
  if (!reader.atEnd() || !descr || !fortranOrder || !shape)
    return malformed;

  Expected<ElementType> element = parseDescr(*descr);
  if (!element)
    return element.status();
  bool orderMatters = std::count_if(shape->begin(), shape->end(),
                                    [](int64_t d) { return d != 1; }) > 1;
  if (*fortranOrder && orderMatters)
    return unsupported(
        "expected C order, found Fortran order (use numpy.ascontiguousarray)");
  TensorInfo type{*element, std::move(*shape), 0};
  std::optional<uint64_t> bytes = staticBytes(type.element, type.shape);
  if (!bytes)
    return corrupted("the size of the array does not fit into 64 bits");
  type.bytes = *bytes;
  return type;
}

} // namespace

Expected<NpyHeader> parseNpyHeader(std::span<const std::byte> file) {
  std::string_view text(reinterpret_cast<const char *>(file.data()),
                        file.size());
  if (text.size() < magic.size() + 2)
    return corrupted(
        fmt::format("truncated: expected a header of .npy data, found {} bytes",
                    text.size()));
  if (!text.starts_with(magic))
    return corrupted(
        "not .npy data (expected it to begin with \"\\x93NUMPY\")");
  unsigned major = static_cast<unsigned char>(text[6]);
  unsigned minor = static_cast<unsigned char>(text[7]);
  if (major < 1 || major > 3 || minor != 0)
    return unsupported(fmt::format(
        "expected version 1.0, 2.0 or 3.0 of the .npy format, found {}.{}",
        major, minor));

  unsigned lengthBytes = major == 1 ? 2 : 4;
  uint64_t begin = magic.size() + 2 + lengthBytes;
  if (text.size() < begin)
    return corrupted("truncated in the header");
  uint64_t length = 0;
  for (unsigned i = 0; i < lengthBytes; ++i)
    length |= uint64_t(static_cast<unsigned char>(text[8 + i])) << (8 * i);
  if (length > maximalHeaderSize)
    return corrupted(
        fmt::format("expected a header of at most {} bytes, found {}",
                    maximalHeaderSize, length));
  if (text.size() - begin < length)
    return corrupted(
        fmt::format("truncated in the header: expected {} bytes, found {}",
                    length, text.size() - begin));
  Expected<TensorInfo> type = parseDict(text.substr(begin, length));
  if (!type)
    return type.status();
  return NpyHeader{std::move(*type), begin + length};
}

} // namespace lockstep::runtime
