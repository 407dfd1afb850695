//===- LibraryCalls.h - what the stand-ins for libraries share --*- C++ -*-===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_LIBRARYCALLS_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_LIBRARYCALLS_H

#include "Context.h"

#include <functional>

namespace lockstep::standin {

/// Types of elements.
enum class Float { F16, BF16, F32, F64 };

uint64_t sizeOf(Float type);
double load(const std::byte *from, Float type);
/// Rounds to f32, and then to the type, unless it is f64.
void store(std::byte *to, Float type, double value);
/// As `store` and `load` do it.
float roundTo(float value, Float type);
/// The nearest number with 10 explicit bits of the mantissa; ties go away from
/// zero.
float roundToTf32(float value);

/// Alignment that the libraries ask for.
inline constexpr uint64_t leastAlignment = 16;

/// Whether it is aligned memory of the context.
bool isOf(const Context *context, const void *address, uint64_t bytes);
std::byte *hostOf(const void *address);

/// Lets a stream compute something, which fills its working memory, and finds
/// an error at its end if another call has done so meanwhile.
void submitCall(Context *context, Stream *stream, void *workspace,
                uint64_t bytes, std::function<void()> compute);

/// Counts a call of a library's function, which is the caller.
void countCall(const char *name = __builtin_FUNCTION());

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_LIBRARYCALLS_H
