/* A libcuda.so.1 for CUDA 12.4 that lacks most functions. */
int cuDriverGetVersion(int *version) {
  *version = 12040;
  return 0;
}

int cuInit(unsigned flags) {
  (void)flags;
  return 0;
}
