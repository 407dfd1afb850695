/*===- lockstep.h - the runtime from C -------------------------------------===
 *
 * Opens an artifact and runs its programs. Nothing here throws, nothing prints.
 *
 * An artifact is native code: who opens one from somebody else runs their
 * program, with all that the process may do. It is verified when it is opened,
 * which finds damaged and inconsistent files but no bad intent.
 * lockstep_options.trusted_keys accepts only artifacts that somebody who is
 * trusted has signed.
 *
 *   lockstep_session *session;
 *   lockstep_options options;
 *   lockstep_options_init(&options, sizeof(options));
 *   if (lockstep_session_open("model.lockstep", &options, &session))
 *     fprintf(stderr, "%s\n", lockstep_last_error());
 *
 * Errors: every function that can fail returns a `lockstep_status`; the message
 * of the calling thread's last failure is `lockstep_last_error()`.
 *
 * Threads: one thread at a time may use a session, save for
 * lockstep_interrupt; different sessions are independent.
 *
 * Ownership: pointers that a session returns belong to it; pointers that it is
 * given belong to the caller and must stay valid as long as the function says.
 *
 *===----------------------------------------------------------------------===*/

#ifndef LOCKSTEP_API_LOCKSTEP_H
#define LOCKSTEP_API_LOCKSTEP_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LOCKSTEP_EXPORT __attribute__((visibility("default")))
#else
#define LOCKSTEP_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a function changes in a way that a compiled caller would notice.
 */
#define LOCKSTEP_API_VERSION 2

typedef enum lockstep_status {
  LOCKSTEP_OK = 0,
  LOCKSTEP_INVALID_ARGUMENT = 1,
  LOCKSTEP_CORRUPTED = 2,
  LOCKSTEP_UNSUPPORTED = 3,
  LOCKSTEP_SYSTEM = 4,
  /* No replica made progress for the deadline; the session is poisoned. */
  LOCKSTEP_DEADLINE = 5,
  LOCKSTEP_RACE = 6,
  LOCKSTEP_OUT_OF_RANGE = 7,
  /* An earlier error has poisoned the session: it runs nothing any more. */
  LOCKSTEP_POISONED = 8,
  /* A kernel or collective has made a NaN or an infinity, and the session
     checks for them; it is poisoned. */
  LOCKSTEP_NON_FINITE = 9,
  /* Copies of a variable that have to be the same are not; the session is
     poisoned. */
  LOCKSTEP_DIVERGED = 10,
  /* The run was given up from outside. */
  LOCKSTEP_INTERRUPTED = 11,
  /* The artifact is not signed by a key that is trusted. */
  LOCKSTEP_UNTRUSTED = 12
} lockstep_status;

/* Element types, as in the artifact. An i1 is one byte, 0 or 1. */
typedef enum lockstep_element {
  LOCKSTEP_I1 = 0,
  LOCKSTEP_I8 = 1,
  LOCKSTEP_I16 = 2,
  LOCKSTEP_I32 = 3,
  LOCKSTEP_I64 = 4,
  LOCKSTEP_U8 = 5,
  LOCKSTEP_U16 = 6,
  LOCKSTEP_U32 = 7,
  LOCKSTEP_U64 = 8,
  LOCKSTEP_F16 = 9,
  LOCKSTEP_BF16 = 10,
  LOCKSTEP_F32 = 11,
  LOCKSTEP_F64 = 12
} lockstep_element;

typedef struct lockstep_session lockstep_session;

/* What is told while a run has not returned: a report as text of several lines
 * and as one JSON object, both valid until the function returns. Called from a
 * thread of the session; must not use the session, save for lockstep_interrupt.
 */
typedef void (*lockstep_report_function)(void *context, const char *text,
                                         const char *json);

/* Later versions append fields. Nothing is read or written beyond struct_size,
 * so a program may be older or newer than the library: options that it does not
 * know are as lockstep_options_init sets them; those that the library does not
 * know are bytes of 0, and others are an error of lockstep_session_open
 * (LOCKSTEP_UNSUPPORTED). */
typedef struct lockstep_options {
  /* sizeof(lockstep_options) where the program was compiled; set by
   * lockstep_options_init. */
  size_t struct_size;
  /* Threads, the calling one included; 0: one for each CPU. */
  uint32_t workers;
  /* Seconds without progress after which a run fails; above 0. */
  double deadline_seconds;
  /* Kernel target such as "x86-64-v3"; NULL: the best for this CPU. */
  const char *target;
  /* File for a trace, or NULL. */
  const char *trace_file;
  /* Not 0: check all declared accesses for races (slow, one worker). */
  int check_races;
  /* Executors that the replicas are divided among, from 1 to their number; each
   * parameter server has one of its own. They share `workers`, and nothing but
   * messages with each other. Results do not depend on it. */
  uint32_t executors;
  /* Not 0: look for NaNs and infinities in what each kernel and collective has
   * written (slow). */
  int check_finite;
  /* Not 0: keep a copy of what variables held before each run that writes them,
   * so that a run that fails leaves them as they were. */
  int shadow_variables;
  /* After every so many runs that write variables, compare the copies that
   * executors have of them; 0: never. */
  uint64_t check_mirrored;
  /* Called once when the deadline has passed, before lockstep_run returns,
   * which it does not if the calling thread itself hangs in a kernel: then this
   * is the place to leave the process. May be NULL. */
  lockstep_report_function on_deadline;
  /* Called when the same replicas have waited for deadline_seconds, for twice
   * as long, and so on, while others went on without coming: these may be slow,
   * or in a loop without an end. The run goes on. May be NULL. */
  lockstep_report_function on_long_wait;
  /* First argument of both. */
  void *report_context;
  /* PEM file with one or more Ed25519 public keys: only an artifact that one of
   * them has signed is opened, others are LOCKSTEP_UNTRUSTED, or
   * LOCKSTEP_CORRUPTED if the signature is not of these bytes. NULL: the file
   * that the environment variable LOCKSTEP_TRUST names; if that is not set
   * either, any artifact is opened. An empty name, here or in the environment,
   * is LOCKSTEP_INVALID_ARGUMENT. Both are read by lockstep_session_open alone.
   */
  const char *trusted_keys;
  /* Where programs are executed: "cpu", or the name of a plugin, with options
   * of the device behind a colon; NULL: that of the environment variable
   * LOCKSTEP_DEVICE, else "cpu". */
  const char *device;
  /* How executors reach each other: "threads", which has all of them in this
   * process, or the name of a plugin, with options of the transport behind a
   * colon; NULL: that of the environment variable LOCKSTEP_TRANSPORT, else
   * "threads". */
  const char *transport;
} lockstep_options;

/* A tensor: its name, type and where it is. `shape` has `rank` entries. This
 * struct does not grow. */
typedef struct lockstep_tensor {
  const char *name;
  lockstep_element element;
  const int64_t *shape;
  size_t rank;
  /* Bytes, row-major without padding. */
  size_t bytes;
  /* Not 0: one value for each replica. */
  int per_replica;
} lockstep_tensor;

/* Message of the calling thread's last failure; valid until its next call.
 * Never NULL. */
LOCKSTEP_EXPORT const char *lockstep_last_error(void);

LOCKSTEP_EXPORT lockstep_status lockstep_options_init(lockstep_options *options,
                                                      size_t struct_size);

/* Loads and verifies an artifact, its kernels, and initial values that it
 * holds. Code of the kernels may run from here on. `options` may be NULL. On
 * success `*session` must be closed. */
LOCKSTEP_EXPORT lockstep_status
lockstep_session_open(const char *path, const lockstep_options *options,
                      lockstep_session **session);
/* NULL is allowed. */
LOCKSTEP_EXPORT void lockstep_session_close(lockstep_session *session);

LOCKSTEP_EXPORT uint32_t lockstep_replicas(const lockstep_session *session);

/* Variables by index in [0, count). Descriptions stay valid as long as the
 * session. */
LOCKSTEP_EXPORT size_t lockstep_variable_count(const lockstep_session *session);
LOCKSTEP_EXPORT lockstep_status lockstep_variable_info(
    const lockstep_session *session, size_t index, lockstep_tensor *info);
/* Copies a whole variable; `bytes` must be its size. `replica` is ignored where
 * all share one. */
LOCKSTEP_EXPORT lockstep_status lockstep_variable_get(lockstep_session *session,
                                                      const char *name,
                                                      uint32_t replica,
                                                      void *data, size_t bytes);
LOCKSTEP_EXPORT lockstep_status lockstep_variable_set(lockstep_session *session,
                                                      const char *name,
                                                      uint32_t replica,
                                                      const void *data,
                                                      size_t bytes);

/* Sets a host scalar for all following runs; `bytes` must be the size of its
 * type. */
LOCKSTEP_EXPORT lockstep_status lockstep_scalar_set(lockstep_session *session,
                                                    const char *name,
                                                    const void *data,
                                                    size_t bytes);

/* Programs by name. */
LOCKSTEP_EXPORT lockstep_status lockstep_program_find(
    const lockstep_session *session, const char *name, uint32_t *program);
LOCKSTEP_EXPORT size_t lockstep_input_count(const lockstep_session *session,
                                            uint32_t program);
/* One tensor of a batch and its offset in the memory given to
 * lockstep_input_bind. */
LOCKSTEP_EXPORT lockstep_status
lockstep_input_info(const lockstep_session *session, uint32_t program,
                    size_t index, lockstep_tensor *info, size_t *offset);
/* Bytes of one replica's batch. */
LOCKSTEP_EXPORT size_t lockstep_input_size(const lockstep_session *session,
                                           uint32_t program);
/* Lets a replica read its batch from `data`: lockstep_input_size bytes, aligned
 * to 64, which must stay valid and unchanged during following runs, until bound
 * again. */
LOCKSTEP_EXPORT lockstep_status lockstep_input_bind(lockstep_session *session,
                                                    uint32_t program,
                                                    uint32_t replica,
                                                    const void *data);

/* Gives a replica the batches that a program loads by itself, in order, from
 * the first in every run. Each as in lockstep_input_bind; all replicas must
 * have as many. */
LOCKSTEP_EXPORT lockstep_status lockstep_batches_bind(
    lockstep_session *session, uint32_t program, uint32_t replica,
    const void *const *batches, size_t count);

/* Executes a program once on all replicas. When no replica makes progress for
 * the deadline, it returns LOCKSTEP_DEADLINE. Kernels cannot be cancelled:
 * those that hang in threads of the session are left behind, also by
 * lockstep_session_close, and what they may use has to stay until the process
 * exits. The session keeps its own memory; the caller has to keep what it has
 * bound. The calling thread executes kernels too: if it is in the one that
 * hangs, this function does not return. Call it on a thread that can be left
 * behind where that matters. */
LOCKSTEP_EXPORT lockstep_status lockstep_run(lockstep_session *session,
                                             uint32_t program);

LOCKSTEP_EXPORT size_t lockstep_output_count(const lockstep_session *session,
                                             uint32_t program);
LOCKSTEP_EXPORT lockstep_status
lockstep_output_info(const lockstep_session *session, uint32_t program,
                     size_t index, lockstep_tensor *info);
/* The value of an output after a run; `*data` is valid until the next run. */
LOCKSTEP_EXPORT lockstep_status lockstep_output_get(
    const lockstep_session *session, uint32_t program, size_t index,
    uint32_t replica, const void **data, size_t *bytes);

/* An output that is no tensor and the same after every run, as JSON; valid as
 * long as the session. */
LOCKSTEP_EXPORT lockstep_status
lockstep_constant_output_get(const lockstep_session *session, uint32_t program,
                             const char *name, const char **json);

/* Gives up the run at hand, if there is one, which returns
 * LOCKSTEP_INTERRUPTED, and all that follow: the session is poisoned. Does not
 * wait for kernels. From any thread, as long as the session is not being
 * closed; not from a handler of signals. */
LOCKSTEP_EXPORT lockstep_status lockstep_interrupt(lockstep_session *session);

/* After a run that failed: not 0 if all variables have the values from before
 * it, since it had not written any, or since lockstep_options.shadow_variables
 * has brought these back. Not 0 as long as none has failed. */
LOCKSTEP_EXPORT int lockstep_variables_intact(const lockstep_session *session);

/* After LOCKSTEP_DEADLINE: the report as one JSON object, else "". Valid as
 * long as the session. */
LOCKSTEP_EXPORT const char *
lockstep_deadline_report(const lockstep_session *session);

#ifdef __cplusplus
}
#endif

#endif /* LOCKSTEP_API_LOCKSTEP_H */
