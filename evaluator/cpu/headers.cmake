# Fills OUTPUT, the folder with the headers that candidates include: first with a copy of include/,
# then with the headers that
# alias_headers.txt lists.
# usage: cmake -DOUTPUT=FOLDER -P headers.cmake
set(source ${CMAKE_CURRENT_LIST_DIR})
file(REMOVE_RECURSE ${OUTPUT})
file(COPY ${source}/include/ DESTINATION ${OUTPUT} PATTERN README.md EXCLUDE)

function(write_header name text)
  if(EXISTS ${OUTPUT}/${name})
    message(FATAL_ERROR "${name} exists twice: in evaluator/cpu/include and in "
      "alias_headers.txt; remove one of them")
  endif()
  file(WRITE ${OUTPUT}/${name} "${text}")
endfunction()

file(STRINGS ${source}/alias_headers.txt lines REGEX "^[^#]")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^([^ ]+) +([^ ]+)( +([^ ]+))?$")
    message(FATAL_ERROR "alias_headers.txt: expected 'NAME INCLUDED [STANDARD]', not '${line}'")
  endif()
  set(text "#pragma once\n")
  if(CMAKE_MATCH_4)
    string(APPEND text "#include <${CMAKE_MATCH_4}>\n")
  endif()
  write_header(${CMAKE_MATCH_1} "${text}#include \"${CMAKE_MATCH_2}\"\n")
endforeach()
