//===- CaseLoops.cpp - Counted loops, and gradients through them ----------===//

#include "test/conformance/driver/FrontEnd.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace lockstep::conformance::driver {

Object FrontEnd::emitLoopBody(const Json &statement, const Object &carried) {
  Scope inner{scope, {{statement.at("carry").get<std::string>(), carried}}};
  Scope *outer = std::exchange(scope, &inner);
  execute(statement.at("body"));
  Object yielded = operandOf(statement, "yield");
  scope = outer;
  return yielded;
}

Object FrontEnd::whileUnrolled(const Json &statement, int64_t trips) {
  Object carried = outputs(operandOf(statement, "init"));
  for (int64_t i = 0; i < trips; ++i)
    carried = outputs(emitLoopBody(statement, carried));
  return carried;
}

std::optional<Object> FrontEnd::countedLoop(const Json &statement, Value count,
                                            const Object &init) {
  OpBuilder &builder = frame->builder;
  Location loc = location();
  Value from = arith::ConstantIndexOp::create(builder, loc, 0),
        step = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> initial;
  forEachLeaf(
      init, [&](const Leaf &leaf) { initial.push_back(tensorOf(leaf).value); });
  auto loop = scf::ForOp::create(builder, loc, from, count, step, initial);
  bool keepsTypes = true;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    size_t next = 0;
    Object carried = mapLeaves(init, [&](const Leaf &) -> Object {
      return fresh(loop.getRegionIterArg(static_cast<unsigned>(next++)));
    });
    Object yielded = emitLoopBody(statement, carried);
    SmallVector<Value> yields;
    auto yield = [&](const Leaf &before, const Leaf &after) -> Object {
      yields.push_back(tensorOf(after, elementOf(before)).value);
      keepsTypes &= yields.back().getType() == before.value.getType();
      return after;
    };
    keepsTypes = haveSameStructure(carried, yielded);
    if (keepsTypes)
      mapLeaves(carried, yielded, yield);
    scf::YieldOp::create(builder, loc, yields);
  }
  if (!keepsTypes) {
    loop.erase();
    return std::nullopt;
  }
  size_t next = 0;
  return mapLeaves(init, [&](const Leaf &) -> Object {
    return fresh(loop.getResult(static_cast<unsigned>(next++)));
  });
}

Object FrontEnd::whileStatement(const Json &statement) {
  Leaf trips = leafOf(statement, "trip_count");
  bool isStatic = trips.isHost() && trips.host.size() == 1 &&
                  trips.host.front().is_number_integer();
  // A gradient needs the values of every iteration; a few iterations are
  // unrolled.
  if (!tapes.empty() && isStatic)
    return whileUnrolled(statement, trips.host.front().get<int64_t>());
  Value count =
      isStatic
          ? arith::ConstantIndexOp::create(frame->builder, location(),
                                           trips.host.front().get<int64_t>())
                .getResult()
          : math().toIndex(tensorOf(trips).value);
  if (!tapes.empty())
    return whileUnderTape(statement, count);
  if (std::optional<Object> result =
          countedLoop(statement, count, operandOf(statement, "init")))
    return *result;
  // A value whose type changes between iterations cannot be loop-carried; but
  // the loop may be unrolled if its trip count is known.
  if (!isStatic)
    refuse("E_STRUCT_MISMATCH",
           "the structure or type of the carried value changes in a loop");
  return whileUnrolled(statement, trips.host.front().get<int64_t>());
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The names that statements may read, with their values.
void FrontEnd::collectNames(const Json &statements, Scope &names) {
  if (statements.is_string())
    if (std::string name = statements.get<std::string>(); find(name))
      names.names[name] = operand(name);
  if (statements.is_structured())
    for (const Json &inner : statements)
      collectNames(inner, names);
}

bool FrontEnd::hasGradient(const Leaf &leaf) const {
  Type element = elementOf(leaf);
  return element && isa<FloatType>(element) && !leaf.isSlices();
}

Object FrontEnd::whileUnderTape(const Json &statement, Value count) {
  if (writesVariables(statement.at("body")))
    unsupported("gradient through a loop that writes variables, whose trip "
                "count is not static");
  Scope known;
  collectNames(statement.at("body"), known);
  collectNames(statement.at("yield"), known);
  std::vector<Leaf> inputs, results;
  Object init = outputs(operandOf(statement, "init"));
  forEachLeaf(init, [&](const Leaf &leaf) { inputs.push_back(leaf); });
  size_t carriedCount = inputs.size();
  std::set<uint64_t> seen;
  for (const auto &[name, object] : known.names)
    forEachLeaf(object, [&](const Leaf &leaf) {
      forEachPart(leaf, [&](const Leaf &part) {
        if (hasGradient(part) && seen.insert(part.identity).second)
          inputs.push_back(part);
      });
    });
  auto outerTapes = std::exchange(tapes, {});
  std::optional<Object> result = countedLoop(statement, count, init);
  tapes = std::move(outerTapes);
  if (!result)
    refuse("E_STRUCT_MISMATCH",
           "the structure or type of the carried value changes in a loop");
  forEachLeaf(*result, [&](const Leaf &leaf) { results.push_back(leaf); });
  record(inputs, results,
         [this, statement, count, known, init, inputs,
          carriedCount](const Gradients &upstream) {
           if (!tapes.empty())
             unsupported("gradient of a gradient through a loop whose trip "
                         "count is not static");
           Scope names = known;
           Scope *outer = std::exchange(scope, &names);
           Gradients gradients = loopGradient(statement, count, init, inputs,
                                              carriedCount, upstream);
           scope = outer;
           return gradients;
         });
  return *result;
}

/// Executes the iterations backwards. The initial values of an iteration are
/// recomputed from the first iteration: nothing is stored.
FrontEnd::Gradients FrontEnd::loopGradient(const Json &statement, Value count,
                                           const Object &init,
                                           const std::vector<Leaf> &inputs,
                                           size_t carriedCount,
                                           const Gradients &upstream) {
  OpBuilder &builder = frame->builder;
  Location loc = location();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0),
        one = arith::ConstantIndexOp::create(builder, loc, 1);
  // The loop carries the gradients of the forward loop's carried values, and
  // sums those of values from outside.
  std::vector<size_t> carriedInputs;
  SmallVector<Value> initial;
  for (auto [index, input] : llvm::enumerate(inputs)) {
    if (!hasGradient(input))
      continue;
    carriedInputs.push_back(index);
    bool isGiven = index < carriedCount && upstream[index];
    initial.push_back(
        isGiven ? upstream[index]->value
                : zerosLike(input.isVariable() ? read(input) : input).value);
  }
  auto loop = scf::ForOp::create(builder, loc, zero, count, one, initial);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    Value last = arith::SubIOp::create(builder, loc, count, one);
    Object before = *countedLoop(
        statement,
        arith::SubIOp::create(builder, loc, last, loop.getInductionVar()),
        init);
    std::vector<TapeEntry> tape;
    tapes.push_back(&tape);
    std::vector<Leaf> begun, ended;
    forEachLeaf(before, [&](const Leaf &leaf) { begun.push_back(leaf); });
    forEachLeaf(emitLoopBody(statement, before), [&](const Leaf &leaf) {
      ended.push_back(tensorOf(leaf, elementOf(begun[ended.size()])));
    });
    tapes.pop_back();
    Flows flows;
    for (auto [argument, index] :
         llvm::zip_equal(loop.getRegionIterArgs(), carriedInputs))
      if (index < carriedCount)
        addTo(flows[ended[index].identity], fresh(argument),
              std::vector<bool>(this->one.strategy.replicas, true));
    propagate(tape, flows);
    SmallVector<Value> yields;
    for (auto [argument, index] :
         llvm::zip_equal(loop.getRegionIterArgs(), carriedInputs)) {
      std::optional<Leaf> found =
          flows[index < carriedCount ? begun[index].identity
                                     : inputs[index].identity]
              .gradient;
      if (index < carriedCount)
        yields.push_back(found ? found->value : zerosLike(begun[index]).value);
      else
        yields.push_back(add(found, fresh(argument))->value);
    }
    scf::YieldOp::create(builder, loc, yields);
  }
  Gradients gradients(inputs.size());
  for (auto [result, index] : llvm::zip_equal(loop.getResults(), carriedInputs))
    gradients[index] = fresh(result);
  return gradients;
}

} // namespace lockstep::conformance::driver
