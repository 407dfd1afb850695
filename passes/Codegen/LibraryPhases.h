//===- LibraryPhases.h - What libraries compute of kernels ------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_LIBRARYPHASES_H
#define LOCKSTEP_PASSES_CODEGEN_LIBRARYPHASES_H

#include "runtime/artifact/GpuAttention.h"
#include "runtime/artifact/GpuConvolutions.h"
#include "runtime/artifact/GpuProducts.h"

#include "llvm/ADT/StringRef.h"

namespace lockstep {

/// Phases of kernels that a library of a GPU computes, described by words that
/// an attribute of the kernel has, and an array in the image.
struct LibraryPhases {
  llvm::StringLiteral attribute;
  std::string_view suffix;
  /// Of the description of one phase.
  size_t words;
  llvm::StringLiteral library, name;
  /// Whether the library is the only one that computes them: there is no
  /// generated code.
  bool isAlone;

  template <typename Description>
  static constexpr LibraryPhases
  of(llvm::StringLiteral attribute, std::string_view suffix,
     llvm::StringLiteral library, llvm::StringLiteral name,
     bool isAlone = false) {
    return {attribute, suffix, std::tuple_size_v<typename Description::Words>,
            library,   name,   isAlone};
  }
};

/// The numbers of the kinds of phases in `kLibraryPhases`.
enum class LibraryKind { Product, Convolution, Attention };

inline constexpr LibraryPhases kLibraryPhases[] = {
    LibraryPhases::of<runtime::GpuProduct>(
        "lockstep.products", runtime::gpuProductsSuffix, "cuBLASLt", "product"),
    LibraryPhases::of<runtime::GpuConvolution>("lockstep.convolutions",
                                               runtime::gpuConvolutionsSuffix,
                                               "cuDNN", "convolution"),
    LibraryPhases::of<runtime::GpuAttention>(
        "lockstep.attention", runtime::gpuAttentionSuffix, "cuDNN", "attention",
        /*isAlone=*/true)};
inline constexpr size_t kNumLibraryPhases = std::size(kLibraryPhases);

} // namespace lockstep

#endif
