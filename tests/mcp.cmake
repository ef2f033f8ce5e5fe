# The Model Context Protocol (agent/mcp). The unit test has a double of the service that judges.
kf_test(mcp kf_mcp)
target_link_options(test_mcp PRIVATE -Wl,--wrap=kf_workers_open,--wrap=kf_workers_submit,--wrap=kf_workers_wait,--wrap=kf_workers_close)
add_test(NAME cli.mcp COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/mcp.py ${CMAKE_BINARY_DIR}/bin)
# The official clients, in environments below the build folder.
add_test(NAME cli.mcp_clients
  COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/mcp_clients.py ${CMAKE_BINARY_DIR}/bin ${CMAKE_BINARY_DIR}/tests)
set_tests_properties(cli.mcp cli.mcp_clients PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77)
kf_tier(full cli.mcp)
kf_tier(pypi cli.mcp_clients)
kf_tier(plain cli.mcp cli.mcp_clients)
