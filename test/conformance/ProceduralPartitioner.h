//===- ProceduralPartitioner.h - partitioners of cases ----------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_PROCEDURALPARTITIONER_H
#define LOCKSTEP_TEST_CONFORMANCE_PROCEDURALPARTITIONER_H

#include "runtime/model/Partition.h"

#include <nlohmann/json.hpp>

#include <string>

namespace lockstep::conformance {

/// The partitioner "fixed", "min" or "max" with its arguments, which may be
/// left out as far as they have defaults.
runtime::Expected<runtime::Partitioner>
partitionerOf(const std::string &kind, const nlohmann::json &arguments);

} // namespace lockstep::conformance

#endif // LOCKSTEP_TEST_CONFORMANCE_PROCEDURALPARTITIONER_H
