//===- Gradient.cpp - Reverse mode ----------------------------------------===//
//
// While the body of a `gradient` statement is executed, operations note how their results came about; then the notes are read
// backwards. Operations of the adjoint are noted too if a gradient is taken around this one. The rules of all_reduce and
// all_gather are in ReplicaContext.cpp; through a merge_call nothing flows.
//
//===----------------------------------------------------------------------===//

#include "test/conformance/driver/FrontEnd.h"

using namespace mlir;

namespace lockstep::conformance::driver {

void FrontEnd::record(std::vector<Leaf> inputs, std::vector<Leaf> outputs, std::function<Gradients(const Gradients &)> backward) {
  for (std::vector<TapeEntry> *tape : tapes)
    tape->push_back({inputs, outputs, backward});
}

std::optional<Leaf> FrontEnd::add(const std::optional<Leaf> &a, const std::optional<Leaf> &b) {
  if (!a || !b)
    return a ? a : b;
  return binary(Binary::Add, *a, *b);
}

Object FrontEnd::gradientStatement(const Json &statement) {
  std::vector<Leaf> sources;
  for (const Json &name : statement.at("wrt"))
    forEachLeaf(operand(name), [&](const Leaf &leaf) { sources.push_back(leaf); });

  std::vector<TapeEntry> tape;
  tapes.push_back(&tape);
  execute(statement.at("body"));
  Object target = operandOf(statement, "of");
  tapes.pop_back();

  std::map<uint64_t, std::optional<Leaf>> gradients;
  forEachLeaf(target, [&](const Leaf &leaf) {
    Type element = elementOf(leaf);
    if (element && isa<FloatType>(element) && leaf.isTensor() && !leaf.isSlices())
      gradients[leaf.identity] = add(gradients[leaf.identity], fresh(math().filled(leaf.value, 1)));
  });
  for (const TapeEntry &entry : llvm::reverse(tape)) {
    Gradients upstream;
    for (const Leaf &output : entry.outputs)
      upstream.push_back(gradients[output.identity]);
    if (llvm::none_of(upstream, [](const std::optional<Leaf> &gradient) { return gradient.has_value(); }))
      continue;
    Gradients downstream = entry.backward(upstream);
    for (auto [input, gradient] : llvm::zip_equal(entry.inputs, downstream))
      if (gradient && isa<FloatType>(elementOf(input)))
        gradients[input.identity] = add(gradients[input.identity], gradient);
  }

  Object result(Object::Structure::List, {});
  for (const Leaf &source : sources)
    result.items.push_back(gradients[source.identity] ? *gradients[source.identity] : Leaf());
  return result;
}

} // namespace lockstep::conformance::driver
