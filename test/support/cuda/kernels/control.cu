// Control flow, calls, variables and memory of threads. Compiled by clang
// without CUDA's headers.

#define GLOBAL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device))

typedef __attribute__((ext_vector_type(4))) float float4;

static DEVICE unsigned index() {
  return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
         __nvvm_read_ptx_sreg_tid_x();
}

GLOBAL saxpy(float a, const float *x, float *y, unsigned n) {
  unsigned i = index();
  if (i < n)
    y[i] = a * x[i] + y[i];
}

// The steps of the Collatz sequence: a loop whose length differs by thread.
GLOBAL collatz(const unsigned *start, unsigned *steps) {
  unsigned value = start[index()], count = 0;
  while (value != 1) {
    value = value % 2 ? 3 * value + 1 : value / 2;
    ++count;
  }
  steps[index()] = count;
}

// A jump table.
GLOBAL choose(const int *x, int *y) {
  unsigned i = index();
  switch (x[i]) {
  case 0:
    y[i] = 10;
    break;
  case 1:
    y[i] += 7;
    break;
  case 2:
    y[i] *= 3;
    break;
  case 3:
    y[i] = y[i] / 2 - 1;
    break;
  case 4:
    y[i] = x[i + 1];
    break;
  case 5:
    y[i] ^= 0x55;
    break;
  default:
    y[i] = -1;
  }
}

struct Pair {
  int first;
  double second;
  char tag;
};

static DEVICE __attribute__((noinline)) Pair swapped(Pair pair, int *calls) {
  ++*calls;
  return {int(pair.second), double(pair.first), char(pair.tag + 1)};
}

// Structures as arguments, results and parameters, and an address of a local
// variable.
GLOBAL callFunctions(Pair pair, double *out) {
  int calls = 0;
  Pair result = swapped(swapped(swapped(pair, &calls), &calls), &calls);
  out[0] = result.first;
  out[1] = result.second;
  out[2] = result.tag;
  out[3] = calls;
}

struct Eight {
  int values[8];
};

static DEVICE __attribute__((noinline)) int change(Eight eight, unsigned i) {
  eight.values[i & 7] += 100;
  return eight.values[(i + 1) & 7] + eight.values[i & 7];
}

// A structure that is copied for a call, and changed there; and a parameter of
// the kernel with an index that is computed.
GLOBAL changeCopies(Eight eight, int *out) {
  unsigned i = index();
  out[i] = change(eight, i) + eight.values[(i + 2) & 7];
}

// Memory of a thread with an index that is computed.
GLOBAL reverse(const int *x, int *y, unsigned offset) {
  int values[8];
  for (unsigned i = 0; i < 8; ++i)
    values[i] = x[i];
  for (unsigned i = 0; i < 8; ++i)
    y[i] = values[(7 - i + offset) & 7];
}

DEVICE int table[4] = {10, 20, 30, 40};
DEVICE int *entry = &table[2];
DEVICE char text[6] = "hello";
DEVICE int counter;
__attribute__((constant)) float weights[3] = {0.5f, 1.5f, 2.5f};

GLOBAL readVariables(float *out, unsigned i) {
  out[0] = table[i];
  out[1] = *entry;
  out[2] = text[i];
  out[3] = weights[i];
  counter += 5;
}

GLOBAL copyVectors(const float4 *x, float4 *y) {
  float4 value = x[index()];
  y[index()] = value.wzyx;
}

// c = a b for square matrices; one thread for each element.
GLOBAL multiply(const float *a, const float *b, float *c, unsigned n) {
  unsigned i = index() / n, j = index() % n;
  float sum = 0;
  for (unsigned k = 0; k < n; ++k)
    sum += a[i * n + k] * b[k * n + j];
  c[i * n + j] = sum;
}

// A function of the host, with a number of the device.
extern "C" DEVICE void lockstep_call_host(const void *function, void *memory);
GLOBAL callHost(const void *function, int *number) {
  lockstep_call_host(function, number);
  if (number)
    number[0] *= 2;
}

GLOBAL writeAt(float *x, long long i) { x[i] = 1; }

GLOBAL assertThat(int condition) {
  if (!condition)
    __builtin_trap();
}
