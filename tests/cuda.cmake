kf_test(kernels kf_judge)
# LeakSanitizer falls over the thread-local storage of NVRTC, which it took note of when it was loaded.
set_tests_properties(unit.kernels PROPERTIES ENVIRONMENT ASAN_OPTIONS=intercept_tls_get_addr=0)
kf_test(ptxas kf_judge)
target_include_directories(test_kernels PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/model ${CMAKE_SOURCE_DIR}/evaluator/judge)
# What needs a GPU: a program that tests/gpu/run.sh runs; it is not part of ctest's list on machines without one.
add_executable(gpu_check gpu/gpu_check.c gpu/gpu_numbers.c gpu/gpu_profile.c gpu/gpu_agree.c gpu/gpu_plain.c
  gpu/gpu_undisturbed.c gpu/gpu_sanitize.c gpu/gpu_load.c)
target_link_libraries(gpu_check PRIVATE kf_agent kf_judge kf_options)
target_include_directories(gpu_check PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/model ${CMAKE_SOURCE_DIR}/evaluator/judge)
