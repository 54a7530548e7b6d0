/* The thread pool and the context: one pool a process, persistent, claiming chunks.
 *
 * Iterations are shared out among the threads in contiguous parts, the same for each kernel of as many: what a thread
 * has written is near it when the next kernel reads it.  Who is done with its own part claims chunks of the others'.
 *
 * A job is posted by writing its fields and then the state word (epoch, open, workers inside).  A worker may read the
 * fields only after its compare-and-swap has counted it into an open state; the caller closes the state when no chunk
 * is left and returns when no worker is inside.  So the fields never change under a reader, and the caller never waits
 * for a worker that has not claimed anything: a busy machine costs speed, not a scheduler's slice.
 */
#define _GNU_SOURCE
#include "workbench_runtime.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOST_ITERATIONS 65536
#define SPINS 2000
#define MAX_WORKERS 255

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ __volatile__("yield")
#else
#define PAUSE() ((void)0)
#endif

/* --- the pool ---------------------------------------------------------------------------------------------- */

#define OPEN_BIT ((uint64_t)1 << 16)
#define INSIDE_MASK ((uint64_t)0xffff)
#define EPOCH_SHIFT 17

static struct {
  wb_body body;
  void* closure;
  wb_context* context;
  int64_t chunk;
  int threads;
} job;
/* The part of each thread, the caller's first; each on a line of its own. */
static struct {
  _Alignas(64) _Atomic int64_t next;
  int64_t end;
} parts[MAX_WORKERS + 1];
static _Atomic uint64_t state;
static _Atomic int sleepers;
static _Atomic int busy;
static _Atomic int wanted;  /* threads in all, the caller included; 0: not asked yet */
static _Atomic int started; /* workers running */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The child of a fork has no workers; whatever the parent was doing is not going on here. */
static void after_fork(void) {
  static const pthread_mutex_t fresh_lock = PTHREAD_MUTEX_INITIALIZER;
  static const pthread_cond_t fresh_wake = PTHREAD_COND_INITIALIZER;
  lock = fresh_lock;
  wake = fresh_wake;
  atomic_store(&state, 0);
  atomic_store(&sleepers, 0);
  atomic_store(&busy, 0);
  atomic_store(&started, 0);
}

static void initialise(void) { pthread_atfork(NULL, NULL, after_fork); }

static int default_threads(void) {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? (int)count : 1;
}

void wb_set_num_threads(int32_t count) {
  if (count < 1) count = default_threads();
  atomic_store(&wanted, count > MAX_WORKERS + 1 ? MAX_WORKERS + 1 : count);
}

int32_t wb_num_threads(void) {
  if (atomic_load(&wanted) == 0) wb_set_num_threads(0);
  return atomic_load(&wanted);
}

static void share_out(int64_t n, int threads) {
  int64_t begin = 0;
  for (int i = 0; i < threads; ++i) {
    atomic_store_explicit(&parts[i].next, begin, memory_order_relaxed);
    parts[i].end = begin += n / threads + (i < n % threads);
  }
}

/* The next chunk for a thread: of its own part, then of those behind it; begin == end where none is left. */
static int64_t claim(int own, int64_t* end) {
  for (int step = 0; step < job.threads; ++step) {
    int part = (own + step) % job.threads;
    if (atomic_load_explicit(&parts[part].next, memory_order_relaxed) >= parts[part].end) continue;
    int64_t begin = atomic_fetch_add_explicit(&parts[part].next, job.chunk, memory_order_relaxed);
    if (begin >= parts[part].end) continue;
    *end = begin + job.chunk < parts[part].end ? begin + job.chunk : parts[part].end;
    return begin;
  }
  return *end = 0;
}

static void run_chunks(int own) {
  wb_context* context = job.context;
  for (;;) {
    int64_t end, begin = claim(own, &end);
    if (begin == end || context->cancel_word || context->status) return;
    job.body(job.closure, begin, end);
  }
}

/* Counts the calling worker into an open job that it has not served yet. */
static int join_job(uint64_t* served) {
  uint64_t seen = atomic_load_explicit(&state, memory_order_acquire);
  while ((seen & OPEN_BIT) && (seen >> EPOCH_SHIFT) != *served) {
    if (atomic_compare_exchange_weak_explicit(&state, &seen, seen + 1, memory_order_acquire, memory_order_acquire)) {
      *served = seen >> EPOCH_SHIFT;
      return 1;
    }
  }
  return 0;
}

static int job_waits(uint64_t served) {
  uint64_t seen = atomic_load(&state);
  return (seen & OPEN_BIT) && (seen >> EPOCH_SHIFT) != served;
}

static void* worker(void* argument) {
  const int index = (int)(intptr_t)argument;
  uint64_t served = 0;
  for (;;) {
    int found = 0;
    for (int spin = 0; spin < SPINS && !found; ++spin) {
      found = index + 1 < atomic_load_explicit(&wanted, memory_order_relaxed) && join_job(&served);
      if (!found) PAUSE();
    }
    if (found) {
      run_chunks(index + 1);
      atomic_fetch_sub_explicit(&state, 1, memory_order_release);
      continue;
    }
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&sleepers, 1);
    while (!(job_waits(served) && index + 1 < atomic_load(&wanted))) pthread_cond_wait(&wake, &lock);
    atomic_fetch_sub(&sleepers, 1);
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

static void start_workers(int threads) {
  pthread_once(&once, initialise);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 8 << 20);
  while (atomic_load(&started) < threads - 1) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, worker, (void*)(intptr_t)atomic_load(&started)) != 0) break;
    atomic_fetch_add(&started, 1);
  }
  pthread_attr_destroy(&attributes);
}

static int32_t outcome(wb_context* context) {
  if (context->status) return context->status;
  return context->poll(context);
}

static int32_t run_serially(wb_context* context, wb_body body, void* closure, int64_t n, int64_t chunk) {
  for (int64_t begin = 0; begin < n; begin += chunk) {
    body(closure, begin, begin + chunk < n ? begin + chunk : n);
    int32_t status = outcome(context);
    if (status) return status;
  }
  return WB_OK;
}

static int32_t parallel_for(wb_context* context, wb_body body, void* closure, int64_t n) {
  if (n <= 0) return WB_OK;
  const int threads = wb_num_threads();
  int64_t chunk = n / ((int64_t)threads * 4);
  if (chunk < 1) chunk = 1;
  if (chunk > MOST_ITERATIONS) chunk = MOST_ITERATIONS; /* between chunks it is seen whether to go on */
  if (threads == 1 || n == 1) return run_serially(context, body, closure, n, chunk);
  if (atomic_exchange_explicit(&busy, 1, memory_order_acquire)) /* nested, or another thread's job */
    return run_serially(context, body, closure, n, chunk);
  if (atomic_load(&started) < threads - 1) start_workers(threads);
  job.body = body;
  job.closure = closure;
  job.context = context;
  job.chunk = chunk;
  job.threads = threads;
  share_out(n, threads);
  uint64_t epoch = (atomic_load_explicit(&state, memory_order_relaxed) >> EPOCH_SHIFT) + 1;
  atomic_store(&state, (epoch << EPOCH_SHIFT) | OPEN_BIT);
  if (atomic_load(&sleepers) > 0) {
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&lock);
  }
  int32_t status = WB_OK;
  for (;;) {
    int64_t end, begin = claim(0, &end);
    if (begin == end) break;
    body(closure, begin, end);
    status = outcome(context);
    if (status) break;
  }
  atomic_fetch_and_explicit(&state, ~OPEN_BIT, memory_order_acq_rel);
  for (int spin = 0; atomic_load_explicit(&state, memory_order_acquire) & INSIDE_MASK; ++spin) {
    if (spin < SPINS) PAUSE();
    else {
      sched_yield();
      context->poll(context);
    }
  }
  atomic_store_explicit(&busy, 0, memory_order_release);
  return status ? status : outcome(context);
}

/* --- memory ------------------------------------------------------------------------------------------------ */

#define CACHE_SLOTS 8
#define HEADER 64

static void acquire(wb_context* context) {
  while (__atomic_exchange_n(&context->lock, 1, __ATOMIC_ACQUIRE)) PAUSE();
}
static void release(wb_context* context) { __atomic_store_n(&context->lock, 0, __ATOMIC_RELEASE); }

static int64_t* size_of(void* block) { return (int64_t*)((char*)block - HEADER); }

static void* allocate(wb_context* context, int64_t bytes) {
  if (bytes < 1) bytes = 1;
  if (bytes > INT64_MAX - 4096) return NULL;
  bytes = (bytes + 63) & ~(int64_t)63;
  void* found = NULL;
  acquire(context);
  int best = -1;
  for (int i = 0; i < CACHE_SLOTS; ++i) {
    void* block = context->cached[i];
    if (block && *size_of(block) >= bytes && *size_of(block) <= 2 * bytes + 65536 &&
        (best < 0 || *size_of(block) < *size_of(context->cached[best])))
      best = i;
  }
  if (best >= 0) {
    found = context->cached[best];
    context->cached[best] = NULL;
  }
  release(context);
  if (found) return found;
  void* base = NULL;
  if (posix_memalign(&base, HEADER, (size_t)bytes + HEADER) != 0) return NULL;
  found = (char*)base + HEADER;
  *size_of(found) = bytes;
  return found;
}

static void deallocate(wb_context* context, void* block) {
  if (!block) return;
  void* dropped = block;
  acquire(context);
  int slot = 0;
  for (int i = 0; i < CACHE_SLOTS; ++i) {
    if (!context->cached[i]) {
      slot = i;
      break;
    }
    if (*size_of(context->cached[i]) < *size_of(context->cached[slot])) slot = i;
  }
  dropped = context->cached[slot];
  context->cached[slot] = block;
  release(context);
  if (dropped) free((char*)dropped - HEADER);
}

/* --- cancellation and failure ------------------------------------------------------------------------------ */

static void (*raise_hook)(const char*, const char*);
static int (*signal_hook)(void);
extern int TVMFFIEnvCheckSignals(void) __attribute__((weak));
extern void TVMFFIErrorSetRaisedFromCStr(const char*, const char*) __attribute__((weak));

void wb_set_hooks(void (*raise)(const char*, const char*), int (*check_signals)(void)) {
  raise_hook = raise;
  signal_hook = check_signals;
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static __thread wb_context* own_context;
static volatile int64_t run_limit;

void wb_set_run_limit(int64_t nanoseconds) { run_limit = nanoseconds; }

void wb_start_clock(wb_context* context) {
  context->timed_out = 0;
  if (run_limit) context->started = now();
}

static int32_t poll_cancel(wb_context* context) {
  if (context->cancel_word) return WB_CANCELLED;
  if (context != own_context || ++context->polls & 15) return WB_OK;
  int64_t time = now();
  if (time - context->last_look < 20000000) return WB_OK;
  context->last_look = time;
  if (run_limit && time - context->started > run_limit) {
    context->timed_out = 1;
    context->cancel_word = 1;
    return WB_CANCELLED;
  }
  int (*check)(void) = signal_hook ? signal_hook : TVMFFIEnvCheckSignals;
  if (!check || check() == 0) return WB_OK;
  context->foreign_error = 1;
  context->cancel_word = 1;
  return WB_CANCELLED;
}

static char* put_number(char* out, char* end, int64_t value) {
  char digits[24];
  int count = 0;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do digits[count++] = (char)('0' + rest % 10);
  while (rest /= 10);
  if (value < 0) digits[count++] = '-';
  while (count && out < end) *out++ = digits[--count];
  return out;
}

static void record_failure(wb_context* context, int32_t status, const char* message, int32_t count,
                           const int64_t* values) {
  int32_t none = 0;
  if (!__atomic_compare_exchange_n(&context->status, &none, status, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
  char *out = context->message, *end = context->message + sizeof context->message - 1;
  int32_t used = 0;
  for (const char* in = message; *in && out < end; ++in) {
    if (in[0] == '{' && in[1] == '}' && used < count) {
      out = put_number(out, end, values[used++]);
      ++in;
    } else
      *out++ = *in;
  }
  *out = 0;
}

/* --- contexts ---------------------------------------------------------------------------------------------- */

static pthread_key_t context_key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void drop_context(void* pointer) {
  wb_context* context = pointer;
  for (int i = 0; i < CACHE_SLOTS; ++i)
    if (context->cached[i]) free((char*)context->cached[i] - HEADER);
  free(context);
}
static void make_key(void) { pthread_key_create(&context_key, drop_context); }

wb_context* wb_thread_context(void) {
  if (own_context) return own_context;
  pthread_once(&key_once, make_key);
  wb_context* made = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->parallel_for = parallel_for;
  made->alloc = allocate;
  made->free = deallocate;
  made->poll = poll_cancel;
  made->fail = record_failure;
  made->cancel = &made->cancel_word;
  pthread_setspecific(context_key, made);
  return own_context = made;
}

#ifndef WB_SOURCES
#define WB_SOURCES "unknown"
#endif
/* The digest of the sources that this library was made from; the build looks for it in the file. */
WB_EXPORT const char wb_sources[] = WB_SOURCES;

int32_t wb_abi_version(void) { return WB_ABI_VERSION; }

void wb_raise(const char* kind, const char* message) {
  if (raise_hook) raise_hook(kind, message);
  else if (TVMFFIErrorSetRaisedFromCStr)
    TVMFFIErrorSetRaisedFromCStr(kind, message);
}

int32_t wb_leave(wb_context* context, int32_t status, const wb_function* function) {
  (void)function;
  if (status == WB_OK) return 0;
  int32_t foreign = context->foreign_error;
  context->foreign_error = 0;
  if (status == WB_CANCELLED) {
    if (foreign) return -2;
    if (context->timed_out) {
      wb_raise("RuntimeError", "E-TIME-LIMIT the run takes too long; found more than its time; expected less");
      return -1;
    }
    wb_raise("RuntimeError", "E-RUN-CANCELLED the call was cancelled");
  } else if (foreign < 0)
    return foreign; /* a packed function that was called raised it */
  else if (status == WB_NO_MEMORY)
    wb_raise("MemoryError", "E-RUN-MEMORY there is not enough memory for the intermediate buffers");
  else
    wb_raise("RuntimeError", context->message[0] ? context->message : "E-RUN-FAILED the function failed");
  return -1;
}
