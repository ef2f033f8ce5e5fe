# Counters, roofline, occupancy, sanitizer: the tests that need no GPU.
kf_test(occupancy kf_task)
kf_test(counters kf_judge)
kf_test(sanitize kf_task)
kf_test(build_cuda kf_judge)
add_test(NAME cli.counters COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/counters.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.counters PROPERTIES TIMEOUT 300)
# The runner's side, with a simulated CUPTI.
add_library(fake_cupti MODULE unit/fake_cupti.c)
target_compile_definitions(fake_cupti PRIVATE _GNU_SOURCE)
target_include_directories(fake_cupti PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/protocol)
set_target_properties(fake_cupti PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
kf_test(count_runner kf_protocol kf_common)
target_sources(test_count_runner PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/runner/cupti_counters.c
  ${CMAKE_SOURCE_DIR}/evaluator/runner/kernel_work.c
  ${CMAKE_SOURCE_DIR}/evaluator/runner/pc_lines.c)
target_compile_definitions(test_count_runner PRIVATE FAKE_CUPTI="$<TARGET_FILE:fake_cupti>")
target_link_libraries(test_count_runner PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
add_dependencies(test_count_runner fake_cupti)
