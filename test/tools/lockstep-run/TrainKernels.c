/* Kernels of a linear regression, for tests of lockstep-run: y ~ x w + b, ROWS
 * examples with 3 features a replica. The compiler is not involved, so these
 * tests need no LLVM. */
#include "TakesAny.h"

#include <stdint.h>

enum { ROWS = 4, FEATURES = 3 };

static float residual(const float *x, const float *y, const float *w,
                      const float *b, int row) {
  float value = b[0] - y[row];
  for (int j = 0; j < FEATURES; ++j)
    value += x[row * FEATURES + j] * w[j];
  return value;
}

/* partial = [gradient of w, gradient of b, loss], summed over the rows; tally
 * += sum of y */
void gradients(void *const *buffers, const int64_t *scalars, int64_t tile) {
  const float *x = buffers[0], *y = buffers[1], *w = buffers[2],
              *b = buffers[3];
  float *partial = buffers[5], *tally = buffers[6];
  (void)scalars;
  (void)tile;
  for (int j = 0; j < FEATURES + 2; ++j)
    partial[j] = 0;
  for (int row = 0; row < ROWS; ++row) {
    float r = residual(x, y, w, b, row);
    for (int j = 0; j < FEATURES; ++j)
      partial[j] += 2 * r * x[row * FEATURES + j];
    partial[FEATURES] += 2 * r;
    partial[FEATURES + 1] += r * r;
    *tally += y[row];
  }
}

/* One step of gradient descent with the mean over scalars[0] examples. seen =
 * [step, seed] */
void update(void *const *buffers, const int64_t *scalars, int64_t tile) {
  const float *total = buffers[0], *lr = buffers[1];
  const int32_t *step = buffers[2], *seed = buffers[3];
  float *w = buffers[6], *b = buffers[7], *loss = buffers[8];
  int32_t *seen = buffers[9];
  float count = (float)scalars[0];
  (void)tile;
  for (int j = 0; j < FEATURES; ++j)
    w[j] -= *lr * total[j] / count;
  *b -= *lr * total[FEATURES] / count;
  *loss = total[FEATURES + 1] / count;
  seen[0] = *step;
  seen[1] = *seed;
}

/* sum = squared residuals of the rows whose mask is 1, count = how many there
 * are */
void errors(void *const *buffers, const int64_t *scalars, int64_t tile) {
  const float *mask = buffers[0], *x = buffers[1], *y = buffers[2],
              *w = buffers[3], *b = buffers[4];
  float *sum = buffers[5], *count = buffers[6];
  (void)scalars;
  (void)tile;
  *sum = *count = 0;
  for (int row = 0; row < ROWS; ++row) {
    float r = residual(x, y, w, b, row);
    *sum += mask[row] * r * r;
    *count += mask[row];
  }
}

/* Never returns. */
void hang(void *const *buffers, const int64_t *scalars, int64_t tile) {
  volatile float *forever = buffers[1];
  (void)scalars;
  (void)tile;
  while (1)
    *forever = 0;
}

TAKES_ANY(gradients);
TAKES_ANY(update);
TAKES_ANY(errors);
TAKES_ANY(hang);
