/* What cuDNN needs of a libcuda.so.1 to be loaded. It plans without a GPU. */
#define LOCKSTEP_NO_DEVICE(name)                                               \
  int name(void) { return 100; }
LOCKSTEP_NO_DEVICE(cuGetErrorString)
LOCKSTEP_NO_DEVICE(cuModuleGetFunction)
LOCKSTEP_NO_DEVICE(cuModuleLoadData)
LOCKSTEP_NO_DEVICE(cuModuleUnload)
LOCKSTEP_NO_DEVICE(cuTensorMapEncodeIm2col)
LOCKSTEP_NO_DEVICE(cuTensorMapEncodeTiled)
