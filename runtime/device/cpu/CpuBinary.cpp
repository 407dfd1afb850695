//===- CpuBinary.cpp ------------------------------------------------------===//

#include "runtime/device/cpu/CpuBinary.h"

#include "runtime/artifact/Binaries.h"
#include "runtime/artifact/KernelArguments.h"
#include "runtime/device/KernelFault.h"
#include "runtime/support/Checked.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace lockstep::runtime {

/// Best first.
static constexpr std::array<std::string_view, 4> knownTargets = {
    "x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64"};

bool cpuSupportsTarget(std::string_view target) {
  __builtin_cpu_init();
  if (target == "x86-64-v4")
    return __builtin_cpu_supports("x86-64-v4");
  if (target == "x86-64-v3")
    return __builtin_cpu_supports("x86-64-v3");
  if (target == "x86-64-v2")
    return __builtin_cpu_supports("x86-64-v2");
  return target == "x86-64";
}

CpuBinary::CpuBinary(CpuBinary &&other) noexcept { *this = std::move(other); }

CpuBinary &CpuBinary::operator=(CpuBinary &&other) noexcept {
  std::swap(handle, other.handle);
  std::swap(file, other.file);
  std::swap(name, other.name);
  std::swap(fault, other.fault);
  return *this;
}

CpuBinary::~CpuBinary() {
  if (handle)
    ::dlclose(handle);
  if (file >= 0)
    ::close(file);
}

static bool isForCpu(const artifact::Binary &binary) {
  return deviceOf(binary) == "cpu";
}

static const artifact::Binary *findBinary(const artifact::Artifact &tables,
                                          std::string_view target) {
  for (const artifact::Binary *binary : *tables.binaries())
    if (isForCpu(*binary) && binary->target()->string_view() == target)
      return binary;
  return nullptr;
}

static std::string listTargets(const artifact::Artifact &tables) {
  std::string list;
  for (const artifact::Binary *binary : *tables.binaries())
    if (isForCpu(*binary))
      list += fmt::format("{}'{}'", list.empty() ? "" : ", ",
                          binary->target()->string_view());
  return list;
}

static Expected<const artifact::Binary *>
pickBinary(const artifact::Artifact &tables, std::string_view target) {
  if (const char *variable = std::getenv("LOCKSTEP_TARGET");
      target.empty() && variable)
    target = variable;
  if (target.empty()) {
    for (std::string_view candidate : knownTargets)
      if (const artifact::Binary *binary = findBinary(tables, candidate))
        if (cpuSupportsTarget(candidate))
          return binary;
    std::string list = listTargets(tables);
    if (list.empty())
      return unsupported(
          fmt::format("no kernels for processors: expected some for device "
                      "'cpu', the artifact has those for {}",
                      listBinaries(tables)));
    return unsupported(fmt::format(
        "no kernels for this CPU: the artifact has {}, none of which it "
        "can execute",
        list));
  }
  const artifact::Binary *binary = findBinary(tables, target);
  if (!binary)
    return unsupported(
        fmt::format("no kernels for target '{}': the artifact has {}", target,
                    listTargets(tables)));
  if (!cpuSupportsTarget(target))
    return unsupported(
        fmt::format("this CPU cannot execute kernels for target '{}'", target));
  return binary;
}

/// The minimum size of a shared object according to its headers; 0 without
/// valid headers, which the dynamic linker reports. The linker maps the ranges
/// in the headers even if the file is shorter; an access past the end of the
/// file would fault.
static uint64_t leastSize(std::span<const std::byte> object) {
  Elf64_Ehdr header;
  if (object.size() < sizeof(header))
    return 0;
  std::memcpy(&header, object.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return 0;
  uint64_t headers = uint64_t(header.e_phnum) * sizeof(Elf64_Phdr);
  uint64_t size = checkedAdd(header.e_phoff, headers).value_or(UINT64_MAX);
  if (size > object.size())
    return size;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    std::memcpy(&part, object.data() + header.e_phoff + i * sizeof(part),
                sizeof(part));
    size = std::max(
        size, checkedAdd(part.p_offset, part.p_filesz).value_or(UINT64_MAX));
  }
  return size;
}

Expected<CpuBinary> CpuBinary::load(const Artifact &artifact,
                                    std::string_view target) {
  const artifact::Artifact &tables = artifact.tables();
  CpuBinary result;
  if (!tables.binaries() || tables.binaries()->size() == 0)
    return result;
  Expected<const artifact::Binary *> binary = pickBinary(tables, target);
  if (!binary)
    return binary.status();
  result.name = (*binary)->target()->str();
  std::span<const std::byte> object = artifact.segment((*binary)->segment());
  if (uint64_t size = leastSize(object); object.size() < size)
    return corrupted(fmt::format("kernels for target '{}' are cut off: "
                                 "expected at least {} bytes, found {}",
                                 result.name, size, object.size()));

  // The descriptor stays open as long as the object is loaded: the dynamic
  // linker identifies objects by path, which contains the descriptor, and a
  // closed descriptor would be reused.
  result.file =
      static_cast<int>(::memfd_create("lockstep-kernels", MFD_CLOEXEC));
  if (result.file < 0)
    return systemError(
        fmt::format("cannot load kernels: {}", std::strerror(errno)));
  for (size_t done = 0; done < object.size();) {
    ssize_t count =
        ::write(result.file, object.data() + done, object.size() - done);
    if (count <= 0)
      return systemError(
          fmt::format("cannot load kernels: {}", std::strerror(errno)));
    done += static_cast<size_t>(count);
  }
  std::string path = fmt::format("/proc/self/fd/{}", result.file);
  result.handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!result.handle)
    return corrupted(fmt::format("kernels for target '{}' cannot be loaded: {}",
                                 result.name, ::dlerror()));
  result.fault =
      static_cast<const Fault *>(::dlsym(result.handle, "lockstep_fault"));
  return result;
}

Status CpuBinary::findFault() const {
  if (fault->state.load(std::memory_order_acquire) == 0)
    return Status::success();
  // Another thread is writing the few words of the fault, without blocking.
  while (fault->state.load(std::memory_order_acquire) != 2) {
  }
  return kernelFault(fault->message, fault->value, fault->bound);
}

Expected<KernelHandle> CpuBinary::kernel(const artifact::Kernel &kernel) const {
  std::string symbol = (kernel.code() ? kernel.code() : kernel.symbol())->str();
  void *address = handle ? ::dlsym(handle, symbol.c_str()) : nullptr;
  if (!address)
    return corrupted(fmt::format(
        "kernel '{}' is not in the binary for target '{}'", symbol, name));
  const void *code =
      ::dlsym(handle, (symbol + std::string(argumentsSuffix)).c_str());
  if (!code)
    return corrupted(fmt::format(
        "kernel '{}' does not say what arguments its code takes: expected "
        "'{}{}' in the binary for target '{}' "
        "(artifacts of earlier compilers lack it: compile the step again)",
        symbol, symbol, argumentsSuffix, name));
  uint64_t found, expected = argumentsCode(kernel);
  std::memcpy(&found, code, sizeof(found));
  if (found != expected)
    return corrupted(
        fmt::format("kernel '{}': the binary for target '{}' has code for "
                    "other arguments or another grid than the artifact's "
                    "tables say",
                    symbol, name));
  return static_cast<KernelHandle>(address);
}

} // namespace lockstep::runtime
