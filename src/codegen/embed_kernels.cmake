# SPDX-License-Identifier: Apache-2.0
#
# Writes the C file that holds every cl/*.cl once, as a byte array, and of each the
# parts that it is made of:
#   cmake -DCL_DIR=<folder of .cl files> -DOUTPUT=<file.c> -P embed_kernels.cmake
#
# Byte arrays, because C11 promises string literals of 4,095 characters only.
# A line `#include "name.cl"` stands for the text of that file, so that the
# compiler of the device needs no include path.

cmake_minimum_required(VERSION 3.18)

# Finds the parts of a kernel: pieces of its file, and of the files that it includes
# where it includes them. A second include of a file, which its guard would make
# empty, has no part. Also gives the whole text, and the stems of the files.
function(find_parts kernel out_parts out_text out_stems)
  set(parts "")
  set(whole "")
  set(stems "${kernel}")
  # Where to read on: the stems of files and the places in them, the last one first.
  set(places "${kernel}@0")
  while(places)
    list(POP_BACK places place)
    string(REGEX MATCH "^(.*)@(.*)$" place "${place}")
    set(stem "${CMAKE_MATCH_1}")
    set(start "${CMAKE_MATCH_2}")
    string(SUBSTRING "${text_of_${stem}}" ${start} -1 piece)
    if(piece MATCHES "(^|\n)(#include \"([A-Za-z0-9_]+)[.]cl\")")
      set(line "${CMAKE_MATCH_2}")
      set(included "${CMAKE_MATCH_3}")
      if(NOT DEFINED "text_of_${included}")
        message(FATAL_ERROR "${stem}.cl includes ${included}.cl, which is not in "
                            "${CL_DIR}")
      endif()
      string(FIND "${piece}" "${line}" at)
      string(SUBSTRING "${piece}" 0 ${at} piece)
      string(LENGTH "${line}" length)
      math(EXPR next "${start} + ${at} + ${length}")
      list(APPEND places "${stem}@${next}")
      if(NOT "${included}" IN_LIST stems)
        list(APPEND places "${included}@0")
        list(APPEND stems "${included}")
      endif()
    endif()
    string(LENGTH "${piece}" length)
    string(APPEND parts "{text_of_${stem} + ${start}, ${length}},\n  ")
    string(APPEND whole "${piece}")
  endwhile()
  set(${out_parts} "${parts}" PARENT_SCOPE)
  set(${out_text} "${whole}" PARENT_SCOPE)
  set(${out_stems} "${stems}" PARENT_SCOPE)
endfunction()

file(GLOB files "${CL_DIR}/*.cl")
list(SORT files)

set(arrays "")
set(lists "")
set(rows "")
set(hashes "")
set(stems "")
foreach(path IN LISTS files)
  get_filename_component(stem "${path}" NAME_WE)
  list(APPEND stems "${stem}")
  file(READ "${path}" "text_of_${stem}")
  file(READ "${path}" hex HEX)
  # Sixteen bytes to a line, then the 0x and the comma of each.
  string(REGEX REPLACE "(................................)" "\\1\n  " hex
                       "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  if(hex MATCHES "0x[89a-f]")
    message(FATAL_ERROR "${path} holds a byte that is not ASCII")
  endif()
  string(APPEND arrays "static const char text_of_${stem}[] = {\n  ${hex}};\n\n")
endforeach()
foreach(stem IN LISTS stems)
  find_parts("${stem}" parts text included)
  string(SHA256 hash "${text}")
  string(SUBSTRING "${hash}" 0 16 hash)
  string(APPEND hashes "${stem} ${hash}\n")
  set(has_batch "false")
  if("batch" IN_LIST included)
    set(has_batch "true")
  endif()
  string(APPEND lists "static const rlo__kernel_part parts_of_${stem}[] = {\n  "
         "${parts}{NULL, 0}};\n\n")
  string(APPEND rows "  {\"${stem}\", parts_of_${stem}, "
         "UINT64_C(0x${hash}), ${has_batch}},\n")
endforeach()
string(SHA256 hash_of_all "${hashes}")
string(SUBSTRING "${hash_of_all}" 0 16 hash_of_all)

file(
  WRITE "${OUTPUT}.new"
  "/* Made from the files of cl/ by src/codegen/embed_kernels.cmake. */
#include \"codegen/kernel_sources.h\"

#include <string.h>

${arrays}${lists}static const rlo__kernel_source kernel_sources[] = {
${rows}  {NULL, NULL, 0, false}};

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
