/* Calls out of compiled code: packed functions by their global name (the tvm-ffi calling convention).
 *
 * An error that the callee raises stays raised; the kernel returns WB_FAILED, and wb_leave passes it on.  Tensors go as
 * objects that describe the kernel's memory: what a callee keeps of them is void when it has returned.
 */
#include "workbench_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { const char* data; size_t size; } byte_array;
typedef struct {
  int32_t type;
  uint32_t padding;
  union { int64_t integer; double real; void* pointer; } value;
} any;

typedef struct {
  void* data;
  struct { int32_t type, id; } device;
  int32_t rank;
  struct { uint8_t code, bits; uint16_t lanes; } dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} tensor;

typedef struct managed {
  tensor described;
  void* context;
  void (*deleter)(struct managed*);
  int64_t extents[];
} managed;

enum { TENSOR_POINTER = 7, FIRST_OBJECT = 64, TENSOR = 70, MOST_ARGUMENTS = 64 };

typedef int (*get_global_function)(const byte_array* name, void** out);
typedef int (*call_function)(void* function, any* arguments, int32_t count, any* result);
typedef int (*release_function)(void* object);
typedef int (*wrap_function)(managed* from, int32_t alignment, int32_t contiguous, void** out);

/* Of the host language, where it has loaded tvm-ffi; told by wb_set_call_hooks, or found when it is linked. */
extern int TVMFFIFunctionGetGlobal(const byte_array*, void**) __attribute__((weak));
extern int TVMFFIFunctionCall(void*, any*, int32_t, any*) __attribute__((weak));
extern int TVMFFIObjectDecRef(void*) __attribute__((weak));
extern int TVMFFITensorFromDLPack(managed*, int32_t, int32_t, void**) __attribute__((weak));

static get_global_function get_global;
static call_function call;
static release_function release;
static wrap_function wrap;

void wb_set_call_hooks(void* find, void* run, void* drop, void* describe) {
  get_global = (get_global_function)find;
  call = (call_function)run;
  release = (release_function)drop;
  wrap = (wrap_function)describe;
}

static void free_managed(managed* given) { free(given); }

/* A tensor object over the memory that `given` describes; NULL when there is no memory for it. */
static void* object_of(const tensor* given, wrap_function make) {
  size_t size = sizeof(int64_t) * (size_t)given->rank;
  managed* made = malloc(sizeof *made + 2 * size);
  if (!made) return NULL;
  made->described = *given;
  made->context = NULL;
  made->deleter = free_managed;
  made->described.shape = made->extents;
  made->described.strides = made->extents + given->rank;
  memcpy(made->described.shape, given->shape, size);
  memcpy(made->described.strides, given->strides, size);
  void* out = NULL;
  if (make(made, 0, 0, &out) == 0) return out;
  free(made);
  return NULL;
}

static int32_t missing(wb_context* context, const char* name, const char* why) {
  char message[320];
  snprintf(message, sizeof message, "E-FUNC-UNKNOWN the packed function '%.120s' is not there; found %s", name, why);
  context->fail(context, WB_FAILED, message, 0, NULL);
  return WB_FAILED;
}

int32_t wb_call_packed(wb_context* context, const char* name, void* arguments, int32_t count) {
  get_global_function find = get_global ? get_global : TVMFFIFunctionGetGlobal;
  call_function run = call ? call : TVMFFIFunctionCall;
  release_function drop = release ? release : TVMFFIObjectDecRef;
  wrap_function make = wrap ? wrap : TVMFFITensorFromDLPack;
  if (!find || !run || !drop || !make) return missing(context, name, "no tvm-ffi in this process");
  byte_array text = {name, strlen(name)};
  void* function = NULL;
  if (find(&text, &function) != 0 || !function) return missing(context, name, "no global function of that name");
  any* given = arguments;
  void* objects[MOST_ARGUMENTS];
  int32_t made = 0, whole = count <= MOST_ARGUMENTS;
  for (int32_t i = 0; whole && i < count; ++i) {
    if (given[i].type != TENSOR_POINTER) continue;
    void* object = object_of(given[i].value.pointer, make);
    whole = object != NULL;
    if (!whole) break;
    objects[made++] = object;
    given[i].type = TENSOR;
    given[i].value.pointer = object;
  }
  any result = {0, 0, {0}};
  int code = whole ? run(function, given, count, &result) : 0;
  while (made) drop(objects[--made]);
  if (!whole) {
    drop(function);
    context->fail(context, WB_NO_MEMORY, "", 0, NULL);
    return WB_NO_MEMORY;
  }
  if (code == 0 && result.type >= FIRST_OBJECT && result.value.pointer) drop(result.value.pointer);
  drop(function);
  if (code == 0) return WB_OK;
  context->foreign_error = code == -2 ? -2 : -1;
  context->fail(context, WB_FAILED, "", 0, NULL);
  return WB_FAILED;
}
