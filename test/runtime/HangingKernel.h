//===- HangingKernel.h - a kernel that hangs, for tests ---------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_HANGINGKERNEL_H
#define LOCKSTEP_TEST_RUNTIME_HANGINGKERNEL_H

#include "FakeClock.h"
#include "TestProgram.h"

#include <atomic>
#include <thread>

namespace lockstep::runtime::test {

/// The state shared by a hanging kernel and its test. It is never freed: the
/// kernel and its worker outlive the test, and each repetition of the test has
/// its own.
struct Hang {
  FakeClock clock;
  std::atomic<bool> hangs{false}, mayReturn{false}, hasReturned{false};
};
/// The state of the current test.
inline std::atomic<Hang *> hang;

/// Hangs until the test lets it return; as if it read and wrote `operands`.
inline void callHanging(TestProgram &p,
                        const std::vector<uint32_t> &operands = {}) {
  p.call(
      [](void *) {
        Hang *mine = hang;
        mine->hangs = true;
        while (!mine->mayReturn)
          std::this_thread::yield();
        mine->hasReturned = true;
      },
      operands, operands);
}

/// Keeps its worker until the other one hangs.
inline void callWaitingForHang(TestProgram &p) {
  p.call([](void *) {
    while (!hang.load()->hangs)
      std::this_thread::yield();
  });
}

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_HANGINGKERNEL_H
