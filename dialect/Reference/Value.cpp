//===- Value.cpp - Values of the interpreter ------------------------------===//

#include "dialect/Reference/Value.h"

#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/TypeUtilities.h"

#include "llvm/Support/ErrorHandling.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <sys/mman.h>

using namespace mlir;

namespace lockstep::interpret {

std::optional<Element> getElement(Type type) {
  if (auto perReplica = dyn_cast<replica::PerReplicaType>(type))
    type = perReplica.getComponent();
  if (auto mirrored = dyn_cast<replica::MirroredType>(type))
    type = mirrored.getComponent();
  type = getElementTypeOrSelf(type);
  if (type.isIndex())
    return Element{Lane::Int, Rounding::None, 64};
  if (auto integer = dyn_cast<IntegerType>(type);
      integer && integer.getWidth() <= 64)
    return Element{Lane::Int, Rounding::None, integer.getWidth()};
  if (type.isF64())
    return Element{Lane::Double, Rounding::None, 64};
  if (type.isF32())
    return Element{Lane::Float, Rounding::None, 32};
  if (type.isF16())
    return Element{Lane::Float, Rounding::Half, 16};
  if (type.isBF16())
    return Element{Lane::Float, Rounding::BFloat, 16};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

float roundToHalf(float value) {
  if (!std::isfinite(value))
    return value;
  float magnitude = std::fabs(value);
  // From 65520 on, the nearest value is 2^16, which overflows.
  if (magnitude >= 65520)
    return std::copysign(INFINITY, value);
  // Values are multiples of 2^-24, above 2^-14 with eleven significant bits.
  int exponent =
      magnitude < std::ldexp(1.0f, -14) ? -24 : std::ilogb(magnitude) - 10;
  return std::copysign(
      std::ldexp(std::nearbyint(std::ldexp(magnitude, -exponent)), exponent),
      value);
}

float roundToBFloat(float value) {
  if (!std::isfinite(value))
    return value;
  auto bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) &
                              0xffff0000u);
}

void roundLanes(Rounding rounding, float *lanes, int64_t count) {
  if (rounding == Rounding::None)
    return;
  for (int64_t i = 0; i < count; ++i)
    lanes[i] = rounding == Rounding::Half ? roundToHalf(lanes[i])
                                          : roundToBFloat(lanes[i]);
}

/// The bits of an f16 value that is held as a float.
static uint16_t halfBits(float value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  float magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7e00;
  if (std::isinf(value))
    return sign | 0x7c00;
  if (magnitude < std::ldexp(1.0f, -14))
    return sign | static_cast<uint16_t>(std::ldexp(magnitude, 24));
  int exponent = std::ilogb(magnitude);
  return sign | static_cast<uint16_t>(
                    ((exponent + 14) << 10) +
                    static_cast<int>(std::ldexp(magnitude, 10 - exponent)));
}

static float fromHalfBits(uint16_t bits) {
  int exponent = (bits >> 10) & 0x1f;
  int mantissa = bits & 0x3ff;
  float magnitude =
      exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
      : exponent < 31
          ? std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25)
      : mantissa == 0 ? INFINITY
                      : NAN;
  return bits & 0x8000 ? -magnitude : magnitude;
}

//===----------------------------------------------------------------------===//
// Value
//===----------------------------------------------------------------------===//

int64_t numElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

Shape rowMajorStrides(ArrayRef<int64_t> shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

Value::Value(Lane lane, ArrayRef<int64_t> shape)
    : heldLane(lane), dims(shape), count(numElements(shape)) {
  if (!dims.empty())
    elements = std::make_shared<std::byte[]>(bytes());
}

/// One array shared by all zeros, as long as the longest requested so far.
static std::shared_ptr<std::byte[]> getZeros(size_t bytes) {
  static std::mutex mutex;
  static std::shared_ptr<std::byte[]> zeros;
  static size_t size = 0;
  std::lock_guard lock(mutex);
  if (bytes > size) {
    // The operating system does not allocate pages that are only read.
    void *pages = mmap(nullptr, bytes, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
      llvm::report_bad_alloc_error("zeros of the interpreter");
    zeros.reset(static_cast<std::byte *>(pages),
                [bytes](std::byte *data) { munmap(data, bytes); });
    size = bytes;
  }
  return zeros;
}

Value Value::zeros(Lane lane, ArrayRef<int64_t> shape) {
  Value value;
  value.heldLane = lane;
  value.dims.assign(shape.begin(), shape.end());
  value.count = numElements(shape);
  if (shape.empty())
    return value;
  value.elements = getZeros(std::max<size_t>(value.bytes(), 1));
  value.knownZero = true;
  return value;
}

Value Value::ofInt(uint64_t bits) {
  Value value;
  value.scalar = bits;
  return value;
}

Value Value::perReplica(std::vector<Value> components) {
  Value value;
  value.parts =
      std::make_shared<const std::vector<Value>>(std::move(components));
  return value;
}

void *Value::mutableData() {
  if (!elements)
    return &scalar;
  if (knownZero) {
    elements = std::make_shared<std::byte[]>(bytes());
    knownZero = false;
  } else if (elements.use_count() > 1) {
    auto copy = std::make_shared_for_overwrite<std::byte[]>(bytes());
    std::memcpy(copy.get(), elements.get(), bytes());
    elements = std::move(copy);
  } else {
    // Another replica may just have released its reference: its reads must
    // happen before the following writes.
    std::atomic_thread_fence(std::memory_order_acquire);
  }
  return elements.get();
}

Value Value::reshaped(ArrayRef<int64_t> shape) const {
  Value result = *this;
  result.dims.assign(shape.begin(), shape.end());
  if (shape.empty() && elements) {
    std::memcpy(&result.scalar, data(), laneBytes(heldLane));
    result.elements.reset();
    result.knownZero = false;
  } else if (!shape.empty() && !elements) {
    result.elements = std::make_shared<std::byte[]>(bytes());
    std::memcpy(result.elements.get(), &scalar, bytes());
  }
  return result;
}

bool Value::isIdentical(const Value &other) const {
  return heldLane == other.heldLane && dims == other.dims &&
         (data() == other.data() || (knownZero && other.knownZero) ||
          std::memcmp(data(), other.data(), bytes()) == 0);
}

void copyStrided(std::byte *to, ArrayRef<int64_t> toStrides,
                 const std::byte *from, ArrayRef<int64_t> fromStrides,
                 ArrayRef<int64_t> sizes, size_t bytes) {
  if (sizes.empty()) {
    std::memcpy(to, from, bytes);
    return;
  }
  if (sizes.size() == 1 && toStrides[0] == 1 && fromStrides[0] == 1) {
    std::memcpy(to, from, sizes[0] * bytes);
    return;
  }
  for (int64_t i = 0; i < sizes[0]; ++i)
    copyStrided(to + i * toStrides[0] * bytes, toStrides.drop_front(),
                from + i * fromStrides[0] * bytes, fromStrides.drop_front(),
                sizes.drop_front(), bytes);
}

Value concatenate(ArrayRef<Value> values, int64_t axis) {
  Shape shape(values[0].shape());
  shape[axis] = 0;
  for (const Value &value : values)
    shape[axis] += value.shape()[axis];
  if (llvm::all_of(values, [](const Value &value) { return value.isZero(); }))
    return Value::zeros(values[0].lane(), shape);
  Value result(values[0].lane(), shape);
  size_t bytes = laneBytes(result.lane());
  Shape strides = rowMajorStrides(shape);
  std::byte *to = result.mutableAs<std::byte>();
  for (const Value &value : values) {
    copyStrided(to, strides, value.as<std::byte>(),
                rowMajorStrides(value.shape()), value.shape(), bytes);
    to += value.shape()[axis] * strides[axis] * bytes;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Bytes and attributes
//===----------------------------------------------------------------------===//

Value fromBytes(const Element &element, ArrayRef<int64_t> shape,
                std::span<const std::byte> bytes) {
  Value value(element.lane, shape);
  size_t stored = storedBytes(element);
  if (element.lane != Lane::Int && element.rounding == Rounding::None) {
    std::memcpy(value.mutableData(), bytes.data(), value.size() * stored);
    return value;
  }
  for (int64_t i = 0; i < value.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * stored, stored);
    if (element.rounding == Rounding::Half)
      value.mutableAs<float>()[i] = fromHalfBits(bits);
    else if (element.rounding == Rounding::BFloat)
      value.mutableAs<float>()[i] =
          std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    else
      value.mutableAs<uint64_t>()[i] = bits & widthMask(element.width);
  }
  return value;
}

std::vector<std::byte> toBytes(const Element &element, const Value &value) {
  size_t stored = storedBytes(element);
  std::vector<std::byte> bytes(value.size() * stored);
  for (int64_t i = 0; i < value.size(); ++i) {
    uint64_t bits = 0;
    if (element.rounding == Rounding::Half)
      bits = halfBits(value.as<float>()[i]);
    else if (element.rounding == Rounding::BFloat)
      bits = std::bit_cast<uint32_t>(value.as<float>()[i]) >> 16;
    else
      std::memcpy(&bits, value.as<std::byte>() + i * laneBytes(value.lane()),
                  laneBytes(value.lane()));
    std::memcpy(bytes.data() + i * stored, &bits, stored);
  }
  return bytes;
}

/// Zero constants of at least this many elements share the array of zeros.
static constexpr int64_t kSharedZeros = 64;

static void setFloat(Value &value, int64_t index, const APFloat &number) {
  if (value.lane() == Lane::Float)
    value.mutableAs<float>()[index] = number.convertToFloat();
  else
    value.mutableAs<double>()[index] = number.convertToDouble();
}

std::optional<Value> fromAttribute(Attribute attribute, Type type) {
  std::optional<Element> element = getElement(type);
  if (!element)
    return std::nullopt;
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return Value::ofInt(integer.getValue().getZExtValue());
  if (auto number = dyn_cast<FloatAttr>(attribute)) {
    Value value(element->lane, {});
    setFloat(value, 0, number.getValue());
    return value;
  }
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasStaticShape())
    return std::nullopt;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || element->width == 1)
      return std::nullopt;
    return fromBytes(*element, shaped.getShape(),
                     std::as_bytes(std::span(blob->getData().data(),
                                             blob->getData().size())));
  }
  auto dense = dyn_cast<DenseElementsAttr>(attribute);
  if (!dense)
    return std::nullopt;
  if (dense.isSplat() && shaped.getNumElements() >= kSharedZeros) {
    auto number = dyn_cast<FloatAttr>(dense.getSplatValue<Attribute>());
    auto integer = dyn_cast<IntegerAttr>(dense.getSplatValue<Attribute>());
    if (number ? number.getValue().isPosZero()
               : integer && integer.getValue().isZero())
      return Value::zeros(element->lane, shaped.getShape());
  }
  Value value(element->lane, shaped.getShape());
  int64_t index = 0;
  if (element->lane == Lane::Int) {
    uint64_t *lanes = value.mutableAs<uint64_t>();
    for (const APInt &number : dense.getValues<APInt>())
      lanes[index++] = number.getZExtValue();
  } else {
    for (const APFloat &number : dense.getValues<APFloat>())
      setFloat(value, index++, number);
  }
  return value;
}

} // namespace lockstep::interpret
