//===- RunSteps.cpp - Steps on an iterator --------------------------------===//

#include "runtime/data/Distribution.h"
#include "test/conformance/driver/ProceduralPrograms.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace lockstep::conformance::driver {

namespace {

/// The step of these cases: `l = reduce_sum(x); v(SUM).assign_add(l)`, whose
/// `l` is an output with each of the reductions. A string that each replica
/// sets, "hello", is one value for all replicas, since it is equal.
constexpr const char *kModule = R"(
replica.strategy @strategy {{kind = #replica.kind<{kind}>, replicas = {replicas} : i64}}
replica.variable @v : tensor<f32> {{aggregation = #replica.aggregation<sum>, initial = dense<0.0> : tensor<f32>}}
replica.step @step(%x: tensor<{rows}xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {{
  %zero = arith.constant dense<0.0> : tensor<f32>
  %l = linalg.reduce ins(%x : tensor<{rows}xf32>) outs(%zero : tensor<f32>) dimensions = [0]
    (%in: f32, %out: f32) {{
      %sum = arith.addf %in, %out : f32
      linalg.yield %sum : f32
    }}
  replica.assign_add @v, %l : tensor<f32>
  replica.return %l, %l, %l, %l : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}}
replica.program @main(%batches: !replica.iterator<tensor<{rows}xf32>> {{replica.batches = ["x"]{bounds}}})
    -> (tensor<f32> {{replica.result = "result0"}}, tensor<f32> {{replica.result = "result1"}}, tensor<f32> {{replica.result = "result2"}},
        !replica.per_replica<tensor<f32>> {{replica.result = "result3"}}) {{
  %0, %1, %2, %3 = replica.run_steps {iterations} @step(%batches : !replica.iterator<tensor<{rows}xf32>>)
      {{reductions = ["mean", "sum", "mean", "none"], non_tensor_outputs = {{tag = ["hello"]}}}}
      -> tensor<f32>, tensor<f32>, tensor<f32>, !replica.per_replica<tensor<f32>>
  replica.return %0, %1, %2, %3 : tensor<f32>, tensor<f32>, tensor<f32>, !replica.per_replica<tensor<f32>>
}}
)";
constexpr const char *kOutputs[] = {"rep_mean", "rep_sum", "cross_mean",
                                    "cross_none"};

/// The floats 0, 1, 2, ... in batches, cut up for the replicas.
struct Data {
  std::vector<std::vector<ArgumentBinding>> batches;
  /// The maximum rows of replicas, and whether all have as many.
  uint64_t mostRows = 0;
  bool isEven = true;
};

Tensor countedFrom(uint64_t first, uint64_t count) {
  Json data = Json::array();
  for (uint64_t i = 0; i < count; ++i)
    data.push_back(first + i);
  return readTensor({{"dtype", "f32"}, {"shape", {count}}, {"data", data}});
}

/// Without a data set, any one with the number of batches in the note: "dataset
/// has 6 steps".
Data dataOf(const Json &json, unsigned replicas) {
  runtime::DistributionOptions options;
  options.replicasPerWorker = replicas;
  if (json.contains("dataset")) {
    const Json &dataset = json.at("dataset");
    options.rows = dataset.at("range_f32").get<uint64_t>();
    options.globalBatch = dataset.at("global_batch").get<uint64_t>();
    options.dropRemainder = dataset.value("drop_remainder", false);
  } else {
    std::string note = json.at("note").get<std::string>();
    options.globalBatch = replicas;
    options.rows =
        replicas * std::stoull(note.substr(note.find_first_of("0123456789")));
  }
  auto distribution = runtime::Distribution::create(options);
  if (!distribution)
    throw CaseError(distribution.status().message());

  Data data;
  data.mostRows = distribution->mostRows();
  for (uint64_t step = 0; step < distribution->steps(); ++step) {
    ArgumentBinding batch{"x", true, {}};
    for (unsigned replica = 0; replica < replicas; ++replica) {
      runtime::RowRange rows = distribution->rows(step, 0, replica);
      data.isEven &= rows.count == data.mostRows;
      batch.values.push_back(countedFrom(rows.first, rows.count));
    }
    data.batches.push_back({std::move(batch)});
  }
  return data;
}

Program programOf(const Json &json, const Strategy &strategy,
                  MLIRContext &context) {
  Data data = dataOf(json, static_cast<unsigned>(strategy.replicas));
  std::string text = fmt::format(
      kModule, fmt::arg("kind", replica::stringifyKind(strategy.kind).str()),
      fmt::arg("replicas", strategy.replicas),
      fmt::arg("iterations", json.value("iterations", 1)),
      fmt::arg("rows", data.isEven ? std::to_string(data.mostRows) : "?"),
      fmt::arg("bounds", data.isEven
                             ? ""
                             : fmt::format(", replica.bounds = array<i64: {}>",
                                           data.mostRows)));
  Program program;
  program.module = parseSourceString<ModuleOp>(
      text, ParserConfig(&context, /*verifyAfterParse=*/false),
      json.at("name").get<std::string>());
  if (!program.module)
    throw CaseError("the module of run_steps does not parse");
  program.batches = std::move(data.batches);
  auto op = *program.module->getOps<replica::ProgramOp>().begin();
  for (auto [index, value] :
       llvm::enumerate(op.getBody().front().getTerminator()->getOperands()))
    program.results[value.getAsOpaquePointer()] = static_cast<unsigned>(index);
  Variable v;
  v.symbol = "v";
  v.spec.name = "v";
  v.spec.initial =
      readTensor({{"dtype", "f32"}, {"shape", Json::array()}, {"data", {0.0}}});
  v.spec.aggregation = replica::Aggregation::Sum;
  v.type = toType(&context, v.spec.initial);
  program.variables.push_back(std::move(v));
  return program;
}

Json describeRun(const Case &one, const RunResult &run) {
  Json outputs = Json::object(), copies = Json::array();
  for (auto [name, values] : llvm::zip_equal(kOutputs, run.results)) {
    // A value of each replica, or one for all of them.
    size_t count =
        std::string_view(name) == "cross_none" ? one.strategy.replicas : 1;
    for (size_t i = 0; i < count; ++i)
      outputs[name].push_back(writeTensor(values.at(i)));
  }
  bool hasCopies =
      one.strategy.properties().placement == replica::Placement::Mirrored;
  for (int64_t i = 0; i < (hasCopies ? one.strategy.replicas : 1); ++i)
    copies.push_back(writeTensor(run.variables.at(0).at(i)).at("data").at(0));
  return {{"last_step_outputs", outputs},
          {"non_tensor_outputs", run.constants},
          {"v", copies}};
}

} // namespace

std::vector<ConfigurationResult> runSteps(const Json &json) {
  std::unique_ptr<MLIRContext> context = createContext();
  try {
    Case one;
    one.name = json.at("name").get<std::string>();
    one.strategy = readStrategy(json.at("strategy"));
    Program program = programOf(json, one.strategy, *context);
    auto describe = [](const Case &one, const Program &,
                       const std::vector<RunResult> &runs) {
      return describeRun(one, runs.front());
    };
    return describeOutcomes(
        executeInAllConfigurations(program, one.strategy.replicas), one,
        program, describe);
  } catch (const CaseError &error) {
    return {{"front end", runtime::invalidArgument(error.what())}};
  }
}

} // namespace lockstep::conformance::driver
