//===- WireFactory.h - a transport over a wire ------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_WIRE_WIREFACTORY_H
#define LOCKSTEP_RUNTIME_TRANSPORT_WIRE_WIREFACTORY_H

#include "runtime/transport/exchange/ExchangeFactory.h"
#include "runtime/transport/wire/WireThread.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::runtime {

/// Connects the executors of the processes that a wire connects.
class WireFactory final : public ExchangeFactory {
public:
  WireFactory(std::string name, std::shared_ptr<WireThread> thread)
      : ownName(std::move(name)), thread(std::move(thread)) {}

  std::string_view name() const override { return ownName; }
  ProcessPlace place() const override { return thread->place(); }
  void leave() override { thread->end(); }
  Expected<std::vector<std::shared_ptr<Network>>>
  connect(std::vector<RankRange> executors,
          std::vector<uint32_t> processOf) override {
    return thread->connect(std::move(executors), std::move(processOf));
  }

private:
  const std::string ownName;
  std::shared_ptr<WireThread> thread;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_WIRE_WIREFACTORY_H
