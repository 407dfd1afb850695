/* A kernel that takes whatever it is given: what a test launches is its own
 * affair. */
#ifndef LOCKSTEP_TEST_RUNTIME_TAKESANY_H
#define LOCKSTEP_TEST_RUNTIME_TAKESANY_H

#include <stdint.h>

#define TAKES_ANY(kernel)                                                      \
  const uint64_t kernel##_arguments __asm__(#kernel ".arguments") = 0

#endif
