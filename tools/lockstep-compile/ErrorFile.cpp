//===- ErrorFile.cpp - writes errors as JSON ------------------------------===//

#include "tools/lockstep-compile/ErrorFile.h"

#include "passes/Analysis/UserLocation.h"
#include "passes/Verify/Verdict.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/Regex.h"

using namespace lockstep;
using namespace mlir;

static llvm::json::Object toJson(Location location,
                                 const std::string &message) {
  llvm::json::Object object{{"message", message}};
  if (std::optional<FileLineColLoc> place = findUserLocation(location)) {
    object["file"] = place->getFilename().str();
    object["line"] = place->getLine();
    object["column"] = place->getColumn();
  }
  return object;
}

static llvm::json::Object toJson(Diagnostic &diagnostic) {
  std::string message = diagnostic.str();
  llvm::json::Object object = toJson(diagnostic.getLocation(), message);
  SmallVector<StringRef> found;
  if (llvm::Regex("\\[(E_[A-Z_]+)\\]").match(message, &found))
    object["class"] = found[1].str();
  if (DictionaryAttr verdict = findVerdict(diagnostic))
    for (NamedAttribute entry : verdict)
      object[entry.getName().getValue()] =
          cast<StringAttr>(entry.getValue()).str();
  llvm::json::Array notes;
  for (Diagnostic &note : diagnostic.getNotes())
    notes.push_back(toJson(note.getLocation(), note.str()));
  object["notes"] = std::move(notes);
  return object;
}

ErrorFile::ErrorFile(MLIRContext &context)
    : handler(&context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          errors.push_back(toJson(diagnostic));
        // Another handler prints the error.
        return failure();
      }) {}

LogicalResult ErrorFile::open(StringRef path, std::string &message) {
  file = openOutputFile(path, &message);
  return success(file != nullptr);
}

ErrorFile::~ErrorFile() {
  if (!file)
    return;
  file->os() << llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object{
                                           {"errors", std::move(errors)}}))
             << "\n";
  file->keep();
}
