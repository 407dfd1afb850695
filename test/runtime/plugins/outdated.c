/* A plugin that was built for another version of the runtime. */

#include <stdint.h>

const uint32_t lockstepPluginVersion = 0;

void lockstepOpenTransport(void) {}
