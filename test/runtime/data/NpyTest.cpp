//===- NpyTest.cpp - .npy files, well formed and not ----------------------===//

#include "DataTestSupport.h"

#include "runtime/data/NpyArray.h"
#include "runtime/data/NpyHeader.h"

#include <filesystem>

#include <gtest/gtest.h>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using lockstep::artifact::ElementType;

namespace {

std::string dict(const std::string &descr, const std::string &shape,
                 const std::string &fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran +
         ", 'shape': " + shape + ", }";
}

Expected<NpyArray> parse(const std::string &file) {
  Expected<AlignedBytes> memory = AlignedBytes::allocate(file.size());
  std::copy_n(reinterpret_cast<const std::byte *>(file.data()), file.size(),
              memory->bytes().data());
  return NpyArray::fromMemory(std::move(*memory));
}

std::string errorOf(const std::string &file) {
  Expected<NpyArray> array = parse(file);
  EXPECT_FALSE(array.ok());
  return array.status().message();
}

} // namespace

// The three versions of the format differ in the header only.
TEST(Npy, ReadsAllVersions) {
  for (int version : {1, 2, 3}) {
    Expected<NpyArray> array =
        NpyArray::open(fixture("version" + std::to_string(version) + ".npy"));
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(array->type().element, ElementType::f32);
    EXPECT_EQ(array->type().shape, (std::vector<int64_t>{4, 3}));
    EXPECT_EQ(valuesOf<float>(array->data())[11], 11.0f / 8);
  }
}

// Every dtype with an element type, and the value of its bytes.
TEST(Npy, KnowsTheDtypes) {
  const std::pair<const char *, ElementType> cases[] = {
      {"|b1", ElementType::i1},   {"|i1", ElementType::i8},
      {"<i2", ElementType::i16},  {"<i4", ElementType::i32},
      {"<i8", ElementType::i64},  {"|u1", ElementType::u8},
      {"<u2", ElementType::u16},  {"<u4", ElementType::u32},
      {"<u8", ElementType::u64},  {"<f2", ElementType::f16},
      {"<f4", ElementType::f32},  {"<f8", ElementType::f64},
      {"<V2", ElementType::bf16}, {"|V2", ElementType::bf16}};
  for (auto [descr, element] : cases) {
    Expected<NpyArray> array = parse(npyFile(
        dict(descr, "(2,)"), std::string(2 * elementSize(element), '\0')));
    ASSERT_TRUE(array.ok()) << descr << ": " << array.status().message();
    EXPECT_EQ(array->type().element, element) << descr;
  }
}

TEST(Npy, AcceptsWhatNumPyWouldWrite) {
  EXPECT_TRUE(parse(npyFile(dict("<f4", "()"), std::string(4, '\0'))).ok());
  EXPECT_TRUE(parse(npyFile(dict("<f4", "(0, 7)"), "")).ok());
  // The order of a vector is both C and Fortran.
  EXPECT_TRUE(
      parse(npyFile(dict("<f4", "(1, 2)", "True"), std::string(8, '\0'))).ok());
  EXPECT_TRUE(
      parse(npyFile(
                "{\"shape\":(1,),\"fortran_order\":False,\"descr\":\"<f4\"}\n",
                std::string(4, '\0')))
          .ok());
}

TEST(Npy, RefusesOtherFiles) {
  EXPECT_EQ(errorOf(""),
            "truncated: expected a header of .npy data, found 0 bytes");
  EXPECT_EQ(errorOf("PK\x03\x04 something"),
            "not .npy data (expected it to begin with \"\\x93NUMPY\")");
  std::string future = npyFile(dict("<f4", "(1,)"), std::string(4, '\0'));
  future[6] = 4;
  EXPECT_EQ(errorOf(future),
            "expected version 1.0, 2.0 or 3.0 of the .npy format, found 4.0");
}

TEST(Npy, RefusesUnsupportedData) {
  EXPECT_EQ(errorOf(npyFile(dict(">f4", "(1,)"), std::string(4, '\0'))),
            "expected little-endian data, found dtype '>f4'");
  EXPECT_EQ(
      errorOf(npyFile(dict("<f4", "(2, 2)", "True"), std::string(16, '\0'))),
      "expected C order, found Fortran order (use numpy.ascontiguousarray)");
  EXPECT_EQ(errorOf(npyFile(dict("<c8", "(1,)"), std::string(8, '\0'))),
            "dtype '<c8' is not supported (expected b1, i1 to i8, u1 to u8, "
            "f2, f4, f8, or V2 for bfloat16)");
  EXPECT_EQ(errorOf(npyFile(dict(">V2", "(1,)"), std::string(2, '\0'))),
            "expected little-endian data, found dtype '>V2'");
  EXPECT_EQ(errorOf(npyFile(dict("|V4", "(1,)"), std::string(4, '\0'))),
            "dtype '|V4' is not supported (expected b1, i1 to i8, u1 to u8, "
            "f2, f4, f8, or V2 for bfloat16)");
  EXPECT_EQ(errorOf(npyFile(dict("|O", "(1,)"), std::string(8, '\0'))),
            "dtype '|O' is not supported (expected b1, i1 to i8, u1 to u8, f2, "
            "f4, f8, or V2 for bfloat16)");
  EXPECT_EQ(
      errorOf(npyFile(
          "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
          "")),
      "structured dtypes are not supported");
  EXPECT_EQ(errorOf(npyFile(dict("|b1", "(2,)"), std::string("\1\2"))),
            "expected booleans of 0 or 1, found another value");
}

TEST(Npy, RefusesMalformedHeaders) {
  for (const char *text :
       {"", "{", "{}", "[1]", "{'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': "
        "(99999999999999999999,)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': "
        "(1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}"})
    EXPECT_EQ(errorOf(npyFile(text, std::string(4, '\0'))),
              "malformed header of .npy data")
        << text;
  EXPECT_EQ(errorOf(npyFile(dict("<f8", "(4611686018427387904, 4)"), "")),
            "the size of the array does not fit into 64 bits");
}

// A file truncated at any byte is an error.
TEST(Npy, NoticesEveryTruncation) {
  std::string file = npyFile(dict("<f4", "(3, 2)"), std::string(24, '\1'));
  ASSERT_TRUE(parse(file).ok());
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_NE(errorOf(file.substr(0, size)).find("truncated"),
              std::string::npos)
        << size;
  EXPECT_EQ(errorOf(file.substr(0, file.size() - 3)),
            "truncated: expected 24 bytes of data (3x2xf32), found 21");
  EXPECT_EQ(errorOf(file + "xx"),
            "too long: expected 24 bytes of data (3x2xf32), found 26");
}

TEST(Npy, NamesTheFile) {
  TemporaryFolder folder;
  EXPECT_EQ(NpyArray::open(folder / "x.npy").status().message(),
            "'" + folder / "x.npy" +
                "': cannot open: No such file or directory");
  folder.write("x.npy", "nothing");
  EXPECT_EQ(NpyArray::open(folder / "x.npy").status().message(),
            "'" + folder / "x.npy" +
                "': truncated: expected a header of .npy data, found 7 bytes");
}

// An array that stays in its file is the same one.
TEST(Npy, ReadsPieceByPiece) {
  TemporaryFolder folder;
  std::string data(64, '\0');
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = char(i);
  folder.write("x.npy", npyFile(dict("|u1", "(8, 8)"), data));
  for (uint64_t mostInMemory : {0, 1 << 20}) {
    Expected<NpyArray> array = NpyArray::open(folder / "x.npy", mostInMemory);
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(array->data().empty(), mostInMemory == 0);
    std::vector<std::byte> piece(10);
    ASSERT_TRUE(array->read(54, piece).ok());
    EXPECT_EQ(std::to_integer<int>(piece.front()), 54);
    EXPECT_EQ(std::to_integer<int>(piece.back()), 63);
  }
  folder.write("b.npy", npyFile(dict("|b1", "(3,)"), std::string("\1\2\0", 3)));
  EXPECT_EQ(NpyArray::open(folder / "b.npy", 0).status().message(),
            "'" + folder / "b.npy" +
                "': expected booleans of 0 or 1, found another value");
}

// A file that is shortened meanwhile raises no signal.
TEST(Npy, SeesThatTheFileWasShortened) {
  TemporaryFolder folder;
  folder.write("x.npy",
               npyFile(dict("<f4", "(1024,)"), std::string(4096, '\1')));
  uint64_t size = std::filesystem::file_size(folder / "x.npy");
  Expected<NpyArray> small = NpyArray::open(folder / "x.npy"),
                     large = NpyArray::open(folder / "x.npy", 0);
  ASSERT_TRUE(small.ok() && large.ok());
  std::filesystem::resize_file(folder / "x.npy", 100);
  std::vector<std::byte> all(4096);
  EXPECT_TRUE(small->read(0, all).ok());
  EXPECT_EQ(all, std::vector<std::byte>(4096, std::byte(1)));
  EXPECT_EQ(large->read(0, all).message(),
            "'" + folder / "x.npy" +
                "': truncated since it was opened: expected " +
                std::to_string(size) + " bytes, found 100");
}
