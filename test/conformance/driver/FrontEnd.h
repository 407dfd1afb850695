//===- FrontEnd.h - from cases to replica IR --------------------*- C++ -*-===//
//
// Replaces the Python layer of `tf.distribute` in tracing a program: executes
// the statements in order, computes on nests and host numbers, tracks the
// identity of objects, and emits operations of the `replica` dialect and of
// upstream math for computations on tensors. One statement has one handler;
// they are in a table each for
//   CaseCrossReplica.cpp (with Reductions.cpp)   Updates.cpp
//   CaseReplicaContext.cpp                       VariableStatements.cpp
//   Scopes.cpp                                   CaseControlFlow.cpp
//   MathStatements.cpp (with Gradient.cpp)
// Values that differ in kind or type between replicas, after a branch on their
// number during tracing: Differing.cpp
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_FRONTEND_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_FRONTEND_H

#include "test/conformance/driver/CaseProgram.h"
#include "test/conformance/driver/Error.h"
#include "test/conformance/driver/TensorMath.h"

#include <map>
#include <memory>

namespace lockstep::conformance::driver {

class FrontEnd {
public:
  FrontEnd(const Case &one, mlir::MLIRContext &context);
  ~FrontEnd();

  /// Throws CaseError for programs that the Python layer rejects, and for
  /// unsupported ones. The module is not verified yet.
  Program build();

private:
  using Handler = Object (FrontEnd::*)(const Json &);
  using Handlers = std::map<std::string, Handler>;
  static const Handlers &crossReplicaHandlers();
  static const Handlers &updateHandlers();
  static const Handlers &replicaHandlers();
  static const Handlers &variableHandlers();
  static const Handlers &scopeHandlers();
  static const Handlers &controlFlowHandlers();
  static const Handlers &mathHandlers();

  //===--- Statements (FrontEnd.cpp) --------------------------------------===//

  void execute(const Json &statements);
  void executeStatement(const Json &statement);
  Object executeOperation(const Json &statement);
  /// Records that replicas rendezvous in this statement, with the part on which
  /// all must agree.
  void recordRendezvous(const Json &statement);
  bool computesPerWorker(const Json &statement);
  /// Whether a statement of an update's function is about values of all
  /// replicas from around the update.
  bool isAboutOutside(const Json &statement) const;
  void bind(const Json &destination, Object value);
  Object operand(const Json &json);
  Object operandOf(const Json &statement, const char *field) {
    return operand(statement.at(field));
  }
  Leaf leafOf(const Json &statement, const char *field);
  const Object *find(const std::string &name) const;
  /// Calls a function of the user: `params`, the statements at `body`,
  /// `returns`.
  Object call(const Json &function, const char *body,
              std::vector<Object> arguments);
  std::vector<Object> listOf(const Json &statement, const char *field);
  mlir::Location location() const;

  //===--- Contexts (Frames.cpp) ------------------------------------------===//

  /// Switches to a new frame inside of the current one; `close` switches back.
  Frame &open(Frame::Kind kind);
  void close(Frame &frame);
  /// The leaf in the current frame; objects from outside become operands.
  Leaf localize(const Leaf &leaf, Frame &at);
  Leaf enter(Frame &at, const Leaf &leaf, bool isArgument);
  Object enter(Frame &at, const Object &object) {
    return mapLeaves(object, [&](const Leaf &leaf) {
      return enter(at, leaf, /*isArgument=*/true);
    });
  }
  mlir::Value enter(Frame &at, mlir::Value outer, mlir::Type inner);
  /// Creates an operation from a closed frame. `leave` returns, for each leaf
  /// that the region returns, the type of the result and its spread outside;
  /// leaves without a tensor are unchanged.
  using Leave = std::function<std::pair<mlir::Type, Spread>(mlir::Type inner,
                                                            Spread spread)>;
  Object finish(Frame &frame, const Object &returned, mlir::StringRef operation,
                llvm::ArrayRef<mlir::NamedAttribute> attributes,
                mlir::ValueRange leadingYields, const Leave &leave);

  /// Components of local_results become tensors.
  Leaf materialize(const Leaf &leaf);
  mlir::Value raggedComponent(mlir::Value all, int64_t component);
  bool hasSeveralReplicas() const { return one.strategy.replicas > 1; }
  /// A per-replica type; with one replica, the type itself.
  mlir::Type perReplica(mlir::Type type) const;
  /// The type and spread of a value with a copy on each replica.
  std::pair<mlir::Type, Spread> mirrored(mlir::Type type) const;
  bool isReplicaContext() const { return frame->isReplicaContext(); }
  /// In the function of an update, which is executed for each copy.
  bool isInUpdate() const {
    return frame->kind == Frame::Kind::Update ||
           frame->kind == Frame::Kind::NonSlotUpdate;
  }
  /// Outside of any scope; that of the default strategy is none.
  bool isOutside() const {
    return frame->kind == Frame::Kind::Program &&
           (scopeDepth == 0 || one.strategy.properties().isImplicit);
  }
  /// There, the default strategy has a replica context.
  bool isDefaultContext() const {
    return isOutside() && one.strategy.properties().isImplicit;
  }
  /// Errors that the dialect can detect are left to it.
  void requireReplicaContext(const Json &statement,
                             llvm::ArrayRef<Leaf> leaves);
  void requireSomeReplicaContext(const Json &statement) const;
  void requireOwnStrategy(const std::string &operation) const;

  //===--- Tensors --------------------------------------------------------===//

  TensorMath math() { return TensorMath(frame->builder, location()); }
  Leaf makeTensor(mlir::Value value, Spread spread);
  Leaf fresh(mlir::Value value) { return makeTensor(value, frame->fresh); }
  /// A leaf as one tensor that can be computed with; numbers become literals of
  /// the type `element`, or else of their own.
  Leaf tensorOf(const Leaf &leaf, mlir::Type element = {});
  /// The same, as operand of an operation on values of all replicas:
  /// per-replica and mirrored ones stay so.
  Leaf distributedOf(const Leaf &leaf, mlir::Type element = {});
  Leaf literal(const Leaf &host, mlir::Type element);
  /// Slices as the tensor that they are the rows of.
  Leaf denseOf(const Leaf &slices);
  /// The same slices as a new object.
  Leaf copyOf(const Leaf &slices);
  mlir::Type elementOf(const Leaf &leaf) const;
  replica::Reduction reductionOf(const Json &statement);
  /// Of `{"bytes_per_pack": 8, "timeout_seconds": 1.5, "implementation":
  /// "RING"}`, the bound on packs; 0 if there is none.
  int64_t checkOptions(const Json &statement);
  /// Collectives of one replica return values unchanged, the mean of integers
  /// too.
  bool isIdentity() const { return !hasSeveralReplicas(); }
  mlir::TensorType reducedType(replica::Reduction reduction,
                               mlir::Type component, bool keepsType);
  mlir::RankedTensorType gatheredType(mlir::RankedTensorType type,
                                      int64_t axis) const;
  /// Concatenates the slices of all replicas.
  std::pair<mlir::RankedTensorType, mlir::RankedTensorType>
  gatheredSlices(replica::Reduction reduction, const Leaf &slices);

  //===--- Values that differ between replicas (Differing.cpp) ------------===//

  /// One leaf from each replica's leaf: the object that all share, host
  /// numbers, or a differing leaf.
  Leaf differing(std::vector<Leaf> ofReplica);
  /// The replicas that execute what is being traced: all, but in a branch on
  /// their number.
  std::vector<int64_t> tracedReplicas() const;
  /// A leaf for the traced replicas: one object if it differs only on others.
  Leaf ofTraced(const Leaf &leaf) const;
  /// A differing leaf as one tensor, of a type that can hold each replica's.
  /// Error: another element type on some replicas.
  Leaf oneTensor(const Leaf &leaf, mlir::Type element);
  /// Of values that are gathered, ranks are compared before element types.
  void requireOneRank(const Leaf &leaf) const;
  /// Executes a computation once for each group of replicas with operands of
  /// the same kinds and types; none if all are the same.
  std::optional<Object> computeForEach(const Json &statement,
                                       const std::function<Object()> &compute);
  /// Combines the results of the replicas, leaf by leaf.
  Object combine(const std::vector<Object> &ofReplica);

  //===--- Cross-replica context (CaseCrossReplica.cpp) -------------------===//

  Object runStatement(const Json &);
  Object reduceStatement(const Json &);
  Object reduceToStatement(const Json &);
  Object batchReduceToStatement(const Json &);
  Object broadcastToStatement(const Json &);
  Object gatherStatement(const Json &);
  Object localResultsStatement(const Json &);

  /// The destination of a reduction or a broadcast.
  struct Destination {
    /// A single device: the result is plain.
    bool isOneDevice = false;
    std::optional<size_t> variable;
  };
  Destination destinationOf(const Json &json);
  std::pair<mlir::Type, Spread> atDestination(mlir::Type type,
                                              const Destination &destination);
  Leaf reduceLeaf(replica::Reduction reduction, const Leaf &leaf,
                  const std::optional<Json> &axis);
  Leaf reduceToLeaf(replica::Reduction reduction, const Leaf &leaf,
                    const Destination &destination);
  Leaf reduceSlices(replica::Reduction reduction, const Leaf &leaf);
  std::optional<Leaf> reduceWithoutExchange(replica::Reduction reduction,
                                            const Leaf &leaf);
  Leaf gatherLeaf(const Leaf &leaf, int64_t axis);
  /// Plain, mirrored and host values, as one value a replica.
  Leaf toPerReplica(const Leaf &leaf);
  /// With several processes, a plain value is one value of each.
  bool isPerWorker(const Leaf &leaf) const;
  Object localResults(const Leaf &leaf);
  /// Runs `body` once a replica.
  Object run(const std::function<Object()> &body);

  //===--- Updates (Updates.cpp) ------------------------------------------===//

  Object updateStatement(const Json &);
  Object updateNonSlotStatement(const Json &);
  std::vector<Object> updateArguments(std::vector<Object> arguments);
  Object updateVariable(const Leaf &variable, std::vector<Object> arguments,
                        const Json &statement);
  Object groupUpdates(const Json &statement, const Object &results);

  //===--- Replica context (CaseReplicaContext.cpp) -----------------------===//

  Object allReduceStatement(const Json &);
  Object allGatherStatement(const Json &);
  Object mergeCallStatement(const Json &);
  Object replicaIdStatement(const Json &);
  Object numReplicasStatement(const Json &);
  Object saveContextStatement(const Json &);
  Object requireReplicaContextStatement(const Json &);
  Object inCrossReplicaContextStatement(const Json &);

  std::vector<Leaf> allReduce(replica::Reduction reduction,
                              const std::vector<Leaf> &leaves,
                              int64_t bytesPerPack);
  std::vector<Leaf> allGather(const std::vector<Leaf> &leaves, int64_t axis);
  Leaf gatherGradient(const Leaf &operand, const Leaf &upstream, int64_t axis);
  Object mergeCall(const std::vector<Object> &arguments,
                   const std::function<Object(std::vector<Object>)> &body);

  //===--- Variables (VariableStatements.cpp) -----------------------------===//

  Object assignStatement(const Json &);
  Object readStatement(const Json &);
  Object handleStatement(const Json &);
  Object scatterStatement(const Json &);
  Object indexedSlicesStatement(const Json &);
  Object variableStatement(const Json &);
  Object componentStatement(const Json &);
  Object createdInScopeStatement(const Json &);
  Object containerIsStatement(const Json &);
  Object colocateStatement(const Json &);
  Object scopeStatement(const Json &);
  Object otherScopeStatement(const Json &);

  void checkDeclarations();
  Leaf addVariable(VariableSpec spec, bool inScope);
  /// The initial value of a variable, if it is known when the program is
  /// compiled.
  std::optional<Json> initialValueOf(const Json &init);
  /// Assigns the initial value that the program has computed, replica 0's, to
  /// all copies.
  void initialize(const Variable &variable, const Leaf &value);
  Leaf variableLeaf(size_t index) const;
  Leaf variableOf(const Json &statement, const char *field);
  /// A new object with the variable's value in this context.
  Leaf read(const Leaf &variable);
  /// Every replica's own copy.
  Leaf copiesOf(const Leaf &variable);
  bool hasOwnCopies(const Variable &variable) const;
  /// The result of an assignment, if it is used.
  Object writtenValue(const Json &statement, const Leaf &target);
  /// Writes one copy of a variable in cross-replica context; the others keep
  /// theirs.
  Object writeComponent(const Json &statement, const Leaf &target,
                        const Leaf &given);
  /// The result of an operation on the value `old`.
  mlir::Value changedBy(const std::string &operation, const Variable &variable,
                        mlir::Value old, const Leaf &value);
  void assignCurrent(const std::string &operation, const Variable &variable,
                     const Leaf &value);

  //===--- Control flow (CaseControlFlow.cpp) -----------------------------===//

  Object staticIfStatement(const Json &);
  Object condStatement(const Json &);
  Object nestedFunctionStatement(const Json &);
  Object pythonRaiseStatement(const Json &);

  /// Gradients cannot flow into computations of blocks.
  void recordBarrier(const Object &object);
  /// The two blocks of an `scf.if`, and the pairs of tensors that they yield.
  struct Branches {
    std::unique_ptr<mlir::Region> then, otherwise;
    std::vector<std::pair<mlir::Value, mlir::Value>> yields;
    std::vector<mlir::Type> types;
    /// Which branch each replica takes, if that is known when the program is
    /// traced.
    std::vector<bool> takesThen;
    /// Leaves that become results once the operation is created, by identity:
    /// the numbers of their tensor and of its indices.
    std::map<uint64_t, std::pair<size_t, size_t>> results;
    /// Leaves of one side that the other does not have, as results.
    std::map<std::pair<bool, uint64_t>, Leaf> ofOneSide;
  };
  Object mergeLeaves(Branches &branches, const Leaf &then,
                     const Leaf &otherwise);
  Object mergeDiffering(Branches &branches, const Leaf &then,
                        const Leaf &otherwise);
  Leaf yieldFrom(Branches &branches, bool fromThen, const Leaf &leaf);
  Object mergeValues(Branches &branches, mlir::Value then,
                     mlir::Value otherwise);
  Object mergeBranches(Branches &branches, const Object &then,
                       const Object &otherwise);
  Object finishIf(mlir::Value condition, Branches &branches,
                  const Object &merged, bool isStatic);
  Leaf tensorIn(mlir::Block &block, const Leaf &leaf);
  /// Whether this replica's number is one of `ids`.
  mlir::Value conditionOf(llvm::ArrayRef<int64_t> ids);
  /// The results of a sub-graph: new tensors.
  Object outputs(const Object &object);
  Object condUnderTape(const Json &statement, const Leaf &condition,
                       const std::vector<bool> &takesThen);
  /// Selects between two computed branches, with a gradient.
  Object selected(const Leaf &condition, const Object &then,
                  const Object &otherwise, const std::vector<bool> &takesThen);
  bool computesOnly(const Json &statements);
  /// Whether statements, or functions in them, write variables.
  static bool writesVariables(const Json &statements);

  //===--- Loops (CaseLoops.cpp) ------------------------------------------===//

  /// Emits the body of a loop once: from the carried to the yielded values.
  Object emitLoopBody(const Json &statement, const Object &carried);
  Object whileStatement(const Json &);
  Object whileUnrolled(const Json &statement, int64_t trips);
  /// None if the structure or type of the carried values changes.
  std::optional<Object> countedLoop(const Json &statement, mlir::Value count,
                                    const Object &init);
  /// With a trip count that is known at run time only.
  Object whileUnderTape(const Json &statement, mlir::Value count);
  void collectNames(const Json &statements, Scope &names);

  //===--- Math (MathStatements.cpp) --------------------------------------===//

  Object binaryStatement(const Json &);
  Object unaryStatement(const Json &);
  Object matmulStatement(const Json &);
  Object castStatement(const Json &);
  Object identityStatement(const Json &);
  Object expandDimsStatement(const Json &);
  Object reduceStatementOfTensor(const Json &);
  Object setStatement(const Json &);
  Object pythonSumStatement(const Json &);
  Object rangeStatement(const Json &);

  // Operations on tensors that know their gradients.
  Leaf binary(Binary op, Leaf a, Leaf b);
  Leaf unary(Unary op, const Leaf &a);
  Leaf matmul(const Leaf &a, const Leaf &b);
  Leaf transpose(const Leaf &a);
  Leaf cast(const Leaf &a, mlir::Type element);
  Leaf identity(const Leaf &a);
  Leaf reduceSum(const Leaf &a, const std::vector<int64_t> &axes);
  Leaf reduceMean(const Leaf &a, const std::vector<int64_t> &axes);
  Leaf expandDims(const Leaf &a, const std::vector<int64_t> &axes);
  Leaf broadcastLike(const Leaf &a, const Leaf &like);
  Leaf sumToShapeOf(const Leaf &a, const Leaf &like);
  Leaf divideBySize(const Leaf &a, const Leaf &of,
                    const std::vector<int64_t> &axes);
  Leaf zerosLike(const Leaf &a);
  /// Axes in [0, rank), sorted; all of them for null. Errors: other axes
  /// (E_AXIS_RANGE), not an axis (E_ARG_TYPE).
  std::vector<int64_t> axesOf(const Json &axis, int64_t rank);

  //===--- Gradients (Gradient.cpp) ---------------------------------------===//

  Object gradientStatement(const Json &);

  using Gradients = std::vector<std::optional<Leaf>>;
  struct TapeEntry {
    std::vector<Leaf> inputs, outputs;
    /// From the gradients of the outputs to those of the inputs; nothing is
    /// zero.
    std::function<Gradients(const Gradients &)> backward;
    /// Of each input, the replicas that computed with it; empty if all did.
    std::vector<std::vector<bool>> users;
  };
  /// A gradient, and the replicas that have it: on others the differentiated
  /// value did not depend on it.
  struct Flow {
    std::optional<Leaf> gradient;
    std::vector<bool> owners;
  };
  using Flows = std::map<uint64_t, Flow>;
  void addTo(Flow &flow, const std::optional<Leaf> &gradient,
             const std::vector<bool> &owners);
  /// Records the computation of results, if a gradient is being taken.
  void record(std::vector<Leaf> inputs, std::vector<Leaf> outputs,
              std::function<Gradients(const Gradients &)> backward,
              std::vector<std::vector<bool>> users = {});
  std::optional<Leaf> add(const std::optional<Leaf> &a,
                          const std::optional<Leaf> &b);
  /// From the gradients of results to those of operands, by the identity of
  /// leaves.
  void propagate(const std::vector<TapeEntry> &tape, Flows &flows);
  Leaf gradientOf(const Leaf &source, const Flows &flows);
  bool hasGradient(const Leaf &leaf) const;
  Gradients loopGradient(const Json &statement, mlir::Value count,
                         const Object &init, const std::vector<Leaf> &inputs,
                         size_t carriedCount, const Gradients &upstream);
  /// The replicas that read a part, and ones as its gradient on them.
  std::pair<Leaf, std::vector<bool>> seedOf(const Leaf &part,
                                            const Leaf &whole);

  const Case &one;
  mlir::MLIRContext &context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::unique_ptr<Frame>> frames;
  Frame *frame = nullptr;
  Scope *scope = nullptr;
  std::vector<Variable> variables;
  /// Of the gradients that are being taken, from the outermost.
  std::vector<std::vector<TapeEntry> *> tapes;
  /// Scopes of the case's strategy, and of another one, that the program has
  /// entered.
  int scopeDepth = 0, otherScopeDepth = 0;
  /// The frame whose replica context `save_ctx` has kept.
  std::optional<const Frame *> savedContext;
  std::string deferredError;
  /// In a branch on the replica's number, the replicas that take it.
  std::optional<std::vector<int64_t>> traced;
  /// In a branch on the replica's number, the statements in which replicas
  /// rendezvous.
  std::vector<std::string> *rendezvousStatements = nullptr;
  /// Inputs that are the same for all replicas, by the arguments of the
  /// program.
  std::map<void *, Tensor> constants;
  uint64_t nextIdentity = 1;
  unsigned line = 0, column = 0;
};

} // namespace lockstep::conformance::driver

#endif
