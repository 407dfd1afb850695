//===- CudaTarget.cpp - which kernels a GPU can execute -------------------===//

#include "runtime/device/cuda/CudaTarget.h"

#include "runtime/artifact/Binaries.h"

#include <charconv>
#include <cstring>
#include <elf.h>
#include <tuple>

#include <fmt/format.h>

namespace lockstep::runtime {

std::string ComputeCapability::text() const {
  return fmt::format("{}.{}", major, minor);
}

std::optional<CudaTarget> CudaTarget::parse(std::string_view name) {
  constexpr std::string_view prefix = "sm_";
  if (!name.starts_with(prefix))
    return std::nullopt;
  name.remove_prefix(prefix.size());
  CudaTarget target;
  target.isExact = name.ends_with('a');
  if (target.isExact)
    name.remove_suffix(1);
  // The last digit is the minor version: sm_120 is 12.0.
  unsigned number = 0;
  const char *end = name.data() + name.size();
  auto [rest, error] = std::from_chars(name.data(), end, number);
  constexpr unsigned least = 10, most = 9999;
  if (error != std::errc() || rest != end || number < least || number > most)
    return std::nullopt;
  target.capability = {int(number / 10), int(number % 10)};
  return target;
}

bool CudaTarget::isFor(ComputeCapability device, bool isCubin) const {
  if (isExact)
    return capability == device;
  return capability <= device && (!isCubin || capability.major == device.major);
}

std::string compilerTargetFor(ComputeCapability device) {
  // Those of passes/Codegen/Targets.cpp. sm_90a has the same kernels as sm_90.
  if (device >= ComputeCapability{10, 0})
    return "sm_100";
  return device >= ComputeCapability{9, 0} ? "sm_90" : "sm_80";
}

bool isCubin(std::span<const std::byte> image) {
  return image.size() >= SELFMAG &&
         std::memcmp(image.data(), ELFMAG, SELFMAG) == 0;
}

/// "'sm_80', 'sm_90a' (a cubin)"
static std::string listCudaTargets(const Artifact &artifact) {
  std::string list;
  for (const artifact::Binary *binary : *artifact.tables().binaries())
    if (deviceOf(*binary) == "cuda")
      list += fmt::format(
          "{}'{}'{}", list.empty() ? "" : ", ", binary->target()->string_view(),
          isCubin(artifact.segment(binary->segment())) ? " (a cubin)" : "");
  return list;
}

Expected<CudaImage> chooseCudaImage(const Artifact &artifact,
                                    std::string_view target,
                                    ComputeCapability device,
                                    bool acceptsCubins) {
  const auto *kernels = artifact.tables().kernels();
  const auto *binaries = artifact.tables().binaries();
  if (!kernels || kernels->size() == 0 || !binaries || binaries->size() == 0)
    return CudaImage();
  bool isNamed = false;
  CudaImage best;
  std::tuple<ComputeCapability, bool, bool> bestRank;
  for (const artifact::Binary *binary : *binaries) {
    std::string_view name = binary->target()->string_view();
    if (deviceOf(*binary) != "cuda" || (!target.empty() && name != target))
      continue;
    isNamed = true;
    std::optional<CudaTarget> parsed = CudaTarget::parse(name);
    for (int64_t segment :
         {int64_t(binary->segment()), int64_t(binary->cubin())}) {
      if (!parsed || segment < 0)
        continue;
      std::span<const std::byte> code = artifact.segment(uint32_t(segment));
      bool isAssembled = isCubin(code);
      if (!parsed->isFor(device, isAssembled) ||
          (isAssembled && !acceptsCubins))
        continue;
      // Of kernels for the same capability, those with more features, then
      // those that the driver need not translate.
      std::tuple rank(parsed->capability, parsed->isExact, isAssembled);
      if (best.code.empty() || rank > bestRank) {
        best = {name, code};
        bestRank = rank;
      }
    }
  }
  if (!best.code.empty())
    return best;
  std::string list = listCudaTargets(artifact);
  if (list.empty())
    return unsupported(
        fmt::format("no kernels for GPUs: expected some for device 'cuda', the "
                    "artifact has those for {}",
                    listBinaries(artifact.tables())));
  if (target.empty())
    return unsupported(fmt::format(
        "no kernels for this GPU: expected a target for compute capability {}, "
        "the artifact has {}",
        device.text(), list));
  if (!isNamed)
    return unsupported(fmt::format(
        "no kernels for target '{}': the artifact has {}", target, list));
  return unsupported(fmt::format(
      "a GPU of compute capability {} cannot execute kernels for target '{}'",
      device.text(), target));
}

} // namespace lockstep::runtime
