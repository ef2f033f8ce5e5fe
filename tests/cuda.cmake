kf_test(kernels kf_judge)
# LeakSanitizer falls over the thread-local storage of NVRTC, which it took note of when it was loaded.
set_tests_properties(unit.kernels PROPERTIES ENVIRONMENT ASAN_OPTIONS=intercept_tls_get_addr=0)
kf_test(ptxas kf_judge)
# What needs a GPU: a program that tests/gpu/run.sh runs; it is not part of ctest's list on machines without one.
add_executable(gpu_check gpu/gpu_check.c gpu/gpu_numbers.c gpu/gpu_profile.c gpu/gpu_agree.c gpu/gpu_plain.c gpu/gpu_quiet.c gpu/gpu_figure.c
  gpu/gpu_undisturbed.c gpu/gpu_reached.c gpu/gpu_raw.c gpu/gpu_sanitize.c gpu/gpu_load.c gpu/gpu_same.c gpu/gpu_phases.c gpu/gpu_work.c gpu/gpu_torch.c)
set_target_properties(gpu_check PROPERTIES EXCLUDE_FROM_ALL ${KFORGE_PLAIN_ONLY})
target_link_libraries(gpu_check PRIVATE kf_commands kf_judge kf_options)
if(NOT KFORGE_SANITIZE)
  add_test(NAME cli.gpu COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/gpu.sh ${CMAKE_BINARY_DIR}/bin)
  set_tests_properties(cli.gpu PROPERTIES TIMEOUT 600)
endif()
# gpu_phases.c puts clocks around these.
foreach(name kf_run_conclude kf_measure_workload kf_run_draw kf_run_start_peer kf_run_null_batch kf_run_pair kf_run_audit kf_crew_settle kf_peer_batch kf_peer_load
             kf_peer_map kf_peer_greet kf_peer_free kf_peer_unmap kf_peer_give kf_peer_scalars kf_peer_extra_threads kf_crew_take kf_crew_pause kf_crew_resume kf_crew_retire kf_judge_count)
    target_link_options(gpu_check PRIVATE -Wl,--wrap=${name})
endforeach()
