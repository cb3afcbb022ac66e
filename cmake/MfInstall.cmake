# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` and `cpack` put where. Tools, with all that users need, are the
# package `mf`; headers, libraries and the CMake package are `libmf-dev`; several processes
# are `mf-mpi`. The component `release` is the folder of a release archive: the tools as one
# program without shared libraries, and what users read at its top.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
get_property(MF_LIBRARIES GLOBAL PROPERTY MF_LIBRARIES)
get_property(MF_TOOLS GLOBAL PROPERTY MF_TOOLS)

install(TARGETS ${MF_TOOLS} RUNTIME DESTINATION bin COMPONENT tools)
install(TARGETS mf-plugin LIBRARY DESTINATION lib COMPONENT tools)
# mf-run looks for it in ../lib of its folder; it alone needs Open MPI.
if(TARGET mf-mpi)
  install(TARGETS mf-mpi LIBRARY DESTINATION lib COMPONENT mpi)
endif()

# Gives a component what users read and complete with; documentation is in a folder below the
# prefix, the package for Python in another.
function(mf_install_for_users component documentation python)
  set(component COMPONENT ${component} ${ARGN})
  install(FILES scripts/completion/mf.bash DESTINATION share/bash-completion/completions
          RENAME mf-opt ${component})
  install(FILES scripts/completion/_mf DESTINATION share/zsh/vendor-completions ${component})
  foreach(tool IN LISTS MF_TOOLS)
    # bash looks for completions by the name of the command.
    if(NOT tool STREQUAL "mf-opt")
      install(CODE "file(CREATE_LINK mf-opt \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/bash-completion/completions/${tool}\" SYMBOLIC)"
              ${component})
    endif()
  endforeach()
  install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${documentation} ${component})
  install(DIRECTORY docs/ DESTINATION ${documentation}/docs ${component} FILES_MATCHING PATTERN "*.md"
          PATTERN "*.png" PATTERN "*.svg" PATTERN "*.ipynb" PATTERN "decisions" EXCLUDE)
  install(DIRECTORY examples/ DESTINATION ${documentation}/examples ${component})
  # The YAMLs of the recipes.
  install(DIRECTORY test/data/mindformers/yamls DESTINATION ${documentation}/examples ${component}
          FILES_MATCHING PATTERN "*.yaml")
  install(DIRECTORY python/mf DESTINATION ${python} ${component}
          FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
  # Manual pages come from each tool's --help.
  install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION share/man/man1 ${component} OPTIONAL
          FILES_MATCHING PATTERN "*.1")
endfunction()
# Debian's Python finds packages there.
mf_install_for_users(tools share/doc/mf lib/python3/dist-packages)
if(TARGET mf-static)
  mf_install_for_users(release . python EXCLUDE_FROM_ALL)
  install(PROGRAMS $<TARGET_FILE:mf-static> DESTINATION bin RENAME mf COMPONENT release EXCLUDE_FROM_ALL)
  foreach(tool IN LISTS MF_TOOLS)
    if(NOT tool STREQUAL "mf")
      install(CODE "file(CREATE_LINK mf \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/${tool}\" SYMBOLIC)"
              COMPONENT release EXCLUDE_FROM_ALL)
    endif()
  endforeach()
endif()

set(MF_TOOL_FILES)
foreach(tool IN LISTS MF_TOOLS)
  # Of another processor's program, the script that runs it.
  list(APPEND MF_TOOL_FILES ${PROJECT_BINARY_DIR}/bin/${tool})
endforeach()
add_custom_target(man
  COMMAND ${MF_PYTHON} ${PROJECT_SOURCE_DIR}/scripts/tool_pages.py --format=man
          --output=${PROJECT_BINARY_DIR}/man ${MF_TOOL_FILES}
  DEPENDS ${MF_TOOLS} VERBATIM)
# The documentation as a site, with a page for each tool: build/site/index.html.
add_custom_target(site
  COMMAND ${MF_PYTHON} ${PROJECT_SOURCE_DIR}/scripts/site.py --output=${PROJECT_BINARY_DIR}/site
          ${MF_TOOL_FILES}
  DEPENDS ${MF_TOOLS} VERBATIM)

# What projects outside may include and keep: a release that changes a declaration of these says so in
# CHANGELOG.md. All other headers are installed because these include them, and change at any time.
set(MF_STABLE_HEADERS
  dialects/ascend/AscendDialect.h
  dialects/mf/MfOps.h
  mf/Decode/Decoder.h
  mf/Decode/TargetFile.h
  mf/Perf/Simulator/StepSimulator.h
  mf/Plan/Settings/StepCompiler.h
  mf/Program/Program.h
  passes/pipeline/Pipeline.h)
install(TARGETS ${MF_LIBRARIES} EXPORT mfTargets ARCHIVE DESTINATION lib/mf COMPONENT dev)
install(EXPORT mfTargets NAMESPACE mf:: DESTINATION lib/cmake/mf COMPONENT dev)
configure_package_config_file(cmake/mfConfig.cmake.in ${PROJECT_BINARY_DIR}/mfConfig.cmake
                              INSTALL_DESTINATION lib/cmake/mf
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mfConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mfConfig.cmake ${PROJECT_BINARY_DIR}/mfConfigVersion.cmake
        DESTINATION lib/cmake/mf COMPONENT dev)
# Headers keep their paths: <mf/...>, <dialects/...> and <passes/...> below include/mf.
install(DIRECTORY include/ DESTINATION include/mf COMPONENT dev FILES_MATCHING PATTERN "*.h")
install(DIRECTORY dialects passes DESTINATION include/mf COMPONENT dev
        FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
install(DIRECTORY ${PROJECT_BINARY_DIR}/dialects ${PROJECT_BINARY_DIR}/passes
        DESTINATION include/mf COMPONENT dev
        FILES_MATCHING PATTERN "*.h.inc" PATTERN "CMakeFiles" EXCLUDE)

# For scripts/release.sh: the processor is part of an archive's name.
set(MF_PROCESSOR ${CMAKE_SYSTEM_PROCESSOR} CACHE INTERNAL "What programs run on")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mf)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The developers of mf")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
    "compiler, runner and planner for the memory of large-model training on Ascend NPUs")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL tools dev)
if(TARGET mf-mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME mf)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libmf-dev)
set(CPACK_DEBIAN_MPI_PACKAGE_NAME mf-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "mf (= ${PROJECT_VERSION}), openmpi-bin")
set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "mf-mpi")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "libmlir-22-dev, mlir-22-tools, llvm-22-dev, libyaml-cpp-dev, libdnnl-dev, libeigen3-dev")
include(CPack)
