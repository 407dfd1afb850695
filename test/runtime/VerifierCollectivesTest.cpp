//===- VerifierCollectivesTest.cpp - rules for collectives ----------------===//

#include "VerifierRules.h"

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

const Rule collectives[] = {
    {"collectiveKind",
     [](TestProgram &p) {
       p.start(CollectiveKind::barrier, Reduction::none, p.channel(), {}, {});
     },
     "collective barrier is not supported by this runtime (expected "
     "all_reduce, reduce_scatter, all_gather, reduce, broadcast, gather, "
     "scatter, all_to_all, send, recv, permute)"},
    {"allToAllParts",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_to_all, Reduction::none, p.channel(),
               {f32(p, Space::replica, 5)}, {f32(p, Space::replica, 5)});
     },
     "all_to_all: operand 0, dimension 0: expected a multiple of the 2 "
     "members, found 5"},
    {"allToAllAxis",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_to_all, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::replica, 4)}, 0, 1);
     },
     "all_to_all: operand 0: axis 1 does not exist in a buffer of rank 1"},
    {"allToAllShape",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_to_all, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::replica, 2)});
     },
     "all_to_all: operand 0 and its result differ in shape or size"},
    {"allToAllOfADynamicShape",
     [](TestProgram &p) {
       uint32_t size = p.reg();
       uint32_t a = p.dynamicBuffer(Space::replica, ElementType::f32, {-1},
                                    {int32_t(size)}, 16),
                r = p.dynamicBuffer(Space::replica, ElementType::f32, {-1},
                                    {int32_t(size)}, 16);
       p.start(CollectiveKind::all_to_all, Reduction::none, p.channel(), {a},
               {r});
     },
     "all_to_all: expected operands of static shape, found a dynamic dimension "
     "in operand 0"},
    {"allToAllInSharedMemory",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_to_all, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::shared, 4)});
     },
     "all_to_all has a result in shared space, but results differ"},
    {"allToAllInPlace",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4);
       p.start(CollectiveKind::all_to_all, Reduction::none, p.channel(), {a},
               {a});
     },
     "a result overlaps the operand 0 of the same collective"},
    {"permuteWithoutSources",
     [](TestProgram &p) {
       p.start(CollectiveKind::permute, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::replica, 4)});
     },
     "permute: expected a source for each of 2 members, found 0"},
    {"permuteFromAnother",
     [](TestProgram &p) {
       p.start(CollectiveKind::permute, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::replica, 4)}, 0, 0,
               -1, {0, 2});
     },
     "permute: source 2 is not in its group"},
    {"permuteFromNegative",
     [](TestProgram &p) {
       p.start(CollectiveKind::permute, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::replica, 4)}, 0, 0,
               -1, {0, -2});
     },
     "permute: source -2 is not in its group"},
    {"permuteFromOneTwice",
     [](TestProgram &p) {
       p.start(CollectiveKind::permute, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::replica, 4)}, 0, 0,
               -1, {1, 1});
     },
     "permute: rank 1 is the source of two"},
    {"sourcesOfABroadcast",
     [](TestProgram &p) {
       p.start(CollectiveKind::broadcast, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::replica, 4)}, 0, 0,
               -1, {1, 0});
     },
     "broadcast: expected no sources, found 2"},
    {"sendToNobody",
     [](TestProgram &p) {
       p.start(CollectiveKind::send, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::replica, 4)},
               p.group({1}));
     },
     "send: expected a group of 2 members, found 1"},
    {"sendToAll",
     [](TestProgram &p) {
       p.start(CollectiveKind::send, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::shared, 4)});
     },
     "send has a result in shared space, but its root gets none"},
    {"rootOfAllReduce",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4);
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(), {a},
               {a}, 0, 0, 1);
     },
     "all_reduce has no root, found 1"},
    {"rootIsNoMember",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4);
       p.start(CollectiveKind::broadcast, Reduction::none, p.channel(), {a},
               {a}, p.group({1}), 0, 0);
     },
     "broadcast: root 0 is not in its group"},
    {"rootIsNegative",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4);
       p.start(CollectiveKind::broadcast, Reduction::none, p.channel(), {a},
               {a}, 0, 0, -2);
     },
     "broadcast: root -2 is not in its group"},
    {"broadcastCounts",
     [](TestProgram &p) {
       p.start(CollectiveKind::broadcast, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {});
     },
     "broadcast with root 0: expected as many results as operands, or none at "
     "a root on its own, found 1 operands and 0 results"},
    {"reduceCounts",
     [](TestProgram &p) {
       p.start(CollectiveKind::reduce, Reduction::sum, p.channel(), {},
               {f32(p, Space::replica, 4)});
     },
     "reduce with root 0: expected as many operands as results, or none at a "
     "root on its own, found 0 operands and 1 results"},
    {"scatterCounts",
     [](TestProgram &p) {
       p.start(CollectiveKind::scatter, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::replica, 4)});
     },
     "scatter with root 0: expected 2 operands and 1 result, found 1 operands "
     "and 1 results"},
    {"scatterCountsType",
     [](TestProgram &p) {
       uint32_t counts = p.buffer(Space::replica, ElementType::i32, {1});
       p.start(CollectiveKind::scatter, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4), counts},
               {f32(p, Space::replica, 4)});
     },
     "scatter: expected the counts of 1 other members, 1xi64, in a buffer of 8 "
     "bytes"},
    {"scatterOfAScalar",
     [](TestProgram &p) {
       uint32_t counts = p.buffer(Space::replica, ElementType::i64, {1}),
                rows = p.buffer(Space::replica, ElementType::f32, {});
       p.start(CollectiveKind::scatter, Reduction::none, p.channel(),
               {rows, counts}, {f32(p, Space::replica, 4)});
     },
     "scatter: expected rows, found a scalar"},
    {"scatterOfDynamicRows",
     [](TestProgram &p) {
       uint32_t counts = p.buffer(Space::replica, ElementType::i64, {1}),
                n = p.reg();
       uint32_t rows = p.dynamicBuffer(Space::replica, ElementType::f32,
                                       {4, -1}, {-1, int32_t(n)}, 64);
       p.start(CollectiveKind::scatter, Reduction::none, p.channel(),
               {rows, counts}, {f32(p, Space::replica, 4)});
     },
     "scatter: expected rows of a static size, found a dynamic dimension 1"},
    {"scatterRowsDiffer",
     [](TestProgram &p) {
       uint32_t counts = p.buffer(Space::replica, ElementType::i64, {1}),
                rows = p.buffer(Space::replica, ElementType::f32, {4, 2});
       p.start(CollectiveKind::scatter, Reduction::none, p.channel(),
               {rows, counts}, {f32(p, Space::replica, 4)});
     },
     "scatter: the rows and the result differ in another dimension than the "
     "first"},
    {"scatterElements",
     [](TestProgram &p) {
       uint32_t counts = p.buffer(Space::replica, ElementType::i64, {1}),
                rows = p.buffer(Space::replica, ElementType::i32, {4});
       p.start(CollectiveKind::scatter, Reduction::none, p.channel(),
               {rows, counts}, {f32(p, Space::replica, 4)});
     },
     "scatter: the rows are of i32, the result of f32"},
    {"scatterShared",
     [](TestProgram &p) {
       uint32_t counts = p.buffer(Space::replica, ElementType::i64, {2});
       p.writer.tables.replicas = 3;
       p.start(CollectiveKind::scatter, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4), counts}, {f32(p, Space::shared, 4)});
     },
     "scatter has a result in shared space, but results differ"},
    {"reduceShared",
     [](TestProgram &p) {
       p.start(CollectiveKind::reduce, Reduction::sum, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::shared, 4)});
     },
     "reduce has a result in shared space, but only its root gets one"},
    {"gatherRootAxis",
     [](TestProgram &p) {
       uint32_t a = p.buffer(Space::replica, ElementType::f32, {});
       p.start(CollectiveKind::gather, Reduction::none, p.channel(), {a}, {a});
     },
     "gather: axis 0 does not exist in a buffer of rank 0"},
    {"collectiveReduction",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::none, p.channel(), {},
               {});
     },
     "all_reduce with reduction none"},
    {"collectiveCounts",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(),
               {f32(p, Space::replica, 4)}, {});
     },
     "1 operands and 0 results"},
    {"collectiveShape",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::replica, 5)});
     },
     "differ in shape or size (16 and 20 bytes)"},
    {"collectiveElement",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(),
               {f32(p, Space::replica, 4)},
               {p.buffer(Space::replica, ElementType::i32, {4})});
     },
     "operand 0 is of f32, its result of i32"},
    {"collectiveNarrowsItsAccumulator",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(),
               {f32(p, Space::replica, 4)},
               {p.buffer(Space::replica, ElementType::bf16, {4})});
     },
     "operand 0 is of f32, its result of bf16"},
    {"gatherWidens",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_gather, Reduction::none, p.channel(),
               {p.buffer(Space::replica, ElementType::bf16, {4})},
               {f32(p, Space::replica, 8)});
     },
     "operand 0 is of bf16, its result of f32"},
    {"unroundedShape",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(),
               {p.buffer(Space::replica, ElementType::bf16, {4})},
               {f32(p, Space::replica, 2)});
     },
     "differ in shape or size (8 and 8 bytes)"},
    {"collectiveWritesInput",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(),
               {f32(p, Space::replica, 4)},
               {p.input("x", ElementType::f32, {4})});
     },
     "which is in space input"},
    {"collectiveOfBooleans",
     [](TestProgram &p) {
       uint32_t a = p.buffer(Space::replica, ElementType::i1, {4});
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(), {a},
               {a});
     },
     "all_reduce sum of i1 is not supported"},
    {"gatherShape",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_gather, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::shared, 9)});
     },
     "expected 8 in the result of 2 members, found 9"},
    {"gatherAxis",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_gather, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::shared, 8)}, 0, 1);
     },
     "axis 1 does not exist in both"},
    {"subgroupShared",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::shared, 4)},
               p.group({1}));
     },
     "of a part of the replicas has a result in space shared"},
    {"partialOverlap",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4), b = f32(p, Space::replica, 4);
       p.program->buffers[b]->offset = 8;
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(), {a},
               {b});
     },
     "a result overlaps the operand 0 of the same collective"},
    {"resultsOverlap",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4), r = f32(p, Space::shared, 4);
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(), {a, a},
               {r, r});
     },
     "a result overlaps the result"},
};

INSTANTIATE_TEST_SUITE_P(Collectives, Verifier, testing::ValuesIn(collectives),
                         ruleName);

} // namespace
