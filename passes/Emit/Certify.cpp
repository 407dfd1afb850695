//===- Certify.cpp - Proves what is written -------------------------------===//

#include "passes/Emit/Certify.h"

#include "passes/Analysis/UserLocation.h"
#include "runtime/verification/Certificate.h"

#include "mlir/IR/Diagnostics.h"

#include <algorithm>

using namespace lockstep;
using namespace mlir;
using runtime::verification::CounterExample;
using runtime::verification::NamedProof;
using runtime::verification::Place;
using runtime::verification::Proof;
using runtime::verification::Verdict;

namespace {

class Story {
public:
  Story(ModuleOp module, const NamedProof &named, CommandLocator locate)
      : module(module), named(named), proof(named.proof), locate(locate) {}

  void tell() const {
    if (proof.verdict == Verdict::wrong)
      return proof.counterExample.chain.empty() ? tellMismatch() : tellWrong();
    InFlightDiagnostic error =
        module->emitError("expected that the replicas of program '")
        << named.program
        << "' provably do not wait for each other for ever: " << proof.reason
        << " [E_NOT_PROVABLE]";
    for (const auto &branch :
         llvm::ArrayRef(proof.dynamic).take_front(kMostNotes))
      error.attachNote(at(branch.role, branch.command))
          << "this condition of role '" << branch.role
          << "' is decided when it is executed"
          << (branch.differs ? ", and ranks may decide it differently" : "");
  }

private:
  static constexpr size_t kMostNotes = 8;

  Location at(llvm::StringRef role, uint32_t command) const {
    return getUserLocation(locate(named.program, role, command));
  }
  Location at(const Place &place) const {
    return at(place.role, place.command);
  }

  void tellMismatch() const {
    module->emitError("replicas of program '")
        << named.program
        << "' may wait for each other for ever: " << proof.reason
        << " [E_DEADLOCK]";
  }

  /// Each rank of the chain in its turn: where it stands, whom it waits for and
  /// what it has met before; then what it takes to get there.
  void tellWrong() const {
    const CounterExample &example = proof.counterExample;
    const Place &first = example.places[example.chain.front()];
    InFlightDiagnostic error = emitError(at(first));
    error << "replicas of program '" << named.program
          << "' may wait for each other for ever: " << proof.reason
          << " [E_DEADLOCK]";
    for (uint32_t rank : llvm::ArrayRef(example.chain).take_front(kMostNotes)) {
      const Place &place = example.places[rank];
      if (place.status == Place::Status::absent)
        continue;
      Diagnostic &note = error.attachNote(at(place));
      note << "rank " << rank << " (" << place.role << ") "
           << (place.status == Place::Status::waits ? "waits here"
                                                    : "has ended here");
      size_t skipped =
          place.met.size() - std::min(place.met.size(), kMostNotes);
      note << (place.met.empty() ? ", and has met nobody before"
               : skipped         ? ", after ... "
                                 : ", after ");
      llvm::interleave(
          llvm::ArrayRef(place.met).drop_front(skipped),
          [&](const auto &met) { note << met.text; }, [&] { note << "; "; });
    }
    for (const auto &decision :
         llvm::ArrayRef(example.decisions).take_front(kMostNotes))
      error.attachNote(at(example.places[decision.rank].role, decision.command))
          << "rank " << decision.rank << " finds this condition "
          << (decision.held ? "true" : "false");
  }

  ModuleOp module;
  const NamedProof &named;
  const Proof &proof;
  CommandLocator locate;
};

} // namespace

LogicalResult lockstep::certify(ModuleOp module, artifact::ArtifactT &tables,
                                CommandLocator locate, bool allowUnproven) {
  auto proofs = runtime::verification::certify(tables);
  // The loader's verifier, which sees more, says what is wrong with tables that
  // contradict themselves.
  if (!proofs)
    return module->emitError(proofs.status().message());
  bool allProven = true;
  for (const NamedProof &named : *proofs) {
    if (allowUnproven || named.proof.verdict == Verdict::proven)
      continue;
    Story(module, named, locate).tell();
    allProven = false;
  }
  return success(allProven);
}
