# kforge bench: scores, suites and solutions as units; the command from the outside.
kf_test(score kf_model)
kf_test(bench kf_agent)
add_test(NAME cli.bench COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/bench.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.bench PROPERTIES TIMEOUT 120)
