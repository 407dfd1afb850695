//===- CudaOperationsTest.cpp - every operation that llc may emit ---------===//
//
// Kernels that `generate_operations.py` writes, as llc compiles them for
// several targets. Each is translated, compiled and executed; what it computes
// is for other tests.
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"

namespace lockstep::standin {
namespace {

class CudaOperations : public CudaTest,
                       public testing::WithParamInterface<const char *> {
protected:
  /// The names of the kernels in a text.
  static std::vector<std::string> kernelsOf(const std::string &ptx) {
    std::vector<std::string> names;
    const std::string entry = ".visible .entry ";
    for (size_t at = 0; (at = ptx.find(entry, at)) != std::string::npos;) {
      at += entry.size();
      names.push_back(ptx.substr(at, ptx.find('(', at) - at));
    }
    return names;
  }
};

TEST_P(CudaOperations, AreExecuted) {
  std::ifstream file(std::string(LOCKSTEP_CUDA_KERNELS) + "/" + GetParam());
  std::stringstream text;
  text << file.rdbuf();
  std::vector<std::string> names = kernelsOf(text.str());
  ASSERT_GT(names.size(), 1000u);
  CUmodule module = load(text.str());
  std::vector<CUdeviceptr> buffers;
  for (unsigned i = 0; i < 4; ++i)
    buffers.push_back(upload(std::vector<uint32_t>(1024, 0x3F803F80)));
  for (const std::string &name : names) {
    ASSERT_EQ(launch(find(module, name.c_str()), 1, 32, nullptr, buffers[0],
                     buffers[1], buffers[2], buffers[3]),
              CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CudaOperations,
                         testing::Values("operations-sm_80.ptx",
                                         "operations-sm_90.ptx",
                                         "operations-sm_90-O0.ptx"));

} // namespace
} // namespace lockstep::standin
