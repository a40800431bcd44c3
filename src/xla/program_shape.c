/* SPDX-License-Identifier: Apache-2.0 */
#include "xla/shape_tree.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/status.h"

typedef struct parameter {
  rlo_shape_tree *tree;
  char *name;
} parameter;

struct rlo_program_shape {
  int64_t num_parameters;
  parameter *parameters;
  rlo_shape_tree *result;
};

static bool is_name(const char *name) {
  for (const char *c = name; *c != '\0'; ++c) {
    bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
    bool is_inner = (*c >= '0' && *c <= '9') || *c == '.' || *c == '-';
    if (!is_letter && *c != '_' && (!is_inner || c == name)) {
      return false;
    }
  }
  return true;
}

static rlo_status add_parameter(rlo_program_shape *program, rlo_shape_tree *tree,
                                const char *name) {
  RLO_FAIL_IF(!is_name(name), RLO_INVALID_ARGUMENT,
              "'%s' cannot be the name of parameter %" PRId64
              ": a letter or '_', then letters, digits, '_', '.', '-'",
              name, program->num_parameters);
  parameter *p = &program->parameters[program->num_parameters];
  p->name = rlo__alloc_string(name);
  RLO_TRY_MEMORY(p->name);
  p->tree = rlo_shape_tree_retain(tree);
  ++program->num_parameters;
  return RLO_OK;
}

rlo_status rlo__program_shape_create(rlo_shape_tree *const *parameters, int64_t num_parameters,
                                     const char *const *names, int64_t num_names,
                                     rlo_shape_tree *result, rlo_program_shape **out_program) {
  rlo_status status = RLO_OUT_OF_MEMORY;
  rlo_program_shape *program = rlo__alloc(sizeof *program);
  if (program == NULL) {
    return status;
  }
  program->parameters = rlo__alloc_array((size_t)num_parameters, sizeof program->parameters[0]);
  if (program->parameters == NULL) {
    rlo__free(program);
    return status;
  }
  for (int64_t i = 0; i < num_parameters; ++i) {
    const char *name = i < num_names ? names[i] : NULL;
    RLO_TRY_GOTO(add_parameter(program, parameters[i], name == NULL ? "" : name));
  }
  program->result = rlo_shape_tree_retain(result);
  *out_program = program;
  return RLO_OK;

fail:
  rlo_program_shape_release(program);
  return status;
}

rlo_status rlo_program_shape_create(rlo_shape_tree *const *parameters, const char *const *names,
                                    int64_t num_parameters, rlo_shape_tree *result,
                                    rlo_program_shape **out_program) {
  RLO_REQUIRE(out_program);
  *out_program = NULL;
  RLO_REQUIRE(result);
  RLO_REQUIRE_EACH(parameters, num_parameters);
  RLO_FAIL_IF(num_parameters < 0, RLO_INVALID_ARGUMENT,
              "a program cannot have %" PRId64 " parameters", num_parameters);
  return rlo__program_shape_create(parameters, num_parameters, names,
                                   names == NULL ? 0 : num_parameters, result, out_program);
}

void rlo_program_shape_release(rlo_program_shape *program) {
  if (program == NULL) {
    return;
  }
  for (int64_t i = 0; i < program->num_parameters; ++i) {
    rlo_shape_tree_release(program->parameters[i].tree);
    rlo__free(program->parameters[i].name);
  }
  rlo_shape_tree_release(program->result);
  rlo__free(program->parameters);
  rlo__free(program);
}

int64_t rlo_program_shape_parameter_count(const rlo_program_shape *program) {
  RLO_REQUIRE_OR(0, program);
  return program->num_parameters;
}

static bool has_parameter(const rlo_program_shape *program, int64_t position) {
  return position >= 0 && position < program->num_parameters;
}

const rlo_shape_tree *rlo_program_shape_parameter(const rlo_program_shape *program,
                                                  int64_t position) {
  RLO_REQUIRE_OR(NULL, program);
  return has_parameter(program, position) ? program->parameters[position].tree : NULL;
}

const char *rlo_program_shape_parameter_name(const rlo_program_shape *program, int64_t position) {
  RLO_REQUIRE_OR(NULL, program);
  return has_parameter(program, position) ? program->parameters[position].name : NULL;
}

const rlo_shape_tree *rlo_program_shape_result(const rlo_program_shape *program) {
  RLO_REQUIRE_OR(NULL, program);
  return program->result;
}

bool rlo_program_shape_equal(const rlo_program_shape *a, const rlo_program_shape *b) {
  RLO_REQUIRE_OR(false, a, b);
  if (a->num_parameters != b->num_parameters) {
    return false;
  }
  for (int64_t i = 0; i < a->num_parameters; ++i) {
    if (!rlo_shape_tree_equal(a->parameters[i].tree, b->parameters[i].tree)) {
      return false;
    }
  }
  return rlo_shape_tree_equal(a->result, b->result);
}
