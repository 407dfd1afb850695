//===- ServerLayoutTest.cpp - Which server has which rows -----------------===//

#include "dialect/Replica/ServerLayout.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace lockstep::replica;
using namespace mlir;

namespace {

/// The layout of a module as text: "v: rows 0-2 on 1, rows 3-4 on 0" a line; or
/// the first error.
std::string layoutOf(const std::string &text) {
  DialectRegistry registry;
  registry.insert<ReplicaDialect>();
  MLIRContext context(registry);
  std::string result;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    result = "error: " + diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return result;
  FailureOr<std::vector<PlacedVariable>> layout = computeLayout(*module);
  if (failed(layout))
    return result;
  llvm::raw_string_ostream os(result);
  for (PlacedVariable &placed : *layout) {
    os << placed.variable.getSymName() << ":";
    llvm::interleave(
        placed.shards,
        [&](const VariableShard &shard) {
          os << " rows " << shard.firstRow << "-"
             << shard.firstRow + shard.rows - 1 << " on " << shard.server;
        },
        [&] { os << ","; });
    os << "\n";
  }
  return result;
}

const std::string kVariables =
    "replica.variable @s : tensor<f32>\n"
    "replica.variable @a : tensor<13x2xf32>\n"
    "replica.variable @m : tensor<13x2xf32> {colocate_with = @a}\n"
    "replica.variable @b : tensor<3xf32>\n";

std::string strategy(const std::string &attributes) {
  return "replica.strategy @ps {kind = #replica.kind<parameter_server_sync>" +
         attributes + "}\n";
}

// Whole variables are assigned to the servers in round-robin order; a colocated
// one does not advance it. [8-strategy, 8-colocate]
TEST(ServerLayout, PlacesWholeVariables) {
  EXPECT_EQ(layoutOf(strategy(", servers = 2 : i64") + kVariables),
            "s: rows 0-0 on 0\n"
            "a: rows 0-12 on 1\n"
            "m: rows 0-12 on 1\n"
            "b: rows 0-2 on 0\n");
}

// Each shard is assigned to the next server; scalars and colocated variables
// are never split, nor are rows.
TEST(ServerLayout, SplitsByFirstAxis) {
  EXPECT_EQ(layoutOf(strategy(", servers = 2 : i64, partitioner = "
                              "#replica.partitioner<fixed 5>") +
                     kVariables),
            "s: rows 0-0 on 0\n"
            "a: rows 0-2 on 1, rows 3-5 on 0, rows 6-8 on 1, rows 9-10 on 0, "
            "rows 11-12 on 1\n"
            "m: rows 0-12 on 1\n"
            "b: rows 0-0 on 0, rows 1-1 on 1, rows 2-2 on 0\n");
}

// Sizes are in bytes of the variable's own type.
TEST(ServerLayout, CountsBytes) {
  const std::string rule = ", servers = 3 : i64, partitioner = "
                           "#replica.partitioner<min_size bytes 16 shards 3>";
  EXPECT_EQ(layoutOf(strategy(rule) +
                     "replica.variable @f : tensor<8xf32>\nreplica.variable @d "
                     ": tensor<8xf64>\nreplica.variable @i : tensor<8xi1>\n"),
            "f: rows 0-3 on 0, rows 4-7 on 1\n"
            "d: rows 0-2 on 2, rows 3-5 on 0, rows 6-7 on 1\n"
            "i: rows 0-7 on 2\n");
}

// By themselves, sizes are those of the reference: one shard.
TEST(ServerLayout, DefaultsToWholeVariables) {
  EXPECT_EQ(layoutOf(strategy(", servers = 2 : i64, partitioner = "
                              "#replica.partitioner<min_size>") +
                     "replica.variable @t : tensor<100000x64xf32>\n"),
            "t: rows 0-99999 on 0\n");
}

// Variables of other strategies are not on servers.
TEST(ServerLayout, IsEmptyWithoutServers) {
  EXPECT_EQ(layoutOf("replica.strategy @dp {kind = #replica.kind<mirrored>, "
                     "replicas = 2 : i64}\n" +
                     kVariables),
            "");
}

// How many servers there are must be known.
TEST(ServerLayout, NeedsTheNumberOfServers) {
  EXPECT_EQ(layoutOf(strategy("") + kVariables),
            "error: expected a number of servers; run 'set-replicas' first");
}

} // namespace
