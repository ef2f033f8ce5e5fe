# Counters, roofline, occupancy, sanitizer: what of them needs no GPU.
kf_test(occupancy kf_model)
kf_test(counters kf_model)
kf_test(sanitize kf_model)
kf_test(build_cuda kf_judge)
target_include_directories(test_build_cuda PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/judge ${CMAKE_SOURCE_DIR}/evaluator/model)
