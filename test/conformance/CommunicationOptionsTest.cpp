//===- CommunicationOptionsTest.cpp - options of two sources --------------===//

#include "test/conformance/CommunicationOptions.h"

#include <gtest/gtest.h>

using namespace lockstep::runtime;

TEST(CommunicationOptions, OthersThatAreNotTheDefaultWin) { // [2.5-merge]
  using Implementation = CommunicationOptions::Implementation;
  CommunicationOptions some{.bytesPerPack = 8,
                            .timeoutSeconds = 2.0,
                            .implementation = Implementation::nccl};
  EXPECT_EQ(some.merged({}), some);
  EXPECT_EQ(CommunicationOptions().merged(some), some);
  EXPECT_EQ(some.merged({.bytesPerPack = 4}),
            (CommunicationOptions{4, 2.0, Implementation::nccl}));
  EXPECT_EQ(some.merged({.timeoutSeconds = 1.0,
                         .implementation = Implementation::ring}),
            (CommunicationOptions{8, 1.0, Implementation::ring}));
}
