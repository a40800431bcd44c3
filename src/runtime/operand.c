/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/operand.h"

#include <CL/cl_ext.h>

#include "runtime/cl_error.h"

static const char *const side_names[] = {"source", "destination", "indices", "scratch"};

/** The properties of a memory object, from the driver. */
typedef struct memory_facts {
  cl_mem_object_type type;
  cl_context context;
  size_t bytes;
  cl_mem_flags flags;
  cl_mem parent;
} memory_facts;

static rlo_status query(cl_mem memory, memory_facts *out_facts) {
  memory_facts f = {0};
  RLO_TRY(RLO_CL(clGetMemObjectInfo, memory, CL_MEM_TYPE, sizeof f.type, &f.type, NULL));
  RLO_TRY(RLO_CL(clGetMemObjectInfo, memory, CL_MEM_CONTEXT, sizeof f.context, &f.context, NULL));
  RLO_TRY(RLO_CL(clGetMemObjectInfo, memory, CL_MEM_SIZE, sizeof f.bytes, &f.bytes, NULL));
  RLO_TRY(RLO_CL(clGetMemObjectInfo, memory, CL_MEM_FLAGS, sizeof f.flags, &f.flags, NULL));
  RLO_TRY(RLO_CL(clGetMemObjectInfo, memory, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof f.parent,
                 &f.parent, NULL));
  *out_facts = f;
  return RLO_OK;
}

/** Returns whether a memory object can be asked. Intel's runtime names objects of its own
 *  as the parents of buffers over shared virtual memory, which cannot; the addresses of such
 *  buffers tell where they are. */
static bool is_known(cl_mem memory) {
  cl_mem_object_type type = 0;
  return clGetMemObjectInfo(memory, CL_MEM_TYPE, sizeof type, &type, NULL) == CL_SUCCESS;
}

static rlo_status check_range(const rlo__operand_need *need, int64_t offset_bytes,
                              size_t buffer_bytes) {
  const char *side = side_names[need->side];
  RLO_FAIL_IF(offset_bytes < 0, RLO_OUT_OF_RANGE, "the %s offset of %lld bytes is negative", side,
              (long long)offset_bytes);
  /* The subtraction cannot wrap; an addition could. */
  RLO_FAIL_IF((uint64_t)offset_bytes > buffer_bytes ||
                  buffer_bytes - (uint64_t)offset_bytes < (uint64_t)need->bytes,
              RLO_OUT_OF_RANGE, "the %s needs %lld bytes from offset %lld on; its memory has %zu",
              side, (long long)need->bytes, (long long)offset_bytes, buffer_bytes);
  RLO_FAIL_IF(offset_bytes % need->element_bytes != 0, RLO_INVALID_ARGUMENT,
              "the %s offset of %lld bytes is not a multiple of the element's %lld", side,
              (long long)offset_bytes, (long long)need->element_bytes);
  return RLO_OK;
}

static rlo_status check_access(const rlo__operand_need *need, cl_mem_flags own, cl_mem_flags root) {
  const cl_mem_flags any = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
  /* A sub-buffer without access flags has those of its parent. */
  cl_mem_flags access = (own & any) != 0 ? own : root;
  RLO_FAIL_IF(rlo__operand_is_written(need->side) && (access & CL_MEM_READ_ONLY) != 0,
              RLO_INVALID_ARGUMENT, "the %s buffer is CL_MEM_READ_ONLY", side_names[need->side]);
  bool is_read = need->side != RLO__OPERAND_DST || need->is_updated;
  RLO_FAIL_IF(is_read && (access & CL_MEM_WRITE_ONLY) != 0, RLO_INVALID_ARGUMENT,
              "the %s buffer is CL_MEM_WRITE_ONLY", side_names[need->side]);
  return RLO_OK;
}

/** The largest power of two that divides a nonzero number. */
static uint64_t lowest_bit(uint64_t number) {
  return number & (~number + 1);
}

/** Notes what divides the address of the first byte, as far as is known. */
static rlo_status align(const rlo_context *context, const rlo__operand_need *need, uint64_t address,
                        rlo__operand *operand) {
  operand->alignment_bytes =
      (int64_t)lowest_bit(address | (uint64_t)context->device_info.base_alignment_bytes);
  int64_t needed = (int64_t)lowest_bit((uint64_t)need->element_bytes);
  RLO_FAIL_IF(
      operand->alignment_bytes < needed, RLO_INVALID_ARGUMENT,
      "the %s begins at host address 0x%llx, which is not a multiple of the element's %lld bytes",
      side_names[need->side], (unsigned long long)address, (long long)needed);
  return RLO_OK;
}

/** Locates memory by its pointer. OpenCL tells nothing about one of clSVMAlloc; the
 *  extension for unified memory tells where its memory begins and ends. */
static rlo_status resolve_pointer(const rlo_context *context, const rlo__operand_need *need,
                                  rlo__operand *operand) {
  const char *side = side_names[need->side];
  const char *base = NULL;
  size_t bytes = SIZE_MAX;
  RLO_FAIL_IF(operand->memory != NULL, RLO_INVALID_ARGUMENT,
              "the %s is both a buffer and a pointer", side);
  if (context->shared.get_info != NULL &&
      context->shared.get_info(context->cl_context, operand->pointer, CL_MEM_ALLOC_BASE_PTR_INTEL,
                               sizeof base, &base, NULL) == CL_SUCCESS &&
      base != NULL) {
    RLO_TRY(rlo__cl_error_check(
        "clGetMemAllocInfoINTEL",
        context->shared.get_info(context->cl_context, operand->pointer, CL_MEM_ALLOC_SIZE_INTEL,
                                 sizeof bytes, &bytes, NULL)));
    bytes -= (size_t)((const char *)operand->pointer - base);
    operand->set_pointer = context->shared.set_argument;
  } else {
    RLO_FAIL_IF(!context->shared.has_svm, RLO_UNSUPPORTED,
                "the %s is a pointer, and the device (%s) has no shared virtual memory", side,
                context->device_name);
    operand->set_pointer = clSetKernelArgSVMPointer;
  }
  RLO_TRY(check_range(need, operand->offset_bytes, bytes));
  operand->host_address = (uintptr_t)operand->pointer + (uintptr_t)operand->offset_bytes;
  return align(context, need, operand->host_address, operand);
}

rlo_status rlo__operand_resolve(const rlo_context *context, const rlo__operand_need *need,
                                rlo__operand *operand) {
  const char *side = side_names[need->side];
  *operand = (rlo__operand){.memory = operand->memory,
                            .pointer = operand->pointer,
                            .offset_bytes = operand->offset_bytes,
                            .side = need->side,
                            .num_bytes = need->bytes,
                            .alignment_bytes = context->device_info.base_alignment_bytes};
  if (operand->pointer != NULL) {
    return resolve_pointer(context, need, operand);
  }
  if (operand->memory == NULL) {
    RLO_FAIL_IF(need->bytes > 0, RLO_INVALID_ARGUMENT,
                "the %s buffer is NULL; %lld bytes are needed", side, (long long)need->bytes);
    return RLO_OK;
  }
  memory_facts own;
  RLO_TRY(query(operand->memory, &own));
  RLO_FAIL_IF(own.type != CL_MEM_OBJECT_BUFFER, RLO_INVALID_ARGUMENT,
              "the %s is a memory object of type 0x%x and not a buffer", side, (unsigned)own.type);
  RLO_FAIL_IF(own.context != context->cl_context, RLO_INVALID_ARGUMENT,
              "the %s buffer is of another context than the plan", side);
  memory_facts root = own;
  operand->root = operand->memory;
  operand->begin_bytes = operand->offset_bytes;
  if (own.parent != NULL && is_known(own.parent)) {
    size_t origin_bytes = 0;
    RLO_TRY(RLO_CL(clGetMemObjectInfo, operand->memory, CL_MEM_OFFSET, sizeof origin_bytes,
                   &origin_bytes, NULL));
    RLO_TRY(query(own.parent, &root));
    operand->root = own.parent;
    operand->begin_bytes += (int64_t)origin_bytes;
  }
  RLO_TRY(check_range(need, operand->offset_bytes, own.bytes));
  RLO_TRY(check_access(need, own.flags, root.flags));

  uint64_t address = (uint64_t)operand->begin_bytes;
  if ((root.flags & CL_MEM_USE_HOST_PTR) != 0) {
    void *host = NULL;
    RLO_TRY(RLO_CL(clGetMemObjectInfo, operand->root, CL_MEM_HOST_PTR, sizeof host, &host, NULL));
    /* The device may use that memory in place, whatever its alignment. */
    operand->host_address = (uintptr_t)host + (uintptr_t)operand->begin_bytes;
    address = operand->host_address;
  }
  return align(context, need, address, operand);
}

static bool intersect(uint64_t a, int64_t a_bytes, uint64_t b, int64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 &&
         (a < b ? b - a < (uint64_t)a_bytes : a - b < (uint64_t)b_bytes);
}

rlo_status rlo__operand_check_overlap(const rlo__operand *a, const rlo__operand *b) {
  RLO_FAIL_IF(
      a->root != NULL && a->root == b->root &&
          intersect((uint64_t)a->begin_bytes, a->num_bytes, (uint64_t)b->begin_bytes, b->num_bytes),
      RLO_INVALID_ARGUMENT, "%s and %s overlap: bytes %lld to %lld and %lld to %lld of one buffer",
      side_names[a->side], side_names[b->side], (long long)a->begin_bytes,
      (long long)(a->begin_bytes + a->num_bytes), (long long)b->begin_bytes,
      (long long)(b->begin_bytes + b->num_bytes));
  RLO_FAIL_IF(a->host_address != 0 && b->host_address != 0 &&
                  intersect(a->host_address, a->num_bytes, b->host_address, b->num_bytes),
              RLO_INVALID_ARGUMENT,
              "%s and %s overlap: %lld bytes at host address 0x%llx and %lld at 0x%llx",
              side_names[a->side], side_names[b->side], (long long)a->num_bytes,
              (unsigned long long)a->host_address, (long long)b->num_bytes,
              (unsigned long long)b->host_address);
  return RLO_OK;
}
