# Every file of tests/hostile and tests/honest is a test: corpus.hostile.TASK.NAME, corpus.honest.TASK.NAME. With sanitizers those of one task are enough: they are for
# the judge's own memory. Files for a GPU only are judged by tests/gpu/run.sh.
set(corpus_environment KFORGE_CONFIG=none)
set(corpus_command ${CMAKE_CURRENT_SOURCE_DIR}/corpus.sh ${CMAKE_BINARY_DIR}/bin)
file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} hostile/*/*.cu honest/*/*.cu)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
foreach(file IN LISTS files)
  file(STRINGS ${file} heading REGEX "^// (devices|mode): ")
  if(heading MATCHES "devices: cuda" OR (KFORGE_SANITIZE AND (NOT file MATCHES "/scale/" OR heading MATCHES "mode: timed")))
    continue()
  endif()
  string(REGEX REPLACE "\\.cu$" "" name corpus.${file})
  string(REPLACE "/" "." name ${name})
  add_test(NAME ${name} COMMAND ${corpus_command} ${file})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 ENVIRONMENT "${corpus_environment}")
endforeach()
# It fills the memory of a build twice. gemm.huge_object is of its kind.
kf_tier(full corpus.hostile.vecadd.template_bomb)
# Several in one process, the next ones built while one is judged.
add_test(NAME corpus.together COMMAND ${corpus_command} honest/tgemm/)
set_tests_properties(corpus.together PROPERTIES TIMEOUT 300 ENVIRONMENT "${corpus_environment}")
