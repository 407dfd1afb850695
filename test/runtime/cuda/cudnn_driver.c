/* What cuDNN needs of a libcuda.so.1 to be loaded, and to plan without a GPU:
   it looks up all of these. Code that it compiles is loaded, and nothing else
   succeeds. */
#define LOCKSTEP_NO_DEVICE(name)                                               \
  int name(void) { return 100; }
LOCKSTEP_NO_DEVICE(cuCtxGetCurrent)
LOCKSTEP_NO_DEVICE(cuCtxGetLimit)
LOCKSTEP_NO_DEVICE(cuCtxPopCurrent)
LOCKSTEP_NO_DEVICE(cuCtxPushCurrent)
LOCKSTEP_NO_DEVICE(cuDeviceGet)
LOCKSTEP_NO_DEVICE(cuDeviceGetCount)
LOCKSTEP_NO_DEVICE(cuGetErrorName)
LOCKSTEP_NO_DEVICE(cuGetErrorString)
LOCKSTEP_NO_DEVICE(cuLaunchCooperativeKernel)
LOCKSTEP_NO_DEVICE(cuLaunchKernel)
LOCKSTEP_NO_DEVICE(cuLaunchKernelEx)
LOCKSTEP_NO_DEVICE(cuLinkAddData)
LOCKSTEP_NO_DEVICE(cuLinkComplete)
LOCKSTEP_NO_DEVICE(cuLinkCreate)
LOCKSTEP_NO_DEVICE(cuLinkDestroy)
LOCKSTEP_NO_DEVICE(cuOccupancyMaxPotentialClusterSize)
LOCKSTEP_NO_DEVICE(cuStreamGetCtx)
LOCKSTEP_NO_DEVICE(cuTensorMapEncodeIm2col)
LOCKSTEP_NO_DEVICE(cuTensorMapEncodeTiled)

/* Modules, libraries and kernels are never used: any address will do. */
static int loaded;
#define LOCKSTEP_LOADS(name)                                                   \
  int name(void **handle) {                                                    \
    *handle = &loaded;                                                         \
    return 0;                                                                  \
  }
LOCKSTEP_LOADS(cuKernelGetFunction)
LOCKSTEP_LOADS(cuLibraryGetKernel)
LOCKSTEP_LOADS(cuLibraryLoadData)
LOCKSTEP_LOADS(cuLibraryLoadFromFile)
LOCKSTEP_LOADS(cuModuleGetFunction)
LOCKSTEP_LOADS(cuModuleLoadData)
int cuKernelSetAttribute(void) { return 0; }
int cuLibraryUnload(void) { return 0; }
int cuModuleUnload(void) { return 0; }

int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}

int cuKernelGetAttribute(int *value) {
  *value = 0;
  return 0;
}

/* Tells tests which library this is. */
int lockstepLoadsCode = 1;
