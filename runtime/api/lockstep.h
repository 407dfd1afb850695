/*===- lockstep.h - the runtime from C -------------------------------------===
 *
 * Opens an artifact and runs its programs. No function throws or prints.
 *
 * An artifact is native code: opening it means trusting its author, whose code
 * runs with all rights of the process. It is verified when it is opened, which
 * detects damaged and inconsistent files but no malicious code. With
 * lockstep_options.trusted_keys, only artifacts signed by a trusted key are
 * accepted.
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
 * Threads: one thread at a time may use a session, except for
 * lockstep_interrupt; different sessions are independent.
 *
 * Ownership: pointers that a session returns belong to it; pointers passed to
 * it belong to the caller and must stay valid as long as the function requires.
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

/* Incremented when a change breaks compiled callers. */
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
  /* An earlier error has poisoned the session: it runs no program. */
  LOCKSTEP_POISONED = 8,
  /* A kernel or collective has written a NaN or an infinity, and the session
     checks for them; it is poisoned. */
  LOCKSTEP_NON_FINITE = 9,
  /* Copies of a mirrored variable differ; the session is poisoned. */
  LOCKSTEP_DIVERGED = 10,
  /* The run was aborted by lockstep_interrupt. */
  LOCKSTEP_INTERRUPTED = 11,
  /* The artifact is not signed by a trusted key. */
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

/* Receives reports during a run: text of several lines and one JSON object,
 * both valid until the function returns. Called from a thread of the session;
 * must not use the session, except for lockstep_interrupt. */
typedef void (*lockstep_report_function)(void *context, const char *text,
                                         const char *json);

/* Later versions append fields. Nothing is read or written beyond struct_size,
 * so a program may be older or newer than the library: options unknown to the
 * program have the values of lockstep_options_init; bytes of options unknown to
 * the library must be 0, else lockstep_session_open fails
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
  /* Executors among which the replicas are divided, from 1 to the number of
   * replicas; each parameter server has its own. They divide `workers` and
   * communicate by messages only. Results do not depend on it. */
  uint32_t executors;
  /* Not 0: check the results of each kernel and collective for NaNs and
   * infinities (slow). */
  int check_finite;
  /* Not 0: copy the variables before each run that writes them, so that a
   * failed run leaves them unchanged. */
  int shadow_variables;
  /* Compare the executors' copies of variables each time after this many runs
   * that write variables; 0: never. */
  uint64_t check_mirrored;
  /* Called once when the deadline has passed, before lockstep_run returns,
   * which it does not if the calling thread itself hangs in a kernel: then this
   * is the place to end the process. May be NULL. */
  lockstep_report_function on_deadline;
  /* Called when the same replicas have waited for deadline_seconds, for twice
   * as long, and so on, while others made progress without arriving: these may
   * be slow, or in an infinite loop. The run continues. May be NULL. */
  lockstep_report_function on_long_wait;
  /* First argument of both functions. */
  void *report_context;
  /* PEM file with one or more Ed25519 public keys: only an artifact signed by
   * one of them is opened, others are LOCKSTEP_UNTRUSTED, or LOCKSTEP_CORRUPTED
   * if the signature is invalid. NULL: the file named by the environment
   * variable LOCKSTEP_TRUST; if that is not set either, any artifact is opened.
   * An empty name, here or in the environment, is LOCKSTEP_INVALID_ARGUMENT.
   * Both are read only by lockstep_session_open. */
  const char *trusted_keys;
  /* The device that executes programs: "cpu", or the name of a plugin, with
   * options of the device after a colon; NULL: that of the environment variable
   * LOCKSTEP_DEVICE, else "cpu". */
  const char *device;
  /* How executors reach each other: "threads", which has all of them in this
   * process, or the name of a plugin, with options of the transport behind a
   * colon; NULL: that of the environment variable LOCKSTEP_TRANSPORT, else
   * "threads". */
  const char *transport;
  /* On a device that records commands, such as "cuda": not 0, as by default,
   * enqueues the commands of a program as a whole, or all those between two
   * values that decide about them, once they have been recorded, when they have
   * occurred for the second time. */
  int record_runs;
  /* Not 0: arithmetic of floats replaces subnormal operands and results by
   * zero. Processors may take a hundred times as long for those that are kept.
   * Only on the device "cpu". */
  int flush_subnormals;
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

/* Loads and verifies an artifact with its kernels and initial values. May
 * already execute code of the kernels. `options` may be NULL. On success
 * `*session` must be closed. */
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
/* Copies a whole variable; `bytes` must be its size. `replica` is ignored if
 * replicas share the variable. Without an initial value in the artifact, a
 * variable must be set, on each replica that has its own, before a program that
 * reads it is run. */
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
/* Sets the address `data` from which a replica reads its batch:
 * lockstep_input_size bytes, aligned to 64, which must stay valid and unchanged
 * during following runs, until bound again; since the announcement if it was
 * announced. */
LOCKSTEP_EXPORT lockstep_status lockstep_input_bind(lockstep_session *session,
                                                    uint32_t program,
                                                    uint32_t replica,
                                                    const void *data);

/* Says that `data` will probably be bound for the run after the next one: a GPU
 * gets the batch during the next run, if this is said for all replicas that an
 * executor has. Without effect before the first run. The memory must not change
 * from now on until a run in which it is bound, if there is one, ends. */
LOCKSTEP_EXPORT lockstep_status
lockstep_input_announce(lockstep_session *session, uint32_t program,
                        uint32_t replica, const void *data);

/* Binds the batches of a replica for a program that loads them, in order from
 * the first in every run. Each as in lockstep_input_bind; all replicas must
 * have the same number. */
LOCKSTEP_EXPORT lockstep_status lockstep_batches_bind(
    lockstep_session *session, uint32_t program, uint32_t replica,
    const void *const *batches, size_t count);

/* Executes a program once on all replicas. LOCKSTEP_INVALID_ARGUMENT if it may
 * read a host scalar or a variable that has no value: neither an initial one,
 * nor one that was set, nor, of a variable, one that an earlier run has written
 * in any case. When no replica makes progress for
 * the deadline, it returns LOCKSTEP_DEADLINE. Kernels cannot be cancelled:
 * those that hang in threads of the session are left behind, also by
 * lockstep_session_close, and memory that they may use must stay valid until
 * the process exits. The session keeps its own memory; the caller must keep
 * bound inputs. The calling thread executes kernels too: if one of them hangs,
 * this function does not return. If that matters, call it on a thread that can
 * be left behind. */
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

/* An output that is not a tensor and does not change between runs, as JSON;
 * valid as long as the session. */
LOCKSTEP_EXPORT lockstep_status
lockstep_constant_output_get(const lockstep_session *session, uint32_t program,
                             const char *name, const char **json);

/* Aborts the current run, if there is one, which returns LOCKSTEP_INTERRUPTED,
 * and all later ones: the session is poisoned. Does not wait for kernels. From
 * any thread, as long as the session is not being closed; not from a signal
 * handler. */
LOCKSTEP_EXPORT lockstep_status lockstep_interrupt(lockstep_session *session);

/* After a failed run: not 0 if all variables have the values from before it,
 * since it had not written any, or since lockstep_options.shadow_variables has
 * restored them. Not 0 as long as no run has failed. */
LOCKSTEP_EXPORT int lockstep_variables_intact(const lockstep_session *session);

/* After LOCKSTEP_DEADLINE: the report as one JSON object, else "". Valid as
 * long as the session. */
LOCKSTEP_EXPORT const char *
lockstep_deadline_report(const lockstep_session *session);

#ifdef __cplusplus
}
#endif

#endif /* LOCKSTEP_API_LOCKSTEP_H */
