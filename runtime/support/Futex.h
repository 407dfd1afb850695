//===- Futex.h - sleeping until a word changes ------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_FUTEX_H
#define LOCKSTEP_RUNTIME_SUPPORT_FUTEX_H

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lockstep::runtime {

/// Sleeps while `word` is `expected`, but not for longer than `most`, if it is
/// not 0; may wake up spuriously.
inline void futexWait(std::atomic<uint32_t> &word, uint32_t expected,
                      std::chrono::milliseconds most = {}) {
  constexpr long perSecond = 1000, nanoseconds = 1000000;
  timespec time{most.count() / perSecond,
                most.count() % perSecond * nanoseconds};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected,
            most.count() ? &time : nullptr, nullptr, 0);
}

inline void futexWakeAll(std::atomic<uint32_t> &word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

/// Tells the core that this is a spin loop.
inline void spinPause() { __builtin_ia32_pause(); }

/// Lets threads sleep until a notification, without locks in the notifier: take
/// a key, check for work, and sleep only while the key is still current.
class EventCount {
public:
  uint32_t key() const { return count.load(std::memory_order_seq_cst); }
  bool changed(uint32_t key) const {
    return count.load(std::memory_order_acquire) != key;
  }

  void notify() {
    count.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) != 0)
      futexWakeAll(count);
  }

  /// Not for longer than `most`, if it is not 0.
  void sleep(uint32_t key, std::chrono::milliseconds most = {}) {
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    if (count.load(std::memory_order_seq_cst) == key)
      futexWait(count, key, most);
    sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }

private:
  std::atomic<uint32_t> count{0};
  std::atomic<uint32_t> sleepers{0};
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_FUTEX_H
