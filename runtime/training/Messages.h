//===- Messages.h - messages on standard error ------------------*- C++ -*-===//
#ifndef LOCKSTEP_RUNTIME_TRAINING_MESSAGES_H
#define LOCKSTEP_RUNTIME_TRAINING_MESSAGES_H

#include <string>

namespace lockstep::training {

/// Of several processes, each names its number, except in what all of them
/// would say: the first one alone prints that.
void setProcess(unsigned index, unsigned count);

/// Prints "PROGRAM: error: MESSAGE" to the standard error output; PROGRAM is
/// the name of the program file, without its folder.
void printError(const std::string &message);
/// Prints "PROGRAM: MESSAGE" to the standard error output: in the first
/// process, or about this process.
void printNote(const std::string &message);
void printOwnNote(const std::string &message);
/// Prints a text of several lines.
void printReport(const std::string &text);

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_MESSAGES_H
