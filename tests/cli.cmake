# The command line: parsing and tables as units; whole commands as shell scripts against the built program (cli.NAME).
kf_test(options kf_agent)
kf_test(table kf_agent)

add_executable(make_store cli/make_store.c)
target_link_libraries(make_store PRIVATE kf_store kf_model)
set_target_properties(make_store PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

foreach(name completion docs doctor help show store task)
  add_test(NAME cli.${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/${name}.sh ${CMAKE_BINARY_DIR}/bin)
  set_tests_properties(cli.${name} PROPERTIES TIMEOUT 120)
endforeach()
