//===- ExchangeTransport.cpp ----------------------------------------------===//

#include "runtime/transport/exchange/ExchangeTransport.h"

#include "runtime/schema/RoleInfo.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::runtime {

Expected<std::unique_ptr<ExchangeTransport>> ExchangeTransport::create(
    std::unique_ptr<ThreadsTransport> threads, Rendezvous &rendezvous,
    const std::vector<const CollectivePlan *> &plans, NetworkInbox &inbox,
    uint32_t program, std::function<std::string(uint32_t)> describe) {
  std::unique_ptr<ExchangeTransport> transport(new ExchangeTransport(
      std::move(threads), rendezvous, inbox, program, std::move(describe)));
  for (const CollectivePlan *plan : plans) {
    while (plan->channel >= transport->channels.size())
      transport->channels.emplace_back();
    if (plan->isLocal() || plan->localCount == 0)
      continue;
    if (Status status = transport->addChannel(*plan); !status.ok())
      return status.withContext(transport->describe(plan->channel));
  }
  return transport;
}

Status ExchangeTransport::addChannel(const CollectivePlan &plan) {
  std::span<const RankRange> executors = inbox.network.executors();
  Expected<Peers> peers = Peers::find(plan, inbox.network);
  if (!peers)
    return peers.status();
  Channel &channel = channels[plan.channel];
  channel.seen = std::vector<std::atomic<uint32_t>>(executors.size());
  if (plan.properties().isReduction) {
    Expected<std::unique_ptr<Exchange>> exchange =
        makeReduceExchange(plan, *threads, std::move(*peers));
    if (!exchange)
      return exchange.status();
    channel.exchange = std::move(*exchange);
  } else if (plan.properties().isMoved()) {
    channel.exchange = makeMoveExchange(plan, *threads, std::move(*peers));
  } else {
    channel.exchange = makeGatherExchange(plan, *threads, std::move(*peers));
  }
  channel.activation.to = inbox.network.self();
  channel.activation.tag = {program, plan.channel, 0, 0};
  for (Exchange::Phase &phase : channel.exchange->phases)
    for (Exchange::Outgoing &outgoing : phase.outgoing) {
      outgoing.message.tag.program = program;
      outgoing.message.tag.channel = plan.channel;
    }
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Called by any worker
//===----------------------------------------------------------------------===//

Status ExchangeTransport::start(const CollectivePlan &plan,
                                const Arrival &arrival) {
  if (plan.isLocal())
    return threads->start(plan, arrival);
  if (plan.dynamic)
    threads->publish(plan, arrival);
  if (!rendezvous.arrive(plan.channel))
    return Status::success();
  Channel &channel = channels[plan.channel];
  LOCKSTEP_RETURN_IF_ERROR(channel.exchange->prepare(arrival.worker));
  channel.activation.tag.epoch = rendezvous.completed(plan.channel) + 1;
  send(channel, 0);
  inbox.network.send(channel.activation);
  return poll(arrival.worker);
}

void ExchangeTransport::send(Channel &channel, uint32_t phase) {
  std::deque<Exchange::Outgoing> &messages =
      channel.exchange->phases[phase].outgoing;
  channel.outstanding += uint32_t(messages.size());
  if (phase + 1 == channel.exchange->phases.size())
    channel.outstandingLast = uint32_t(messages.size());
  for (Exchange::Outgoing &outgoing : messages) {
    outgoing.message.tag.epoch = channel.activation.tag.epoch;
    outgoing.message.pieces = outgoing.pieces;
    inbox.network.send(outgoing.message);
  }
}

Status ExchangeTransport::poll(uint32_t worker) {
  while (inbox.network.hasMail()) {
    // If another worker holds `busy`, that worker processes the messages: it
    // looks for new ones after it has released `busy`, and then sees all that
    // this worker has seen, since both access `busy` by an atomic exchange.
    if (inbox.busy.exchange(true, std::memory_order_acq_rel))
      return Status::success();
    bool reading = inbox.network.beginReading();
    Status status = reading ? drain(worker) : Status::success();
    inbox.busy.exchange(false, std::memory_order_acq_rel);
    // If another executor has aborted the run, messages must not be read. This
    // is not an error of the current command: the executor's loop detects and
    // reports the abort.
    if (!reading || !status.ok())
      return status;
  }
  return Status::success();
}

bool ExchangeTransport::hasArrived(uint32_t channel, uint32_t epoch,
                                   uint32_t rank) const {
  if (channel >= channels.size())
    return false;
  std::span<const RankRange> executors = inbox.network.executors();
  for (size_t i = 0; i < channels[channel].seen.size(); ++i)
    if (executors[i].contains(rank))
      // Epochs may wrap around, so their difference is compared.
      return int32_t(channels[channel].seen[i].load(std::memory_order_relaxed) -
                     epoch) >= 0;
  return false;
}

bool ExchangeTransport::seesArrival(uint32_t channel, uint32_t rank) const {
  if (channel >= channels.size() || !channels[channel].exchange)
    return false;
  const Exchange &exchange = *channels[channel].exchange;
  std::span<const RankRange> executors = inbox.network.executors();
  return std::ranges::any_of(
      exchange.phases.front().senders, [&](const Exchange::Sender &sender) {
        return executors[exchange.peers[sender.peer].executor].contains(rank);
      });
}

//===----------------------------------------------------------------------===//
// Called by one worker at a time, which processes the mailbox
//===----------------------------------------------------------------------===//

Status ExchangeTransport::begin() {
  std::vector<Message *> messages = std::move(inbox.early[program]);
  inbox.early[program].clear();
  for (Message *message : messages)
    LOCKSTEP_RETURN_IF_ERROR(dispatch(*message, 0));
  return Status::success();
}

Status ExchangeTransport::drain(uint32_t worker) {
  Status status;
  Message *next = nullptr;
  for (Message *message = inbox.network.receive(); message && status.ok();
       message = next) {
    next = message->next;
    status = dispatch(*message, worker);
  }
  inbox.network.endReading();
  return status;
}

/// The sender of a message of another executor in its phase; null if it is not
/// expected to send one.
static const Exchange::Sender *senderOf(const Exchange &exchange,
                                        const Message &message) {
  for (const Exchange::Sender &sender :
       exchange.phases[message.tag.part].senders)
    if (exchange.peers[sender.peer].executor == message.from)
      return &sender;
  return nullptr;
}

static Status notExpected(const Message &message) {
  return corrupted(
      fmt::format("executor {} has sent a message that is not expected of it",
                  message.from));
}

Status ExchangeTransport::dispatch(Message &message, uint32_t worker) {
  const MessageTag &tag = message.tag;
  if (tag.program != program && tag.program < inbox.early.size()) {
    inbox.early[tag.program].push_back(&message);
    return Status::success();
  }
  if (tag.program != program || tag.channel >= channels.size() ||
      !channels[tag.channel].exchange ||
      tag.part >= channels[tag.channel].exchange->phases.size())
    return corrupted(
        fmt::format("executor {} has sent a message for program {}, channel "
                    "{}, part {}, which do not exist here",
                    message.from, tag.program, tag.channel, tag.part));
  Channel &channel = channels[tag.channel];
  if (&message == &channel.activation) {
    channel.active = true;
    channel.epoch = tag.epoch;
    channel.phase = channel.arrived = 0;
  } else if (message.from == inbox.network.self()) {
    --channel.outstanding;
    channel.outstandingLast -= tag.part + 1 == channel.exchange->phases.size();
  } else {
    const Exchange::Sender *sender = senderOf(*channel.exchange, message);
    if (!sender || channel.hasPassed(tag))
      return notExpected(message).withContext(describe(tag.channel));
    for (uint32_t peer : sender->sources)
      channel.seen[channel.exchange->peers[peer].executor].store(
          tag.epoch, std::memory_order_relaxed);
    channel.early.push_back(&message);
  }
  if (!channel.active)
    return Status::success();
  Status status = advance(channel, worker);
  return status.ok() ? status : status.withContext(describe(tag.channel));
}

Status ExchangeTransport::receive(Channel &channel, Message &message) {
  uint32_t peer = senderOf(*channel.exchange, message)->peer;
  Message *&received = channel.exchange->received[peer];
  if (received)
    return notExpected(message);
  received = &message;
  ++channel.arrived;
  return Status::success();
}

Status ExchangeTransport::advance(Channel &channel, uint32_t worker) {
  Exchange &exchange = *channel.exchange;
  while (channel.phase < exchange.phases.size()) {
    Status status;
    std::erase_if(channel.early, [&](Message *message) {
      bool isExpected = message->tag.epoch == channel.epoch &&
                        message->tag.part == channel.phase;
      if (isExpected && status.ok())
        status = receive(channel, *message);
      return isExpected;
    });
    LOCKSTEP_RETURN_IF_ERROR(status);
    if (channel.arrived < exchange.phases[channel.phase].senders.size())
      return Status::success();
    LOCKSTEP_RETURN_IF_ERROR(exchange.finish(channel.phase, worker));
    bool isLast = channel.phase + 1 == exchange.phases.size();
    for (Message *&message : exchange.received)
      if (message) {
        if (exchange.passesOn && !isLast)
          channel.kept.push_back(message);
        else
          inbox.network.release(*message);
        message = nullptr;
      }
    channel.arrived = 0;
    if (++channel.phase < exchange.phases.size())
      send(channel, channel.phase);
  }
  if (channel.outstandingLast == 0) {
    for (Message *message : channel.kept)
      inbox.network.release(*message);
    channel.kept.clear();
  }
  if (channel.outstanding > 0)
    return Status::success();
  channel.active = false;
  rendezvous.complete(exchange.plan.channel);
  inbox.network.events().notify();
  return Status::success();
}

} // namespace lockstep::runtime
