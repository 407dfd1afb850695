//===- Fiber.h - stacks that a thread switches between ----------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_FIBER_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_FIBER_H

#include <cstddef>
#include <utility>

namespace lockstep::standin {

/// A stack with a guard page below, and where its code was left. Not even
/// destructors run when it is started again in the middle of its code.
class Fiber {
public:
  Fiber();
  ~Fiber();
  Fiber(Fiber &&other) noexcept
      : stack(std::exchange(other.stack, nullptr)), pointer(other.pointer),
        unusedBytes(other.unusedBytes) {}
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /// Makes the next `enter` call the function, which must not return.
  void start(void (*function)());
  /// Executes the fiber until it leaves; saves the caller's place.
  void enter(void *&caller);
  /// Returns to the caller's place; the next `enter` continues here.
  void leave(void *caller);

private:
  static constexpr size_t stackBytes = size_t(64) << 10;
  std::byte *stack = nullptr;
  void *pointer = nullptr;
  /// At the top of the stack.
  size_t unusedBytes = 0;
};

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_FIBER_H
