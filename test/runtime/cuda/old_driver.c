/* A libcuda.so.1 for CUDA 12.2. */
int cuDriverGetVersion(int *version) {
  *version = 12020;
  return 0;
}
