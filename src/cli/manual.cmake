# SPDX-License-Identifier: Apache-2.0
#
# Manual pages and completions. A release's archive has the pages in man/.
set(manual_dir "${PROJECT_SOURCE_DIR}/man")
if(NOT EXISTS "${manual_dir}")
  set(manual_dir "${PROJECT_BINARY_DIR}/man")
  find_program(RELAYOUT_HELP2MAN help2man)
  find_program(RELAYOUT_PANDOC pandoc)
  if(NOT RELAYOUT_HELP2MAN)
    message(
      STATUS
        "help2man was not found: no manual pages (on Debian: apt install help2man pandoc)")
  elseif(NOT CMAKE_CROSSCOMPILING)
    set(pandoc "${RELAYOUT_PANDOC}")
    if(NOT pandoc)
      set(pandoc "")
      message(STATUS "pandoc was not found: no manual page about layouts")
    endif()
    set(mpi_target)
    set(mpi_command "")
    if(TARGET relayout_mpi_command)
      set(mpi_target relayout_mpi_command)
      set(mpi_command "$<TARGET_FILE:relayout_mpi_command>")
    endif()
    set(manual_script "${PROJECT_SOURCE_DIR}/src/cli/make_manual.sh")
    set(shapes_page "${PROJECT_SOURCE_DIR}/docs/shapes.md")
    add_custom_command(
      OUTPUT "${manual_dir}/man1/relayout.1"
      COMMAND sh "${manual_script}" "$<TARGET_FILE:relayout_command>"
              "${mpi_command}" "${RELAYOUT_HELP2MAN}" "${pandoc}" "${shapes_page}" "${manual_dir}"
      DEPENDS relayout_command ${mpi_target} "${manual_script}" "${shapes_page}"
      COMMENT "Making the manual pages"
      VERBATIM)
    add_custom_target(relayout_manual ALL DEPENDS "${manual_dir}/man1/relayout.1")
  endif()
endif()
# An archive has the page of relayout-mpi wherever it was made.
if(NOT TARGET relayout_mpi_command)
  set(no_mpi PATTERN relayout-mpi.1 EXCLUDE)
endif()
install(
  DIRECTORY "${manual_dir}/"
  DESTINATION "${CMAKE_INSTALL_MANDIR}"
  COMPONENT command
  OPTIONAL ${no_mpi})

# bash and zsh read the same file, each by a name of its own.
set(completion "${PROJECT_SOURCE_DIR}/src/cli/completion.bash")
install(
  FILES "${completion}"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
  RENAME relayout
  COMPONENT command)
install(
  FILES "${completion}"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions"
  RENAME _relayout
  COMPONENT command)
