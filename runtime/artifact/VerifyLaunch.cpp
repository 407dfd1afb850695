//===- VerifyLaunch.cpp - launches and their arguments --------------------===//

#include "runtime/artifact/KernelArguments.h"
#include "runtime/artifact/Verifier.h"
#include "runtime/schema/Types.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lockstep::runtime::verify {

namespace {

/// "argument 2 of kernel 'step_0_add'", where results are numbered after the
/// buffers that are read.
std::string describe(const artifact::Kernel &kernel, uint32_t argument) {
  return fmt::format("argument {} of kernel '{}'", argument,
                     kernel.symbol()->string_view());
}

bool isDynamic(const artifact::Buffer &buffer) {
  const auto *shape = buffer.type() ? buffer.type()->shape() : nullptr;
  return shape && std::any_of(shape->begin(), shape->end(),
                              [](int64_t size) { return size < 0; });
}

Status overlapError(const artifact::Kernel &kernel, uint32_t a, uint32_t b) {
  return corrupted(fmt::format("{} and {} overlap",
                               describe(kernel, std::min(a, b)),
                               describe(kernel, std::max(a, b))));
}

} // namespace

struct LaunchVerifier::NumberedRange : Range {
  uint32_t argument;
};

LaunchVerifier::LaunchVerifier(const Context &context,
                               const artifact::Program &program)
    : context(context), program(program) {
  ranges.reserve(count(program.buffers()));
  for (uint32_t i = 0; i < count(program.buffers()); ++i) {
    const artifact::Buffer &buffer = *program.buffers()->Get(i);
    ranges.push_back({buffer.space(), isDynamic(buffer), buffer.offset(),
                      buffer.offset() + buffer.size()});
  }
  constexpr uint32_t few = 8;
  kernels.resize(count(context.artifact.kernels()));
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    const artifact::Arguments *arguments =
        context.artifact.kernels()->Get(i)->arguments();
    if (arguments && arguments->bytes() && arguments->bytes()->size() <= few &&
        !arguments->dynamic() && !arguments->scratch())
      kernels[i] = {arguments->bytes()->data(), arguments->bytes()->size(),
                    arguments->reads(), arguments->registers()};
  }
}

bool LaunchVerifier::isSimple(const artifact::Launch &launch) const {
  const Plain &kernel = kernels[launch.kernel()];
  const auto *names = launch.buffers();
  if (!kernel.bytes || count(names) != kernel.total ||
      launch.reads() != kernel.reads ||
      launch.reads() + launch.writes() != kernel.total ||
      count(launch.registers()) != kernel.registers)
    return false;
  for (uint32_t i = 0; i < kernel.total; ++i) {
    const Range &range = ranges[names->Get(i)];
    if (range.isDynamic || range.end - range.begin != kernel.bytes[i])
      return false;
    for (uint32_t j = std::max(i + 1, kernel.reads); j < kernel.total; ++j)
      if (range.overlaps(ranges[names->Get(j)]))
        return false;
  }
  return true;
}

/// Checks one buffer of a launch. Advances `registers` past those that hold its
/// sizes.
Status LaunchVerifier::verifySize(const artifact::Kernel &kernel,
                                  uint32_t argument,
                                  const artifact::Launch &launch,
                                  uint32_t &registers) const {
  const artifact::Arguments &arguments = *kernel.arguments();
  const artifact::Buffer &buffer =
      *program.buffers()->Get(launch.buffers()->Get(argument));
  uint64_t expected = arguments.bytes()->Get(argument);
  uint32_t dynamic = countDynamicDimensions(arguments, argument);
  if (dynamic == 0) {
    if (buffer.size() != expected || isDynamic(buffer))
      return corrupted(fmt::format("expected {} bytes as {}, found {}{}",
                                   expected, describe(kernel, argument),
                                   isDynamic(buffer) ? "up to " : "",
                                   buffer.size()));
    return Status::success();
  }
  uint64_t bytes = buffer.type() ? elementSize(buffer.type()->element()) : 0;
  uint32_t found = 0;
  for (uint32_t i = 0; buffer.type() && i < count(buffer.type()->shape());
       ++i) {
    int64_t size = buffer.type()->shape()->Get(i);
    if (size >= 0) {
      bytes *= uint64_t(size);
      continue;
    }
    if (++found > dynamic)
      break;
    uint32_t given = launch.registers()->Get(registers++);
    if (int64_t(given) != buffer.size_registers()->Get(i))
      return corrupted(fmt::format(
          "expected register {} for a size of {}, found register {}",
          buffer.size_registers()->Get(i), describe(kernel, argument), given));
  }
  if (found != dynamic || bytes != expected)
    return corrupted(fmt::format(
        "expected {} dynamic dimensions and {} bytes for each of their "
        "elements as {}, found {} and {}",
        dynamic, expected, describe(kernel, argument), found, bytes));
  return Status::success();
}

/// Results and scratch overlap no other buffer, except that a result may
/// replace a buffer that is read.
Status LaunchVerifier::verifyDisjoint(const artifact::Kernel &kernel,
                                      const artifact::Launch &launch) const {
  uint32_t reads = launch.reads(), total = count(launch.buffers());
  std::vector<NumberedRange> written;
  for (uint32_t i = reads; i < total; ++i)
    if (const Range &range = ranges[launch.buffers()->Get(i)];
        range.begin != range.end)
      written.push_back({range, i});
  std::sort(written.begin(), written.end(), [](const Range &a, const Range &b) {
    return std::pair(a.space, a.begin) < std::pair(b.space, b.begin);
  });
  for (size_t i = 1; i < written.size(); ++i)
    if (written[i].overlaps(written[i - 1]))
      return overlapError(kernel, written[i].argument, written[i - 1].argument);
  const auto *places = kernel.arguments()->in_place();
  for (uint32_t i = 0; i < reads; ++i) {
    const Range &range = ranges[launch.buffers()->Get(i)];
    if (range.begin == range.end)
      continue;
    auto other = std::partition_point(
        written.begin(), written.end(), [&](const Range &candidate) {
          return std::pair(candidate.space, candidate.end) <=
                 std::pair(range.space, range.begin);
        });
    for (; other != written.end() && other->overlaps(range); ++other) {
      uint32_t result = other->argument - reads;
      bool isInPlace = result < count(places) &&
                       places->Get(result) == int64_t(i) &&
                       other->begin == range.begin && other->end == range.end;
      if (!isInPlace)
        return overlapError(kernel, i, other->argument);
    }
  }
  return Status::success();
}

Status LaunchVerifier::verify(const artifact::Launch &launch) const {
  const artifact::Kernel &kernel =
      *context.artifact.kernels()->Get(launch.kernel());
  const artifact::Arguments *arguments = kernel.arguments();
  if (!arguments)
    return Status::success();
  uint32_t named = count(arguments->bytes()),
           scratch = arguments->scratch() > 0, total = count(launch.buffers());
  if (launch.reads() != arguments->reads() ||
      launch.reads() + launch.writes() != named || total != named + scratch)
    return corrupted(
        fmt::format("expected {} reads, {} writes and {} of working memory for "
                    "kernel '{}', found {}, {} and {}",
                    arguments->reads(), named - arguments->reads(), scratch,
                    kernel.symbol()->string_view(), launch.reads(),
                    launch.writes(), total - launch.reads() - launch.writes()));
  if (count(launch.registers()) != arguments->registers())
    return corrupted(
        fmt::format("expected {} registers for kernel '{}', found {}",
                    arguments->registers(), kernel.symbol()->string_view(),
                    count(launch.registers())));
  uint32_t registers = 0;
  for (uint32_t i = 0; i < named; ++i)
    LOCKSTEP_RETURN_IF_ERROR(verifySize(kernel, i, launch, registers));
  if (scratch)
    if (uint64_t size =
            program.buffers()->Get(launch.buffers()->Get(named))->size();
        size < arguments->scratch())
      return corrupted(fmt::format(
          "expected {} bytes of working memory for kernel '{}', found {}",
          arguments->scratch(), kernel.symbol()->string_view(), size));
  return verifyDisjoint(kernel, launch);
}

} // namespace lockstep::runtime::verify
