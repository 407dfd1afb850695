//===- MpiWire.h - frames by MPI --------------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_MPI_MPIWIRE_H
#define LOCKSTEP_RUNTIME_TRANSPORT_MPI_MPIWIRE_H

#include "runtime/transport/wire/Wire.h"

#include <array>
#include <deque>
#include <mpi.h>
#include <vector>

namespace lockstep::runtime {

/// The processes that `mpirun` has started. A short frame is one message of
/// MPI. A long one is two: its header, and its bytes, which MPI gathers from
/// the pieces.
class MpiWire final : public Wire {
public:
  /// Initializes MPI. Errors: MPI's own, a program that has initialized it,
  /// processes of different versions.
  static Expected<std::unique_ptr<Wire>> open();
  ~MpiWire() override;

  const ProcessPlace &place() const override { return ownPlace; }
  Status send(uint32_t process, const FrameHeader &header,
              std::span<const MessagePiece> pieces, void *frame) override;
  Expected<bool> poll(Events &events) override;
  void close() override;

private:
  /// The most bytes that travel together with their header.
  static constexpr size_t mostInline = 4096;
  static constexpr int headerTag = 1, bytesTag = 2;

  struct Packet {
    FrameHeader header;
    std::array<std::byte, mostInline> bytes;

    static bool holds(const FrameHeader &header) {
      return header.size <= mostInline;
    }
    static int sizeFor(const FrameHeader &header) {
      return int(sizeof(FrameHeader) + (holds(header) ? header.size : 0));
    }
  };

  /// A message of MPI that is being sent.
  struct Sending {
    /// Null if the bytes are those of a frame.
    std::unique_ptr<Packet> packet;
    /// The frame that ends with this message, if any.
    void *frame = nullptr;
  };

  /// A frame that has begun to arrive.
  struct Arriving {
    FrameHeader header;
    FrameBytes bytes;
    /// MPI_REQUEST_NULL: it is complete.
    MPI_Request request = MPI_REQUEST_NULL;
  };

  MpiWire() = default;
  Status initialize();
  Status findPlace();
  Status receiveNextPacket(size_t slot);
  Status beginArrival(uint32_t process, const Packet &packet);
  Expected<bool> pollPackets();
  Expected<bool> pollArrivals(Events &events);
  Expected<bool> pollSends(Events &events);

  MPI_Comm communicator = MPI_COMM_NULL;
  ProcessPlace ownPlace;

  /// Receives for packets of any process, posted in a ring: the next message is
  /// received by the oldest one.
  std::array<Packet, 16> packets;
  std::array<MPI_Request, 16> packetRequests{};
  size_t oldest = 0;
  /// By process, in the order in which they were sent.
  std::vector<std::deque<Arriving>> arriving;
  size_t arrivingCount = 0;

  std::vector<MPI_Request> sendRequests;
  std::vector<Sending> sending;
  std::vector<int> completed;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_MPI_MPIWIRE_H
