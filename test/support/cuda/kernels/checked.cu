// A kernel as the compiler makes it with checks: a thread whose check fails
// returns.

extern "C" __attribute__((device)) long long lockstep_fault[4] = {0, 0, 0, 0};

extern "C" __attribute__((global)) void leave(int n) {
  if (int(__nvvm_read_ptx_sreg_tid_x()) >= n) {
    lockstep_fault[0] = 1;
    return;
  }
  __nvvm_bar_sync(0);
}
