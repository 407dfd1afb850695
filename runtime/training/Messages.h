//===- Messages.h - messages on standard error ------------------*- C++ -*-===//
#ifndef LOCKSTEP_RUNTIME_TRAINING_MESSAGES_H
#define LOCKSTEP_RUNTIME_TRAINING_MESSAGES_H

#include <string>

namespace lockstep::training {

/// Prints "PROGRAM: error: MESSAGE" to the standard error output; PROGRAM is
/// the name of the program file, without its folder.
void printError(const std::string &message);
/// Prints "PROGRAM: MESSAGE" to the standard error output.
void printNote(const std::string &message);

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_MESSAGES_H
