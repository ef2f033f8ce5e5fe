kf_test(kernels kf_judge)
target_include_directories(test_kernels PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/model ${CMAKE_SOURCE_DIR}/evaluator/judge)
