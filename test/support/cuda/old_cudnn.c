/* A libcudnn.so.9 that lacks most functions. */
#include <stddef.h>

size_t cudnnGetVersion(void) { return 80900; }
