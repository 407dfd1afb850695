//===- MetricsFileTest.cpp - metrics as JSON lines ------------------------===//

#define LOCKSTEP_FIXTURES ""
#include "data/DataTestSupport.h"

#include "runtime/training/MetricsFile.h"

#include <gtest/gtest.h>

using namespace lockstep::training;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

const std::string stepLines = "{\"step\":0,\"epoch\":0,\"loss\":1}\n"
                              "{\"step\":1,\"epoch\":0,\"loss\":1}\n";
const std::string evaluation =
    "{\"step\":2,\"epoch\":1,\"evaluate\":{\"accuracy\":1}}\n";
const std::string later = "{\"step\":2,\"epoch\":1,\"loss\":1}\n";

} // namespace

// Lines reach the file when it is flushed or closed, and not one by one.
TEST(MetricsFile, BuffersLines) {
  TemporaryFolder folder;
  std::string path = folder.write("m", "old");
  MetricsFile file;
  ASSERT_TRUE(file.create(path).ok());
  file.lines() += stepLines;
  ASSERT_TRUE(file.endLine().ok());
  EXPECT_EQ(readText(path), "");
  ASSERT_TRUE(file.flush().ok());
  EXPECT_EQ(readText(path), stepLines);
  file.lines() = std::string(1 << 17, 'x');
  ASSERT_TRUE(file.endLine().ok());
  EXPECT_EQ(readText(path).size(), stepLines.size() + (1 << 17));
}

// Steps that are taken again are cut off; the evaluation of the state in the
// checkpoint stays.
TEST(MetricsFile, ResumesAfterAStep) {
  TemporaryFolder folder;
  for (const std::string &rest :
       {std::string(), later, later + later, later + "{\"step\":3,\"ep"}) {
    std::string path = folder.write("m", stepLines + evaluation + rest);
    MetricsFile file;
    ASSERT_TRUE(file.resume(path, 2).ok());
    EXPECT_TRUE(file.hasEvaluation(2));
    EXPECT_FALSE(file.hasEvaluation(1));
    EXPECT_EQ(readText(path), stepLines + evaluation);
    file.lines() += later;
    ASSERT_TRUE(file.flush().ok());
    EXPECT_EQ(readText(path), stepLines + evaluation + later);
  }
}

TEST(MetricsFile, BeginsAFileThatIsNotThere) {
  TemporaryFolder folder;
  MetricsFile file;
  ASSERT_TRUE(file.resume(folder / "m", 7).ok());
  EXPECT_FALSE(file.hasEvaluation(7));
  file.lines() += later;
  ASSERT_TRUE(file.flush().ok());
  EXPECT_EQ(readText(folder / "m"), later);
}

TEST(MetricsFile, LeavesOtherFilesAlone) {
  TemporaryFolder folder;
  std::string path = folder.write("m", stepLines + "dear diary\n");
  MetricsFile file;
  EXPECT_EQ(file.resume(path, 2).message(),
            "'" + path +
                "', line 3: expected metrics of the run that is resumed, found "
                "something else");
  EXPECT_EQ(readText(path), stepLines + "dear diary\n");
  MetricsFile none;
  EXPECT_EQ(none.create(folder / "no/m").message(),
            "'" + folder / "no/m" +
                "': cannot create: No such file or directory");
}
