kf_test(kernels kf_judge)
kf_test(ptxas kf_judge)
target_include_directories(test_kernels PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/model ${CMAKE_SOURCE_DIR}/evaluator/judge)
# What needs a GPU: a program that tests/gpu/run.sh runs; it is not part of ctest's list on machines without one.
add_executable(gpu_check gpu/gpu_check.c gpu/gpu_numbers.c gpu/gpu_profile.c gpu/gpu_agree.c gpu/gpu_sanitize.c gpu/gpu_load.c)
target_link_libraries(gpu_check PRIVATE kf_agent kf_judge kf_options)
target_include_directories(gpu_check PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/model ${CMAKE_SOURCE_DIR}/evaluator/judge)
