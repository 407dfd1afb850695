//===- CaseProgram.h - A program while it is built, and after ---*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_CASEPROGRAM_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_CASEPROGRAM_H

#include "dialect/Replica/ReplicaDialect.h"
#include "test/conformance/driver/Case.h"
#include "test/conformance/driver/Object.h"

#include <map>
#include <memory>
#include <set>

namespace lockstep::conformance::driver {

/// A region of another context that is being filled. It is added to its
/// operation when it is complete, since only then its operands, the values that
/// it uses from outside, are known.
struct Frame {
  enum class Kind { Program, Run, Merge, Update, NonSlotUpdate };

  Frame(Kind kind, Frame *parent, mlir::MLIRContext *context)
      : kind(kind), parent(parent), builder(context),
        region(std::make_unique<mlir::Region>()) {
    builder.setInsertionPointToEnd(&region->emplaceBlock());
  }

  Kind kind;
  Frame *parent;
  mlir::OpBuilder builder;
  std::unique_ptr<mlir::Region> region;
  /// Of the operation, as `parent` knows them, and the block argument of each.
  std::vector<mlir::Value> operands;
  std::map<std::pair<void *, const void *>, mlir::Value> arguments;
  /// Merge: arguments that are replica 0's although replicas may differ.
  std::set<void *> ofFirstReplica;
  /// How new objects of the replicas (or of the copies that are updated)
  /// relate.
  Spread fresh = Spread::Plain;
  /// Update: the variable, and its value so far.
  std::optional<size_t> updated;
  /// Other variables that it has written: a read must not return their values
  /// from before.
  std::set<size_t> assigned;
  mlir::Value current;

  bool isReplicaContext() const { return kind == Kind::Run; }
};

/// The names of one function of the user; those around it can be read.
struct Scope {
  const Scope *parent = nullptr;
  std::map<std::string, Object> names;
};

struct Variable {
  VariableSpec spec;
  std::string symbol;
  mlir::RankedTensorType type;
  uint64_t identity = 0;
  /// In the scope of the case's strategy.
  bool inScope = true;
};

/// The input of one argument of the program.
using ArgumentBinding = InputTensor;

/// The program in the dialect.
struct Program {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<ArgumentBinding> arguments;
  /// Of a program with an iterator: of each batch, its tensors.
  std::vector<std::vector<ArgumentBinding>> batches;
  /// The values of the names that are observed; their tensors are results of
  /// the program, of these numbers.
  std::vector<std::pair<std::string, Object>> observed;
  std::map<void *, unsigned> results;
  std::vector<Variable> variables;
  /// An error of the front end; the compiler may report another one first.
  std::string error;
};

/// The name of the program in its module, and of its result `index`.
inline constexpr const char *kProgramName = "main";
std::string resultName(unsigned index);

} // namespace lockstep::conformance::driver

#endif
