//===- AssembleGpuCode.cpp - code for GPUs by NVIDIA's ptxas --------------===//

#include "dialect/Device/DeviceDialect.h"
#include "passes/Passes.h"

#include "mlir/IR/Threading.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

namespace lockstep {
#define GEN_PASS_DEF_ASSEMBLEGPUCODEPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

namespace {

/// A file that is removed with the object.
struct TemporaryFile {
  SmallString<128> path;
  llvm::FileRemover remover;

  std::error_code create(StringRef suffix) {
    std::error_code error =
        llvm::sys::fs::createTemporaryFile("lockstep", suffix, path);
    if (error)
      return error;
    remover.setFile(path);
    llvm::sys::RemoveFileOnSignal(path);
    return error;
  }
  ~TemporaryFile() {
    if (!path.empty())
      llvm::sys::DontRemoveFileOnSignal(path);
  }
};

struct AssembleGpuCode
    : lockstep::impl::AssembleGpuCodePassBase<AssembleGpuCode> {
  using AssembleGpuCodePassBase::AssembleGpuCodePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    struct Assembled {
      device::BinaryOp binary;
      std::string cubin;
    };
    SmallVector<Assembled> all;
    for (auto binary : module.getOps<device::BinaryOp>())
      if (binary.getDevice() == "cuda")
        all.push_back({binary, ""});
    if (all.empty())
      return;
    llvm::ErrorOr<std::string> program = llvm::sys::findProgramByName(ptxas);
    std::error_code error = program.getError();
    if (!error)
      error =
          llvm::sys::fs::access(*program, llvm::sys::fs::AccessMode::Execute);
    if (error) {
      module.emitError("expected the path of NVIDIA's ptxas, found '")
          << ptxas << "': " << error.message();
      return signalPassFailure();
    }
    if (failed(failableParallelForEach(&getContext(), all, [&](Assembled &one) {
          std::string error;
          FailureOr<std::string> cubin = assemble(*program, one.binary, error);
          if (failed(cubin))
            return LogicalResult(module.emitError("assembling kernels for '")
                                 << one.binary.getTarget() << "': " << error);
          one.cubin = std::move(*cubin);
          return success();
        })))
      return signalPassFailure();
    for (Assembled &one : all) {
      auto type = RankedTensorType::get(one.cubin.size(),
                                        IntegerType::get(&getContext(), 8));
      one.binary.setCubinAttr(DenseElementsAttr::getFromRawBuffer(
          type, ArrayRef<char>(one.cubin.data(), one.cubin.size())));
    }
  }

private:
  /// The cubin of PTX, or what has failed in `error`.
  static FailureOr<std::string> assemble(const std::string &program,
                                         device::BinaryOp binary,
                                         std::string &error) {
    ArrayRef<char> ptx =
        cast<DenseElementsAttr>(binary.getObject()).getRawData();
    TemporaryFile source, cubin, report;
    for (auto [file, suffix] :
         {std::pair(&source, "ptx"), {&cubin, "cubin"}, {&report, "txt"}})
      if (std::error_code code = file->create(suffix)) {
        error = "cannot create a temporary file: " + code.message();
        return failure();
      }
    std::error_code code;
    llvm::raw_fd_ostream stream(source.path, code);
    stream.write(ptx.data(), ptx.size());
    stream.close();
    if (stream.has_error()) {
      error = "cannot write '" + source.path.str().str() +
              "': " + stream.error().message();
      stream.clear_error();
      return failure();
    }
    std::string architecture = "-arch=" + binary.getTarget().str();
    std::optional<StringRef> redirects[] = {StringRef(), report.path.str(),
                                            report.path.str()};
    int result = llvm::sys::ExecuteAndWait(
        program, {program, architecture, source.path, "-o", cubin.path},
        /*Env=*/std::nullopt, redirects, /*SecondsToWait=*/0,
        /*MemoryLimit=*/0, &error);
    auto read = [&](const TemporaryFile &file) {
      auto buffer = llvm::MemoryBuffer::getFile(file.path);
      return buffer ? (*buffer)->getBuffer().str() : std::string();
    };
    if (result != 0) {
      error = program + (error.empty() ? " has failed with status " +
                                             std::to_string(result)
                                       : " has failed: " + error);
      if (std::string printed = StringRef(read(report)).trim().str();
          !printed.empty())
        error += ": " + printed;
      return failure();
    }
    std::string image = read(cubin);
    if (StringRef(image).starts_with("\x7f"
                                     "ELF"))
      return image;
    error = "expected a cubin from " + program + ", found " +
            std::to_string(image.size()) + " bytes of something else";
    return failure();
  }
};

} // namespace
