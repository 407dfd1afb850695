//===- Targets.h - Instruction sets that code is generated for --*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_TARGETS_H
#define LOCKSTEP_PASSES_CODEGEN_TARGETS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace llvm {
class TargetMachine;
}

namespace lockstep {

/// The multiprocessors of an H100, for the choice of tiles and registers: a
/// grid takes as long as the one with most blocks.
inline constexpr int64_t kMultiprocessors = 132;

/// A processor or GPU. Code is never generated for "the host", so that an
/// artifact has the same bytes on whatever machine it is compiled.
struct CodegenTarget {
  llvm::StringLiteral
      name; ///< As the user and LLVM write it, e.g. `x86-64-v3`.
  llvm::StringLiteral
      symbol;                ///< Name of its `device.binary`, e.g. `x86_64_v3`.
  unsigned vectorBits = 0;   ///< Width of a vector register.
  unsigned numRegisters = 0; ///< Number of vector registers.
  /// The kind of the devices that execute the code; empty: `cpu`.
  llvm::StringLiteral device = "";
  /// The version of PTX, as a feature for LLVM; empty for processors.
  llvm::StringLiteral ptx = "";

  bool isGpu() const { return !ptx.empty(); }

  /// Number of elements of a type of `bits` bits in a register.
  unsigned getLanes(unsigned bits) const { return vectorBits / bits; }
};

/// The target of this name, or an error that lists the known ones. (LLVM would
/// abort on an unknown name.)
llvm::Expected<const CodegenTarget *> lookupTarget(llvm::StringRef name);

/// Targets of a list separated by commas, each once, in the order given.
llvm::Expected<llvm::SmallVector<const CodegenTarget *>>
parseTargets(llvm::StringRef list);

/// LLVM's description of the target, for position-independent code.
std::unique_ptr<llvm::TargetMachine>
createTargetMachine(const CodegenTarget &target, bool optimize);

} // namespace lockstep

#endif
