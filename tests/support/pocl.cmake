# SPDX-License-Identifier: Apache-2.0
#
# A copy of the system's PoCL, made of links, whose opencl-c.h declares only the
# functions that this tree uses (used_builtins.py) and whose library of built-in
# functions has no others (used_library.py): a program compiles in half the time, and
# the first one of a context in a quarter. PoCL looks for both beside its library.
# Sets rlo_test_driver, the variables that make OpenCL's loader take it, and its
# compiler a linker that reads no libraries; to nothing where there is no such PoCL,
# where the environment chooses the drivers, and with --slow, which uses PoCL as it is.
# rlo_test_work_groups is what PoCL 6 and later need in the environment to compile
# kernels of the GPU class: rlo_device_info.is_cpu_class_only.
set(rlo_test_driver)
set(rlo_test_work_groups)
set(vendors /etc/OpenCL/vendors)
if(NOT EXISTS "${vendors}/pocl.icd")
  return()
endif()
file(READ "${vendors}/pocl.icd" library)
string(STRIP "${library}" library)
get_filename_component(library_name "${library}" NAME)
find_library(RLO_POCL_LIBRARY NAMES "${library_name}" libpocl.so.2)
mark_as_advanced(RLO_POCL_LIBRARY)
get_filename_component(library "${RLO_POCL_LIBRARY}" REALPATH)
# libpocl.so.2.12 is PoCL 5.0, 2.13 is 6.0.
if(library MATCHES "\\.so\\.2\\.([0-9]+)" AND CMAKE_MATCH_1 GREATER_EQUAL 13)
  set(rlo_test_work_groups POCL_WORK_GROUP_METHOD=cbs)
endif()
if(RELAYOUT_SLOW_TESTS
   OR DEFINED ENV{OCL_ICD_VENDORS}
   OR NOT rlo_python)
  return()
endif()
get_filename_component(library_dir "${library}" DIRECTORY)
get_filename_component(share "${library_dir}/../../share/pocl" ABSOLUTE)
if(NOT EXISTS "${share}/include/opencl-c.h")
  return()
endif()

set(pocl "${PROJECT_BINARY_DIR}/tests/pocl")
set(rlo_test_driver "OCL_ICD_VENDORS=${pocl}/vendors" "COMPILER_PATH=${pocl}/bin")
file(
  GLOB parts
  RELATIVE "${share}"
  "${share}/*" "${share}/include/*")
list(REMOVE_ITEM parts include)
# The other drivers as they are.
file(GLOB others "${vendors}/*.icd")
list(REMOVE_ITEM others "${vendors}/pocl.icd")
# The links are made once for what the system has: kernels compile also between a run
# of CMake and the next build.
set(made_of "${library};${share};${parts};${others};bin")
set(made_of_before)
if(EXISTS "${pocl}/made_of")
  file(READ "${pocl}/made_of" made_of_before)
endif()
if(NOT made_of STREQUAL made_of_before)
  file(REMOVE_RECURSE "${pocl}")
  file(MAKE_DIRECTORY "${pocl}/bin" "${pocl}/lib/links" "${pocl}/share/pocl/include"
       "${pocl}/vendors")
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}/support/pocl_ld.sh" "${pocl}/bin/ld"
       SYMBOLIC)
  file(CREATE_LINK "${library}" "${pocl}/lib/links/${library_name}" SYMBOLIC)
  file(CREATE_LINK "${library_dir}/pocl" "${pocl}/lib/links/pocl" SYMBOLIC)
  # The whole header too, until it is reduced.
  foreach(part IN LISTS parts)
    file(CREATE_LINK "${share}/${part}" "${pocl}/share/pocl/${part}" SYMBOLIC)
  endforeach()
  foreach(other IN LISTS others)
    get_filename_component(name "${other}" NAME)
    file(CREATE_LINK "${other}" "${pocl}/vendors/${name}" SYMBOLIC)
  endforeach()
  file(WRITE "${pocl}/vendors/pocl.icd" "${pocl}/lib/links/${library_name}\n")
  file(WRITE "${pocl}/made_of" "${made_of}")
endif()

# PoCL takes the library of the best instructions that the processor has. Where this
# guesses another one, that is reduced for nothing.
set(pocl_reduced)
if(EXISTS /proc/cpuinfo)
  file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
  foreach(pair IN ITEMS avx512f:avx512 avx2:avx2 avx:avx ssse3:ssse3)
    string(REPLACE ":" ";" pair "${pair}")
    list(GET pair 0 flag)
    list(GET pair 1 name)
    file(GLOB pocl_whole "${share}/kernel-x86_64*-${name}.bc")
    if(flags MATCHES " ${flag}( |$)" AND pocl_whole)
      # It lies outside the folder that is made anew.
      get_filename_component(name "${pocl_whole}" NAME)
      set(pocl_reduced "${PROJECT_BINARY_DIR}/tests/pocl_library/${name}")
      file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/tests/pocl_library")
      if(NOT EXISTS "${pocl_reduced}")
        file(CREATE_LINK "${pocl_whole}" "${pocl_reduced}" SYMBOLIC)
      endif()
      file(CREATE_LINK "${pocl_reduced}" "${pocl}/share/pocl/${name}" SYMBOLIC)
      break()
    endif()
  endforeach()
endif()
set(pocl_reduce)
if(pocl_reduced)
  set(pocl_reduce
      COMMAND
      "${rlo_python}"
      "${CMAKE_CURRENT_SOURCE_DIR}/support/used_library.py"
      "${library}"
      "${pocl}/share/pocl/include/opencl-c.h"
      "${pocl_whole}"
      "${pocl_reduced}")
endif()

# Whatever has changed: it takes less time than to find out.
file(
  GLOB_RECURSE sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/cl/*.cl" "${PROJECT_SOURCE_DIR}/tests/*.[ch]"
  "${PROJECT_SOURCE_DIR}/tests/*.cl" "${PROJECT_SOURCE_DIR}/bench/*.[ch]"
  "${PROJECT_SOURCE_DIR}/docs/*.c" "${PROJECT_SOURCE_DIR}/docs/*.md")
add_custom_target(
  rlo_test_pocl ALL
  COMMAND
    "${rlo_python}" "${CMAKE_CURRENT_SOURCE_DIR}/support/used_builtins.py"
    "${share}/include/opencl-c.h" "${pocl}/share/pocl/include/opencl-c.h"
    ${sources} ${pocl_reduce}
  COMMENT "Reducing the header and the library of PoCL"
  VERBATIM)
