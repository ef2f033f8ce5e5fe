# Counters, roofline, occupancy, sanitizer: what of them needs no GPU.
kf_test(occupancy kf_model)
kf_test(counters kf_model)
kf_test(sanitize kf_model)
kf_test(build_cuda kf_judge)
target_include_directories(test_build_cuda PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/judge ${CMAKE_SOURCE_DIR}/evaluator/model)
add_test(NAME cli.counters COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/counters.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.counters PROPERTIES TIMEOUT 300)
