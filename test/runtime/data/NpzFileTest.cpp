//===- NpzFileTest.cpp - .npz containers, well formed and not -------------===//

#include "DataTestSupport.h"

#include "runtime/data/NpzFile.h"

#include <gtest/gtest.h>

#include <zip.h>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using lockstep::artifact::ElementType;

namespace {

/// A ZIP file with stored members, as libzip writes it.
void writeZip(const std::string &path,
              const std::vector<std::pair<std::string, std::string>> &members) {
  int error = 0;
  zip_t *archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
  ASSERT_NE(archive, nullptr);
  for (const auto &[name, content] : members) {
    zip_source_t *source =
        zip_source_buffer(archive, content.data(), content.size(), 0);
    zip_int64_t index =
        zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    ASSERT_GE(index, 0);
    ASSERT_EQ(zip_set_file_compression(archive, index, ZIP_CM_STORE, 0), 0);
  }
  ASSERT_EQ(zip_close(archive), 0);
}

/// The first error of reading every array of a file; empty: there is none.
std::string firstError(const std::string &path) {
  Expected<NpzFile> file = NpzFile::open(path);
  if (!file)
    return file.status().message();
  for (const std::string &name : file->names())
    if (Expected<NpyArray> array = file->read(name); !array)
      return array.status().message();
  return {};
}

} // namespace

// Files written by NumPy, stored and deflated, have the values of
// make_fixtures.py.
TEST(NpzFile, ReadsNumPysFiles) {
  for (const char *name : {"stored.npz", "deflated.npz"}) {
    Expected<NpzFile> file = NpzFile::open(fixture(name));
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file->names(),
              (std::vector<std::string>{"x", "y", "flag", "half", "wide",
                                        "scalar", "empty"}));
    Expected<NpyArray> x = file->read("x"), y = file->read("y"),
                       flag = file->read("flag"), half = file->read("half"),
                       wide = file->read("wide"), scalar = file->read("scalar"),
                       empty = file->read("empty");
    ASSERT_TRUE(x.ok() && y.ok() && flag.ok() && half.ok() && wide.ok() &&
                scalar.ok() && empty.ok());
    EXPECT_EQ(typeName(x->type()), "4x3xf32");
    EXPECT_EQ(valuesOf<float>(x->data())[5], 0.625f);
    EXPECT_EQ(valuesOf<int32_t>(y->data()),
              (std::vector<int32_t>{3, -1, 4, 1}));
    EXPECT_EQ(flag->type().element, ElementType::i1);
    EXPECT_EQ(valuesOf<uint8_t>(flag->data()),
              (std::vector<uint8_t>{1, 0, 1, 1}));
    EXPECT_EQ(valuesOf<uint16_t>(half->data()),
              (std::vector<uint16_t>{0x3800, 0xc000, 0x7bff, 0}));
    EXPECT_EQ(valuesOf<uint64_t>(wide->data())[0], uint64_t(1) << 63);
    EXPECT_EQ(scalar->type().shape, std::vector<int64_t>());
    EXPECT_EQ(valuesOf<double>(scalar->data())[0], 2.5);
    EXPECT_EQ(empty->data().size(), 0u);
  }
}

TEST(NpzFile, NamesWhatIsMissing) {
  EXPECT_EQ(firstError("nowhere.npz"),
            "'nowhere.npz': cannot open: No such file");
  Expected<NpzFile> file = NpzFile::open(fixture("stored.npz"));
  EXPECT_EQ(file->read("z").status().message(),
            "'" + fixture("stored.npz") + "': no array 'z'");
}

TEST(NpzFile, RefusesOtherFiles) {
  TemporaryFolder folder;
  std::string path = folder.write("a.npz", std::string(1000, 'x'));
  EXPECT_EQ(firstError(path),
            "'" + path +
                "': not an .npz file, or a truncated one: Not a zip archive");
  writeZip(path, {{"readme.txt", "hello"}});
  EXPECT_EQ(firstError(path),
            "'" + path + "': expected members NAME.npy, found 'readme.txt'");
  writeZip(path, {{"x.npy", "hello"}});
  EXPECT_EQ(firstError(path),
            "'" + path +
                "', member 'x.npy': truncated: expected a header of .npy "
                "data, found 5 bytes");
}

// The central directory is at the end, so a file that ends early has none.
TEST(NpzFile, NoticesTruncation) {
  TemporaryFolder folder;
  for (const char *name : {"stored.npz", "deflated.npz"}) {
    std::string whole = readText(fixture(name));
    for (size_t size = 1; size < whole.size(); size += 13)
      EXPECT_NE(firstError(folder.write("a.npz", whole.substr(0, size))), "")
          << name << " " << size;
  }
}

// Every member has a checksum: a flipped bit in the data of one is found and
// named.
TEST(NpzFile, NoticesDamage) {
  TemporaryFolder folder;
  std::string whole = readText(fixture("stored.npz"));
  size_t data = whole.find(std::string("\x93NUMPY")) + 128;
  whole[data] ^= 4;
  std::string path = folder.write("a.npz", whole);
  EXPECT_EQ(firstError(path),
            "'" + path + "', member 'x.npy': truncated or damaged: CRC error");
}

// Sizes that the file cannot have cost no memory, whether only the contents are
// claimed to be large or the compressed bytes too.
TEST(NpzFile, RefusesSizesThatCannotBe) {
  TemporaryFolder folder;
  std::string whole = readText(fixture("deflated.npz"));
  size_t entry = whole.find("PK\1\2");
  ASSERT_NE(entry, std::string::npos);
  for (size_t claimed : {entry + 24, entry + 20}) {
    // 4294901760 bytes, little-endian.
    whole.replace(claimed, 4, std::string("\0\0\xff\xff", 4));
    EXPECT_NE(firstError(folder.write("a.npz", whole))
                  .find("bytes cannot hold the 4294901760 that it claims"),
              std::string::npos);
  }
}
