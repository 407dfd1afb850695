//===- NetworkTest.cpp - messages between executors -----------------------===//

#include "runtime/transport/local/LocalNetwork.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <thread>

using namespace lockstep::runtime;

namespace {

std::vector<std::shared_ptr<Network>> connect(uint32_t executors) {
  std::vector<RankRange> ranks;
  for (uint32_t i = 0; i < executors; ++i)
    ranks.push_back({2 * i, 2});
  auto network = LocalNetwork::create(ranks);
  EXPECT_TRUE(network.ok()) << network.status().message();
  return *network;
}

TEST(LocalNetwork, refusesRanks) {
  EXPECT_EQ(LocalNetwork::create({{0, 2}, {2, 0}}).status().message(),
            "expected executors with ranks, found one of none at rank 2");
  EXPECT_EQ(LocalNetwork::create({{2, 2}, {0, 3}}).status().message(),
            "expected each rank in one executor, found ranks 0-2 in ranks 2-3");
}

// A message is read in place and returned.
TEST(LocalNetwork, returnsMessages) {
  auto network = connect(2);
  std::array<std::byte, 8> bytes{std::byte(7)};
  MessagePiece piece{bytes.data(), bytes.size()};
  Message message;
  message.to = 1;
  message.tag = {3, 4, 5, 6};
  message.pieces = {&piece, 1};
  EXPECT_FALSE(network[1]->hasMail());
  network[0]->send(message);
  EXPECT_TRUE(network[1]->hasMail());
  EXPECT_FALSE(network[0]->hasMail());
  Message *received = network[1]->receive();
  ASSERT_TRUE(received && !received->next);
  EXPECT_EQ(received->from, 0u);
  EXPECT_EQ(received->tag.epoch, 5u);
  EXPECT_EQ(received->pieces[0].bytes, bytes.data());
  network[1]->release(*received);
  EXPECT_EQ(network[0]->receive(), &message);
  EXPECT_EQ(network[0]->receive(), nullptr);
}

/// Waits for the next message.
Message *receive(Network &network) {
  Message *message;
  while (!(message = network.receive()))
    std::this_thread::yield();
  return message;
}

// Over a link, messages take at least their latency and the time of their
// bytes, one after the other, and arrive in the order in which they were sent.
TEST(LocalNetwork, delaysMessagesLikeALink) {
  using namespace std::chrono;
  // 1 ms, and 1 us per byte.
  auto network = *LocalNetwork::create({{0, 1}, {1, 1}}, {0, 1},
                                       SlowLink::Capacity{{1e-3, 1e-6}});
  std::array<std::byte, 1000> bytes{};
  MessagePiece piece{bytes.data(), bytes.size()};
  Message large, small;
  large.to = small.to = 1;
  large.pieces = {&piece, 1};
  auto begin = steady_clock::now();
  network[0]->send(large);
  network[0]->send(small);
  Message *first = receive(*network[1]);
  EXPECT_GE(steady_clock::now() - begin, milliseconds(2));
  EXPECT_EQ(first, &large);
  Message *second = first->next ? first->next : receive(*network[1]);
  EXPECT_GE(steady_clock::now() - begin, milliseconds(3));
  EXPECT_EQ(second, &small);
  // A message that returns is not delayed, nor is one to the executor itself.
  network[1]->release(*first);
  EXPECT_EQ(network[0]->receive(), &large);
  small.to = 0;
  network[0]->send(small);
  EXPECT_EQ(network[0]->receive(), &small);
}

// Executors of one host do not use the link.
TEST(LocalNetwork, delaysNoMessageOnAHost) {
  auto network = *LocalNetwork::create({{0, 1}, {1, 1}, {2, 1}}, {0, 0, 1},
                                       SlowLink::Capacity{{1e6, 1}});
  Message near, far;
  near.to = 1;
  far.to = 2;
  network[0]->send(far);
  network[0]->send(near);
  EXPECT_EQ(network[1]->receive(), &near);
  EXPECT_EQ(network[2]->receive(), nullptr);
  network[0]->abort({StatusCode::interrupted, "enough"});
}

// After an abort, a message in flight never arrives: its sender frees it.
TEST(LocalNetwork, discardsDelayedMessagesOnAbort) {
  auto network = *LocalNetwork::create({{0, 1}, {1, 1}}, {0, 1},
                                       SlowLink::Capacity{{1e6, 1}});
  auto message = std::make_unique<Message>();
  message->to = 1;
  network[0]->send(*message);
  network[1]->abort({StatusCode::interrupted, "enough"});
  network[0]->awaitReaders();
  message.reset();
  Message late;
  late.to = 1;
  network[0]->send(late);
  EXPECT_EQ(network[1]->receive(), nullptr);
}

// Several threads of three executors send to one: nothing is lost, and each
// sender's order is kept.
TEST(LocalNetwork, keepsTheOrderOfEachSender) {
  auto network = connect(3);
  constexpr uint32_t count = 2000;
  std::vector<std::vector<Message>> messages(3);
  std::vector<std::thread> senders;
  for (uint32_t from : {1, 2}) {
    messages[from] = std::vector<Message>(count);
    senders.emplace_back([&, from] {
      for (uint32_t i = 0; i < count; ++i) {
        messages[from][i].tag.epoch = i;
        network[from]->send(messages[from][i]);
      }
    });
  }
  std::array<uint32_t, 3> next{};
  while (next[1] + next[2] < 2 * count) {
    uint32_t key = network[0]->events().key();
    Message *list = network[0]->receive();
    if (!list)
      network[0]->events().sleep(key);
    while (list) {
      Message *message = list;
      list = list->next;
      EXPECT_EQ(message->tag.epoch, next[message->from]++);
      network[0]->release(*message);
    }
  }
  for (std::thread &sender : senders)
    sender.join();
  for (uint32_t from : {1, 2}) {
    uint32_t back = 0;
    for (Message *message = network[from]->receive(); message;
         message = message->next)
      ++back;
    EXPECT_EQ(back, count);
  }
}

// The first reason is kept, and all executors see it and its executor.
TEST(LocalNetwork, abortReachesAllExecutors) {
  auto network = connect(3);
  std::thread sleeper([&] {
    for (;;) {
      uint32_t key = network[2]->events().key();
      if (network[2]->isAborted())
        return;
      network[2]->events().sleep(key);
    }
  });
  network[1]->abort({StatusCode::outOfRange, "too many rows"});
  network[0]->abort({StatusCode::deadline, "nothing happened"});
  sleeper.join();
  for (const auto &endpoint : network) {
    EXPECT_TRUE(endpoint->isAborted());
    EXPECT_EQ(endpoint->abortReason().code(), StatusCode::outOfRange);
    EXPECT_EQ(endpoint->abortReason().message(),
              "executor 1 (ranks 2-3) has aborted the run: too many rows");
  }
}

// After an abort no reader begins, and memory can be freed when those that had
// begun have ended.
TEST(LocalNetwork, memoryIsFreeAfterAnAbort) {
  auto network = connect(2);
  auto bytes = std::make_unique<std::array<std::byte, 1 << 16>>();
  std::atomic<bool> reads{false};
  std::thread reader([&] {
    std::array<std::byte, 1 << 16> copy;
    while (network[1]->beginReading()) {
      std::memcpy(copy.data(), bytes->data(), copy.size());
      network[1]->endReading();
      reads = true;
    }
  });
  while (!reads)
    std::this_thread::yield();
  network[0]->abort({StatusCode::outOfRange, "too many rows"});
  network[0]->awaitReaders();
  bytes.reset();
  reader.join();
}

TEST(LocalNetwork, progressOfTheOthers) {
  auto network = connect(3);
  EXPECT_EQ(network[0]->exchangeProgress(5), 0u);
  EXPECT_EQ(network[1]->exchangeProgress(7), 5u);
  EXPECT_EQ(network[2]->exchangeProgress(1), 12u);
  EXPECT_EQ(network[0]->exchangeProgress(6), 8u);
}

} // namespace
