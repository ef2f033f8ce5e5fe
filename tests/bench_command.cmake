# kforge bench: scores, suites and solutions as units; the command from the outside.
kf_test(score kf_model)
kf_test(bench kf_agent)
add_test(NAME cli.bench COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/bench.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.bench PROPERTIES TIMEOUT 120)
add_test(NAME cli.bench_torch COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/bench_torch.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.bench_torch PROPERTIES TIMEOUT 180 SKIP_RETURN_CODE 77)
