/* A libcublasLt.so.12 that lacks most functions, of the version VERSION. */
#include <stddef.h>

size_t cublasLtGetVersion(void) { return VERSION; }
