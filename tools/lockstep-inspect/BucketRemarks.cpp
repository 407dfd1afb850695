//===- BucketRemarks.cpp - the remarks about each collective --------------===//
//
// Remarks name a collective by its kind, operands and bytes. Collectives that
// are described alike have their remarks in the order of their starts.
//
//===----------------------------------------------------------------------===//

#include "tools/lockstep-inspect/Inspection.h"
#include "tools/support/Table.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::inspect {

namespace {

/// "all_reduce sum of 5 tensors (38.2 KiB)" or "all_reduce sum of 16xf32 (64
/// B)", as in remarks.
std::string describe(const ProgramInfo &program, const CollectiveInfo &info,
                     size_t operands, uint64_t bytes) {
  return fmt::format("{}{} of {} ({})", info.kind,
                     info.reduction.empty() ? "" : " " + info.reduction,
                     operands == 1
                         ? program.buffers[info.operands[0].buffer].type
                         : fmt::format("{} tensors", operands),
                     tools::bytesText(bytes));
}

class RemarkMatcher {
public:
  RemarkMatcher(ProgramInfo &program, const std::vector<RemarkInfo> &remarks)
      : program(program), remarks(remarks) {
    for (const CollectiveInfo &info : program.collectives) {
      bool isBucket = !info.operands.empty();
      descriptions.push_back(
          isBucket ? describe(program, info, info.operands.size(), info.bytes)
                   : "");
      firsts.push_back(
          isBucket ? describe(program, info, 1,
                              program.buffers[info.operands[0].buffer].size)
                   : "");
    }
  }

  void run() {
    for (uint32_t i = 0; i < remarks.size(); ++i) {
      const RemarkInfo &remark = remarks[i];
      if (remark.program != program.name)
        continue;
      if (remark.stage == "bucket")
        matchBucket(i);
      else if (remark.stage == "schedule")
        matchSchedule(i);
    }
  }

private:
  bool names(uint32_t remark, const std::string &description,
             std::string_view verb) const {
    return !description.empty() &&
           remarks[remark].message.find(description + std::string(verb)) !=
               std::string::npos;
  }

  bool isAbout(uint32_t remark, size_t collective,
               std::string_view verb) const {
    return remarks[remark].line == program.collectives[collective].line &&
           names(remark, descriptions[collective], verb);
  }

  void matchBucket(uint32_t remark) {
    constexpr std::string_view begins = " begins a new bucket";
    if (remarks[remark].message.find(begins) != std::string::npos) {
      // The first bucket of a plan has no such remark.
      for (size_t i = lastBegin + 1; i < firsts.size(); ++i)
        if (names(remark, firsts[i], begins)) {
          lastBegin = i;
          program.collectives[i].beginRemark = remark;
          return;
        }
      return;
    }
    for (std::string_view verb : {", ", " "})
      for (size_t i = 0; i < descriptions.size(); ++i) {
        auto &known = program.collectives[i].remarks;
        bool isTaken =
            std::any_of(known.begin(), known.end(), [&](uint32_t other) {
              return remarks[other].stage == "bucket";
            });
        if (!isTaken && isAbout(remark, i, verb)) {
          known.push_back(remark);
          return;
        }
      }
  }

  void matchSchedule(uint32_t remark) {
    if (remarks[remark].message.starts_with("its bucket ")) {
      if (lastScheduled)
        program.collectives[*lastScheduled].remarks.push_back(remark);
      return;
    }
    // A collective may have several: what delays it, then where it starts.
    size_t first = lastScheduled ? *lastScheduled + wasStarted : 0;
    for (size_t i = first; i < descriptions.size(); ++i)
      for (std::string_view verb : {" starts at ", " could start "})
        if (remarks[remark].message.starts_with(descriptions[i]) &&
            isAbout(remark, i, verb)) {
          program.collectives[i].remarks.push_back(remark);
          lastScheduled = i;
          wasStarted = verb == " starts at ";
          return;
        }
  }

  ProgramInfo &program;
  const std::vector<RemarkInfo> &remarks;
  /// Of each collective: itself, and its first operand alone.
  std::vector<std::string> descriptions, firsts;
  size_t lastBegin = 0;
  std::optional<size_t> lastScheduled;
  /// Whether the last matched remark is about the start.
  bool wasStarted = false;
};

} // namespace

void findRemarks(ProgramInfo &program, const std::vector<RemarkInfo> &remarks) {
  RemarkMatcher(program, remarks).run();
}

} // namespace lockstep::inspect
