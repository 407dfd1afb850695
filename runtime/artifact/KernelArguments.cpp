//===- KernelArguments.cpp ------------------------------------------------===//

#include "runtime/artifact/KernelArguments.h"

#include <cstring>
#include <vector>

#include <openssl/evp.h>

namespace lockstep::runtime {

uint64_t argumentsCode(const artifact::ArgumentsT &arguments, uint32_t grid) {
  std::vector<uint64_t> words = {grid, arguments.reads, arguments.scratch, arguments.registers};
  auto append = [&](const auto &numbers) {
    words.push_back(numbers.size());
    words.insert(words.end(), numbers.begin(), numbers.end());
  };
  append(arguments.bytes);
  append(arguments.dynamic);
  append(arguments.in_place);
  unsigned char digest[EVP_MAX_MD_SIZE];
  EVP_Digest(words.data(), words.size() * sizeof(uint64_t), digest, nullptr, EVP_sha256(), nullptr);
  uint64_t code;
  std::memcpy(&code, digest, sizeof(code));
  return code ? code : 1;
}

uint64_t argumentsCode(const artifact::Kernel &kernel) {
  if (!kernel.arguments())
    return 0;
  artifact::ArgumentsT arguments;
  kernel.arguments()->UnPackTo(&arguments);
  return argumentsCode(arguments, kernel.grid());
}

} // namespace lockstep::runtime
