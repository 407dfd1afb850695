//===- lockstep-opt.cpp - Runs single passes and stages -------------------===//

#include "passes/Pipelines.h"

#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  lockstep::registerPassesAndPipelines();
  mlir::DialectRegistry registry;
  lockstep::registerDialects(registry);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Lockstep's optimizer driver\n", registry));
}
