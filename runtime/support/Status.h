//===- Status.h - errors without exceptions ---------------------*- C++ -*-===//
//
// The runtime throws no exceptions. A function that can fail returns a
// `Status`, or an `Expected<T>` if it has a result. Messages follow the
// project's rule: they start in lower case, name what was expected and what was
// found, and need no prefix to be understood.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_STATUS_H
#define LOCKSTEP_RUNTIME_SUPPORT_STATUS_H

#include <cassert>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace lockstep::runtime {

/// What kind of failure a `Status` reports; the numbers are those of the C API
/// and never change.
enum class StatusCode : uint8_t {
  ok = 0,
  /// The request is invalid (unknown name, wrong size).
  invalidArgument = 1,
  /// A file is truncated, corrupted or inconsistent.
  corrupted = 2,
  /// Well formed, but not for this machine or this version of Lockstep.
  unsupported = 3,
  /// A call of the operating system failed: file not found, out of memory, disk
  /// full.
  system = 4,
  /// No replica made progress for the session's deadline; the session is
  /// poisoned.
  deadline = 5,
  /// `--check-races` found two unordered accesses; the session is poisoned.
  race = 6,
  /// A value that is only known at run time exceeded its bound (size, branch);
  /// the session is poisoned.
  outOfRange = 7,
  /// The session was poisoned by an earlier error and runs no program.
  poisoned = 8,
  /// `--check-finite` found a NaN or an infinity; the session is poisoned.
  nonFinite = 9,
  /// Copies of a mirrored variable differ; the session is poisoned.
  diverged = 10,
  /// The caller has aborted the run; the session is poisoned.
  interrupted = 11,
  /// An artifact is not signed by a trusted key.
  untrusted = 12,
};

/// Success, or a code with a message. Cheap to return on success: no
/// allocation.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : statusCode(code), text(std::move(message)) {
    assert(code != StatusCode::ok && "an error needs an error code");
  }

  static Status success() { return {}; }

  bool ok() const { return statusCode == StatusCode::ok; }
  StatusCode code() const { return statusCode; }
  /// Empty on success.
  const std::string &message() const { return text; }

  /// The same error with context: "CONTEXT: message".
  Status withContext(const std::string &context) const {
    return ok() ? Status() : Status(statusCode, context + ": " + text);
  }

private:
  StatusCode statusCode = StatusCode::ok;
  std::string text;
};

inline Status invalidArgument(std::string message) {
  return {StatusCode::invalidArgument, std::move(message)};
}
inline Status corrupted(std::string message) {
  return {StatusCode::corrupted, std::move(message)};
}
inline Status unsupported(std::string message) {
  return {StatusCode::unsupported, std::move(message)};
}
inline Status untrusted(std::string message) {
  return {StatusCode::untrusted, std::move(message)};
}
inline Status systemError(std::string message) {
  return {StatusCode::system, std::move(message)};
}

/// A `T`, or the reason why there is none. Access to the value of an error is a
/// programming mistake (asserted).
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Expected(Status error) : state(std::in_place_index<1>, std::move(error)) {
    assert(!std::get<1>(state).ok() && "success needs a value");
  }

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }

  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(value()); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

  /// Success, or the error.
  Status status() const { return ok() ? Status() : std::get<1>(state); }
  /// Moves the value to `place`; on an error, `place` is unchanged.
  Status moveTo(T &place) && {
    if (ok())
      place = std::move(value());
    return status();
  }

private:
  T &value() {
    assert(ok() && "value of an error");
    return *std::get_if<0>(&state);
  }
  const T &value() const {
    assert(ok() && "value of an error");
    return *std::get_if<0>(&state);
  }

  std::variant<T, Status> state;
};

/// Returns from the enclosing function if `expression` is an error.
#define LOCKSTEP_RETURN_IF_ERROR(expression)                                   \
  do {                                                                         \
    if (::lockstep::runtime::Status lockstepStatus = (expression);             \
        !lockstepStatus.ok())                                                  \
      return lockstepStatus;                                                   \
  } while (false)

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_STATUS_H
