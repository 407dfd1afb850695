//===- StrategyAttributes.cpp - attributes of a strategy ------------------===//

#include "test/conformance/driver/StrategyAttributes.h"

#include "llvm/ADT/STLExtras.h"

using namespace lockstep::replica;
using llvm::ArrayRef, llvm::StringRef;

static std::vector<std::string> cpus(int64_t count) {
  std::vector<std::string> devices;
  for (int64_t i = 0; i < count; ++i)
    devices.push_back("CPU:" + std::to_string(i));
  return devices;
}

static std::string getVariableType(Placement placement, int64_t replicas) {
  if (placement == Placement::Mirrored)
    return "MirroredVariable";
  return placement != Placement::Single && replicas > 1 ? "AggregatingVariable"
                                                        : "ResourceVariable";
}

StrategyAttributes StrategyAttributes::of(Kind kind, int64_t replicas,
                                          int64_t workers, int64_t worker,
                                          int64_t servers) {
  const StrategyProperties &properties = StrategyProperties::of(kind);
  auto isAmong = [&](ResponsibleProcesses processes) {
    return processes == ResponsibleProcesses::EachProcess || worker == 0;
  };
  StrategyAttributes attributes;
  attributes.replicas = replicas;
  attributes.localReplicas =
      properties.collectivesCrossWorkers ? replicas / workers : replicas;
  attributes.groupsDevices = properties.placement != Placement::Single;
  if (properties.hasSeveralWorkers)
    attributes.task = ClusterTask{workers, servers, "worker", worker};
  attributes.hasClusterResolver =
      properties.hasSeveralWorkers && !properties.hasOwners();
  attributes.variableType = getVariableType(properties.placement, replicas);
  attributes.shouldCheckpoint = attributes.shouldSaveSummary =
      isAmong(properties.checkpointers);
  if (properties.isImplicit)
    return attributes;
  attributes.isBetweenGraph =
      properties.hasSeveralWorkers || properties.hasOwners();
  attributes.shouldInit = isAmong(properties.initializers);
  attributes.workerDevices = cpus(attributes.localReplicas);
  // A worker does not see the servers' devices.
  attributes.parameterDevices =
      properties.hasOwners() ? cpus(1) : attributes.workerDevices;
  if (!properties.hasOwners())
    attributes.nonSlotDevices = attributes.workerDevices;
  return attributes;
}

std::string StrategyAttributes::getReplicaDevice(int64_t replica) const {
  return workerDevices ? workerDevices->at(replica) : "";
}

std::optional<StringRef>
StrategyAttributes::getNonSlotVariable(ArrayRef<std::string> variables) const {
  if (nonSlotDevices || variables.empty())
    return std::nullopt;
  return *llvm::min_element(variables);
}
