//===- Devices.h - devices on which tests are repeated ----------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_DEVICES_H
#define LOCKSTEP_TEST_RUNTIME_DEVICES_H

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime::test {

/// The device with queues on which all tests run, if there is one, else `count`
/// simulated ones with seeds from `first`. Tests of each file have seeds of
/// their own: devices are shared by seed, and one with a session that another
/// test has abandoned delays nothing.
inline std::vector<std::string> devicesWithQueues(unsigned first,
                                                  unsigned count) {
  if (const char *name = std::getenv("LOCKSTEP_DEVICE");
      name && *name && std::string_view(name) != "cpu")
    return {name};
  std::vector<std::string> names;
  for (unsigned i = 0; i < count; ++i)
    names.push_back("simulated:" + std::to_string(first + i));
  return names;
}

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_DEVICES_H
