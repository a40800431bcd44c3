# SPDX-License-Identifier: Apache-2.0
#
# Writes the C file that holds every cl/*.cl as a byte array:
#   cmake -DCL_DIR=<folder of .cl files> -DOUTPUT=<file.c> -P embed_kernels.cmake
#
# Byte arrays, because C11 promises string literals of 4,095 characters only.
# A line `#include "name.cl"` is replaced by the text of that file, so that the
# compiler of the device needs no include path.

cmake_minimum_required(VERSION 3.18)

# Replaces the includes of a text by the texts of the files, the first one first,
# so that a file comes where the compiler would read it; a second include of a
# file, which its guard would make empty, is removed.
function(read_kernel path out_text)
  file(READ "${path}" text)
  set(files_read)
  while(text MATCHES "(^|\n)(#include \"([A-Za-z0-9_]+[.]cl)\")")
    set(line "${CMAKE_MATCH_2}")
    set(included "${CMAKE_MATCH_3}")
    if(NOT EXISTS "${CL_DIR}/${included}")
      message(FATAL_ERROR "${path} includes ${included}, which is not in "
                          "${CL_DIR}")
    endif()
    if("${included}" IN_LIST files_read)
      set(included_text "")
    else()
      file(READ "${CL_DIR}/${included}" included_text)
      list(APPEND files_read "${included}")
    endif()
    string(FIND "${text}" "${line}" start)
    string(LENGTH "${line}" length)
    math(EXPR end "${start} + ${length}")
    string(SUBSTRING "${text}" 0 ${start} before)
    string(SUBSTRING "${text}" ${end} -1 after)
    set(text "${before}${included_text}${after}")
  endwhile()
  set(${out_text}
      "${text}"
      PARENT_SCOPE)
endfunction()

file(GLOB files "${CL_DIR}/*.cl")
list(SORT files)

set(arrays "")
set(rows "")
set(hashes "")
foreach(path IN LISTS files)
  get_filename_component(stem "${path}" NAME_WE)
  read_kernel("${path}" text)
  string(SHA256 hash "${text}")
  string(SUBSTRING "${hash}" 0 16 hash)
  string(APPEND hashes "${stem} ${hash}\n")
  file(WRITE "${OUTPUT}.text" "${text}")
  file(SIZE "${OUTPUT}.text" text_bytes)
  file(READ "${OUTPUT}.text" hex HEX)
  # Sixteen bytes to a line, then the 0x and the comma of each.
  string(REGEX REPLACE "(................................)" "\\1\n  " hex
                       "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  if(hex MATCHES "0x[89a-f]")
    message(FATAL_ERROR "${path} holds a byte that is not ASCII")
  endif()
  string(APPEND arrays "static const char text_of_${stem}[] = {\n  ${hex}0x00};"
         "\n\n")
  string(APPEND rows "  {\"${stem}\", text_of_${stem}, ${text_bytes}, "
         "UINT64_C(0x${hash})},\n")
endforeach()
file(REMOVE "${OUTPUT}.text")
string(SHA256 hash_of_all "${hashes}")
string(SUBSTRING "${hash_of_all}" 0 16 hash_of_all)

file(
  WRITE "${OUTPUT}.new"
  "/* Made from the files of cl/ by src/codegen/embed_kernels.cmake. */
#include \"codegen/kernel_sources.h\"

#include <string.h>

${arrays}static const rlo__kernel_source kernel_sources[] = {
${rows}  {NULL, NULL, 0, 0}};

const rlo__kernel_source *rlo__kernel_source_find(const char *name) {
  if (name == NULL) {
    return NULL;
  }
  for (const rlo__kernel_source *s = kernel_sources; s->name != NULL; ++s) {
    if (strcmp(s->name, name) == 0) {
      return s;
    }
  }
  return NULL;
}

uint64_t rlo__kernel_sources_hash(void) {
  return UINT64_C(0x${hash_of_all});
}
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
