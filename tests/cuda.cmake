kf_test(kernels kf_judge FULL they_compile_for_ampere)
# LeakSanitizer crashes on the thread-local storage of NVRTC, which it recorded at load time.
set_tests_properties(unit.kernels unit.kernels.they_compile_for_ampere PROPERTIES ENVIRONMENT ASAN_OPTIONS=intercept_tls_get_addr=0)
kf_tier(slow unit.kernels)
kf_tier(plain unit.kernels.they_compile_for_ampere) # NVRTC's time
kf_test(ptxas kf_judge)
# The checks that need a GPU: a program for tests/gpu/run.sh. Without a GPU, ctest does not list it.
add_executable(gpu_check gpu/gpu_check.c gpu/gpu_numbers.c gpu/gpu_profile.c gpu/gpu_agree.c gpu/gpu_plain.c gpu/gpu_quiet.c gpu/gpu_figure.c
  gpu/gpu_undisturbed.c gpu/gpu_reached.c gpu/gpu_raw.c gpu/gpu_sanitize.c gpu/gpu_load.c gpu/gpu_same.c gpu/gpu_phases.c gpu/gpu_work.c gpu/gpu_torch.c)
if(KFORGE_SANITIZE)
  set_target_properties(gpu_check PROPERTIES EXCLUDE_FROM_ALL TRUE)
endif()
target_link_libraries(gpu_check PRIVATE kf_commands kf_judge kf_options)
if(NOT KFORGE_SANITIZE)
  add_test(NAME cli.gpu COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/gpu.sh ${CMAKE_BINARY_DIR}/bin)
  set_tests_properties(cli.gpu PROPERTIES TIMEOUT 1200)
  kf_tier(full cli.gpu) # its parts have limits of time
endif()
# gpu_phases.c puts clocks around these.
foreach(name kf_measurement_conclude kf_measure_workload kf_measurement_draw kf_measurement_start_runner kf_measurement_empty_batch kf_measurement_pair kf_measurement_audit kf_runner_pool_settle kf_runner_batch kf_runner_load
             kf_runner_map kf_runner_greet kf_runner_free kf_runner_unmap kf_runner_give kf_runner_scalars kf_runner_extra_threads kf_runner_pool_take kf_runner_pool_pause kf_runner_pool_resume kf_runner_pool_retire kf_judge_count)
    target_link_options(gpu_check PRIVATE -Wl,--wrap=${name})
endforeach()
