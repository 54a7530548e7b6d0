/* The runtime that compiled functions see.  ABI version 1.
 *
 * Every kernel is   int32_t kernel(wb_context* context, ...)   and returns a status (WB_OK or another).
 * A context carries what a kernel may ask for: parallel loops, memory, cancellation, a slot for the error.
 * Layout of wb_context up to `cancel` is fixed by the ABI version: generated code reads these fields by position.
 */
#ifndef WORKBENCH_RUNTIME_H_
#define WORKBENCH_RUNTIME_H_

#include <stddef.h>
#include <stdint.h>

#define WB_ABI_VERSION 1

#if defined(__GNUC__)
#define WB_EXPORT __attribute__((visibility("default")))
#else
#define WB_EXPORT
#endif

enum { WB_OK = 0, WB_CANCELLED = 1, WB_FAILED = 2, WB_NO_MEMORY = 3, WB_OUT_OF_BOUNDS = 4 };

typedef struct wb_context wb_context;

/* Iterations begin <= i < end of a parallel loop. */
typedef void (*wb_body)(void* closure, int64_t begin, int64_t end);

struct wb_context {
  /* Runs body over 0 <= i < n on the pool; returns WB_OK, or the status of the first failure or cancellation. */
  int32_t (*parallel_for)(wb_context*, wb_body body, void* closure, int64_t n);
  /* Memory aligned to 64 bytes, or NULL; kept for reuse when freed.  May be called from loop bodies. */
  void* (*alloc)(wb_context*, int64_t bytes);
  void (*free)(wb_context*, void*);
  /* WB_OK, or WB_CANCELLED when the function should return it.  Cheap; looks at signals at most every 20 ms. */
  int32_t (*poll)(wb_context*);
  /* Records a failure.  `count` values take the places of {} in `message`. */
  void (*fail)(wb_context*, int32_t status, const char* message, int32_t count, const int64_t* values);
  /* Set it to nonzero, from any thread or a signal handler, to stop the call. */
  volatile int32_t* cancel;

  /* --- private from here on --- */
  volatile int32_t cancel_word;
  volatile int32_t status;
  int32_t polls;
  int32_t foreign_error; /* the host language holds the exception already: what to return to it (1: -2) */
  int64_t last_look;     /* nanoseconds */
  int32_t lock;
  void* cached[8];
  char message[512];
  int64_t started;   /* nanoseconds, when runs are limited */
  int32_t timed_out;
};

/* --- packed calls (the tvm-ffi calling convention) --- */

enum { WB_BUFFER = 0, WB_INT = 1, WB_FLOAT = 2 };
enum { WB_WRITTEN_ALONE = 1, WB_WRITTEN = 2 }; /* may not, or may, overlap another argument */

typedef struct {
  const char* name;
  const int64_t* shape; /* per axis: an extent, or -1 - slot for a shape variable */
  int32_t kind;
  int32_t rank;
  int32_t dtype; /* DLPack: code | bits << 8 | lanes << 16 */
  int32_t written; /* 0, WB_WRITTEN_ALONE or WB_WRITTEN */
} wb_argument;

typedef struct {
  const char* name;
  const wb_argument* arguments;
  const char* const* slot_names;
  int32_t count; /* arguments of the packed call */
  int32_t slots; /* parameters of the kernel: the arguments, then the shape variables */
  const char* cpu_features; /* needed beyond the baseline, separated by commas; NULL when built for this process */
} wb_function;

/* Checks and unpacks arguments into `slots`; NULL when refused (the error is raised already). */
WB_EXPORT wb_context* wb_enter(const wb_function* function, const void* arguments, int32_t count, int64_t* slots);
/* Turns a status into the packed call's result: 0, or -1 / -2 with the error raised. */
WB_EXPORT int32_t wb_leave(wb_context* context, int32_t status, const wb_function* function);

/* Calls a packed function by its global name; `arguments` are `count` values of tvm-ffi (16 bytes each).
 * Returns WB_OK, or WB_FAILED: it is not there, or raised an error, which then is this call's. */
WB_EXPORT int32_t wb_call_packed(wb_context* context, const char* name, void* arguments, int32_t count);

/* A packed function that does nothing: what a call takes by itself. */
WB_EXPORT int32_t wb_nothing(void* self, const void* arguments, int32_t count, void* result);

/* --- the process --- */

WB_EXPORT wb_context* wb_thread_context(void);
WB_EXPORT int32_t wb_abi_version(void);
WB_EXPORT void wb_set_num_threads(int32_t count);
WB_EXPORT int32_t wb_num_threads(void);
/* Calls that take longer than this are cancelled at their next poll; 0: no limit. */
WB_EXPORT void wb_set_run_limit(int64_t nanoseconds);
void wb_start_clock(wb_context* context);
/* Raises an error in the host language; looks for pending signals (nonzero: an exception is set). */
WB_EXPORT void wb_set_hooks(void (*raise)(const char* kind, const char* message), int (*check_signals)(void));
/* How to find a packed function, call it, give an object back, and make one of a DLPack tensor. */
WB_EXPORT void wb_set_call_hooks(void* find, void* run, void* drop, void* describe);

#endif
