kf_test(tasks kf_agent)
# Baselines and seeds against the oracles, on the CPU device.
kf_test(tasks_run kf_model kf_base ${CMAKE_DL_LIBS})
target_compile_definitions(test_tasks_run PRIVATE KFORGE_CPUCC="$<TARGET_FILE:kforge-cpucc>")
add_dependencies(test_tasks_run kforge-cpucc kfcpu-headers)
set_tests_properties(unit.tasks_run PROPERTIES TIMEOUT 600)
