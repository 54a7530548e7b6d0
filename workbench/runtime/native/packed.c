/* Packed calls: checking arguments against a function's signature, and unpacking them.
 *
 * Whatever a caller passes, the kernel sees only compact, aligned tensors of the right dtype and shape, on the CPU, that
 * do not overlap what it writes.  Errors name the argument, what was found and what was expected.
 */
#define _GNU_SOURCE
#include "workbench_runtime.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

void wb_raise(const char* kind, const char* message);

/* The parts of DLPack and of the tvm-ffi ABI that are used here. */
typedef struct {
  void* data;
  struct { int32_t type, id; } device;
  int32_t rank;
  struct { uint8_t code, bits; uint16_t lanes; } dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} tensor;

typedef struct {
  int32_t type;
  uint32_t padding;
  union { int64_t integer; double real; void* pointer; } value;
} any;

enum { ANY_NONE = 0, ANY_INT = 1, ANY_BOOL = 2, ANY_FLOAT = 3, ANY_TENSOR_POINTER = 7, ANY_TENSOR = 70 };
enum { OBJECT_HEADER = 24, ACCEPTED_BITS = 10 };

static __attribute__((format(printf, 2, 3))) void* refuse(const char* kind, const char* format, ...) {
  char message[768];
  va_list values;
  va_start(values, format);
  vsnprintf(message, sizeof message, format, values);
  va_end(values);
  wb_raise(kind, message);
  return NULL;
}

static const char* any_name(int32_t type) {
  switch (type) {
    case ANY_NONE: return "None";
    case ANY_INT: return "an int";
    case ANY_BOOL: return "a bool";
    case ANY_FLOAT: return "a float";
    case 8: case 11: case 65: return "a text";
    case ANY_TENSOR: case ANY_TENSOR_POINTER: return "a tensor";
    default: return "an object of another kind";
  }
}

static void dtype_name(char out[32], int code, int bits, int lanes) {
  static const char* const names[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  const char* name = code < 7 ? names[code] : "float8-kind";
  int used = code == 6 ? snprintf(out, 32, "%s", name) : snprintf(out, 32, "%s%d", name, bits);
  if (lanes != 1 && used < 24) snprintf(out + used, 32 - (size_t)used, "x%d", lanes);
}

static void shape_text(char* out, size_t size, int32_t rank, const int64_t* shape) {
  size_t used = 0;
  used += (size_t)snprintf(out, size, "(");
  for (int32_t i = 0; i < rank && used + 24 < size; ++i)
    used += (size_t)snprintf(out + used, size - used, i ? ", %lld" : "%lld", (long long)shape[i]);
  snprintf(out + used, size - used, rank == 1 ? ",)" : ")");
}

static void expected_shape(char* out, size_t size, const wb_function* function, const wb_argument* argument) {
  size_t used = (size_t)snprintf(out, size, "(");
  for (int32_t i = 0; i < argument->rank && used + 80 < size; ++i) {
    int64_t extent = argument->shape[i];
    if (i) used += (size_t)snprintf(out + used, size - used, ", ");
    if (extent >= 0) used += (size_t)snprintf(out + used, size - used, "%lld", (long long)extent);
    else used += (size_t)snprintf(out + used, size - used, "%.60s", function->slot_names[-1 - extent]);
  }
  snprintf(out + used, size - used, argument->rank == 1 ? ",)" : ")");
}

static int is_compact(const tensor* t) {
  if (!t->strides) return 1;
  int64_t expected = 1;
  for (int32_t i = 0; i < t->rank; ++i)
    if (t->shape[i] == 0) return 1;
  for (int32_t i = t->rank; i-- > 0;) {
    if (t->shape[i] != 1 && t->strides[i] != expected) return 0;
    expected *= t->shape[i];
  }
  return 1;
}

static int64_t element_bytes(const tensor* t) { return ((int64_t)t->dtype.bits * t->dtype.lanes + 7) / 8; }

static int64_t tensor_bytes(const tensor* t) {
  int64_t count = 1;
  for (int32_t i = 0; i < t->rank; ++i) count *= t->shape[i];
  return count * element_bytes(t);
}

static char* begin_of(const tensor* t) { return (char*)t->data + t->byte_offset; }

#define WHERE "%s: argument %d (%s)"
#define PLACE function->name, (int)index, function->arguments[index].name

static const tensor* tensor_of(const wb_function* function, const any* arguments, int32_t index) {
  const any* given = &arguments[index];
  if (given->type == ANY_TENSOR_POINTER) return given->value.pointer;
  if (given->type == ANY_TENSOR) return (const tensor*)((const char*)given->value.pointer + OBJECT_HEADER);
  return refuse("TypeError", "E-CALL-KIND " WHERE " must be a tensor; found %s", PLACE, any_name(given->type));
}

static int check_shape(const wb_function* function, int32_t index, const tensor* t, int64_t* slots, char* bound) {
  const wb_argument* argument = &function->arguments[index];
  int fits = t->rank == argument->rank;
  for (int32_t i = 0; fits && i < t->rank; ++i) {
    int64_t extent = argument->shape[i];
    if (extent >= 0) fits = t->shape[i] == extent;
    else {
      int64_t slot = -1 - extent;
      if (!bound[slot]) {
        bound[slot] = 1;
        slots[slot] = t->shape[i];
      }
      fits = slots[slot] == t->shape[i];
    }
  }
  if (fits) return 1;
  char found[256], expected[512];
  shape_text(found, sizeof found, t->rank, t->shape);
  expected_shape(expected, sizeof expected, function, argument);
  refuse("ValueError", "E-CALL-SHAPE " WHERE " has the wrong shape; found %s; expected %s", PLACE, found, expected);
  return 0;
}

static int check_tensor(const wb_function* function, int32_t index, const tensor* t, int64_t* slots, char* bound) {
  const wb_argument* argument = &function->arguments[index];
  int32_t dtype = t->dtype.code | t->dtype.bits << 8 | (int32_t)t->dtype.lanes << 16;
  /* A bool may come as uint8 or uint1 from older libraries: the bytes are the same. */
  int same = dtype == argument->dtype || ((argument->dtype & 0xff) == 6 && t->dtype.code == 1 && t->dtype.bits <= 8);
  if (!same) {
    char found[32], expected[32];
    dtype_name(found, t->dtype.code, t->dtype.bits, t->dtype.lanes);
    dtype_name(expected, argument->dtype & 0xff, argument->dtype >> 8 & 0xff, argument->dtype >> 16);
    refuse("TypeError", "E-CALL-DTYPE " WHERE " has the wrong dtype; found %s; expected %s", PLACE, found, expected);
    return 0;
  }
  if (!check_shape(function, index, t, slots, bound)) return 0;
  if (t->device.type != 1 && t->device.type != 3) {
    refuse("ValueError", "E-CALL-DEVICE " WHERE " is not on the CPU; found device type %d; expected 1", PLACE, (int)t->device.type);
    return 0;
  }
  if (!is_compact(t)) {
    refuse("ValueError", "E-CALL-STRIDES " WHERE " is not contiguous; found a strided view; expected rows without gaps", PLACE);
    return 0;
  }
  int64_t align = element_bytes(t) / t->dtype.lanes;
  if (tensor_bytes(t) > 0 && ((uintptr_t)begin_of(t) % (uintptr_t)(align ? align : 1)) != 0) {
    refuse("ValueError", "E-CALL-ALIGNMENT " WHERE " is not aligned; found address %p; expected a multiple of %lld", PLACE,
           (void*)begin_of(t), (long long)align);
    return 0;
  }
  slots[index] = (int64_t)(intptr_t)begin_of(t);
  return 1;
}

static int check_scalar(const wb_function* function, int32_t index, const any* given, int64_t* slots) {
  int kind = function->arguments[index].kind;
  if (kind == WB_INT && (given->type == ANY_INT || given->type == ANY_BOOL)) {
    slots[index] = given->value.integer;
    return 1;
  }
  if (kind == WB_FLOAT && (given->type == ANY_FLOAT || given->type == ANY_INT)) {
    double value = given->type == ANY_INT ? (double)given->value.integer : given->value.real;
    memcpy(&slots[index], &value, sizeof value);
    return 1;
  }
  refuse("TypeError", "E-CALL-KIND " WHERE " must be %s; found %s", PLACE, kind == WB_INT ? "an int" : "a float",
         any_name(given->type));
  return 0;
}

static int check_overlaps(const wb_function* function, const any* arguments, const int64_t* slots) {
  for (int32_t index = 0; index < function->count; ++index) {
    if (function->arguments[index].written != WB_WRITTEN_ALONE) continue;
    const char* begin = (const char*)(intptr_t)slots[index];
    const char* end = begin + tensor_bytes(tensor_of(function, arguments, index));
    for (int32_t other = 0; other < function->count; ++other) {
      if (other == index || function->arguments[other].kind != WB_BUFFER) continue;
      const char* first = (const char*)(intptr_t)slots[other];
      const char* last = first + tensor_bytes(tensor_of(function, arguments, other));
      if (begin < last && first < end && begin < end && first < last) {
        refuse("ValueError", "E-CALL-OVERLAP " WHERE " overlaps argument %d (%s); found shared memory; expected an output of its own",
               PLACE, (int)other, function->arguments[other].name);
        return 0;
      }
    }
  }
  return 1;
}

#if defined(__x86_64__)
/* A bit of CPUID leaf 7, for what not every compiler's __builtin_cpu_supports knows. */
static int leaf7(unsigned subleaf, int use_edx, unsigned bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, subleaf, &a, &b, &c, &d)) return 0;
  return (use_edx ? d : a) >> bit & 1;
}

static int has_feature(const char* name) {
#define FEATURE(text) if (strcmp(name, text) == 0) return __builtin_cpu_supports(text)
  FEATURE("avx512f"); FEATURE("avx512bw"); FEATURE("avx512dq"); FEATURE("avx512vl"); FEATURE("avx512vnni");
  FEATURE("avx512bf16"); FEATURE("avx2"); FEATURE("avx"); FEATURE("fma"); FEATURE("sse4.2"); FEATURE("sse4.1");
  FEATURE("bmi"); FEATURE("bmi2"); FEATURE("popcnt"); FEATURE("gfni"); FEATURE("vpclmulqdq");
  FEATURE("avx512ifma"); FEATURE("avx512vbmi"); FEATURE("avx512vbmi2"); FEATURE("avx512bitalg");
  FEATURE("avx512vpopcntdq");
#undef FEATURE
  if (strcmp(name, "avxvnni") == 0) return __builtin_cpu_supports("avx2") && leaf7(1, 0, 4);
  if (strcmp(name, "avx512fp16") == 0) return __builtin_cpu_supports("avx512f") && leaf7(0, 1, 23);
  return 1;
}
#else
static int has_feature(const char* name) { (void)name; return 1; }
#endif

/* The first needed CPU feature that is missing, or an empty text. */
static void missing_feature(const char* needed, char out[32]) {
  out[0] = 0;
  while (needed && *needed) {
    size_t length = strcspn(needed, ",");
    char name[32] = {0};
    memcpy(name, needed, length < 31 ? length : 31);
    if (!has_feature(name)) {
      memcpy(out, name, 32);
      return;
    }
    needed += length + (needed[length] == ',');
  }
}

int32_t wb_nothing(void* self, const void* arguments, int32_t count, void* result) {
  (void)self, (void)arguments, (void)count, (void)result;
  return 0;
}

wb_context* wb_enter(const wb_function* function, const void* packed, int32_t count, int64_t* slots) {
  const any* arguments = packed;
  /* Lists of features found to be there, by where they lie: each kernel of a model has its own, and to ask the processor
   * takes ten microseconds in a virtual machine. */
  static const char* _Atomic accepted[1 << ACCEPTED_BITS];
  uint64_t place = (uint64_t)(uintptr_t)function->cpu_features * 0x9E3779B97F4A7C15u >> (64 - ACCEPTED_BITS);
  if (function->cpu_features && function->cpu_features != accepted[place]) {
    char missing[32];
    missing_feature(function->cpu_features, missing);
    if (missing[0])
      return refuse("RuntimeError", "E-LOAD-CPU %s was compiled for another processor; found no %s; expected %s", function->name,
                    missing, function->cpu_features);
    accepted[place] = function->cpu_features;
  }
  if (count != function->count)
    return refuse("TypeError", "E-CALL-COUNT %s takes %d arguments; found %d", function->name, (int)function->count, (int)count);
  char bound[function->slots + 1];
  memset(bound, 0, sizeof bound);
  int written = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (function->arguments[i].kind == WB_BUFFER) continue;
    if (!check_scalar(function, i, &arguments[i], slots)) return NULL;
    bound[i] = 1;
  }
  for (int32_t i = 0; i < count; ++i) {
    if (function->arguments[i].kind != WB_BUFFER) continue;
    const tensor* t = tensor_of(function, arguments, i);
    if (!t || !check_tensor(function, i, t, slots, bound)) return NULL;
    written |= function->arguments[i].written;
  }
  if (written && !check_overlaps(function, arguments, slots)) return NULL;
  wb_context* context = wb_thread_context();
  if (!context) return refuse("MemoryError", "E-RUN-MEMORY there is no memory for a context");
  context->cancel_word = 0;
  context->status = 0;
  context->foreign_error = 0;
  context->message[0] = 0;
  wb_start_clock(context);
  return context;
}
