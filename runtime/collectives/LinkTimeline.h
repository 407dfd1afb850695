//===- LinkTimeline.h - When a link carries collectives ---------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_COLLECTIVES_LINKTIMELINE_H
#define LOCKSTEP_RUNTIME_COLLECTIVES_LINKTIMELINE_H

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::runtime {

/// The seconds of a collective on a link.
struct TransferSeconds {
  /// Those of a collective without bytes.
  double latency = 0;
  double bytes = 0;

  /// `all` is the time of a collective, and `withoutBytes` that of one of the
  /// same kind and members without bytes. The latter may be longer, since the
  /// algorithm depends on the number of bytes. Where an algorithm for many
  /// bytes has more messages, those count as bytes.
  static TransferSeconds split(double all, double withoutBytes) {
    double latency = all < withoutBytes ? all : withoutBytes;
    return {latency, all - latency};
  }
};

/// A link that carries several collectives at once, each on a stream. Their
/// latencies overlap, and their bytes take the link one after the other, in the
/// order in which they start.
class LinkTimeline {
public:
  /// `streams` is positive; with one, latencies follow each other, too.
  explicit LinkTimeline(uint64_t streams = 1) : streams(streams) {
    assert(streams > 0 && "expected a stream");
  }

  static constexpr size_t none = SIZE_MAX;
  struct Transfer {
    size_t stream = 0;
    /// In seconds.
    double begin = 0, end = 0;
    /// The number of the collective for whose stream, or for whose bytes, this
    /// one has waited; `none` if it has not.
    size_t waitedFor = none;
  };

  /// Carries the next collective, which may begin at `ready`: on the stream
  /// that is free first. Collectives are numbered from 0.
  Transfer carry(double ready, TransferSeconds seconds);

  uint64_t getStreams() const { return streams.size(); }
  /// When the link has carried all collectives so far.
  double getEnd() const { return end; }

private:
  struct Stream {
    double free = 0;
    size_t last = none;
  };
  std::vector<Stream> streams;
  double end = 0;
  size_t count = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_COLLECTIVES_LINKTIMELINE_H
