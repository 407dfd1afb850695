//===- NativeKernels.cpp - executes kernels natively ----------------------===//

#include "tools/lockstep-opt/NativeKernels.h"

#include "dialect/Device/DeviceDialect.h"
#include "runtime/device/cpu/CpuBinary.h"

#include "llvm/Support/MathExtras.h"

#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;

namespace lockstep::opt {

using interpret::Element;
using interpret::Value;

namespace {

/// A shared object from memory.
class Library {
public:
  explicit Library(ArrayRef<char> object)
      : file(::memfd_create("lockstep-kernels", MFD_CLOEXEC)) {
    if (file < 0 || ::write(file, object.data(), object.size()) !=
                        static_cast<ssize_t>(object.size()))
      return;
    handle = ::dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(),
                      RTLD_NOW | RTLD_LOCAL);
  }
  ~Library() {
    if (handle)
      ::dlclose(handle);
    if (file >= 0)
      ::close(file);
  }
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;

  runtime::KernelFunction find(StringRef symbol) const {
    return handle ? reinterpret_cast<runtime::KernelFunction>(
                        ::dlsym(handle, symbol.str().c_str()))
                  : nullptr;
  }

private:
  int file;
  void *handle = nullptr;
};

/// Memory as the runtime passes it to kernels, filled with NaNs.
class Buffer {
public:
  explicit Buffer(size_t bytes) : storage(bytes + kAlignment, std::byte(0xf5)) {
    auto address = reinterpret_cast<uintptr_t>(storage.data());
    begin = storage.data() + (llvm::alignTo(address, kAlignment) - address);
  }
  std::byte *data() const { return begin; }

private:
  static constexpr size_t kAlignment = 64;
  std::vector<std::byte> storage;
  std::byte *begin;
};

size_t getBytes(RankedTensorType type) {
  return type.getNumElements() *
         interpret::storedBytes(*interpret::getElement(type.getElementType()));
}

/// Runs all tiles of a kernel once.
void run(device::KernelOp kernel, runtime::KernelFunction function,
         uint64_t seed, Outcomes &outcomes) {
  std::vector<Buffer> buffers;
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    Value value = draw((kernel.getSymName() + " argument " + Twine(i)).str(),
                       tensor.getElementType(), tensor.getShape(), seed);
    std::vector<std::byte> bytes = interpret::toBytes(
        *interpret::getElement(tensor.getElementType()), value);
    buffers.emplace_back(bytes.size());
    std::memcpy(buffers.back().data(), bytes.data(), bytes.size());
  }
  size_t firstResult = buffers.size();
  for (Type type : kernel.getResultTypes())
    buffers.emplace_back(getBytes(cast<RankedTensorType>(type)));
  buffers.emplace_back(kernel.getScratch() * kernel.getGrid());
  std::vector<void *> pointers;
  for (const Buffer &buffer : buffers)
    pointers.push_back(buffer.data());
  for (int64_t tile = 0; tile < static_cast<int64_t>(kernel.getGrid()); ++tile)
    function(pointers.data(), nullptr, tile);
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    Value value = interpret::fromBytes(
        *interpret::getElement(tensor.getElementType()), tensor.getShape(),
        {buffers[firstResult + i].data(), getBytes(tensor)});
    // All replicas have equal inputs and results.
    outcomes[(kernel.getSymName() + ": result " + Twine(i)).str()] = {
        {value, value}, tensor.getElementType()};
  }
}

} // namespace

Outcomes executeNatively(ModuleOp module, uint64_t seed) {
  Outcomes outcomes;
  for (auto binary : module.getOps<device::BinaryOp>()) {
    auto object = dyn_cast<DenseElementsAttr>(binary.getObject());
    if (!object || !runtime::cpuSupportsTarget(binary.getTarget().str()))
      continue;
    Library library(object.getRawData());
    for (auto kernel : module.getOps<device::KernelOp>()) {
      auto isStatic = [](Type type) {
        auto tensor = dyn_cast<RankedTensorType>(type);
        return tensor && tensor.hasStaticShape() &&
               interpret::getElement(tensor.getElementType());
      };
      runtime::KernelFunction function =
          library.find(kernel.getCode().value_or(kernel.getSymName()));
      if (function && llvm::all_of(kernel.getArgumentTypes(), isStatic) &&
          llvm::all_of(kernel.getResultTypes(), isStatic))
        run(kernel, function, seed, outcomes);
    }
  }
  return outcomes;
}

} // namespace lockstep::opt
