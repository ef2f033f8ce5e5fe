kf_test(judge kf_judge)
set_tests_properties(unit.judge PROPERTIES TIMEOUT 300 RUN_SERIAL TRUE)

add_executable(peer_actor unit/peer_actor.c)
target_compile_definitions(peer_actor PRIVATE _GNU_SOURCE)
set_target_properties(peer_actor PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
kf_test(peer kf_judge)
target_compile_definitions(test_peer PRIVATE PEER_ACTOR="$<TARGET_FILE:peer_actor>")
add_dependencies(test_peer peer_actor)
