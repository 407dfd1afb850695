//===- CheckValuesTest.cpp - passes that change values --------------------===//

#include "tools/lockstep-opt/CheckValues.h"
#include "passes/Pipelines/Pipelines.h"
#include "tools/lockstep-opt/NativeKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace lockstep;
using namespace mlir;

namespace {

/// Makes each constant of f32 larger by `by`.
struct ChangeConstants : PassWrapper<ChangeConstants, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChangeConstants)

  explicit ChangeConstants(float by) : by(by) {}
  StringRef getArgument() const override { return "change-constants"; }

  void runOnOperation() override {
    getOperation()->walk([&](arith::ConstantOp op) {
      if (auto number = dyn_cast<FloatAttr>(op.getValue()))
        op.setValueAttr(
            FloatAttr::get(number.getType(), number.getValueAsDouble() + by));
    });
  }

  float by;
};

constexpr const char *kStep = R"(
replica.variable @w : tensor<3xf32>
replica.step @step(%x: tensor<3xf32> {replica.batch = "x"}) -> (tensor<3xf32> {replica.metric = "y"}) {
  %s = replica.all_reduce sum %x : tensor<3xf32>
  %c = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%s : tensor<3xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %c : f32
    linalg.yield %0 : f32
  } -> tensor<3xf32>
  replica.assign @w, %y : tensor<3xf32>
  replica.return %y : tensor<3xf32>
}
)";

class CheckValuesTest : public ::testing::Test {
protected:
  CheckValuesTest() {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.disableMultithreading();
  }

  /// Runs passes with checks; returns the errors, one line each.
  template <typename AddPasses>
  std::string run(const char *text, AddPasses addPasses) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    std::string errors;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      errors += diagnostic.str() + "\n";
      return success();
    });
    PassManager pm(&context);
    pm.addInstrumentation(std::make_unique<opt::CheckValues>(summary));
    addPasses(pm);
    EXPECT_TRUE(succeeded(pm.run(*module))) << errors;
    return errors;
  }

  MLIRContext context;
  opt::CheckValues::Summary summary;
};

/// The wrong pass is named, with the value that it changes: not the next pass.
TEST_F(CheckValuesTest, NamesThePassAndTheValue) {
  std::string errors = run(kStep, [](PassManager &pm) {
    pm.addPass(std::make_unique<ChangeConstants>(0));
    pm.addPass(std::make_unique<ChangeConstants>(0.125f));
    pm.addPass(std::make_unique<ChangeConstants>(0));
  });
  EXPECT_TRUE(summary.foundDifference);
  EXPECT_EQ(summary.compared, 3u);
  EXPECT_NE(errors.find("'change-constants' changes what is computed: step: "
                        "result 'y', replica 0, element 0"),
            std::string::npos)
      << errors;
  EXPECT_NE(errors.find("step: variable 'w', replica 0, element 0"),
            std::string::npos)
      << errors;
}

/// The whole compiler preserves values, including its native code.
TEST_F(CheckValuesTest, FindsNothingInTheCompiler) {
  CompileOptions options;
  options.replicas = 2;
  EXPECT_EQ(
      run(kStep, [&](PassManager &pm) { buildCompilePipeline(pm, options); }),
      "");
  EXPECT_FALSE(summary.foundDifference);
  EXPECT_GT(summary.compared, 20u);
}

/// Native code that is another kernel's: the kernel with the name in the binary
/// has been replaced.
TEST_F(CheckValuesTest, ComparesNativeCode) {
  constexpr const char *kernel = R"(
device.kernel @k(%a: tensor<5xf32>) -> tensor<5xf32> {
  %e = tensor.empty() : tensor<5xf32>
  %c = arith.constant 2.0 : f32
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<5xf32>) outs(%e : tensor<5xf32>) {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.mulf %x, %c : f32
    linalg.yield %0 : f32
  } -> tensor<5xf32>
  device.yield %r : tensor<5xf32>
}
)";
  GenerateCodePassOptions options;
  auto generate = [&](PassManager &pm) {
    pm.addPass(createGenerateCodePass(options));
  };
  EXPECT_EQ(run(kernel, generate), "");
  // Code generated from an earlier module.
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kernel, &context);
  PassManager pm(&context);
  generate(pm);
  pm.addPass(std::make_unique<ChangeConstants>(1));
  ASSERT_TRUE(succeeded(pm.run(*module)));
  opt::Outcomes native = opt::executeNatively(*module, 0),
                interpreted = opt::execute(*module, 0);
  ASSERT_EQ(native.size(), 1u);
  EXPECT_TRUE(opt::findDifference(interpreted.at("k: result 0"),
                                  native.at("k: result 0")));
}

/// Roundings are no differences; another type, shape or integer is.
TEST_F(CheckValuesTest, ToleratesRoundings) {
  Builder builder(&context);
  auto outcome = [&](Type type, double number) {
    interpret::Value value = opt::draw("x", type, {4}, 0);
    if (type.isF64())
      value.mutableAs<double>()[2] = number;
    else if (isa<FloatType>(type))
      value.mutableAs<float>()[2] = static_cast<float>(number);
    else
      value.mutableAs<uint64_t>()[2] = static_cast<uint64_t>(number);
    return opt::Outcome{{value}, type};
  };
  auto differs = [&](Type type, double a, double b) {
    return opt::findDifference(outcome(type, a), outcome(type, b)).has_value();
  };
  EXPECT_FALSE(differs(builder.getF32Type(), 4, 4.00001));
  EXPECT_TRUE(differs(builder.getF32Type(), 4, 4.001));
  EXPECT_FALSE(differs(builder.getF64Type(), 4, 4 + 1e-12));
  EXPECT_TRUE(differs(builder.getF64Type(), 4, 4 + 1e-10));
  EXPECT_FALSE(differs(builder.getBF16Type(), 4, 4.0625));
  EXPECT_TRUE(differs(builder.getF16Type(), 4, 4.0625));
  EXPECT_TRUE(differs(builder.getI32Type(), 3, 4));
}

} // namespace
