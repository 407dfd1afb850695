// Threads that work together: shared memory, barriers, warps and atomic
// operations.

#define GLOBAL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))

static __attribute__((device)) unsigned thread() {
  return __nvvm_read_ptx_sreg_tid_x();
}
static __attribute__((device)) unsigned index() {
  return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
         thread();
}

// The sum of each block of 256.
GLOBAL sumBlocks(const float *x, float *sums) {
  SHARED float tile[256];
  unsigned i = thread();
  tile[i] = x[index()];
  __nvvm_bar_sync(0);
  for (unsigned stride = 128; stride; stride /= 2) {
    if (i < stride)
      tile[i] += tile[i + stride];
    __nvvm_bar_sync(0);
  }
  if (i == 0)
    sums[__nvvm_read_ptx_sreg_ctaid_x()] = tile[0];
}

// The same without barriers in the loop.
GLOBAL sumWithoutBarriers(const float *x, float *sums) {
  SHARED volatile float tile[256];
  unsigned i = thread();
  tile[i] = x[index()];
  for (unsigned stride = 128; stride; stride /= 2)
    if (i < stride)
      tile[i] = tile[i] + tile[i + stride];
  if (i == 0)
    sums[__nvvm_read_ptx_sreg_ctaid_x()] = tile[0];
}

GLOBAL sumDynamic(const float *x, float *sum, unsigned n) {
  extern SHARED float dynamic[];
  dynamic[thread()] = x[thread()];
  __nvvm_bar_sync(0);
  if (thread() == 0) {
    float total = 0;
    for (unsigned i = 0; i < n; ++i)
      total += dynamic[i];
    *sum = total;
  }
}

GLOBAL sumWarps(const float *x, float *sums) {
  float value = x[index()];
  for (unsigned offset = 16; offset; offset /= 2)
    value += __nvvm_shfl_sync_bfly_f32(-1, value, offset, 31);
  sums[index()] = value;
}

// Inclusive sums within warps.
GLOBAL scanWarps(const int *x, int *sums) {
  int lane = thread() & 31, value = x[index()];
  for (int offset = 1; offset < 32; offset *= 2) {
    int other = __nvvm_shfl_sync_up_i32(-1, value, offset, 0);
    if (lane >= offset)
      value += other;
  }
  sums[index()] = value;
}

GLOBAL vote(const int *x, unsigned *out) {
  bool isPositive = x[thread()] > 0;
  unsigned ballot = __nvvm_vote_ballot_sync(-1, isPositive);
  if (thread() == 0) {
    out[0] = ballot;
  }
  bool any = __nvvm_vote_any_sync(-1, isPositive);
  bool all = __nvvm_vote_all_sync(-1, isPositive);
  out[1 + thread()] = any + 2 * all;
}

GLOBAL count(const int *x, int *histogram, unsigned long long *total,
             float *sum) {
  int value = x[index()];
  __atomic_fetch_add(&histogram[value & 7], 1, __ATOMIC_RELAXED);
  __nvvm_atom_add_gen_ll((long long *)total, value);
  __nvvm_atom_add_gen_f(sum, 0.5f);
}

GLOBAL maximum(const int *x, int *most) {
  int expected = *(volatile int *)most;
  int value = x[index()];
  while (value > expected)
    if (__atomic_compare_exchange_n(most, &expected, value, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      break;
}

GLOBAL diverge(int n) {
  if (int(thread()) < n)
    __nvvm_bar_sync(0);
}

GLOBAL divergeInWarp(int *x) {
  if (thread() % 2)
    *x = __nvvm_shfl_sync_bfly_i32(-1, *x, 1, 31);
  else
    __nvvm_bar_sync(0);
}

GLOBAL sharedOutOfBounds(int i) {
  SHARED volatile int tile[32];
  tile[i] = 1;
}

// Each thread calls the host with its element, then reverses a block of 64.
extern "C" __attribute__((device)) void lockstep_call_host(const void *function,
                                                           void *memory);
GLOBAL callHostAndReverse(const void *function, int *x) {
  unsigned i = thread();
  lockstep_call_host(function, x + i);
  __nvvm_bar_sync(0);
  int other = x[63 - i];
  __nvvm_bar_sync(0);
  x[i] = other;
}

// c[16, 8] += a[16, K] * b[8, K], of elements in words of 32 bits: one of tf32,
// K = 8, or two of 16 bits, K = 16. Rows of the factors have 8 words.
#define MULTIPLY(NAME, SHAPE, FACTOR)                                          \
  GLOBAL NAME(const unsigned *a, const unsigned *b, float *c) {                \
    unsigned group = thread() / 4, word = thread() % 4;                        \
    a += group * 8 + word;                                                     \
    b += group * 8 + word;                                                     \
    c += group * 8 + 2 * word;                                                 \
    asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." FACTOR "." FACTOR   \
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "         \
                 "{%0, %1, %2, %3};"                                           \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[64]), "+f"(c[65])            \
                 : "r"(a[0]), "r"(a[64]), "r"(a[4]), "r"(a[68]), "r"(b[0]),    \
                   "r"(b[4]));                                                 \
  }
MULTIPLY(multiplyTf32, "m16n8k8", "tf32")
MULTIPLY(multiplyF16, "m16n8k16", "f16")
MULTIPLY(multiplyBF16, "m16n8k16", "bf16")

// To the precision of tf32.
GLOBAL roundToTf32(const float *x, unsigned *y) {
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y[index()]) : "f"(x[index()]));
}
