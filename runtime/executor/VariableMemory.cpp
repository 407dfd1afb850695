//===- VariableMemory.cpp -------------------------------------------------===//

#include "runtime/executor/VariableMemory.h"

#include "runtime/artifact/Roles.h"

#include <cstring>

namespace lockstep::runtime {

Expected<std::shared_ptr<VariableMemory>>
VariableMemory::create(const Artifact &artifact, uint32_t role) {
  Expected<Memory> allocated =
      Memory::allocate(rolesOf(artifact.tables())[role].variableSize);
  if (!allocated)
    return allocated.status();
  auto result = std::make_shared<VariableMemory>();
  result->memory = std::move(*allocated);
  const auto *variables = artifact.tables().variables();
  for (uint32_t i = 0; variables && i < variables->size(); ++i) {
    const artifact::Variable *variable = variables->Get(i);
    if (variable->initial() < 0 || variable->role() != role ||
        variable->space() != artifact::Space::variable)
      continue;
    std::span<const std::byte> value =
        artifact.segment(uint32_t(variable->initial()));
    if (!value.empty())
      std::memcpy(result->data() + variable->offset(), value.data(),
                  value.size());
  }
  return result;
}

} // namespace lockstep::runtime
