//===- SlowTransport.cpp - the transport "slow" ---------------------------===//
//
// A plugin: executors of one process, between which messages take as long as
// over the link that the options describe, "slow:LATENCY,BANDWIDTH" in seconds
// and bytes per second.
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/exchange/ExchangeFactory.h"
#include "runtime/transport/local/LocalNetwork.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

using namespace lockstep::runtime;

namespace {

class SlowFactory final : public ExchangeFactory {
public:
  SlowFactory(std::string_view options, const Link &link)
      : fullName(fmt::format("slow:{}", options)), link(link) {}

  std::string_view name() const override { return fullName; }
  Expected<std::vector<std::shared_ptr<Network>>>
  connect(std::vector<RankRange> executors) override {
    return LocalNetwork::create(std::move(executors), link);
  }

private:
  std::string fullName;
  Link link;
};

/// Removes a number from the front of `text`. 0: it begins with none that is
/// positive and finite.
double takeNumber(std::string_view &text) {
  double number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isnormal(number) || number < 0)
    return 0;
  text.remove_prefix(size_t(end - text.data()));
  return number;
}

} // namespace

extern "C" __attribute__((visibility("default"))) void
lockstepOpenTransport(std::string_view options,
                      std::unique_ptr<TransportFactory> &transport,
                      Status &status) {
  std::string_view rest = options;
  double latency = takeNumber(rest), bandwidth = 0;
  if (rest.starts_with(',')) {
    rest.remove_prefix(1);
    bandwidth = takeNumber(rest);
  }
  if (latency == 0 || bandwidth == 0 || !rest.empty()) {
    status = invalidArgument(
        fmt::format("expected 'slow:LATENCY,BANDWIDTH' with positive seconds "
                    "and bytes per second, found 'slow:{}'",
                    options));
    return;
  }
  transport =
      std::make_unique<SlowFactory>(options, Link{latency, 1 / bandwidth});
}
