//===- TrainingOptions.h - options of a run ---------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_TRAININGOPTIONS_H
#define LOCKSTEP_RUNTIME_TRAINING_TRAININGOPTIONS_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::training {

/// The options of the command line; empty and absent means not set.
struct Options {
  std::string model;

  std::string data;
  std::string evalData;
  /// Arrays for a single step, instead of training.
  std::string inputs;
  /// The program to run; empty: `step`, or the only one.
  std::string program;
  std::string init;
  /// "drop" or "distribute".
  std::string remainder = "drop";
  /// Examples of a step; 0: the rows of all replicas.
  uint64_t globalBatch = 0;
  std::optional<uint64_t> epochs;
  std::optional<uint64_t> steps;
  std::optional<uint64_t> seed;
  /// NAME=VALUE
  std::vector<std::string> scalars;
  /// Epochs between evaluations.
  uint64_t evalEvery = 1;

  std::string metrics;
  std::string save;
  /// Steps between checkpoints; 0: only at the end.
  uint64_t saveEvery = 0;
  /// Checkpoints that are left in the folder; 0: all.
  uint64_t keep = 0;
  bool resume = false;

  unsigned threads = 0;
  /// Of the workers; 0: one in each process.
  unsigned executors = 0;
  /// See `openDevice`.
  std::string device;
  /// See `openTransport`.
  std::string transport;
  /// Workers that take steps on their own; nothing: all replicas take steps
  /// together.
  std::optional<unsigned> workers;
  std::optional<unsigned> replicas;
  std::string target;
  /// File with the trusted keys of artifacts.
  std::optional<std::string> trust;
  /// Level for `lockstep-compile`, "0" or "2".
  std::string optimization;

  double deadlineSeconds = 60;
  std::chrono::nanoseconds deadline() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(deadlineSeconds));
  }
  std::string report;
  std::string trace;
  bool checkRaces = false;
  bool checkFinite = false;
  bool fillMemory = false;
  bool shadowVariables = false;
  bool noRecording = false;
  bool flushSubnormals = false;
  /// Steps between comparisons; 0: none.
  uint64_t checkMirrored = 0;
  std::vector<std::string> injections;
};

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_TRAININGOPTIONS_H
