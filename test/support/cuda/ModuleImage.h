//===- ModuleImage.h - modules in the memory of a context -------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_MODULEIMAGE_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_MODULEIMAGE_H

#include "Kernel.h"

namespace lockstep::standin {

/// A module in the memory of a context: its kernels and variables.
class ModuleImage {
public:
  /// Allocates and initializes the variables, and translates all kernels.
  /// Throws PtxError; std::bad_alloc if there is no memory.
  ModuleImage(const PtxModule &ptx, const void *context);
  ~ModuleImage();
  ModuleImage(const ModuleImage &) = delete;
  ModuleImage &operator=(const ModuleImage &) = delete;

  std::shared_ptr<const Kernel> kernel(std::string_view name) const;

  struct Placed {
    uint64_t address = 0, bytes = 0;
  };
  const Placed *variable(std::string_view name) const;

private:
  void initialize(const Variable &variable);
  void release();

  VariableAddresses addresses;
  std::map<std::string, Placed, std::less<>> variables;
  std::map<std::string, std::shared_ptr<const Kernel>, std::less<>> kernels;
};

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_MODULEIMAGE_H
