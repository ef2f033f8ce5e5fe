# kforge bench: scores, suites and solutions as units; the command from the outside.
kf_test(score kf_task)
kf_test(bench kf_commands)
foreach(name bench bench_faults bench_lane_faults)
  add_test(NAME cli.${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/${name}.sh ${CMAKE_BINARY_DIR}/bin)
  set_tests_properties(cli.${name} PROPERTIES TIMEOUT 300)
endforeach()
# A sample of KernelBench's kinds of problems from import to leaderboard; with PyTorch.
add_test(NAME cli.kernelbench COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/kernelbench.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.kernelbench PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77)
kf_tier(full cli.kernelbench)
kf_tier(plain cli.kernelbench)
