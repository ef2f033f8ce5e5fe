# The store's second life: rewards, merging, exports.
kf_test(reward kf_store kf_model)
kf_test(store_merge kf_store PkgConfig::SQLITE)

add_executable(make_dataset cli/make_dataset.c)
target_link_libraries(make_dataset PRIVATE kf_store kf_model)
set_target_properties(make_dataset PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
