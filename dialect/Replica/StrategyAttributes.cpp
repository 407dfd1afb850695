//===- StrategyAttributes.cpp - What a strategy says of itself ------------===//

#include "dialect/Replica/StrategyAttributes.h"

using namespace lockstep::replica;

static std::vector<std::string> cpus(int64_t count) {
  std::vector<std::string> devices;
  for (int64_t i = 0; i < count; ++i)
    devices.push_back("CPU:" + std::to_string(i));
  return devices;
}

static std::string getVariableType(Placement placement, int64_t replicas) {
  if (placement == Placement::Mirrored)
    return "MirroredVariable";
  return placement == Placement::Owner && replicas > 1 ? "AggregatingVariable" : "ResourceVariable";
}

StrategyAttributes StrategyAttributes::of(Kind kind, int64_t replicas, int64_t workers, int64_t worker) {
  const StrategyProperties &properties = StrategyProperties::of(kind);
  bool hasOwner = properties.placement == Placement::Owner;
  StrategyAttributes attributes;
  attributes.replicas = replicas;
  attributes.localReplicas = replicas / workers;
  attributes.groupsDevices = !properties.isSingle;
  attributes.hasClusterResolver = properties.hasSeveralWorkers;
  attributes.variableType = getVariableType(properties.placement, replicas);
  // Every process initializes, but the first alone writes files.
  attributes.shouldCheckpoint = attributes.shouldSaveSummary = worker == 0;
  if (kind == Kind::Default)
    return attributes;
  attributes.isBetweenGraph = properties.hasSeveralWorkers || hasOwner;
  attributes.shouldInit = true;
  attributes.workerDevices = cpus(attributes.localReplicas);
  attributes.parameterDevices = hasOwner ? cpus(1) : attributes.workerDevices;
  if (!hasOwner)
    attributes.nonSlotDevices = attributes.workerDevices;
  return attributes;
}

StrategyAttributes StrategyAttributes::ofParameterServers() {
  return of(Kind::CentralStorage, /*replicas=*/1, /*workers=*/1, /*worker=*/0);
}
