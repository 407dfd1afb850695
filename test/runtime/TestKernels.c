/* Kernels of the runtime's tests, compiled to a shared object that tests embed
 * in artifacts; TestKernels.cu compiles them for GPUs. */
#include "TakesAny.h"

#include <stdint.h>

/* Calls a function of the host. */
#ifdef __CUDA_ARCH__
/* Only the stand-in for the driver of GPUs has it. */
extern "C" void lockstep_call_host(const void *function, void *buffer);
#else
static void lockstep_call_host(const void *function, void *buffer) {
  ((void (*)(void *))function)(buffer);
}
#endif

/* Calls the function whose address is in the first buffer. */
void call(void *const *buffers, const int64_t *scalars, int64_t tile) {
  (void)scalars;
  (void)tile;
  lockstep_call_host(*(const void *const *)buffers[0], 0);
}

/* The same with the second buffer. */
void call_on(void *const *buffers, const int64_t *scalars, int64_t tile) {
  (void)scalars;
  (void)tile;
  lockstep_call_host(*(const void *const *)buffers[0], buffers[1]);
}

/* The same as a launch with 64 tiles. */
void call_tiles(void *const *buffers, const int64_t *scalars, int64_t tile) {
  call_on(buffers, scalars, tile);
}

/* out[0] = in[0] + scalars[0] */
void add_scalar(void *const *buffers, const int64_t *scalars, int64_t tile) {
  (void)tile;
  *(int64_t *)buffers[1] = *(const int64_t *)buffers[0] + scalars[0];
}

/* out[0] = a[0] + b[0] */
void add(void *const *buffers, const int64_t *scalars, int64_t tile) {
  (void)scalars;
  (void)tile;
  *(int64_t *)buffers[2] =
      *(const int64_t *)buffers[0] + *(const int64_t *)buffers[1];
}

/* out[i] = a[i] + b[i] for 64 elements, one by one: slow, so that accesses of
 * others in between would be observed. */
void add_64(void *const *buffers, const int64_t *scalars, int64_t tile) {
  (void)scalars;
  (void)tile;
  for (int i = 0; i < 64; ++i)
    ((int64_t *)buffers[2])[i] =
        ((const int64_t *)buffers[0])[i] + ((const int64_t *)buffers[1])[i];
}

/* out[i] = w[i] / 2 + bias[i] for 6 elements. */
void add_half(void *const *buffers, const int64_t *scalars, int64_t tile) {
  (void)scalars;
  (void)tile;
  for (int i = 0; i < 6; ++i)
    ((float *)buffers[2])[i] =
        ((const float *)buffers[0])[i] * 0.5f + ((const float *)buffers[1])[i];
}

/* w[i] -= gradient[i] / 8 for 6 elements. */
void descend(void *const *buffers, const int64_t *scalars, int64_t tile) {
  (void)scalars;
  (void)tile;
  for (int i = 0; i < 6; ++i)
    ((float *)buffers[1])[i] -= 0.125f * ((const float *)buffers[0])[i];
}

/* Sets each of 2^18 elements to 1; it is a NaN in between. */
void set_by_way_of_nan(void *const *buffers, const int64_t *scalars,
                       int64_t tile) {
  (void)scalars;
  (void)tile;
  volatile float *v = (volatile float *)buffers[0];
  /* From the end, since readers begin at the start. */
  for (int i = 1 << 18; i-- > 0;)
    v[i] = __builtin_nanf("");
  for (int i = 0; i < 1 << 18; ++i)
    v[i] = 1;
}

/* ++counts[tile] for 64 tiles. */
void count_tiles(void *const *buffers, const int64_t *scalars, int64_t tile) {
  (void)scalars;
  ++((int32_t *)buffers[0])[tile];
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
TAKES_ANY(call_on);
TAKES_ANY(call_tiles);
TAKES_ANY(add_scalar);
TAKES_ANY(add);
TAKES_ANY(add_64);
TAKES_ANY(add_half);
TAKES_ANY(descend);
TAKES_ANY(set_by_way_of_nan);
TAKES_ANY(count_tiles);
TAKES_ANY(twice_tiles);
TAKES_ANY(nothing);
