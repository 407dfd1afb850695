//===- CommandLine.h - the options of lockstep-compile ----------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_COMMANDLINE_H
#define LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_COMMANDLINE_H

#include "tools/support/NumberParser.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/WithColor.h"

namespace lockstep {

namespace cl = llvm::cl;

/// Prints an error; returns the exit status of the tool.
inline int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "lockstep-compile") << message << "\n";
  return 1;
}

template <typename T>
using NumberOption =
    cl::opt<T, /*ExternalStorage=*/false, tools::NumberParser<T, fail>>;

/// How source lines are printed with IR.
enum class Locations { None, Short, Full };

/// What computes products of matrices on GPUs.
enum class Products { Generated, CublasLt };

/// What computes convolutions on GPUs.
enum class Convolutions { Generated, Cudnn };

/// What applies activations to what a library computes on GPUs.
enum class Activations { Generated, Libraries };

/// What computes attention on GPUs.
enum class Attention { Generated, Cudnn };

/// The options of the command line. Constructed in `main`, after names have
/// been released.
struct CommandLine {
  cl::OptionCategory category{"lockstep-compile options"};
  cl::opt<std::string> input{cl::Positional, cl::desc("<step.mlir>"),
                             cl::init("-"), cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("file to write"),
                              cl::value_desc("file"), cl::init("-"),
                              cl::cat(category)};
  NumberOption<long long> replicas{
      "replicas", cl::desc("number of replicas, if the module does not say it"),
      cl::init(0), cl::cat(category)};
  cl::opt<std::string> strategy{
      "strategy",
      cl::desc("kind of the strategy, if the module does not say it"),
      cl::value_desc("kind"), cl::cat(category)};
  NumberOption<long long> servers{
      "servers",
      cl::desc("number of parameter servers, if the module does not say it"),
      cl::init(0), cl::cat(category)};
  cl::opt<std::string> partitioner{
      "partitioner",
      cl::desc("how variables are split over servers: fixed N, min_size [bytes "
               "B] [shards M] or max_size bytes B [shards M]"),
      cl::value_desc("rule"), cl::cat(category)};
  cl::list<std::string> targets{
      "target",
      cl::desc("target of the kernels, e.g. x86-64-v3; may be repeated"),
      cl::CommaSeparated, cl::cat(category)};
  cl::opt<std::string> level{"O",
                             cl::desc("optimization level"),
                             cl::value_desc("0|2"),
                             cl::Prefix,
                             cl::init("2"),
                             cl::cat(category)};
  cl::opt<bool> simplify{
      "simplify",
      cl::desc("leave out exchanges whose outcome is known without them"),
      cl::init(true), cl::cat(category)};
  cl::opt<bool> reassociate{
      "reassociate",
      cl::desc("add floats in another order where that saves an exchange"),
      cl::init(false), cl::cat(category)};
  cl::opt<ShardUpdate> shardUpdate{
      "shard-update",
      cl::desc("divide variables and their updates among the replicas:"),
      cl::values(clEnumValN(ShardUpdate::Auto, "auto",
                            "if that pays by the cost model of the topology"),
                 clEnumValN(ShardUpdate::On, "on", "wherever possible"),
                 clEnumValN(ShardUpdate::Off, "off", "never")),
      cl::init(ShardUpdate::Auto), cl::cat(category)};
  cl::opt<std::string> split{
      "split",
      cl::desc("split variables into pieces of rows, so that a piece of the "
               "gradient is exchanged while the next one is computed: auto "
               "(default), with --shard-update=auto, if a step then takes less "
               "time by the cost model of the topology; NAME:N,..., into N "
               "pieces, with --shard-update=on; none"),
      cl::value_desc("mode"), cl::init("auto"), cl::cat(category)};
  cl::opt<std::string> topology{
      "topology",
      cl::desc("what the schedule is made for: host (default), ethernet-25g, "
               "ethernet-100g, dgx-h100, torus-3d, or a JSON file"),
      cl::value_desc("preset|file"), cl::cat(category)};
  cl::opt<std::string> bucket{
      "bucket",
      cl::desc("merge collectives into buckets: optimal, by the cost model of "
               "the topology (default); bytes:N, until N bytes are full; none"),
      cl::value_desc("mode"), cl::init("optimal"), cl::cat(category)};
  cl::opt<bool> overlap{"overlap",
                        cl::desc("start collectives early, wait late"),
                        cl::init(true), cl::cat(category)};
  cl::opt<bool> orderKernels{
      "order-kernels",
      cl::desc("execute first the kernels that the link waits for, if the cost "
               "model of the topology chooses the buckets"),
      cl::init(true), cl::cat(category)};
  NumberOption<long long> memoryBound{
      "memory-bound",
      cl::desc("bytes that a process with one replica may need: the fastest "
               "schedule that needs no more"),
      cl::value_desc("bytes"), cl::init(0), cl::cat(category)};
  cl::opt<bool> checkBounds{
      "check-bounds",
      cl::desc("check every access of kernels against its buffer; the run ends "
               "with an error where one "
               "does not fit (slow)"),
      cl::cat(category)};
  cl::opt<bool> tf32{
      "tf32",
      cl::desc("on GPUs, round the factors of products of f32 to tf32, which "
               "has 10 bits of the mantissa instead of 23, for tensor cores"),
      cl::cat(category)};
  cl::opt<Products> products{
      "products", cl::desc("what computes products of matrices on GPUs"),
      cl::values(clEnumValN(Products::Generated, "generated",
                            "generated code (default)"),
                 clEnumValN(Products::CublasLt, "cublaslt",
                            "cuBLASLt, which the run then needs; generated "
                            "code for what it does not support")),
      cl::init(Products::Generated), cl::cat(category)};
  cl::opt<Activations> activations{
      "activations",
      cl::desc("what applies ReLU and GELU to products of f32 by cuBLASLt "
               "(--products), and ReLU to convolutions with a bias by cuDNN "
               "(--convolutions)"),
      cl::values(clEnumValN(Activations::Generated, "generated",
                            "generated code (default)"),
                 clEnumValN(Activations::Libraries, "libraries",
                            "these libraries, which may make 0 of a NaN")),
      cl::init(Activations::Generated), cl::cat(category)};
  cl::opt<Convolutions> convolutions{
      "convolutions", cl::desc("what computes convolutions on GPUs"),
      cl::values(clEnumValN(Convolutions::Generated, "generated",
                            "generated code (default)"),
                 clEnumValN(Convolutions::Cudnn, "cudnn",
                            "cuDNN, which the run then needs; generated code "
                            "for what it does not support")),
      cl::init(Convolutions::Generated), cl::cat(category)};
  cl::opt<Attention> attention{
      "attention",
      cl::desc("what computes lockstep.dot_product_attention on GPUs"),
      cl::values(clEnumValN(Attention::Generated, "generated",
                            "generated code, which stores the scores of some "
                            "heads at a time (default)"),
                 clEnumValN(Attention::Cudnn, "cudnn",
                            "cuDNN, which the run then needs, and which "
                            "stores none; generated code for what it does not "
                            "support")),
      cl::init(Attention::Generated), cl::cat(category)};
  cl::opt<uint64_t> attentionBytes{
      "attention-bytes",
      cl::desc("bytes of the scores that generated code has at a time of a "
               "lockstep.dot_product_attention, or of one head if it has more; "
               "0: of all heads. By default, 16 MiB, and 128 MiB if all "
               "targets are GPUs; part of -O2"),
      cl::value_desc("N"), cl::cat(category)};
  cl::opt<std::string> ptxas{
      "ptxas",
      cl::desc("also assemble the code for GPUs by NVIDIA's ptxas, so that a "
               "run need not: its path, or a name in PATH"),
      cl::value_desc("path"), cl::cat(category)};
  cl::opt<std::string> stopAfter{
      "stop-after",
      cl::desc(
          "print the IR after a stage: import, verify, lower, simplify, roles, "
          "kernels, bucket, schedule, codegen or memory"),
      cl::value_desc("stage"), cl::cat(category)};
  cl::opt<bool> verifyEach{"verify-each",
                           cl::desc("verify the IR after every pass, not only "
                                    "before it is written"),
                           cl::init(false), cl::cat(category)};
  cl::opt<bool> checkOrder{
      "check-order",
      cl::desc(
          "prove the order of collectives after every pass that may move one"),
      cl::init(false), cl::cat(category)};
  cl::opt<bool> findExamples{
      "find-examples",
      cl::desc("search for inputs on which a step that is refused goes wrong, "
               "as lockstep-verify does"),
      cl::init(false), cl::cat(category)};
  cl::opt<bool> allowUnproven{
      "allow-unproven",
      cl::desc("write what nobody has proven to end, for lockstep-verify to "
               "show; it is not run"),
      cl::cat(category)};
  cl::opt<std::string> sign{
      "sign", cl::desc("sign the artifact with an Ed25519 private key (PEM)"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> errors{
      "errors",
      cl::desc("write what is wrong with the program to a file too, as JSON"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<bool> timing{"timing", cl::desc("print the time of every pass"),
                       cl::cat(category)};
  cl::opt<std::string> remarks{
      "remarks",
      cl::desc("print what was decided and why; only of a stage, or only lines "
               "that match a regular expression"),
      cl::value_desc("stage|regex"), cl::ValueOptional, cl::cat(category)};
  cl::opt<Locations> locations{
      "locations",
      cl::desc("source lines in what --stop-after prints:"),
      cl::values(clEnumValN(Locations::None, "none", "none"),
                 clEnumValN(Locations::Short, "short",
                            "as comments behind operations (default)"),
                 clEnumValN(Locations::Full, "full",
                            "as MLIR's locations, which tools read back; "
                            "values have numbers instead of names"),
                 clEnumValN(Locations::Full, "", "as full")),
      cl::ValueOptional,
      cl::init(Locations::Short),
      cl::cat(category)};
};

} // namespace lockstep

#endif // LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_COMMANDLINE_H
