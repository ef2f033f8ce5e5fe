# The test double of `kforge worker`: the real protocol around a judge that runs nothing.
add_executable(fake_worker cli/fake_worker.c ${CMAKE_SOURCE_DIR}/evaluator/judge/worker.c ${CMAKE_SOURCE_DIR}/evaluator/judge/spool.c)
target_include_directories(fake_worker PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/judge)
target_link_libraries(fake_worker PRIVATE kf_model kf_base kf_options Threads::Threads)
set_target_properties(fake_worker PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
kf_test(workers kf_agent)
target_compile_definitions(test_workers PRIVATE FAKE_WORKER="$<TARGET_FILE:fake_worker>")
target_include_directories(test_workers PRIVATE ${CMAKE_SOURCE_DIR}/agent)
add_dependencies(test_workers fake_worker)
