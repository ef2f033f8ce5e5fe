# The execution core once more with AddressSanitizer: fibers, shared memory and all kinds of waiting have to look right to it.
foreach(name barriers shuffles votes shared atomics groups exit memory)
  add_test(NAME cpu.sanitized.exec_${name}
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cpu/run_sanitized.sh $<TARGET_FILE:kforge-cpucc> ${CMAKE_CURRENT_SOURCE_DIR}/cpu/exec_${name}.cu)
  set_tests_properties(cpu.sanitized.exec_${name} PROPERTIES TIMEOUT 300)
endforeach()
kf_tier(full cpu.sanitized.exec_groups) # it compiles as long as the others together
# bench/bench_cpu_device: built with the others, not run by ctest.
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/bench/bench_cpu_device
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/bench
  COMMAND kforge-cpucc --exe ${CMAKE_CURRENT_SOURCE_DIR}/bench/bench_cpu_device.cu -o ${CMAKE_BINARY_DIR}/bench/bench_cpu_device
  DEPENDS kforge-cpucc kfcpu kfcpu-headers ${CMAKE_CURRENT_SOURCE_DIR}/bench/bench_cpu_device.cu
  COMMENT "Building bench_cpu_device" VERBATIM)
add_custom_target(bench_cpu_device DEPENDS ${CMAKE_BINARY_DIR}/bench/bench_cpu_device)
add_dependencies(benches bench_cpu_device)
add_test(NAME cpu.vectorises COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cpu/vectorises.sh $<TARGET_FILE:kforge-cpucc>)
set_tests_properties(cpu.vectorises PROPERTIES TIMEOUT 180)
