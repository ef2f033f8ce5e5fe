# kf_library(NAME [SOURCES FILE…] [EXCLUDE FILE…] [EXTRA FILE…] PUBLIC LIBRARY… [PRIVATE LIBRARY…])
# The static library of a folder: all its C sources, or those named. Its headers are visible to what links it.
function(kf_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;EXCLUDE;EXTRA;PUBLIC;PRIVATE" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
    foreach(file IN LISTS ARG_EXCLUDE)
      list(REMOVE_ITEM ARG_SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    endforeach()
  endif()
  add_library(${name} STATIC ${ARG_SOURCES} ${ARG_EXTRA})
  target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
endfunction()

# kf_embed(VARIABLE OUTPUT FILE.c HEADER FILE.h TYPE TYPE TABLE NAME [EXTENSIONS OFF] FILES FILE…)
# Writes files into a C source in the build folder (embed.cmake), and sets VARIABLE to its path.
set(KF_EMBED ${CMAKE_CURRENT_LIST_DIR}/embed.cmake)
function(kf_embed variable)
  cmake_parse_arguments(ARG "" "OUTPUT;HEADER;TYPE;TABLE;EXTENSIONS" "FILES" ${ARGN})
  if(NOT DEFINED ARG_EXTENSIONS)
    set(ARG_EXTENSIONS ON)
  endif()
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${ARG_OUTPUT})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DHEADER=${ARG_HEADER} -DTYPE=${ARG_TYPE} -DTABLE=${ARG_TABLE}
            -DEXTENSIONS=${ARG_EXTENSIONS} -P ${KF_EMBED} -- ${ARG_FILES}
    DEPENDS ${ARG_FILES} ${KF_EMBED} VERBATIM)
  set(${variable} ${output} PARENT_SCOPE)
endfunction()
