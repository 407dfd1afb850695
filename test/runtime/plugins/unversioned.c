/* A library that is no plugin, though it has the name of one. */

void lockstepOpenTransport(void) {}
