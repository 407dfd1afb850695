//===- Wire.h - frames between processes ------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_WIRE_WIRE_H
#define LOCKSTEP_RUNTIME_TRANSPORT_WIRE_WIRE_H

#include "runtime/support/ProcessPlace.h"
#include "runtime/transport/Network.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lockstep::runtime {

/// The fixed first part of a frame. All processes have the same byte order and
/// the same version of the runtime.
struct FrameHeader {
  enum class Kind : uint32_t {
    /// A `Message`: `id` is its address at the sender.
    message,
    /// The receiver has released the message `id`.
    release,
    /// Text of round `id`: the topic, a zero, and the text.
    post,
    /// `id` is a `StatusCode`, the bytes are the reason.
    abort,
    /// `id` is the progress counter of `from`.
    progress,
    /// The last frame of a process.
    end,
  };
  Kind kind = Kind::end;
  /// Networks of the same processes are numbered from 0.
  uint32_t network = 0;
  /// Executors.
  uint32_t from = 0, to = 0;
  MessageTag tag = {};
  uint64_t id = 0;
  /// Bytes that follow.
  uint64_t size = 0;
};

/// The bytes of a received frame.
struct FrameBytes {
  std::unique_ptr<std::byte[]> bytes;
  uint64_t size = 0;

  std::span<const std::byte> span() const { return {bytes.get(), size}; }
};

/// Carries frames between processes: reliably, and between two processes in the
/// order in which they are sent. One thread uses it.
class Wire {
public:
  /// What `poll` reports.
  class Events {
  public:
    virtual ~Events() = default;
    /// The bytes of a frame are no longer read.
    virtual void sent(void *frame) = 0;
    virtual void received(uint32_t process, const FrameHeader &header,
                          FrameBytes bytes) = 0;
  };

  virtual ~Wire() = default;
  virtual const ProcessPlace &place() const = 0;
  /// Begins to send a frame to another process. Its bytes, `header.size` in all
  /// pieces together, are read until `Events::sent(frame)`. Error: the
  /// connection is lost.
  virtual Status send(uint32_t process, const FrameHeader &header,
                      std::span<const MessagePiece> pieces, void *frame) = 0;
  /// Makes progress, without waiting; true if there has been some. Error: a
  /// connection is lost.
  virtual Expected<bool> poll(Events &events) = 0;
  /// Ends the connections: every process has sent its last frame, and received
  /// those of all others.
  virtual void close() = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_WIRE_WIRE_H
