//===- Boundaries.cpp - Arguments and results of steps and programs -------===//

#include "dialect/Replica/Boundaries.h"

#include "dialect/Interfaces/ElementBytes.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace lockstep::replica;
using namespace mlir;

/// The maximum number of bytes that a process can address.
static constexpr int64_t kMaxTensorBytes = int64_t(1) << 47;

static bool isAddressable(RankedTensorType type, ArrayRef<int64_t> bounds) {
  Type element = type.getElementType();
  int64_t bytes = element.isIntOrFloat() ? getElementBytes(element) : 1;
  if (llvm::is_contained(type.getShape(), 0))
    return true;
  for (int64_t size : type.getShape()) {
    if (ShapedType::isDynamic(size)) {
      size = bounds.empty() ? 1 : bounds.front();
      bounds = bounds.drop_front(bounds.empty() ? 0 : 1);
    }
    if (llvm::MulOverflow(bytes, size, bytes) || bytes > kMaxTensorBytes)
      return false;
  }
  return true;
}

LogicalResult replica::verifyAddressable(Operation *op, const Twine &place,
                                         RankedTensorType type,
                                         ArrayRef<int64_t> bounds) {
  if (isAddressable(type, bounds))
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError("expected at most ")
                                  << kMaxTensorBytes
                                  << " bytes, which can be addressed, " << place
                                  << "found more in " << type;
  if (!bounds.empty())
    diagnostic << " with the bounds " << bounds;
  return diagnostic;
}

/// The bounds of the dynamic sizes of an argument, if it has some.
static ArrayRef<int64_t> getBounds(FunctionOpInterface function,
                                   unsigned index) {
  auto bounds =
      function.getArgAttrOfType<DenseI64ArrayAttr>(index, "replica.bounds");
  return bounds ? bounds.asArrayRef() : ArrayRef<int64_t>();
}

/// Verifies that `name`, that of argument or result `index`, is not one of
/// those `known`: the artifact identifies batches and results by kind and name.
static LogicalResult addName(Operation *op, StringRef what, StringAttr name,
                             unsigned index, llvm::StringMap<unsigned> &known) {
  if (!name)
    return success();
  auto [first, isNew] = known.try_emplace(name.getValue(), index);
  if (isNew)
    return success();
  return op->emitOpError("expected different names in '")
         << what << "', found " << name << " at " << first->second << " and "
         << index;
}

static LogicalResult verifyNames(FunctionOpInterface function) {
  llvm::StringMap<unsigned> batches, metrics, results;
  // The sizes of a batch "x" that are not known come as "x.dim0" and so on.
  auto addBatch = [&](StringRef what, StringAttr name, Type type, unsigned i) {
    if (failed(addName(function, what, name, i, batches)))
      return failure();
    auto tensor = dyn_cast_or_null<RankedTensorType>(getComponent(type));
    for (int64_t d = 0; name && tensor && d < tensor.getRank(); ++d)
      if (tensor.isDynamicDim(d) &&
          failed(addName(function, what,
                         StringAttr::get(function.getContext(),
                                         name.getValue() + ".dim" + Twine(d)),
                         i, batches)))
        return failure();
    return success();
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    constexpr StringLiteral batch = "replica.batch", list = "replica.batches";
    Type type = function.getArgumentTypes()[i];
    if (failed(addBatch(batch, function.getArgAttrOfType<StringAttr>(i, batch),
                        type, i)))
      return failure();
    auto names = function.getArgAttrOfType<ArrayAttr>(i, list);
    auto iterator = dyn_cast<IteratorType>(type);
    if (!names || !iterator || names.size() != iterator.getElements().size())
      continue;
    for (auto [name, element] : llvm::zip_equal(names, iterator.getElements()))
      if (failed(addBatch(list, dyn_cast<StringAttr>(name), element, i)))
        return failure();
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    constexpr StringLiteral metric = "replica.metric",
                            result = "replica.result";
    if (failed(addName(function, metric,
                       function.getResultAttrOfType<StringAttr>(i, metric), i,
                       metrics)) ||
        failed(addName(function, result,
                       function.getResultAttrOfType<StringAttr>(i, result), i,
                       results)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Verifies the type of an argument or result, `what`. `attributes` may have
/// one of the attributes `roles`, which bind it to something of the host.
static LogicalResult verifyBoundary(StepOp step, const Twine &what, Type type,
                                    DictionaryAttr attributes,
                                    ArrayRef<StringRef> roles,
                                    ArrayRef<int64_t> bounds = {}) {
  auto role = llvm::find_if(roles, [&](StringRef each) {
    return attributes && attributes.contains(each);
  });
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return verifyAddressable(step, "for " + what + ", ", tensor, bounds);
  // Those of a step that a program runs may have any rank; the collectives
  // refuse ranks that differ.
  if (role == roles.end() && isa<TensorType>(type))
    return success();
  InFlightDiagnostic diagnostic = step.emitOpError("expected a tensor ");
  if (role != roles.end())
    diagnostic << "beside '" << *role << "' ";
  return diagnostic << "for " << what << ", found " << type;
}

LogicalResult StepOp::verify() {
  for (auto [i, type] : llvm::enumerate(getArgumentTypes()))
    if (failed(verifyBoundary(
            *this, "argument " + Twine(i), type,
            function_interface_impl::getArgAttrDict(*this, i),
            {"replica.batch", "replica.scalar", "replica.variable"},
            getBounds(*this, i))))
      return failure();
  for (auto [i, type] : llvm::enumerate(getResultTypes()))
    if (failed(
            verifyBoundary(*this, "result " + Twine(i), type,
                           function_interface_impl::getResultAttrDict(*this, i),
                           {"replica.metric", "replica.result"})))
      return failure();
  if (failed(verifyNames(*this)))
    return failure();
  for (unsigned i = 0; i < getNumArguments(); ++i) {
    auto has = [&](StringRef name) {
      return static_cast<bool>(getArgAttr(i, name));
    };
    int bound =
        has("replica.batch") + has("replica.scalar") + has("replica.variable");
    if (bound > 1)
      return emitOpError("expected one of 'replica.batch', 'replica.scalar' "
                         "and 'replica.variable' for argument ")
             << i << ", found " << bound;
    Attribute value = getArgAttr(i, "replica.default");
    if (!value)
      continue;
    if (!has("replica.scalar"))
      return emitOpError("expected 'replica.default' beside 'replica.scalar' "
                         "for argument ")
             << i;
    Type expected = getElementTypeOrSelf(getArgumentTypes()[i]);
    auto typed = dyn_cast<TypedAttr>(value);
    if (!typed || getElementTypeOrSelf(typed.getType()) != expected)
      return emitOpError("expected 'replica.default' to be of type ")
             << expected << ", found " << value;
    // A number is the value of all elements.
    if (isa<DenseElementsAttr>(value) &&
        typed.getType() != getArgumentTypes()[i])
      return emitOpError("expected 'replica.default' to be of type ")
             << getArgumentTypes()[i] << " or " << expected << ", found "
             << value;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

LogicalResult ProgramOp::verify() {
  bool iterates = false;
  for (auto [index, type] : llvm::enumerate(getArgumentTypes())) {
    if (auto iterator = dyn_cast<IteratorType>(type)) {
      auto names = getArgAttrOfType<ArrayAttr>(index, "replica.batches");
      if (!names || names.size() != iterator.getElements().size())
        return emitOpError("expected 'replica.batches' to name the ")
               << iterator.getElements().size() << " tensors of argument "
               << index;
      int64_t dynamic = 0;
      ArrayRef<int64_t> left = getBounds(*this, index);
      for (Type element : iterator.getElements()) {
        auto tensor = dyn_cast<RankedTensorType>(element);
        if (!tensor)
          return emitOpError("expected an iterator over ranked tensors, found ")
                 << element;
        if (failed(verifyAddressable(
                *this, "for argument " + Twine(index) + ", ", tensor,
                left.take_front(tensor.getNumDynamicDims()))))
          return failure();
        left = left.drop_front(
            std::min<size_t>(left.size(), tensor.getNumDynamicDims()));
        dynamic += tensor.getNumDynamicDims();
      }
      auto bounds =
          getArgAttrOfType<DenseI64ArrayAttr>(index, "replica.bounds");
      if ((bounds ? bounds.size() : 0) != dynamic)
        return emitOpError(
                   "expected 'replica.bounds' with a bound for each of ")
               << dynamic << " dynamic dimensions of argument " << index;
      if (iterates)
        return emitOpError("expected at most one iterator, found argument ")
               << index << " beside another one";
      iterates = true;
      continue;
    }
    bool batch = static_cast<bool>(getArgAttr(index, "replica.batch")),
         scalar = static_cast<bool>(getArgAttr(index, "replica.scalar"));
    if (batch && !isa<PerReplicaType>(type))
      return emitOpError("expected a per-replica type beside 'replica.batch' "
                         "for argument ")
             << index << ", found " << type;
    if (auto component = dyn_cast_or_null<RankedTensorType>(getComponent(type));
        component &&
        failed(verifyAddressable(*this, "for argument " + Twine(index) + ", ",
                                 component, getBounds(*this, index))))
      return failure();
    if (scalar && !isa<RankedTensorType>(type))
      return emitOpError(
                 "expected a tensor beside 'replica.scalar' for argument ")
             << index << ", found " << type;
    if (!batch && !scalar)
      return emitOpError(
                 "expected 'replica.batch' or 'replica.scalar' for argument ")
             << index;
  }
  for (auto [index, type] : llvm::enumerate(getResultTypes()))
    if (!getComponent(type))
      return emitOpError("expected a tensor, per-replica or mirrored value as "
                         "result ")
             << index << ", found " << type;
  return verifyNames(*this);
}
