//===- MpiWire.cpp --------------------------------------------------------===//

#include "runtime/transport/mpi/MpiWire.h"

#include "runtime/support/Plugin.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <iterator>
#include <sched.h>

#include <fmt/format.h>

namespace lockstep::runtime {

/// The error of a call of MPI, if there is one.
static Status check(int result, const char *what) {
  if (result == MPI_SUCCESS)
    return Status::success();
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(result, text, &length);
  return systemError(
      fmt::format("{}: {}", what, std::string_view(text, size_t(length))));
}

#define LOCKSTEP_MPI(call) LOCKSTEP_RETURN_IF_ERROR(check(call, #call))

namespace {

/// A datatype of bytes at absolute addresses, in this order.
class ByteType {
public:
  void add(const std::byte *bytes, uint64_t size) {
    // Lengths are of type int.
    constexpr uint64_t most = uint64_t(1) << 30;
    for (uint64_t offset = 0; offset < size; offset += most) {
      MPI_Aint address = 0;
      MPI_Get_address(bytes + offset, &address);
      addresses.push_back(address);
      lengths.push_back(int(std::min(most, size - offset)));
    }
  }

  ByteType() = default;
  ByteType(const ByteType &) = delete;
  ~ByteType() {
    if (type != MPI_DATATYPE_NULL)
      MPI_Type_free(&type);
  }

  Status create() {
    LOCKSTEP_MPI(MPI_Type_create_hindexed(int(lengths.size()), lengths.data(),
                                          addresses.data(), MPI_BYTE, &type));
    LOCKSTEP_MPI(MPI_Type_commit(&type));
    return Status::success();
  }

  /// Valid while there is a communication with it, even if this object is not.
  MPI_Datatype type = MPI_DATATYPE_NULL;

private:
  std::vector<MPI_Aint> addresses;
  std::vector<int> lengths;
};

} // namespace

//===----------------------------------------------------------------------===//
// Begin and end
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<Wire>> MpiWire::open() {
  std::unique_ptr<MpiWire> wire(new MpiWire);
  LOCKSTEP_RETURN_IF_ERROR(wire->initialize());
  return std::unique_ptr<Wire>(std::move(wire));
}

MpiWire::~MpiWire() = default;

Status MpiWire::initialize() {
  int isInitialized = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&isInitialized);
  // It would have to outlive this wire.
  if (isInitialized)
    return unsupported(
        "expected that the program leaves MPI to the transport 'mpi', found "
        "that it has initialized MPI itself");
  LOCKSTEP_MPI(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level));
  if (level < MPI_THREAD_FUNNELED)
    return unsupported("expected an MPI that a program with threads can use, "
                       "found one without MPI_THREAD_FUNNELED");
  LOCKSTEP_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &communicator));
  LOCKSTEP_MPI(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN));
  LOCKSTEP_RETURN_IF_ERROR(findPlace());
  arriving.resize(ownPlace.count);
  for (size_t slot = 0; slot < packets.size(); ++slot)
    LOCKSTEP_RETURN_IF_ERROR(receiveNextPacket(slot));
  return Status::success();
}

Status MpiWire::findPlace() {
  int index = 0, count = 0;
  LOCKSTEP_MPI(MPI_Comm_rank(communicator, &index));
  LOCKSTEP_MPI(MPI_Comm_size(communicator, &count));
  ownPlace.index = uint32_t(index);
  ownPlace.count = uint32_t(count);

  uint32_t version = pluginVersion;
  std::vector<uint32_t> versions(ownPlace.count);
  LOCKSTEP_MPI(MPI_Allgather(&version, 1, MPI_UINT32_T, versions.data(), 1,
                             MPI_UINT32_T, communicator));
  for (uint32_t i = 0; i < ownPlace.count; ++i)
    if (versions[i] != version)
      return unsupported(fmt::format(
          "expected the same version of the runtime in all processes, found "
          "{} in process {} and {} in process {}",
          version, ownPlace.index, versions[i], i));

  MPI_Comm host = MPI_COMM_NULL;
  LOCKSTEP_MPI(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, index,
                                   MPI_INFO_NULL, &host));
  int countOnHost = 0;
  LOCKSTEP_MPI(MPI_Comm_size(host, &countOnHost));
  // Processes of a host are ordered by their number among all.
  uint32_t first = ownPlace.index;
  LOCKSTEP_MPI(MPI_Bcast(&first, 1, MPI_UINT32_T, 0, host));
  ownPlace.firstOnHost.resize(ownPlace.count);
  LOCKSTEP_MPI(MPI_Allgather(&first, 1, MPI_UINT32_T,
                             ownPlace.firstOnHost.data(), 1, MPI_UINT32_T,
                             communicator));
  // By MPI's binding of processes, each may have CPUs of its own.
  cpu_set_t own;
  CPU_ZERO(&own);
  if (::sched_getaffinity(0, sizeof own, &own) != 0)
    CPU_SET(0, &own);
  std::vector<cpu_set_t> sets(static_cast<size_t>(countOnHost));
  LOCKSTEP_MPI(MPI_Allgather(&own, sizeof own, MPI_BYTE, sets.data(),
                             sizeof own, MPI_BYTE, host));
  ownPlace.sharingCpus =
      uint32_t(std::ranges::count_if(sets, [&](const cpu_set_t &set) {
        cpu_set_t both;
        CPU_AND(&both, &set, &own);
        return CPU_COUNT(&both) > 0;
      }));
  LOCKSTEP_MPI(MPI_Comm_free(&host));
  return Status::success();
}

void MpiWire::close() {
  for (MPI_Request &request : packetRequests)
    if (request != MPI_REQUEST_NULL) {
      MPI_Cancel(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  MPI_Comm_free(&communicator);
  MPI_Finalize();
}

//===----------------------------------------------------------------------===//
// Sending
//===----------------------------------------------------------------------===//

Status MpiWire::send(uint32_t process, const FrameHeader &header,
                     std::span<const MessagePiece> pieces, void *frame) {
  auto packet = std::make_unique<Packet>();
  packet->header = header;
  bool isShort = Packet::holds(header);
  if (isShort) {
    std::byte *next = packet->bytes.data();
    for (const MessagePiece &piece : pieces)
      if (piece.size)
        next = std::copy_n(piece.bytes, piece.size, next);
  }
  MPI_Request request = MPI_REQUEST_NULL;
  const void *address = packet.get();
  LOCKSTEP_MPI(MPI_Isend(address, Packet::sizeFor(header), MPI_BYTE,
                         int(process), headerTag, communicator, &request));
  sendRequests.push_back(request);
  sending.push_back({std::move(packet), isShort ? frame : nullptr});
  if (isShort)
    return Status::success();
  ByteType bytes;
  for (const MessagePiece &piece : pieces)
    bytes.add(piece.bytes, piece.size);
  LOCKSTEP_RETURN_IF_ERROR(bytes.create());
  LOCKSTEP_MPI(MPI_Isend(MPI_BOTTOM, 1, bytes.type, int(process), bytesTag,
                         communicator, &request));
  sendRequests.push_back(request);
  sending.push_back({nullptr, frame});
  return Status::success();
}

Expected<bool> MpiWire::pollSends(Events &events) {
  if (sendRequests.empty())
    return false;
  completed.resize(sendRequests.size());
  int count = 0;
  LOCKSTEP_MPI(MPI_Testsome(int(sendRequests.size()), sendRequests.data(),
                            &count, completed.data(), MPI_STATUSES_IGNORE));
  for (int i = 0; i < count; ++i)
    if (void *frame = sending[size_t(completed[size_t(i)])].frame)
      events.sent(frame);
  // Those that have completed are null now.
  size_t kept = 0;
  for (size_t i = 0; i < sendRequests.size(); ++i)
    if (sendRequests[i] != MPI_REQUEST_NULL) {
      sendRequests[kept] = sendRequests[i];
      sending[kept++] = std::move(sending[i]);
    }
  sendRequests.resize(kept);
  sending.resize(kept);
  return count > 0;
}

//===----------------------------------------------------------------------===//
// Receiving
//===----------------------------------------------------------------------===//

Status MpiWire::receiveNextPacket(size_t slot) {
  LOCKSTEP_MPI(MPI_Irecv(&packets[slot], sizeof(Packet), MPI_BYTE,
                         MPI_ANY_SOURCE, headerTag, communicator,
                         &packetRequests[slot]));
  return Status::success();
}

Status MpiWire::beginArrival(uint32_t process, const Packet &packet) {
  Arriving &frame = arriving[process].emplace_back();
  ++arrivingCount;
  frame.header = packet.header;
  uint64_t size = frame.bytes.size = packet.header.size;
  frame.bytes.bytes.reset(new (std::nothrow) std::byte[size]);
  if (!frame.bytes.bytes)
    return systemError(fmt::format(
        "no memory for {} bytes that process {} has sent", size, process));
  if (Packet::holds(packet.header)) {
    std::copy_n(packet.bytes.data(), size, frame.bytes.bytes.get());
    return Status::success();
  }
  ByteType bytes;
  bytes.add(frame.bytes.bytes.get(), size);
  LOCKSTEP_RETURN_IF_ERROR(bytes.create());
  LOCKSTEP_MPI(MPI_Irecv(MPI_BOTTOM, 1, bytes.type, int(process), bytesTag,
                         communicator, &frame.request));
  return Status::success();
}

Expected<bool> MpiWire::pollPackets() {
  bool progress = false;
  for (;; oldest = (oldest + 1) % packets.size()) {
    int isComplete = 0;
    MPI_Status status;
    LOCKSTEP_MPI(MPI_Test(&packetRequests[oldest], &isComplete, &status));
    if (!isComplete)
      return progress;
    progress = true;
    LOCKSTEP_RETURN_IF_ERROR(
        beginArrival(uint32_t(status.MPI_SOURCE), packets[oldest]));
    LOCKSTEP_RETURN_IF_ERROR(receiveNextPacket(oldest));
  }
}

/// Reports the frames that are complete, those of each process in order.
Expected<bool> MpiWire::pollArrivals(Events &events) {
  if (arrivingCount == 0)
    return false;
  bool progress = false;
  for (uint32_t process = 0; process < arriving.size(); ++process)
    for (std::deque<Arriving> &frames = arriving[process]; !frames.empty();) {
      Arriving &frame = frames.front();
      int isComplete = 0;
      LOCKSTEP_MPI(MPI_Test(&frame.request, &isComplete, MPI_STATUS_IGNORE));
      if (!isComplete)
        break;
      progress = true;
      events.received(process, frame.header, std::move(frame.bytes));
      frames.pop_front();
      --arrivingCount;
    }
  return progress;
}

Expected<bool> MpiWire::poll(Events &events) {
  Expected<bool> packetProgress = pollPackets();
  if (!packetProgress)
    return packetProgress;
  Expected<bool> arrivalProgress = pollArrivals(events);
  if (!arrivalProgress)
    return arrivalProgress;
  Expected<bool> sendProgress = pollSends(events);
  if (!sendProgress)
    return sendProgress;
  return *packetProgress || *arrivalProgress || *sendProgress;
}

} // namespace lockstep::runtime
