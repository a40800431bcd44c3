# SPDX-License-Identifier: Apache-2.0
#
# The library of MPI, relayout_mpi, and the command relayout-mpi: a component, so
# that the core needs no MPI. RELAYOUT_BUILD_MPI says whether it is built: AUTO, if
# an MPI is found; ON, or else the configuration fails; OFF. Which MPI is found is
# FindMPI's affair: MPI_C_COMPILER names another one's mpicc.

if(NOT RELAYOUT_BUILD_MPI STREQUAL "AUTO" AND NOT RELAYOUT_BUILD_MPI)
  return()
endif()

find_package(MPI QUIET COMPONENTS C)
# The target is there without an MPI, too.
if(NOT MPI_C_FOUND)
  set(missing "MPI was not found: librelayout-mpi is not built"
              "(on Debian: apt install libopenmpi-dev)")
  list(JOIN missing " " missing)
  if(RELAYOUT_BUILD_MPI STREQUAL "AUTO")
    message(STATUS "${missing}")
    return()
  endif()
  message(FATAL_ERROR "${missing}")
endif()

file(GLOB mpi_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/mpi/*.c")
add_library(relayout_mpi ${library_type} ${mpi_sources} ${shared_base})
add_library(relayout::mpi ALIAS relayout_mpi)
rlo_set_library(relayout_mpi)
set_target_properties(
  relayout_mpi PROPERTIES OUTPUT_NAME relayout-mpi EXPORT_NAME mpi
                          INSTALL_RPATH "$ORIGIN")
target_include_directories(relayout_mpi PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(relayout_mpi PUBLIC relayout MPI::MPI_C)
target_link_libraries(relayout_mpi PRIVATE $<BUILD_INTERFACE:rlo_flags>)

# The command sees what the other one sees, and MPI.
if(TARGET rlo_command)
  file(GLOB mpi_command_sources CONFIGURE_DEPENDS
       "${PROJECT_SOURCE_DIR}/src/cli/mpi/*.c")
  add_executable(relayout_mpi_command ${mpi_command_sources})
  target_link_libraries(relayout_mpi_command PRIVATE rlo_command MPI::MPI_C)
  set_target_properties(
    relayout_mpi_command
    PROPERTIES OUTPUT_NAME relayout-mpi
               RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}"
               INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endif()
