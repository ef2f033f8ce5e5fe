# The program inside is built without sanitizers: they need system calls that the sandbox denies.
add_executable(sandbox_inmate unit/sandbox_inmate.c ${CMAKE_SOURCE_DIR}/sandbox/lockdown.c)
target_include_directories(sandbox_inmate PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_compile_definitions(sandbox_inmate PRIVATE _GNU_SOURCE)
target_compile_options(sandbox_inmate PRIVATE -std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2)
target_link_libraries(sandbox_inmate PRIVATE Threads::Threads)
set_target_properties(sandbox_inmate PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

foreach(name sandbox sandbox_limits)
  kf_test(${name} kf_sandbox Threads::Threads)
  target_compile_definitions(test_${name} PRIVATE SANDBOX_INMATE="$<TARGET_FILE:sandbox_inmate>")
  add_dependencies(test_${name} sandbox_inmate)
endforeach()
kf_tier(slow unit.sandbox_limits) # it waits for limits, in programs without sanitizers
kf_bench(sandbox kf_sandbox)

kf_test(sandbox_faults kf_sandbox)
foreach(function malloc calloc realloc strdup asprintf free)
  target_link_options(test_sandbox_faults PRIVATE -Wl,--wrap=${function})
endforeach()
