# SPDX-License-Identifier: Apache-2.0
#
# What is installed, in components: runtime (what programs load), dev (what they are
# compiled with), command, doc. `cmake --install BUILD --component runtime`.

# rlo_install_library(<target> <export>)
function(rlo_install_library target export)
  install(
    TARGETS ${target}
    EXPORT ${export}
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
            COMPONENT runtime
            NAMELINK_COMPONENT dev
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev)
endfunction()

rlo_install_library(relayout relayoutTargets)
# Components have exports of their own: who needs no MPI looks for none.
if(TARGET relayout_mpi)
  rlo_install_library(relayout_mpi relayoutMpiTargets)
endif()
if(TARGET relayout_safetensors)
  rlo_install_library(relayout_safetensors relayoutSafetensorsTargets)
endif()
foreach(command IN ITEMS relayout_command relayout_mpi_command)
  if(TARGET ${command})
    install(TARGETS ${command} DESTINATION "${CMAKE_INSTALL_BINDIR}"
            COMPONENT command)
  endif()
endforeach()
if(TARGET relayout_command)
  include(src/cli/manual.cmake)
endif()
# Those of the core, whose functions it has.
set(core_headers)
if(RELAYOUT_PROFILE STREQUAL "core")
  foreach(
    name IN
    ITEMS batch
          batch_opencl
          cache
          chain
          compare
          digest
          dtype
          export
          index
          launch
          layout
          opencl
          ops
          permutation
          plan
          problem
          quantize
          relayout
          shape
          status
          strides
          text
          version)
    list(APPEND core_headers PATTERN "relayout/${name}.h")
  endforeach()
  list(PREPEND core_headers FILES_MATCHING PATTERN xla EXCLUDE)
endif()
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/include/relayout"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT dev ${core_headers})

# In a wheel the libraries lie in the package, the command beside them, and the headers
# that say what they have.
if(SKBUILD)
  add_custom_target(relayout_python)
  foreach(target IN ITEMS relayout relayout_safetensors relayout_command)
    if(TARGET ${target})
      add_dependencies(relayout_python ${target})
      set_target_properties(${target} PROPERTIES BUILD_RPATH_USE_ORIGIN ON)
      get_target_property(type ${target} TYPE)
      set(name relayout)
      if(type STREQUAL "SHARED_LIBRARY")
        set(name "$<TARGET_SONAME_FILE_NAME:${target}>")
      endif()
      install(
        PROGRAMS "$<TARGET_FILE:${target}>"
        DESTINATION lib
        RENAME "${name}"
        COMPONENT python)
    endif()
  endforeach()
  install(
    PROGRAMS "${PROJECT_SOURCE_DIR}/python/command"
    DESTINATION "${SKBUILD_SCRIPTS_DIR}"
    RENAME relayout
    COMPONENT python)
  install(
    DIRECTORY "${PROJECT_SOURCE_DIR}/include/relayout"
    DESTINATION include
    COMPONENT python)
endif()

# The pages with their examples as they lie here, so that their links hold.
install(
  FILES "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
        "${PROJECT_SOURCE_DIR}/LICENSE"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  COMPONENT doc)
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/docs"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  COMPONENT doc)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/relayout")
set(exports relayoutTargets)
if(TARGET relayout_mpi)
  list(APPEND exports relayoutMpiTargets)
endif()
if(TARGET relayout_safetensors)
  list(APPEND exports relayoutSafetensorsTargets)
endif()
foreach(export IN LISTS exports)
  install(
    EXPORT ${export}
    NAMESPACE relayout::
    DESTINATION "${package_dir}"
    COMPONENT dev)
endforeach()
# The libraries that programs with a static library in them link.
set(static_dependencies)
set(static_safetensors)
if(library_type STREQUAL "STATIC")
  set(static_safetensors
      "find_dependency(PkgConfig)\n  pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson)")
  set(static_dependencies "set(THREADS_PREFER_PTHREAD_FLAG ON)\nfind_dependency(Threads)")
endif()
file(
  CONFIGURE
  OUTPUT "${PROJECT_BINARY_DIR}/generated/relayoutConfig.cmake"
  CONTENT
    [[include(CMakeFindDependencyMacro)
@static_dependencies@
include("${CMAKE_CURRENT_LIST_DIR}/relayoutTargets.cmake")
# The headers that relayout/opencl.h includes.
find_package(OpenCL QUIET)
if(OpenCL_INCLUDE_DIR)
  set_property(
    TARGET relayout::relayout APPEND
    PROPERTY INTERFACE_INCLUDE_DIRECTORIES "${OpenCL_INCLUDE_DIR}")
endif()
set(relayout_mpi_targets "${CMAKE_CURRENT_LIST_DIR}/relayoutMpiTargets.cmake")
if("mpi" IN_LIST relayout_FIND_COMPONENTS AND EXISTS "${relayout_mpi_targets}")
  find_dependency(MPI COMPONENTS C)
  include("${relayout_mpi_targets}")
  set(relayout_mpi_FOUND TRUE)
endif()
set(relayout_safetensors_targets
    "${CMAKE_CURRENT_LIST_DIR}/relayoutSafetensorsTargets.cmake")
if("safetensors" IN_LIST relayout_FIND_COMPONENTS
   AND EXISTS "${relayout_safetensors_targets}")
  @static_safetensors@
  include("${relayout_safetensors_targets}")
  set(relayout_safetensors_FOUND TRUE)
endif()
foreach(component IN LISTS relayout_FIND_COMPONENTS)
  if(relayout_FIND_REQUIRED_${component} AND NOT relayout_${component}_FOUND)
    set(relayout_FOUND FALSE)
    set(relayout_NOT_FOUND_MESSAGE "relayout was built without ${component}")
  endif()
endforeach()
]]
  @ONLY)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/generated/relayoutConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/generated/relayoutConfig.cmake"
              "${PROJECT_BINARY_DIR}/generated/relayoutConfigVersion.cmake"
        DESTINATION "${package_dir}"
        COMPONENT dev)

# The folders relative to relayout.pc, so that what is installed can be moved.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE
                                            "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
  set(pc_includedir "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
  set(pc_libdir "${CMAKE_INSTALL_FULL_LIBDIR}")
else()
  file(RELATIVE_PATH pc_up "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig"
       "/prefix/")
  string(REGEX REPLACE "/$" "" pc_up "${pc_up}")
  set(pc_prefix "\${pcfiledir}/${pc_up}")
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()

# rlo_install_pc(<name> <description> <requires> <private requires> <private libs>):
# the private ones are for `pkg-config --static`.
function(rlo_install_pc name description requires requires_private libs_private)
  file(
    CONFIGURE
    OUTPUT "${PROJECT_BINARY_DIR}/generated/${name}.pc"
    CONTENT
      [[prefix=@pc_prefix@
includedir=@pc_includedir@
libdir=@pc_libdir@

Name: @name@
Description: @description@
Version: @PROJECT_VERSION@
Requires: @requires@
Requires.private: @requires_private@
Cflags: -I${includedir}
Libs: -L${libdir} -l@name@
Libs.private: @libs_private@
]]
    @ONLY)
  install(
    FILES "${PROJECT_BINARY_DIR}/generated/${name}.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
    COMPONENT dev)
endfunction()

rlo_install_pc(relayout "${PROJECT_DESCRIPTION}" "" "" "-pthread -lm -ldl")
if(TARGET relayout_mpi)
  rlo_install_pc(
    relayout-mpi "Redistributions over the ranks of MPI for relayout"
    "relayout = ${PROJECT_VERSION}" "" "")
endif()
if(TARGET relayout_safetensors)
  rlo_install_pc(
    relayout-safetensors "Weights in safetensors files for relayout"
    "relayout = ${PROJECT_VERSION}" jansson "")
endif()
