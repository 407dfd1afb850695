//===- HostScalars.cpp - the host scalars of a run ------------------------===//

#include "runtime/training/HostScalars.h"

#include "runtime/training/ElementText.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

namespace lockstep::training {

using runtime::Cluster;
using runtime::invalidArgument;
using runtime::ScalarInfo;

namespace {

constexpr std::string_view suppliedScalars[] = {"step", "seed"};

bool isSupplied(std::string_view name) {
  return std::find(std::begin(suppliedScalars), std::end(suppliedScalars),
                   name) != std::end(suppliedScalars);
}

const ScalarInfo *findScalar(const Cluster &cluster, std::string_view name) {
  for (const ScalarInfo &scalar : cluster.scalars())
    if (scalar.name == name)
      return &scalar;
  return nullptr;
}

Status setScalar(Cluster &cluster, const ScalarInfo &scalar,
                 std::string_view text) {
  if (!scalar.type.shape.empty())
    return invalidArgument(fmt::format("expected a scalar of rank 0, found {}",
                                       typeName(scalar.type)));
  Expected<std::vector<std::byte>> bytes =
      parseElement(scalar.type.element, text);
  if (!bytes)
    return bytes.status();
  return cluster.setScalar(scalar.name, *bytes);
}

/// Names that `--set` can be used for, as text.
std::string settableNames(const Cluster &cluster) {
  std::vector<std::string> names;
  for (const ScalarInfo &scalar : cluster.scalars())
    if (!isSupplied(scalar.name))
      names.push_back(scalar.name);
  return names.empty() ? "the artifact has none"
                       : fmt::format("there are: {}", fmt::join(names, ", "));
}

} // namespace

Status setScalars(Cluster &cluster, const std::vector<std::string> &assignments,
                  std::set<std::string> given) {
  for (const std::string &assignment : assignments) {
    std::string context = "--set " + assignment;
    size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
      return invalidArgument(context + ": expected NAME=VALUE");
    std::string name = assignment.substr(0, equals);
    if (isSupplied(name))
      return invalidArgument(
          fmt::format("{}: '{}' is supplied by lockstep-run{}", context, name,
                      name == "seed" ? " (use --seed)" : ""));
    const ScalarInfo *scalar = findScalar(cluster, name);
    if (!scalar)
      return invalidArgument(fmt::format("{}: no scalar '{}' ({})", context,
                                         name, settableNames(cluster)));
    if (!given.insert(name).second)
      return invalidArgument(
          fmt::format("{}: '{}' is set twice", context, name));
    if (Status status =
            setScalar(cluster, *scalar, assignment.substr(equals + 1));
        !status.ok())
      return status.withContext(context);
  }

  std::vector<std::string> absent;
  for (const ScalarInfo &scalar : cluster.scalars())
    if (!scalar.hasDefault && !isSupplied(scalar.name) &&
        !given.contains(scalar.name))
      absent.push_back(
          fmt::format("--set {}=... ({})", scalar.name, typeName(scalar.type)));
  if (!absent.empty())
    return invalidArgument(fmt::format(
        "scalars without a default need a value: {}", fmt::join(absent, ", ")));
  return Status::success();
}

Status supplyScalar(Cluster &cluster, const char *name, uint64_t value) {
  const ScalarInfo *scalar = findScalar(cluster, name);
  if (!scalar)
    return Status::success();
  return setScalar(cluster, *scalar, std::to_string(value))
      .withContext(fmt::format("scalar '{}'", name));
}

StepScalar::StepScalar(const Cluster &cluster) {
  const ScalarInfo *scalar = findScalar(cluster, "step");
  isI32 = scalar && scalar->type.element == ElementType::i32 &&
          scalar->type.shape.empty();
}

Status StepScalar::set(Cluster &cluster, uint64_t step) const {
  if (!isI32 ||
      step > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
    return supplyScalar(cluster, "step", step);
  auto value = static_cast<int32_t>(step);
  return cluster.setScalar("step", std::as_bytes(std::span(&value, 1)));
}

} // namespace lockstep::training
