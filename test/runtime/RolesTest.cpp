//===- RolesTest.cpp - the rules of artifacts with several roles ----------===//

#include "TestProgram.h"

#include <functional>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

/// Two workers and a server, which sends its variable to them and receives the
/// sum of their values.
struct PushPull {
  explicit PushPull(TestProgram &p) {
    p.variable("w", ElementType::f32, {4}, /*perReplica=*/true);
    p.role("server");
    shard = p.variable("shard", ElementType::f32, {4});
    gradient = p.buffer(Space::replica, ElementType::f32, {4});
    group = p.group({0, 1, 2});
    pull = p.channel(), push = p.channel();
    p.start(CollectiveKind::broadcast, Reduction::none, pull, {shard}, {},
            group, 0, 2);
    p.wait(pull);
    p.start(CollectiveKind::reduce, Reduction::sum, push, {}, {gradient}, group,
            0, 2);
    p.wait(push);
    p.ret();
    server = p.program;
    p.in("worker");
    pulled = p.buffer(Space::shared, ElementType::f32, {4});
    p.start(CollectiveKind::broadcast, Reduction::none, p.channel(pull), {},
            {pulled}, group, 0, 2);
    p.wait(pull);
    p.start(CollectiveKind::reduce, Reduction::sum, p.channel(push), {0}, {},
            group, 0, 2);
    p.wait(push);
    p.ret();
    worker = p.program;
  }
  artifact::StartT *start(artifact::ProgramT *program, uint32_t command) const {
    return program->commands[command]->body.AsStart();
  }

  artifact::ProgramT *worker, *server;
  uint32_t group, pull, push, shard, gradient, pulled;
};

struct RoleRule {
  const char *name;
  /// Breaks the artifact.
  std::function<void(TestProgram &, PushPull &)> breaks;
  /// Part of the message.
  const char *message;
};
std::ostream &operator<<(std::ostream &stream, const RoleRule &rule) {
  return stream << rule.name;
}

artifact::RoleT &role(TestProgram &p, size_t index) {
  return *p.writer.tables.roles[index];
}

/// Makes the last variable one with rows [first, ...) of "table", which has 5.
artifact::VariableT &makeShard(TestProgram &p, uint64_t first) {
  artifact::VariableT &variable = *p.writer.tables.variables.back();
  variable.shard = std::make_unique<artifact::ShardT>();
  variable.shard->of = "table";
  variable.shard->first_row = first;
  variable.shard->rows = 5;
  return variable;
}

/// A variable with rows [first, first + rows) of "table".
void shard(TestProgram &p, uint64_t first, uint64_t rows, int64_t dimension = 2,
           const char *role = "server") {
  p.in(role);
  p.variable("table/" + std::to_string(first), ElementType::f32,
             {int64_t(rows), dimension});
  makeShard(p, first);
}

/// The same, with two elements in a row, divided among the two workers.
void divide(TestProgram &p, uint64_t first, uint64_t rows) {
  p.in("worker");
  p.variable("table/" + std::to_string(first), ElementType::f32,
             {int64_t(rows)}, /*perReplica=*/true);
  makeShard(p, first).whole_shape = {int64_t(rows), 2};
}

const RoleRule rules[] = {
    // Roles
    {"roleName", [](TestProgram &p, PushPull &) { role(p, 1).name = ""; },
     "role '': the name is empty or given twice"},
    {"roleTwice",
     [](TestProgram &p, PushPull &) { role(p, 1).name = "worker"; },
     "role 'worker': the name is empty or given twice"},
    {"roleOfNoRank", [](TestProgram &p, PushPull &) { role(p, 1).ranks = 0; },
     "role 'server': expected 1 to 131072 ranks, found 0 from 2"},
    {"rolesOverlap",
     [](TestProgram &p, PushPull &) { role(p, 1).first_rank = 1; },
     "role 'server': expected its ranks to begin at 2, behind those of role "
     "'worker', and to end below 131072, found 1 from 1"},
    {"gapOfRanks",
     [](TestProgram &p, PushPull &) { role(p, 1).first_rank = 3; },
     "expected its ranks to begin at 2"},
    {"replicasFirst",
     [](TestProgram &p, PushPull &) {
       std::swap(role(p, 0).first_rank, role(p, 1).first_rank);
     },
     "role 'server': expected the first role to have the 2 replicas, found 1 "
     "ranks from 0"},
    {"replicasOfSeveralRoles",
     [](TestProgram &p, PushPull &) { p.writer.tables.replicas = 3; },
     "role 'worker': expected the first role to have the 3 replicas, found 2 "
     "ranks from 0"},
    {"hugeRole",
     [](TestProgram &p, PushPull &) {
       role(p, 1).variable_size = ~uint64_t(0);
     },
     "role 'server': a memory of"},
    {"sizesTwice",
     [](TestProgram &p, PushPull &) { p.writer.tables.variable_size = 16; },
     "sizes of variables are given by the artifact and by its roles"},
    {"groupRank", [](TestProgram &p, PushPull &) { p.group({0, 3}); },
     "group 'part': rank 3 does not exist among 3"},
    // Variables
    {"variableOfNoRole",
     [](TestProgram &p, PushPull &) { p.writer.tables.variables[1]->role = 2; },
     "variable 'shard': role 2 does not exist among 2"},
    {"variableOfAnotherRole",
     [](TestProgram &p, PushPull &) { p.writer.tables.variables[1]->role = 0; },
     "variable 'shard': 16 bytes at 0 lie outside of its memory of 0 bytes"},
    {"missingShard", [](TestProgram &p, PushPull &) { shard(p, 0, 3); },
     "variable 'table': expected its shards to cover 5 rows, found 3"},
    {"shardsOfOtherVariables",
     [](TestProgram &p, PushPull &) {
       shard(p, 0, 3), shard(p, 3, 2),
           p.writer.tables.variables.back()->shard->rows = 6;
     },
     "variable 'table': shards 'table/0' and 'table/3' differ in more than "
     "their first rows"},
    {"scalarShard",
     [](TestProgram &p, PushPull &) {
       shard(p, 0, 1, 1), p.writer.tables.variables.back()->type->shape = {};
     },
     "variable 'table/0': expected a shard of rows, found a scalar"},
    {"shardGap",
     [](TestProgram &p, PushPull &) { shard(p, 0, 3), shard(p, 4, 2); },
     "variable 'table': expected shard 'table/4' to begin at row 3, found 4"},
    {"shardOverlap",
     [](TestProgram &p, PushPull &) { shard(p, 0, 3), shard(p, 2, 2); },
     "variable 'table': expected shard 'table/2' to begin at row 3, found 2"},
    {"firstShard", [](TestProgram &p, PushPull &) { shard(p, 1, 3); },
     "expected shard 'table/1' to begin at row 0, found 1"},
    {"shardTypes",
     [](TestProgram &p, PushPull &) { shard(p, 0, 3), shard(p, 3, 3, 5); },
     "variable 'table': shards 'table/0' and 'table/3' differ in more than "
     "their first rows"},
    {"dividedAndWholeShards",
     [](TestProgram &p, PushPull &) { divide(p, 0, 3), shard(p, 3, 2); },
     "variable 'table': shards 'table/0' and 'table/3' differ in more than "
     "their first rows"},
    {"dividedShardGap",
     [](TestProgram &p, PushPull &) { divide(p, 0, 3), divide(p, 4, 2); },
     "variable 'table': expected shard 'table/4' to begin at row 3, found 4"},
    {"sharedShardOfReplicas",
     [](TestProgram &p, PushPull &) { shard(p, 0, 5, 2, "worker"); },
     "variable 'table': expected shard 'table/0' with a role of one rank, "
     "found one of 2"},
    {"shardAndWhole",
     [](TestProgram &p, PushPull &) {
       shard(p, 0, 5), p.variable("table", ElementType::f32, {3, 2});
     },
     "variable 'table' has shards and an empty name, or is whole as well"},
    // Programs
    {"programOfNoRole",
     [](TestProgram &, PushPull &o) { o.server->role = "evaluator"; },
     "program 'main': there is no role 'evaluator'"},
    {"programTwice",
     [](TestProgram &, PushPull &o) { o.server->role = "worker"; },
     "program 'main': role 'worker' has two of this name"},
    {"moreChannelsThanCommands",
     [](TestProgram &, PushPull &o) { o.server->channels = 11; },
     "program 'main' of role 'server': 11 channels, but only 10 commands"},
    {"sharedOutsideOfOnce",
     [](TestProgram &p, PushPull &o) {
       p.in("worker"), p.launch("nothing", {}, {o.pulled});
     },
     "program 'main' of role 'worker': command 5 (train.py:42): writes buffer "
     "1 in space shared"},
    {"strangeGroup",
     [](TestProgram &p, PushPull &o) {
       o.start(o.worker, 0)->group = p.group({2});
     },
     "broadcast of a group in which role 'worker' has no rank"},
    {"strangeBarrier",
     [](TestProgram &p, PushPull &) {
       p.in("server"), p.barrier(p.channel(2)), p.ret();
     },
     "barrier of a group in which role 'server' has no rank"},
    {"operandOfAReceiver",
     [](TestProgram &, PushPull &o) { o.start(o.worker, 0)->operands = {0}; },
     "broadcast with root 2: expected no operands where the root is not, found "
     "1 operands and 1 results"},
    {"resultOfAGiver",
     [](TestProgram &, PushPull &o) { o.start(o.worker, 2)->results = {0}; },
     "reduce with root 2: expected no results where the root is not, found 1 "
     "operands and 1 results"},
    {"scatterCounts",
     [](TestProgram &, PushPull &o) {
       o.start(o.server, 0)->kind = CollectiveKind::scatter;
     },
     "scatter with root 2: expected 2 operands and at most 1 result, found 1 "
     "operands and 0 results"},
    {"scatterResults",
     [](TestProgram &, PushPull &o) {
       o.start(o.worker, 0)->kind = CollectiveKind::scatter;
       o.start(o.worker, 0)->results = {};
     },
     "scatter with root 2: expected 1 result and no operands, found 0 operands "
     "and 0 results"},
    // Shared declarations
    {"kinds",
     [](TestProgram &, PushPull &o) {
       o.start(o.server, 2)->reduction = Reduction::max;
     },
     "program 'main': channel 1: roles 'worker' and 'server' differ in kind, "
     "reduction, group, root, axis or sources"},
    {"roots",
     [](TestProgram &, PushPull &o) {
       o.start(o.server, 0)->root = 1;
       o.start(o.server, 0)->operands = {};
       o.start(o.server, 0)->results = {o.shard};
     },
     "channel 0: roles 'worker' and 'server' differ in kind, reduction, group, "
     "root, axis or sources"},
    {"commands",
     [](TestProgram &p, PushPull &o) {
       p.in("server");
       p.program->commands.clear();
       p.barrier(o.pull, o.group);
       p.ret();
     },
     "channel 0: it is a Start in role 'worker' and a Barrier in role "
     "'server'"},
    {"sections",
     [](TestProgram &p, PushPull &o) {
       p.in("worker");
       p.program->commands.pop_back();
       p.once(p.channel(2));
       p.endOnce();
       p.ret();
       p.in("server");
       p.program->commands.pop_back();
       p.barrier(p.channel(2), o.group);
       p.ret();
     },
     "channel 2: it is a Once in role 'worker' and a Barrier in role 'server'"},
    {"missingPart",
     [](TestProgram &p, PushPull &o) {
       p.in("server");
       p.program->commands.erase(p.program->commands.begin() + 2,
                                 p.program->commands.begin() + 4);
       (void)o;
     },
     "channel 1: role 'server' has ranks in its group and no part in it"},
    {"missingProgram",
     [](TestProgram &, PushPull &o) { o.server->name = "other"; },
     "program 'main': channel 0: role 'server' has ranks in its group and no "
     "part in it"},
    {"broadcastTypes",
     [](TestProgram &p, PushPull &o) {
       p.in("worker"), o.start(o.worker, 0)->results = {
                           p.buffer(Space::shared, ElementType::f32, {5})};
     },
     "channel 0: role 'server' gives 4xf32 (16 bytes), role 'worker' expects "
     "5xf32 (20 bytes)"},
    {"broadcastNumbers",
     [](TestProgram &, PushPull &o) { o.start(o.worker, 0)->results = {}; },
     "channel 0: role 'server' gives 1 values, role 'worker' expects 0"},
    {"reduceTypes",
     [](TestProgram &p, PushPull &o) {
       p.in("worker"), o.start(o.worker, 2)->operands = {
                           p.buffer(Space::replica, ElementType::f64, {4})};
     },
     "channel 1: role 'worker' gives 4xf64 (32 bytes), role 'server' expects "
     "4xf32 (16 bytes)"},
    {"gatherRows",
     [](TestProgram &, PushPull &o) {
       for (artifact::ProgramT *program : {o.worker, o.server}) {
         o.start(program, 2)->kind = CollectiveKind::gather;
         o.start(program, 2)->reduction = Reduction::none;
       }
     },
     "channel 1: role 'server' expects 4 rows in result 0, its members give 8"},
    {"scatterTypes",
     [](TestProgram &p, PushPull &o) {
       p.in("server");
       o.start(o.server, 0)->operands = {
           p.buffer(Space::replica, ElementType::f32, {8, 2}),
           p.buffer(Space::replica, ElementType::i64, {2})};
       p.in("worker");
       o.start(o.worker, 0)->results = {
           p.buffer(Space::replica, ElementType::f32, {4, 3})};
       for (artifact::ProgramT *program : {o.worker, o.server})
         o.start(program, 0)->kind = CollectiveKind::scatter;
     },
     "channel 0: role 'server' gives 8x2xf32 (64 bytes), role 'worker' expects "
     "4x3xf32 (48 bytes)"},
    {"allReduceTypes",
     [](TestProgram &p, PushPull &o) {
       uint32_t channel = 2;
       for (const char *name : {"server", "worker"}) {
         p.in(name);
         p.program->commands.pop_back();
         uint32_t a = p.buffer(Space::replica, ElementType::f32,
                               {name[0] == 's' ? 4 : 5});
         p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(channel),
                 {a}, {a}, o.group);
         p.wait(channel);
         p.ret();
       }
     },
     "channel 2: role 'worker' gives 5xf32 (20 bytes), role 'server' expects "
     "4xf32 (16 bytes)"},
};

class RolesVerifier : public testing::TestWithParam<RoleRule> {};

TEST_P(RolesVerifier, refuses) {
  TestProgram p(2);
  PushPull o(p);
  GetParam().breaks(p, o);
  std::string message = p.error();
  EXPECT_NE(message.find(GetParam().message), std::string::npos)
      << "found: " << message;
}

INSTANTIATE_TEST_SUITE_P(Rules, RolesVerifier, testing::ValuesIn(rules),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

TEST(RolesVerifierAccepts, pushAndPull) {
  TestProgram p(2);
  PushPull o(p);
  shard(p, 0, 3);
  shard(p, 3, 2);
  EXPECT_EQ(p.error(), "");
}

// A sum of bf16 may be sent to the server as f32, in which it is computed.
TEST(RolesVerifierAccepts, unroundedSumAtTheServer) {
  TestProgram p(2);
  PushPull o(p);
  p.in("worker");
  o.start(o.worker, 2)->operands = {
      p.buffer(Space::replica, ElementType::bf16, {4})};
  EXPECT_EQ(p.error(), "");
}

// Each role has its own once sections; they are local, so their channels need
// not agree.
TEST(RolesVerifierAccepts, onceSectionsOfEachRole) {
  TestProgram p(2);
  PushPull o(p);
  for (const char *name : {"server", "worker"}) {
    p.in(name);
    p.program->commands.pop_back();
    p.once(p.channel(2));
    p.endOnce();
    p.ret();
  }
  EXPECT_EQ(p.error(), "");
}

} // namespace
