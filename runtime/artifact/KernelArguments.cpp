//===- KernelArguments.cpp ------------------------------------------------===//

#include "runtime/artifact/KernelArguments.h"

#include "runtime/schema/Tables.h"
#include "runtime/support/Sha256.h"

#include <cstring>
#include <vector>

namespace lockstep::runtime {

uint64_t argumentsCode(const artifact::ArgumentsT &arguments, uint32_t grid) {
  std::vector<uint64_t> words = {grid, arguments.reads, arguments.scratch,
                                 arguments.registers};
  auto append = [&](const auto &numbers) {
    words.push_back(numbers.size());
    words.insert(words.end(), numbers.begin(), numbers.end());
  };
  append(arguments.bytes);
  append(arguments.dynamic);
  append(arguments.in_place);
  Sha256::Digest digest = Sha256::of(std::as_bytes(std::span(words)));
  uint64_t code;
  std::memcpy(&code, digest.data(), sizeof(code));
  return code ? code : 1;
}

uint64_t argumentsCode(const artifact::Kernel &kernel) {
  if (!kernel.arguments())
    return 0;
  artifact::ArgumentsT arguments;
  kernel.arguments()->UnPackTo(&arguments);
  return argumentsCode(arguments, kernel.grid());
}

uint32_t countDynamicDimensions(const artifact::Arguments &arguments,
                                uint32_t argument) {
  return artifact::count(arguments.dynamic())
             ? arguments.dynamic()->Get(argument)
             : 0;
}

} // namespace lockstep::runtime
