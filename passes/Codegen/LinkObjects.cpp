//===- LinkObjects.cpp - Link the shared object of a target ---------------===//

#include "passes/Codegen/Codegen.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace lockstep;
using namespace mlir;

FailureOr<std::string> lockstep::linkObjects(ArrayRef<ArrayRef<char>> objects,
                                             std::string &error) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  SmallString<128> folder;
  if (std::error_code code =
          llvm::sys::fs::createUniqueDirectory("lockstep", folder)) {
    error += "cannot make a temporary folder: " + code.message();
    return failure();
  }
  llvm::scope_exit cleanUp([&] { llvm::sys::fs::remove_directories(folder); });
  SmallVector<std::string> files;
  for (auto [i, object] : llvm::enumerate(objects)) {
    files.push_back((folder + "/" + std::to_string(i) + ".o").str());
    std::error_code code;
    llvm::raw_fd_ostream stream(files.back(), code);
    stream.write(object.data(), object.size());
    stream.close();
    if (code || stream.has_error()) {
      error += "cannot write '" + files.back() + "'";
      stream.clear_error();
      return failure();
    }
  }
  std::string output = (folder + "/kernels.so").str();
  // The output must be reproducible, and not depend on a library.
  SmallVector<const char *> arguments = {
      "ld.lld", "-shared", "--no-undefined",  "--gc-sections",
      "-O1",    "-s",      "--hash-style=gnu"};
  llvm::append_values(arguments, "--build-id=none", "--no-rosegment", "-z",
                      "now", "-z", "noexecstack", "--threads=1");
  llvm::append_values(arguments, "-o", output.c_str());
  for (const std::string &file : files)
    arguments.push_back(file.c_str());
  llvm::raw_string_ostream messages(error);
  lld::Result result = lld::lldMain(arguments, messages, messages,
                                    {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return failure();
  auto buffer = llvm::MemoryBuffer::getFile(output);
  if (!buffer) {
    error += "cannot read the linked object: " + buffer.getError().message();
    return failure();
  }
  return (*buffer)->getBuffer().str();
}
