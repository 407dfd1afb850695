/* Kernels of the runtime's tests, compiled to a shared object that tests embed
 * in artifacts. */
#include "TakesAny.h"

#include <stdint.h>
#include <string.h>

typedef void Kernel(void *const *buffers, const int64_t *scalars, int64_t tile);

/* Calls the function whose address is in the first buffer with the remaining
 * buffers. */
void call(void *const *buffers, const int64_t *scalars, int64_t tile) {
  Kernel *function;
  memcpy(&function, buffers[0], sizeof(function));
  function(buffers + 1, scalars, tile);
}

/* The same as a launch with 64 tiles. */
void call_tiles(void *const *buffers, const int64_t *scalars, int64_t tile) {
  call(buffers, scalars, tile);
}

/* out[0] = in[0] + scalars[0] */
void add_scalar(void *const *buffers, const int64_t *scalars, int64_t tile) {
  (void)tile;
  *(int64_t *)buffers[1] = *(const int64_t *)buffers[0] + scalars[0];
}

/* out[i] = in[i] * 2 for the 256 elements of a tile. */
void twice_tiles(void *const *buffers, const int64_t *scalars, int64_t tile) {
  (void)scalars;
  const float *in = (const float *)buffers[0] + 256 * tile;
  float *out = (float *)buffers[1] + 256 * tile;
  for (int i = 0; i < 256; ++i)
    out[i] = in[i] * 2;
}

void nothing(void *const *buffers, const int64_t *scalars, int64_t tile) {
  (void)buffers;
  (void)scalars;
  (void)tile;
}

/* Says nothing of its arguments, as code of earlier compilers. */
void silent(void *const *buffers, const int64_t *scalars, int64_t tile) {
  nothing(buffers, scalars, tile);
}

TAKES_ANY(call);
TAKES_ANY(call_tiles);
TAKES_ANY(add_scalar);
TAKES_ANY(twice_tiles);
TAKES_ANY(nothing);
