/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load a kernel that lives in a shared object (multiply.c) and run it on both
 * backends:  custom_kernel <path of the shared object>
 */
#include <dlfcn.h>
#include <relayout/backend.h>
#include <relayout/engine.h>
#include <relayout/engine_opencl.h>
#include <relayout/relayout.h>
#include <stdio.h>
#include <string.h>

typedef rlo_status (*register_fn)(rlo_engine *engine);
typedef rlo_status (*multiply_fn)(rlo_tensor *a, rlo_tensor *b, rlo_tensor **out_y);

/** The address of a function, or NULL; C has no cast for it. */
static void look_up(void *library, const char *name, void *out_function) {
  void *symbol = dlsym(library, name);
  memcpy(out_function, &symbol, sizeof symbol);
}

// [snippet custom_kernel/run]
/** a * b on whatever backend is active; a is stored by columns. */
static rlo_status run(rlo_engine *engine, multiply_fn multiply, float got[6]) {
  const float a_data[] = {1, 4, 2, 5, 3, 6};
  const float b_data[] = {10, 20, 30, 40, 50, 60};
  const char a_text[] = "f32[2,3]{0,1}";
  const char b_text[] = "f32[2,3]";
  rlo_shape a_shape;
  rlo_shape b_shape;
  rlo_tensor *a = NULL;
  rlo_tensor *b = NULL;
  rlo_tensor *y = NULL;
  rlo_status status = rlo_shape_parse(a_text, strlen(a_text), &a_shape);
  if (status == RLO_OK) {
    status = rlo_shape_parse(b_text, strlen(b_text), &b_shape);
  }
  if (status == RLO_OK) {
    status = rlo_tensor_create(engine, &a_shape, a_data, &a);
  }
  if (status == RLO_OK) {
    status = rlo_tensor_create(engine, &b_shape, b_data, &b);
  }
  if (status == RLO_OK) {
    status = multiply(a, b, &y);
  }
  if (status == RLO_OK) {
    status = rlo_tensor_read(y, got, 6 * sizeof *got);
  }
  rlo_tensor_release(a);
  rlo_tensor_release(b);
  rlo_tensor_release(y);
  return status;
}

// [/snippet]

static int is_product(const float *got) {
  for (int i = 0; i < 6; ++i) {
    const float wanted = (float)(10 * (i + 1) * (i + 1));
    if (got[i] < wanted || got[i] > wanted) {
      return 0;
    }
  }
  return 1;
}

int main(int argc, char **argv) {
  const char *const backends[] = {"host", "opencl"};
  rlo_engine_options options = RLO_ENGINE_OPTIONS_INIT;
  rlo_engine *engine = NULL;
  register_fn register_multiply = NULL;
  multiply_fn multiply = NULL;
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (library == NULL) {
    fprintf(stderr, "usage: custom_kernel <shared object of multiply.c>\n");
    return 2;
  }
  look_up(library, "example_multiply_register", &register_multiply);
  look_up(library, "example_multiply", &multiply);
  int is_right = 0;
  if (register_multiply != NULL && multiply != NULL &&
      rlo_context_create_default(-1, NULL, &options.context) == RLO_OK &&
      rlo_engine_create(&options, &engine) == RLO_OK && register_multiply(engine) == RLO_OK) {
    is_right = 1;
  }
  for (int k = 0; k < 2 && is_right; ++k) {
    float got[6] = {0};
    is_right = rlo_backend_set(engine, backends[k]) == RLO_OK &&
               run(engine, multiply, got) == RLO_OK && is_product(got);
    printf("%s:", backends[k]);
    for (int i = 0; i < 6; ++i) {
      printf(" %g", (double)got[i]);
    }
    printf("\n");
  }
  if (!is_right) {
    fprintf(stderr, "%s\n", rlo_error_last()->message);
  }
  is_right = is_right && rlo_engine_live_tensors(engine) == 0;
  rlo_engine_release(engine);
  rlo_context_release(options.context);
  /* Only now: the context keeps what it built from the library's source. */
  dlclose(library);
  return is_right ? 0 : 1;
}
