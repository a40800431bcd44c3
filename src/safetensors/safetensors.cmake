# SPDX-License-Identifier: Apache-2.0
#
# The library of safetensors files, relayout_safetensors: a component, so that the
# core needs no jansson. RELAYOUT_BUILD_SAFETENSORS says whether it is built: AUTO, if
# jansson is found; ON, or else the configuration fails; OFF. The command always has
# it.

if(NOT RELAYOUT_BUILD_COMMAND
   AND NOT RELAYOUT_BUILD_SAFETENSORS STREQUAL "AUTO"
   AND NOT RELAYOUT_BUILD_SAFETENSORS)
  return()
endif()

find_package(PkgConfig)
if(PkgConfig_FOUND)
  pkg_check_modules(jansson IMPORTED_TARGET jansson)
endif()
if(NOT TARGET PkgConfig::jansson)
  set(missing "jansson was not found, by which the command and librelayout-safetensors"
              "read and write JSON: install it with pkg-config"
              "(on Debian: apt install pkg-config libjansson-dev)")
  list(JOIN missing " " missing)
  if(RELAYOUT_BUILD_COMMAND)
    message(FATAL_ERROR "${missing}, or build the libraries alone by "
                        "-DRELAYOUT_BUILD_COMMAND=OFF")
  elseif(RELAYOUT_BUILD_SAFETENSORS STREQUAL "AUTO")
    message(STATUS "${missing}")
    return()
  endif()
  message(FATAL_ERROR "${missing}")
endif()

file(GLOB safetensors_sources CONFIGURE_DEPENDS
     "${PROJECT_SOURCE_DIR}/src/safetensors/*.c")
set(safetensors_base ${shared_base})
if(library_type STREQUAL "SHARED")
  list(APPEND safetensors_base "${PROJECT_SOURCE_DIR}/src/base/file.c"
       "${PROJECT_SOURCE_DIR}/src/base/file_replace.c"
       "${PROJECT_SOURCE_DIR}/src/base/sentence.c"
       "${PROJECT_SOURCE_DIR}/src/base/str.c")
endif()
add_library(relayout_safetensors ${library_type} ${safetensors_sources}
                                 ${safetensors_base})
add_library(relayout::safetensors ALIAS relayout_safetensors)
rlo_set_library(relayout_safetensors)
set_target_properties(
  relayout_safetensors
  PROPERTIES OUTPUT_NAME relayout-safetensors EXPORT_NAME safetensors
             INSTALL_RPATH "$ORIGIN")
target_include_directories(relayout_safetensors
                           PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(relayout_safetensors PUBLIC relayout)
target_link_libraries(
  relayout_safetensors PRIVATE PkgConfig::jansson $<BUILD_INTERFACE:rlo_flags>)
