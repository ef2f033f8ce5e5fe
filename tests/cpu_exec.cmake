# The execution core once more with AddressSanitizer: fibers, shared memory and all kinds of waiting have to look right to it.
foreach(name barriers shuffles votes shared atomics groups exit memory)
  add_test(NAME cpu.sanitized.exec_${name}
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cpu/run_sanitized.sh $<TARGET_FILE:kforge-cpucc> ${CMAKE_CURRENT_SOURCE_DIR}/cpu/exec_${name}.cu)
  set_tests_properties(cpu.sanitized.exec_${name} PROPERTIES TIMEOUT 120)
endforeach()
