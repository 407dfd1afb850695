//===- Subnormals.h - how a thread computes subnormal floats ----*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_SUBNORMALS_H
#define LOCKSTEP_RUNTIME_SUPPORT_SUBNORMALS_H

#include <xmmintrin.h>

namespace lockstep::runtime {

/// Decides whether arithmetic of the calling thread replaces subnormal operands
/// and results by zero, until the object is destroyed, and observes it.
/// Processors may take a hundred times as long for an instruction that has a
/// subnormal operand or result, unless it is replaced.
class SubnormalScope {
public:
  explicit SubnormalScope(bool flush) : before(_mm_getcsr()) {
    unsigned control = before & ~(flags | flushing);
    _mm_setcsr(flush ? control | flushing : control);
  }
  SubnormalScope(const SubnormalScope &) = delete;
  ~SubnormalScope() { _mm_setcsr(before); }

  /// Whether an instruction has had a subnormal operand that was not replaced.
  bool hasFound() const { return _mm_getcsr() & subnormalOperand; }

private:
  /// Bits of the register MXCSR (Intel 64 Architectures Software Developer's
  /// Manual, volume 1, 10.2.3): the exceptions that have occurred; results and
  /// operands that are replaced.
  static constexpr unsigned flags = 0x3f, subnormalOperand = 0x2,
                            flushing = 0x8040;
  unsigned before;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_SUBNORMALS_H
