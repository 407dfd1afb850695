//===- DataTestSupport.h - files and data sets for tests --------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_DATA_DATATESTSUPPORT_H
#define LOCKSTEP_TEST_RUNTIME_DATA_DATATESTSUPPORT_H

#include "runtime/executor/Session.h"
#include "test/runtime/Values.h"

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

namespace lockstep::runtime::test {

/// Path of a committed file.
inline std::string fixture(const std::string &name) {
  return std::string(LOCKSTEP_FIXTURES) + "/" + name;
}

inline std::string readText(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream),
          std::istreambuf_iterator<char>()};
}

/// A folder that is removed with all that is in it.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "lockstep-test-XXXXXX")
            .string();
    path = mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string operator/(const std::string &name) const {
    return path + "/" + name;
  }
  /// Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &content) const {
    std::ofstream(path + "/" + name, std::ios::binary) << content;
    return path + "/" + name;
  }

  std::string path;
};

/// An .npy file of version 1.0 with the unmodified `header`.
inline std::string npyFile(const std::string &header, const std::string &data) {
  std::string file("\x93NUMPY\1\0", 8);
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  return file + header + data;
}

/// An .npy file with these elements.
template <typename T>
std::string npyOf(const std::string &descr, const std::string &shape,
                  const std::vector<T> &values) {
  std::string data(values.size() * sizeof(T), '\0');
  if (!values.empty())
    std::memcpy(data.data(), values.data(), data.size());
  return npyFile("{'descr': '" + descr +
                     "', 'fortran_order': False, 'shape': " + shape + "}",
                 data);
}

/// A program with these inputs, consecutively.
inline ProgramInfo programWith(std::vector<InputInfo> inputs) {
  ProgramInfo program;
  program.name = "step";
  for (InputInfo &input : inputs) {
    input.type.bytes =
        staticBytes(input.type.element, input.type.shape).value_or(0);
    input.offset = program.inputSize;
    program.inputSize = alignUp(program.inputSize + input.type.bytes, 64);
    program.inputs.push_back(input);
  }
  return program;
}

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_DATA_DATATESTSUPPORT_H
