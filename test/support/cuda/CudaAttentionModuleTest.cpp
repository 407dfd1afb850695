//===- CudaAttentionModuleTest.cpp - kernels of attention -----------------===//
//
// Which have no code, so that what the library does not compute is an error.
//
//===----------------------------------------------------------------------===//

#include "CudaAttentionTest.h"

#include "runtime/artifact/GpuSymbols.h"
#include "runtime/artifact/KernelArguments.h"
#include "test/runtime/TestProgram.h"

#include <fmt/format.h>

namespace lockstep::runtime::test {
namespace {

/// With a kernel of one attention, and no code.
class CudaAttentionModules : public CudaAttentions {
protected:
  /// Loads the kernel `attend` of `described`, of buffers of these sizes.
  void load(const GpuAttention &described, const Buffers &buffers,
            const char *suffix = gpuAttentionSuffix.data()) {
    TestProgram program(1);
    program.ret();
    auto kernel = std::make_unique<artifact::KernelT>();
    kernel->symbol = "attend";
    kernel->arguments = std::make_unique<artifact::ArgumentsT>();
    for (const std::vector<std::byte> &buffer : buffers)
      kernel->arguments->bytes.push_back(buffer.size());
    auto array = [](const char *suffix, std::span<const uint64_t> words) {
      return fmt::format(".visible .global .align 8 .u64 attend{}[{}] = "
                         "{{{}}};\n",
                         suffix, words.size(), fmt::join(words, ", "));
    };
    std::string ptx = ".version 7.0\n.target sm_80\n.address_size 64\n";
    ptx += array(gpuLaunchesSuffix.data(),
                 std::array{uint64_t(gpuLibraryBlocks), uint64_t(0)});
    ptx += array(gpuArgumentsSuffix.data(),
                 std::array{argumentsCode(*kernel->arguments, kernel->grid)});
    ptx += array(suffix, described.toWords());
    auto binary = std::make_unique<artifact::BinaryT>();
    binary->target = "sm_80";
    binary->device = "cuda";
    binary->segment = program.writer.addSegment(std::as_bytes(std::span(ptx)));
    // That of the tests' own kernels has no such kernel.
    std::erase_if(program.writer.tables.binaries,
                  [](const auto &each) { return each->device == "cuda"; });
    program.writer.tables.binaries.push_back(std::move(binary));
    program.writer.tables.kernels.push_back(std::move(kernel));
    artifact = program.artifact();
    Status status = CudaModule::load(context, *artifact, "").moveTo(module);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  Expected<KernelHandle> kernel() const {
    const auto &kernels = *artifact->tables().kernels();
    return module->kernel(*kernels.Get(kernels.size() - 1));
  }

  std::shared_ptr<const Artifact> artifact;
  std::unique_ptr<Module> module;
};

TEST_F(CudaAttentionModules, haveAttention) {
  GpuAttention gradient = makeGradient({}), forward = gradient;
  forward.kind = GpuAttention::Forward;
  Buffers buffers = makeBuffers(gradient), expected = buffers;
  compute(gradient, expected);
  load(forward, buffers);
  Expected<KernelHandle> found = kernel();
  ASSERT_TRUE(found) << found.status().message();
  std::vector<std::byte *> addresses = upload(buffers);
  queue->launch(*found, /*grid=*/1, addresses, {});
  queue->download(buffers[forward.output.buffer].data(),
                  addresses[forward.output.buffer],
                  buffers[forward.output.buffer].size());
  Status status = queue->finish();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(buffers[forward.output.buffer] ==
              expected[forward.output.buffer]);
}

/// There is no code instead of what the library does not support.
TEST_F(CudaAttentionModules, fail) {
  GpuAttention attention = makeGradient({});
  attention.value.strides[0] += 4;
  Buffers buffers = makeBuffers(attention);
  load(attention, buffers);
  Expected<KernelHandle> found = kernel();
  ASSERT_TRUE(found) << found.status().message();
  queue->launch(*found, /*grid=*/1, upload(buffers), {});
  EXPECT_EQ(queue->finish().message(),
            "the launch of kernel 'attend', phase 0 by cuDNN: this attention "
            "is not supported: expected a stride of a multiple of 8 elements "
            "between examples of the value, found 964; compile without "
            "--attention=cudnn, so that generated code computes it");
  EXPECT_EQ(module->note(), "");
}

TEST_F(CudaAttentionModules, withoutWords) {
  GpuAttention attention = makeGradient({});
  load(attention, makeBuffers(attention), "$other");
  EXPECT_EQ(kernel().status().message(),
            "kernel 'attend': expected a description of phase 0, which has no "
            "code in the binary for target 'sm_80', for a library, found none");
}

TEST_F(CudaAttentionModules, withOtherWords) {
  GpuAttention attention = makeGradient({});
  Buffers buffers = makeBuffers(attention);
  attention.phase = 1;
  load(attention, buffers);
  EXPECT_EQ(kernel().status().message(),
            "kernel 'attend': expected attention of its 9 buffers in its 1 "
            "phases, found other numbers in 'attend$attention' of the binary "
            "for target 'sm_80'");
}

//===----------------------------------------------------------------------===//
// Errors of the library
//===----------------------------------------------------------------------===//

/// Executed by processes of their own, since the environment is read once.
class CudaAttentionFaults : public CudaAttentionModules {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override {}

  /// With a variable of the environment, computes an attention, and exits with
  /// what `expected` returns for the error of the queue.
  [[noreturn]] void runWith(const char *name, const char *value,
                            const std::string &expected) {
    setenv(name, value, 1);
    CudaAttentions::SetUp();
    CudaKernel kernel;
    kernel.name = "attend";
    GpuAttention attention = makeGradient({});
    kernel.phases.emplace_back().byLibrary =
        std::make_unique<CudaAttention>(library, attention);
    Buffers buffers = makeBuffers(attention);
    std::vector<std::byte *> addresses = upload(buffers);
    queue->launch(&kernel, /*grid=*/1, addresses, {});
    EXPECT_EQ(queue->finish().message(), expected);
    std::_Exit(HasFailure() ? 1 : 0);
  }
};

TEST_F(CudaAttentionFaults, atTheCall) {
  EXPECT_EXIT(runWith("LOCKSTEP_CUDA_FAIL", "refused:1",
                      "the launch of kernel 'attend', phase 0 by cuDNN: this "
                      "attention is not supported: cudnnBackendExecute: "
                      "CUDNN_STATUS_NOT_SUPPORTED (architecture); compile "
                      "without --attention=cudnn, so that generated code "
                      "computes it"),
              testing::ExitedWithCode(0), "");
  EXPECT_EXIT(runWith("LOCKSTEP_CUDA_FAIL", "product:1",
                      "the launch of kernel 'attend', phase 0 by cuDNN: "
                      "cudnnBackendExecute: CUDNN_STATUS_EXECUTION_FAILED "
                      "(launch)"),
              testing::ExitedWithCode(0), "");
}

TEST_F(CudaAttentionFaults, ofOlderLibraries) {
  auto check = [&] {
    setenv("LOCKSTEP_CUDA_CUDNN", "91501", 1);
    CudaAttentions::SetUp();
    load(makeGradient({}), makeBuffers(makeGradient({})));
    EXPECT_EQ(kernel().status().message(),
              "kernel 'attend' has attention for cuDNN (--attention=cudnn): "
              "expected NVIDIA's cuDNN 9.16.0 or newer, found 9.15.1");
    std::_Exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(check(), testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace lockstep::runtime::test
