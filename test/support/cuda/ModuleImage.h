//===- ModuleImage.h - modules in the memory of a context -------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_MODULEIMAGE_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_MODULEIMAGE_H

#include "Kernel.h"

namespace lockstep::standin {

using Kernels =
    std::map<std::string, std::shared_ptr<const Kernel>, std::less<>>;

/// A text of PTX, read once in the process.
class PtxText {
public:
  /// Throws PtxError. The result is never destroyed. Thread-safe.
  static PtxText &of(std::string_view text);

  const PtxModule &module() const { return ptx; }
  /// The kernels that all modules of the text share, since they contain no
  /// address of a variable; translated by the first call. Thread-safe.
  const Kernels &sharedKernels();

private:
  explicit PtxText(PtxModule ptx) : ptx(std::move(ptx)) {}

  const PtxModule ptx;
  std::once_flag translated;
  Kernels kernels;
};

/// A module in the memory of a context: its kernels and variables.
class ModuleImage {
public:
  /// Allocates and initializes the variables, and translates the kernels.
  /// Throws PtxError; std::bad_alloc if there is no memory.
  ModuleImage(PtxText &text, const void *context);
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
  Kernels kernels;
};

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_MODULEIMAGE_H
