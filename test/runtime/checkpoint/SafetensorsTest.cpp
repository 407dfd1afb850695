//===- SafetensorsTest.cpp - reading and writing safetensors --------------===//

#include "data/DataTestSupport.h"

#include "runtime/checkpoint/SafetensorsFile.h"
#include "runtime/checkpoint/SafetensorsWriter.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using lockstep::artifact::ElementType;

namespace {

/// A file with this header and `dataSize` bytes of data.
std::string fileWith(const std::string &header, size_t dataSize) {
  std::string file(8, '\0');
  for (unsigned i = 0; i < 8; ++i)
    file[i] = static_cast<char>(uint64_t(header.size()) >> (8 * i));
  return file + header + std::string(dataSize, '\1');
}

Expected<SafetensorsHeader> parse(const std::string &file) {
  return parseSafetensorsHeader(std::as_bytes(std::span(file)));
}

std::string errorOf(const std::string &header, size_t dataSize) {
  Expected<SafetensorsHeader> result = parse(fileWith(header, dataSize));
  EXPECT_FALSE(result.ok()) << header;
  return result.status().message();
}

std::string entry(const std::string &name, const std::string &dtype,
                  const std::string &shape, const std::string &offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

} // namespace

// A file of the reference implementation has the values of make_fixtures.py.
TEST(Safetensors, ReadsTheReference) {
  Expected<SafetensorsFile> file =
      SafetensorsFile::open(fixture("reference.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->tensors().size(), 5u);
  EXPECT_EQ(file->metadata().at("made by"), "safetensors");
  const SafetensorsEntry *weights = file->find("params/w"),
                         *bias = file->find("params/b"),
                         *count = file->find("count"),
                         *none = file->find("none");
  ASSERT_TRUE(weights && bias && count && none && file->find("mask"));
  EXPECT_EQ(file->find("missing"), nullptr);
  EXPECT_EQ(typeName(weights->type), "2x3xf32");
  EXPECT_EQ(valuesOf<float>(file->data(*weights)),
            (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(typeName(bias->type), "2xbf16");
  EXPECT_EQ(valuesOf<uint16_t>(file->data(*bias)),
            (std::vector<uint16_t>{0x3fc0, 0xc000}));
  EXPECT_EQ(valuesOf<int64_t>(file->data(*count)), std::vector<int64_t>{7});
  EXPECT_EQ(file->data(*none).size(), 0u);
}

// Written tensors are read back; the bytes do not depend on the order of the
// tensors.
TEST(Safetensors, WritesTheSameBytes) {
  TemporaryFolder folder;
  std::vector<float> floats = {1, 2, 3};
  std::vector<uint8_t> bytes = {1, 2, 3, 4, 5};
  std::vector<TensorToWrite> tensors = {
      {"b", ElementType::u8, {5}, {std::as_bytes(std::span(bytes))}},
      {"é\"\n", ElementType::f32, {1, 3}, {std::as_bytes(std::span(floats))}},
      {"a",
       ElementType::f32,
       {2, 3},
       {std::as_bytes(std::span(floats)), std::as_bytes(std::span(floats))}},
      {"none", ElementType::f64, {0}, {}}};
  std::map<std::string, std::string> metadata = {{"step", "3"}, {"a", "b"}};
  ASSERT_TRUE(writeSafetensors(folder / "1", tensors, metadata).ok());
  std::reverse(tensors.begin(), tensors.end());
  ASSERT_TRUE(writeSafetensors(folder / "2", tensors, metadata).ok());
  EXPECT_EQ(readText(folder / "1"), readText(folder / "2"));

  Expected<SafetensorsFile> file = SafetensorsFile::open(folder / "1");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->metadata(), metadata);
  std::vector<std::string> names;
  for (const SafetensorsEntry &tensor : file->tensors()) {
    names.push_back(tensor.name);
    EXPECT_EQ(tensor.offset % elementSize(tensor.type.element), 0u)
        << tensor.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"none", "a", "é\"\n", "b"}));
  EXPECT_EQ(valuesOf<float>(file->data(*file->find("a"))),
            (std::vector<float>{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(valuesOf<uint8_t>(file->data(*file->find("b"))), bytes);
}

TEST(Safetensors, RefusesToWriteNonsense) {
  TemporaryFolder folder;
  std::vector<float> floats = {1, 2, 3};
  auto data = std::as_bytes(std::span(floats));
  EXPECT_EQ(
      writeSafetensors(folder / "a", {{"x", ElementType::f32, {4}, {data}}}, {})
          .message(),
      "'" + folder / "a" + "': 'x': expected the bytes of 4xf32, found 12");
  TensorToWrite tensor{"x", ElementType::f32, {3}, {data}};
  EXPECT_EQ(writeSafetensors(folder / "a", {tensor, tensor}, {}).message(),
            "'" + folder / "a" + "': expected one tensor 'x', found two");
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
}

// A file that cannot be completed does not replace the existing one, and leaves
// no temporary file.
TEST(Safetensors, KeepsTheOldFileOnErrors) {
  TemporaryFolder folder;
  folder.write("a", "old");
  std::string none = folder / "none/a";
  EXPECT_EQ(writeSafetensors(none, {}, {}).message(),
            "'" + none + "': cannot create: No such file or directory");
  EXPECT_FALSE(
      writeSafetensors(folder / "a", {{"t", ElementType::f32, {2}, {}}}, {})
          .ok());
  EXPECT_EQ(readText(folder / "a"), "old");
  EXPECT_EQ(writeSafetensors("/dev/null/a", {}, {}).message(),
            "'/dev/null/a': cannot create: Not a directory");
}

TEST(Safetensors, AcceptsPaddingAndEmptyFiles) {
  EXPECT_TRUE(parse(fileWith("{}", 0)).ok());
  EXPECT_TRUE(parse(fileWith("{\"__metadata__\":{}}   ", 0)).ok());
  EXPECT_TRUE(
      parse(fileWith("{" + entry("a", "F32", "[]", "[0,4]") + "}  ", 4)).ok());
}

TEST(Safetensors, RefusesBadHeaders) {
  EXPECT_EQ(parse("abc").status().message(),
            "not a safetensors file, or truncated: found 3 bytes");
  std::string huge = fileWith("{}", 0);
  huge[3] = 0x7f;
  EXPECT_EQ(parse(huge).status().message(),
            "not a safetensors file: expected a header of at most 100000000 "
            "bytes, found 2130706434");
  std::string cut =
      fileWith("{" + entry("a", "F32", "[]", "[0,4]") + "}", 0).substr(0, 20);
  EXPECT_EQ(parse(cut).status().message(),
            "truncated in the header: expected 53 bytes, found 12");
  EXPECT_EQ(errorOf(" {}", 0),
            "not a safetensors file: expected a header that begins with '{'");
  EXPECT_EQ(errorOf("{} x", 0), "malformed JSON in the header at byte 4");
  EXPECT_EQ(errorOf("{", 0), "malformed JSON in the header at byte 2");
  EXPECT_EQ(
      errorOf("{\"a\":[]}", 0),
      "expected a header with the form of safetensors, found an array at 'a'");
  EXPECT_EQ(
      errorOf("{\"a\":null}", 0),
      "expected a header with the form of safetensors, found null at 'a'");
  EXPECT_EQ(
      errorOf("{\"__metadata__\":{\"a\":1}}", 0),
      "expected a header with the form of safetensors, found a number at 'a'");
  EXPECT_EQ(
      errorOf("{\"a\":{\"dtype\":\"F32\",\"kind\":1}}", 0),
      "'a': expected the keys dtype, shape and data_offsets, found 'kind'");
  EXPECT_EQ(errorOf("{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", 0),
            "'a': expected the keys dtype, shape and data_offsets, found no "
            "data_offsets");
  for (const char *shape :
       {"[-1]", "[1.5]", "[true]", "[[1]]", "[\"1\"]", "{}", "3"})
    EXPECT_NE(errorOf("{" + entry("a", "F32", shape, "[0,4]") + "}", 4)
                  .find("expected a header with the form of safetensors"),
              std::string::npos)
        << shape;
}

TEST(Safetensors, RefusesDuplicateKeys) {
  std::string a = entry("a", "U8", "[2]", "[0,2]");
  EXPECT_EQ(errorOf("{" + a + "," + a + "}", 2),
            "the key 'a' occurs twice in the header");
  EXPECT_EQ(errorOf("{\"__metadata__\":{},\"__metadata__\":{}}", 0),
            "the key '__metadata__' occurs twice in the header");
  EXPECT_EQ(errorOf("{\"__metadata__\":{\"x\":\"1\",\"x\":\"2\"}}", 0),
            "the key '__metadata__.x' occurs twice in the header");
  EXPECT_EQ(errorOf("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"I8\",\"shape\":[2],"
                    "\"data_offsets\":[0,2]}}",
                    2),
            "the key 'a.dtype' occurs twice in the header");
}

TEST(Safetensors, RefusesBadEntries) {
  EXPECT_EQ(errorOf("{" + entry("a", "F8_E4M3", "[2]", "[0,2]") + "}", 2),
            "'a': dtype 'F8_E4M3' is not supported");
  EXPECT_EQ(errorOf("{" + entry("a", "F32", "[2]", "[0,4]") + "}", 4),
            "'a': expected 8 bytes for 2xf32, found 4");
  EXPECT_EQ(errorOf("{" + entry("a", "U8", "[2]", "[2,0]") + "}", 2),
            "'a': expected data_offsets [begin, end]");
  EXPECT_EQ(errorOf("{" + entry("a", "U8", "[2]", "[0,1,2]") + "}", 2),
            "'a': expected data_offsets [begin, end]");
  EXPECT_EQ(errorOf("{" + entry("a", "U8", "[9]", "[0,9]") + "}", 4),
            "'a': truncated: expected data up to byte 9, found 4 bytes");
  EXPECT_EQ(
      errorOf("{" + entry("a", "F64", "[4611686018427387904,4]", "[0,0]") + "}",
              0),
      "'a': the size of 4611686018427387904x4xf64 does not fit into 64 bits");
  EXPECT_EQ(errorOf("{" +
                        entry("a", "U8", "[18446744073709551615]",
                              "[0,18446744073709551615]") +
                        "}",
                    0),
            "'a': dimension 18446744073709551615 is too large");
}

TEST(Safetensors, RefusesHolesAndOverlaps) {
  EXPECT_EQ(errorOf("{" + entry("a", "U8", "[2]", "[0,2]") + "," +
                        entry("b", "U8", "[2]", "[1,3]") + "}",
                    3),
            "'b': overlaps the tensor before it");
  EXPECT_EQ(
      errorOf("{" + entry("a", "U8", "[2]", "[0,2]") + "," +
                  entry("b", "U8", "[2]", "[3,5]") + "}",
              5),
      "'b': expected it to begin at byte 2 of the data, found 3 (a hole)");
  EXPECT_EQ(errorOf("{" + entry("a", "U8", "[2]", "[0,2]") + "}", 3),
            "expected 2 bytes of data, found 3 (a hole at the end)");
  EXPECT_EQ(errorOf("{}", 1),
            "expected 0 bytes of data, found 1 (a hole at the end)");
}

// A file truncated at any byte is rejected.
TEST(Safetensors, NoticesEveryTruncation) {
  std::string whole = readText(fixture("reference.safetensors"));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse(whole.substr(0, size)).ok()) << size;
}
