# SPDX-License-Identifier: Apache-2.0
#
# The library of protocol buffers, relayout_proto: a component, so that the core
# needs no protobuf-c. RELAYOUT_BUILD_PROTO says whether it is built: AUTO, if
# protobuf-c is found; ON, or else the configuration fails; OFF.

if(NOT RELAYOUT_BUILD_PROTO STREQUAL "AUTO" AND NOT RELAYOUT_BUILD_PROTO)
  return()
endif()

find_program(PROTOC_C protoc-c)
find_package(PkgConfig)
if(PkgConfig_FOUND)
  pkg_check_modules(protobuf_c IMPORTED_TARGET libprotobuf-c)
endif()
if(NOT PROTOC_C OR NOT TARGET PkgConfig::protobuf_c)
  set(missing "protobuf-c was not found: librelayout-proto is not built")
  set(remedy "(on Debian: apt install libprotobuf-c-dev protobuf-c-compiler)")
  if(RELAYOUT_BUILD_PROTO STREQUAL "AUTO")
    message(STATUS "${missing} ${remedy}")
    return()
  endif()
  message(FATAL_ERROR "${missing} ${remedy}")
endif()

set(proto_dir "${PROJECT_SOURCE_DIR}/src/xla")
set(proto_generated "${PROJECT_BINARY_DIR}/generated/proto")
file(MAKE_DIRECTORY "${proto_generated}/xla")
add_custom_command(
  OUTPUT "${proto_generated}/xla/shape.pb-c.c"
         "${proto_generated}/xla/shape.pb-c.h"
  COMMAND "${PROTOC_C}" "--c_out=${proto_generated}/xla" "-I${proto_dir}"
          "${proto_dir}/shape.proto"
  DEPENDS "${proto_dir}/shape.proto"
  COMMENT "Generating shape.pb-c.c"
  VERBATIM)

# What is generated keeps to other rules than ours.
add_library(rlo_proto_generated OBJECT "${proto_generated}/xla/shape.pb-c.c"
                                       "${proto_generated}/xla/shape.pb-c.h")
target_link_libraries(rlo_proto_generated PRIVATE PkgConfig::protobuf_c)

file(GLOB proto_sources CONFIGURE_DEPENDS "${proto_dir}/proto_*.c")
add_library(rlo_proto OBJECT ${proto_sources})
add_dependencies(rlo_proto rlo_proto_generated)
target_include_directories(rlo_proto PRIVATE "${PROJECT_SOURCE_DIR}/include"
                                             "${PROJECT_SOURCE_DIR}/src")
target_include_directories(rlo_proto SYSTEM PRIVATE "${proto_generated}")
target_link_libraries(rlo_proto PRIVATE rlo_flags PkgConfig::protobuf_c)
set(proto_objects $<TARGET_OBJECTS:rlo_proto>
                  $<TARGET_OBJECTS:rlo_proto_generated>)

add_library(relayout_proto ${library_type} ${proto_objects} ${shared_base})
add_library(relayout::proto ALIAS relayout_proto)
rlo_set_library(relayout_proto)
set_target_properties(
  relayout_proto PROPERTIES OUTPUT_NAME relayout-proto EXPORT_NAME proto
                            INSTALL_RPATH "$ORIGIN")
target_include_directories(relayout_proto PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(relayout_proto PUBLIC relayout)
target_link_libraries(relayout_proto PRIVATE PkgConfig::protobuf_c
                                             $<BUILD_INTERFACE:rlo_flags>)

# `relayout describe --proto`.
if(TARGET rlo_command)
  target_compile_definitions(rlo_command PRIVATE RLO__HAS_PROTO)
  target_link_libraries(rlo_command PUBLIC relayout_proto)
endif()
