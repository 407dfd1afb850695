//===- VariableMemory.cpp -------------------------------------------------===//

#include "runtime/executor/VariableMemory.h"

#include "runtime/schema/RoleInfo.h"

#include <cstring>

namespace lockstep::runtime {

Expected<std::shared_ptr<VariableMemory>>
VariableMemory::create(std::shared_ptr<Device> device, const Artifact &artifact,
                       uint32_t role) {
  auto result = std::make_shared<VariableMemory>();
  LOCKSTEP_RETURN_IF_ERROR(
      HostCopy::create(std::move(device), 1,
                       rolesOf(artifact.tables())[role].variableSize)
          .moveTo(result->memory));
  LOCKSTEP_RETURN_IF_ERROR(result->memory->edit());
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
