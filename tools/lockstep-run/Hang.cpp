//===- Hang.cpp - actions at a missed deadline ----------------------------===//

#include "tools/lockstep-run/Hang.h"

#include "runtime/checkpoint/AtomicFile.h"
#include "runtime/support/Threads.h"
#include "runtime/training/Messages.h"
#include "tools/lockstep-run/Options.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <span>
#include <thread>
#include <unistd.h>

namespace lockstep::training {

namespace {

/// A run that can return does so at once; the delay is for one that cannot.
constexpr auto gracePeriod = std::chrono::milliseconds(500);

runtime::Status writeReport(const std::string &path, const std::string &json) {
  runtime::Expected<runtime::AtomicFile> file =
      runtime::AtomicFile::create(path);
  if (!file)
    return file.status();
  std::string text = json + "\n";
  LOCKSTEP_RETURN_IF_ERROR(file->write(std::as_bytes(std::span(text))));
  return file->commit();
}

} // namespace

void HangHandler::print(const runtime::DeadlineReport &report) {
  printReport(report.text);
  if (!reportFile.empty()) {
    runtime::Status status = writeReport(reportFile, report.json);
    if (!status.ok())
      printError(status.message());
  }
}

void HangHandler::onDeadline(const runtime::DeadlineReport &report) {
  print(report);
  scheduleExit(exitDeadline);
}

void HangHandler::onLongWait(const runtime::DeadlineReport &report) {
  print(report);
  printOwnNote(
      "the run goes on, as the others may still come; a signal ends it");
}

void HangHandler::scheduleExit(int status) {
  auto end = [this, status](std::chrono::milliseconds after) {
    std::this_thread::sleep_for(after);
    if (isExiting.exchange(true))
      return;
    printOwnNote(
        "a kernel or a transfer does not end: the process leaves it behind");
    if (beforeExit)
      beforeExit();
    std::fflush(nullptr);
    _exit(status);
  };
  if (runtime::Expected<std::thread> thread =
          runtime::startThread([end] { end(gracePeriod); }))
    thread->detach();
  else
    end(std::chrono::milliseconds(0));
}

void HangHandler::runReturned() {
  // If the handler was first, it is ending the process.
  if (isExiting.exchange(true))
    pause();
}

} // namespace lockstep::training
