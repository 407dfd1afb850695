//===- DriverOptions.cpp - what the environment chooses -------------------===//

#include "DriverOptions.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

namespace lockstep::standin {

[[noreturn]] static void refuse(const char *name, std::string_view value) {
  std::fprintf(stderr, "lockstep's CUDA stand-in: %s has no such value: %.*s\n",
               name, int(value.size()), value.data());
  std::exit(1);
}

static uint64_t number(const char *name, std::string_view text) {
  uint64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    refuse(name, text);
  return value;
}

/// The text before and after the first separator, which must be there.
static std::pair<std::string_view, std::string_view>
split(const char *name, std::string_view text, char separator) {
  size_t at = text.find(separator);
  if (at == std::string_view::npos)
    refuse(name, text);
  return {text.substr(0, at), text.substr(at + 1)};
}

static void readFaults(DriverOptions &options, std::string_view text) {
  constexpr const char *name = "LOCKSTEP_CUDA_FAIL";
  const std::pair<std::string_view, Injection &> kinds[] = {
      {"alloc", options.alloc},
      {"load", options.load},
      {"launch", options.launch},
      {"fault", options.fault},
      {"graph", options.graph},
      {"lost", options.lost},
      {"ecc", options.ecc},
      {"transfer", options.transfer},
      {"product", options.product},
      {"refused", options.refused},
      {"link", options.link},
      {"map", options.map},
      {"register", options.registration}};
  while (!text.empty()) {
    std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(one.size() + (one.size() < text.size() ? 1 : 0));
    size_t colon = one.find(':');
    bool isKnown = false;
    for (auto &[kind, injection] : kinds)
      if (colon != std::string_view::npos && one.substr(0, colon) == kind) {
        injection.failAt(number(name, one.substr(colon + 1)));
        isKnown = true;
      }
    if (!isKnown)
      refuse(name, one);
  }
}

static void readEnvironment(DriverOptions &options) {
  if (const char *text = std::getenv("LOCKSTEP_CUDA_SEED"))
    options.seed = number("LOCKSTEP_CUDA_SEED", text);
  if (const char *text = std::getenv("LOCKSTEP_CUDA_DEVICES"))
    options.devices = int(number("LOCKSTEP_CUDA_DEVICES", text));
  if (const char *text = std::getenv("LOCKSTEP_CUDA_MEMORY"))
    options.memory = number("LOCKSTEP_CUDA_MEMORY", text);
  if (const char *text = std::getenv("LOCKSTEP_CUDA_MAPPING"))
    options.mappingDevices = int(number("LOCKSTEP_CUDA_MAPPING", text));
  if (const char *text = std::getenv("LOCKSTEP_CUDA_CUDNN"))
    options.cudnnVersion = number("LOCKSTEP_CUDA_CUDNN", text);
  if (const char *text = std::getenv("LOCKSTEP_CUDA_CAPABILITY")) {
    constexpr const char *name = "LOCKSTEP_CUDA_CAPABILITY";
    auto [major, minor] = split(name, text, '.');
    options.capability =
        unsigned(number(name, major) * 10 + number(name, minor));
  }
  if (const char *text = std::getenv("LOCKSTEP_CUDA_FAIL"))
    readFaults(options, text);
  if (const char *text = std::getenv("LOCKSTEP_CUDA_HANG")) {
    constexpr const char *name = "LOCKSTEP_CUDA_HANG";
    auto [kernel, count] = split(name, text, ':');
    options.hangingKernel = kernel;
    options.hang.failAt(number(name, count));
  }
  if (const char *text = std::getenv("LOCKSTEP_CUDA_CALLS"))
    options.calls.writeTo(text);
}

void CallCounts::writeTo(std::string name) {
  file = std::move(name);
  std::atexit([] { DriverOptions::get().calls.write(); });
}

void CallCounts::addKnown(const char *function) {
  std::lock_guard lock(mutex);
  ++counts[function];
}

void CallCounts::write() {
  std::lock_guard lock(mutex);
  std::ofstream output(file, std::ios::app);
  for (const auto &[function, count] : counts)
    output << count << ' ' << function << '\n';
}

DriverOptions &DriverOptions::get() {
  static DriverOptions &options = [&]() -> DriverOptions & {
    auto *created = new DriverOptions;
    readEnvironment(*created);
    return *created;
  }();
  return options;
}

} // namespace lockstep::standin
