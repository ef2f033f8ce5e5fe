# The PyTorch worker: solutions in Python through the judge; skipped where there is no PyTorch.
kf_test(torch kf_worker)
kf_test(torch_timed kf_judge)
kf_test(torch_runner_pool kf_judge)
add_test(NAME cli.torch COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/torch.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.torch PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
# What the worker in Python decides by itself.
add_test(NAME cli.torch_parts COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/torch_parts.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.torch_parts PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
set_tests_properties(unit.torch PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 ENVIRONMENT "KFORGE_ROOT=${CMAKE_BINARY_DIR}")
set_tests_properties(unit.torch_runner_pool PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300 ENVIRONMENT "KFORGE_ROOT=${CMAKE_BINARY_DIR}")
set_tests_properties(unit.torch_timed PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 RUN_SERIAL TRUE ENVIRONMENT "KFORGE_ROOT=${CMAKE_BINARY_DIR}")
# Those that compile extensions: C++ and PyTorch's headers, so not beside what measures time, and once is enough (tests/ci/all.sh).
kf_test(torch_extensions kf_judge)
set_tests_properties(unit.torch_extensions PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1200 ENVIRONMENT "KFORGE_ROOT=${CMAKE_BINARY_DIR}")
# Those that compile when they are called: compilers here as well.
kf_test(torch_dry_run kf_judge)
set_tests_properties(unit.torch_dry_run PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900 ENVIRONMENT "KFORGE_ROOT=${CMAKE_BINARY_DIR}")
# What divides a GPU runner's memory; no GPU and no PyTorch needed.
kf_test(blocks kf_common)
target_sources(test_blocks PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/runner/blocks.c)
target_include_directories(test_blocks PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/runner)
kf_test(device_pool kf_judge)
