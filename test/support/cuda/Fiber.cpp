//===- Fiber.cpp - stacks that a thread switches between ------------------===//

#include "Fiber.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <sys/mman.h>

#ifndef __x86_64__
#error "fibers are implemented for x86-64"
#endif

// Saves the registers that a call preserves and the stack pointer, and loads
// those of the other stack.
extern "C" void lockstepStandinSwitch(void **saved, void *next);
asm(R"(
  .text
  .p2align 4
  .hidden lockstepStandinSwitch
  .globl lockstepStandinSwitch
  .type lockstepStandinSwitch, @function
lockstepStandinSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
  .size lockstepStandinSwitch, .-lockstepStandinSwitch
)");

namespace lockstep::standin {

static constexpr size_t guardBytes = 4096;

Fiber::Fiber() {
  void *memory = mmap(nullptr, guardBytes + stackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  mprotect(memory, guardBytes, PROT_NONE);
  stack = static_cast<std::byte *>(memory);
  // Fibers that all begin at the same place of a page compete for the same
  // lines of a cache.
  constexpr size_t lineBytes = 64, stepLines = 5, pageLines = 48;
  static std::atomic<size_t> count{0};
  unusedBytes = count++ * stepLines % pageLines * lineBytes;
}

Fiber::~Fiber() {
  if (stack)
    munmap(stack, guardBytes + stackBytes);
}

void Fiber::start(void (*function)()) {
  // The address to return to, which is never used, keeps the alignment that a
  // call has; below it the function and the six saved registers.
  auto *top =
      reinterpret_cast<void **>(stack + guardBytes + stackBytes - unusedBytes);
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(function);
  for (int i = 0; i < 6; ++i)
    *--top = nullptr;
  pointer = top;
}

void Fiber::enter(void *&caller) { lockstepStandinSwitch(&caller, pointer); }

void Fiber::leave(void *caller) { lockstepStandinSwitch(&pointer, caller); }

} // namespace lockstep::standin
