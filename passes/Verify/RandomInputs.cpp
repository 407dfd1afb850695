//===- RandomInputs.cpp - Random inputs -----------------------------------===//

#include "passes/Verify/RandomInputs.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <bit>
#include <cmath>

using namespace lockstep;
using namespace mlir;
using interpret::Element;
using interpret::Lane;
using Data = interpret::Value;

/// The most constants that are collected, the most elements of a constant
/// tensor that is not a splat, and the number of batches of an iterator.
static constexpr size_t kMostConstants = 256, kMostElements = 16, kBatches = 4;
/// The sizes of unbounded dynamic dimensions are drawn from 0 to this.
static constexpr int64_t kLargestSize = 4;
/// A tensor with more elements than this is filled with one number.
static constexpr int64_t kLargestDrawn = 4096;
/// Draws before this one avoid special floats (-0, infinities, NaN, extremes).
static constexpr uint64_t kPlainDraws = 100;

bool RandomInputs::isGiven(FunctionOpInterface function, unsigned index) {
  auto binding =
      function.getArgAttrOfType<device::BindingAttr>(index, "device.binding");
  return !binding || binding.getKind() == device::BindingKind::Batch ||
         binding.getKind() == device::BindingKind::Scalar;
}

/// Whether the host passes one value of argument `index` to all replicas.
static bool isShared(FunctionOpInterface function, unsigned index) {
  auto binding =
      function.getArgAttrOfType<device::BindingAttr>(index, "device.binding");
  bool plain =
      isa<replica::ProgramOp>(function) &&
      !isa<replica::PerReplicaType>(function.getArgumentTypes()[index]);
  return plain || function.getArgAttr(index, "replica.scalar") ||
         (binding && binding.getKind() == device::BindingKind::Scalar);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

void RandomInputs::addNumber(Attribute constant) {
  if (integers.size() + floats.size() >= kMostConstants)
    return;
  if (auto integer = dyn_cast<IntegerAttr>(constant);
      integer && integer.getValue().getSignificantBits() <= 64)
    integers.insert(
        integer.getType().isInteger(1) ? 0 : integer.getValue().getSExtValue());
  if (auto number = dyn_cast<FloatAttr>(constant))
    floats.insert(std::bit_cast<uint64_t>(number.getValueAsDouble()));
}

RandomInputs::RandomInputs(const ControlSlice &slice, int64_t replicas)
    : function(slice.function), module(*slice.module), replicas(replicas) {
  function->walk([&](Operation *op) {
    Attribute constant;
    if (matchPattern(op, m_Constant(&constant))) {
      auto dense = dyn_cast<DenseElementsAttr>(constant);
      if (!dense)
        addNumber(constant);
      else if (dense.isSplat())
        addNumber(dense.getSplatValue<Attribute>());
      else if (dense.size() <= static_cast<int64_t>(kMostElements))
        llvm::for_each(dense.getValues<Attribute>(),
                       [&](Attribute element) { addNumber(element); });
    }
    if (auto choice = dyn_cast<scf::IndexSwitchOp>(op))
      integers.insert(choice.getCases().begin(), choice.getCases().end());
    if (auto name = op->getAttrOfType<FlatSymbolRefAttr>("variable");
        name && !isa<replica::AssignOp>(op))
      read.insert(name.getAttr());
  });
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto binding =
            function.getArgAttrOfType<device::BindingAttr>(i, "device.binding");
        binding && !function.getArgument(i).use_empty())
      read.insert(StringAttr::get(function.getContext(), binding.getName()));
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// The pseudo-random numbers of one draw.
class RandomInputs::Source {
public:
  Source(const RandomInputs &draws, uint64_t number)
      : draws(draws), number(number), state(number * 0x2545f4914f6cdd1d + 7) {}

  /// SplitMix64: the same numbers on every platform.
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t limit) { return next() % limit; }

  /// Early draws fill tensors with one number each, which makes short examples.
  Data drawValue(Type type, ArrayRef<int64_t> shape) {
    Element element = *interpret::getElement(type);
    Data value(element.lane, shape);
    bool isFilled = value.size() > kLargestDrawn ||
                    (number % 2 == 0 && number < kPlainDraws);
    Data one = drawNumber(element);
    for (int64_t i = 0; i < value.size(); ++i) {
      if (!isFilled && i > 0)
        one = drawNumber(element);
      if (element.lane == Lane::Float)
        value.mutableAs<float>()[i] = one.as<float>()[0];
      else if (element.lane == Lane::Double)
        value.mutableAs<double>()[i] = one.as<double>()[0];
      else
        value.mutableAs<uint64_t>()[i] = one.intAt(0);
    }
    return value;
  }

private:
  Data drawNumber(const Element &element) {
    Data value(element.lane, {});
    if (element.lane == Lane::Int) {
      value.mutableAs<uint64_t>()[0] = static_cast<uint64_t>(drawInteger()) &
                                       interpret::widthMask(element.width);
    } else if (element.lane == Lane::Double) {
      value.mutableAs<double>()[0] = drawFloat();
    } else {
      auto drawn = static_cast<float>(drawFloat());
      interpret::roundLanes(element.rounding, &drawn, 1);
      value.mutableAs<float>()[0] = drawn;
    }
    return value;
  }

  int64_t drawInteger() {
    static constexpr int64_t kPlain[] = {0, 1, 2, 3, 0, 1, -1, 5};
    if (!draws.integers.empty() && below(3) == 0)
      return draws.integers[below(draws.integers.size())] +
             static_cast<int64_t>(below(3)) - 1;
    return below(8) > 0 ? kPlain[below(std::size(kPlain))]
                        : static_cast<int64_t>(below(64)) - 16;
  }

  double drawFloat() {
    static constexpr double kPlain[] = {0.0, 1.0,  -1.0, 0.5,  2.0,
                                        3.0, -0.5, 0.25, 10.0, 100.0};
    static const double kOdd[] = {-0.0,     1e9,       -1e9, 1e-9,
                                  INFINITY, -INFINITY, NAN,  NAN};
    if (number >= kPlainDraws && below(6) == 0)
      return kOdd[below(std::size(kOdd))];
    if (!draws.floats.empty() && below(3) == 0) {
      auto constant =
          std::bit_cast<double>(draws.floats[below(draws.floats.size())]);
      switch (below(5)) {
      case 0:
        return constant + 1;
      case 1:
        return constant - 1;
      case 2:
        return constant * 2;
      case 3:
        return constant / 2;
      default:
        return constant;
      }
    }
    if (below(8) > 0)
      return kPlain[below(std::size(kPlain))];
    return (static_cast<double>(below(8001)) - 4000) / 1000;
  }

  const RandomInputs &draws;
  uint64_t number, state;
};

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// The static sizes of `type`, and random ones for its dynamic dimensions.
static SmallVector<int64_t>
drawShape(RankedTensorType type, DenseI64ArrayAttr bounds,
          llvm::function_ref<uint64_t(uint64_t)> below) {
  SmallVector<int64_t> shape(type.getShape());
  unsigned dynamic = 0;
  for (int64_t &size : shape)
    if (ShapedType::isDynamic(size)) {
      int64_t most = bounds ? bounds[dynamic++] : kLargestSize;
      size = static_cast<int64_t>(below(std::min(most, 2 * kLargestSize) + 1));
    }
  return shape;
}

int64_t RandomInputs::getSize() {
  uint64_t size = 0;
  auto add = [&](Type type, uint64_t count) {
    auto tensor =
        dyn_cast_or_null<RankedTensorType>(replica::getComponent(type));
    if (!tensor || !tensor.hasStaticShape())
      return;
    for (int64_t dimension : tensor.getShape())
      count = llvm::SaturatingMultiply<uint64_t>(count, dimension);
    size = llvm::SaturatingAdd(size, count);
  };
  for (BlockArgument argument : function.getArguments()) {
    if (auto iterator = dyn_cast<replica::IteratorType>(argument.getType()))
      llvm::for_each(iterator.getElements(),
                     [&](Type type) { add(type, replicas * kBatches); });
    else if (!argument.use_empty())
      add(argument.getType(), replicas);
  }
  for (auto variable : module.getOps<replica::VariableOp>())
    if (read.contains(variable.getSymNameAttr()))
      add(variable.getType(), 1);
  return static_cast<int64_t>(
      std::min<uint64_t>(size, std::numeric_limits<int64_t>::max()));
}

InputSample RandomInputs::draw(uint64_t number) {
  Source source(*this, number);
  auto below = [&](uint64_t limit) { return source.below(limit); };
  // Either one value for all replicas, or one for a single replica and another
  // for the rest, or a value of its own for each replica.
  auto drawEach = [&](Type given, DenseI64ArrayAttr bounds, bool isEqual) {
    auto type = cast<RankedTensorType>(replica::getComponent(given));
    auto drawOne = [&] {
      return source.drawValue(type, drawShape(type, bounds, below));
    };
    std::vector<Data> values(replicas);
    uint64_t kind = isEqual ? 0 : 1 + below(3);
    uint64_t single = below(replicas);
    Data one = drawOne(), other = drawOne();
    for (auto [replica, value] : llvm::enumerate(values))
      value = kind == 0           ? one
              : kind == 1         ? drawOne()
              : replica == single ? one
                                  : other;
    return values;
  };

  InputSample draw;
  draw.arguments.assign(replicas,
                        std::vector<Data>(function.getNumArguments()));
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    Type type = function.getArgumentTypes()[i];
    if (auto iterator = dyn_cast<replica::IteratorType>(type)) {
      for (size_t batch = 0; batch < kBatches; ++batch) {
        std::vector<Data> &tensors = draw.batches.emplace_back();
        for (Type tensor : iterator.getElements())
          tensors.push_back(
              Data::perReplica(drawEach(tensor, {}, below(4) == 0)));
      }
      continue;
    }
    auto tensor =
        dyn_cast_or_null<RankedTensorType>(replica::getComponent(type));
    if (!isGiven(function, i) || !tensor)
      continue;
    if (function.getArgument(i).use_empty() && tensor.hasStaticShape()) {
      for (std::vector<Data> &mine : draw.arguments)
        mine[i] =
            Data::zeros(interpret::getElement(tensor)->lane, tensor.getShape());
      continue;
    }
    auto bounds =
        function.getArgAttrOfType<DenseI64ArrayAttr>(i, "replica.bounds");
    for (auto [replica, value] : llvm::enumerate(
             drawEach(type, bounds, isShared(function, i) || below(4) == 0)))
      draw.arguments[replica][i] = value;
  }
  for (auto variable : module.getOps<replica::VariableOp>()) {
    auto type = cast<RankedTensorType>(variable.getType());
    bool matters = read.contains(variable.getSymNameAttr()) ||
                   type.getNumElements() <= kLargestDrawn;
    draw.variables[variable.getSymNameAttr()] =
        matters
            ? source.drawValue(type, type.getShape())
            : Data::zeros(interpret::getElement(type)->lane, type.getShape());
  }
  return draw;
}
