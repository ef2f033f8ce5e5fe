# The command line: parsing and tables as units; whole commands as shell scripts against the built program (cli.NAME).
kf_test(options kf_commands)
kf_test(table kf_commands)
kf_test(noise kf_commands)
kf_test(pages kf_pages)
kf_test(cli_memory kf_commands)
target_link_options(test_cli_memory PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup,--wrap=vasprintf)

add_executable(make_store cli/make_store.c)
target_link_libraries(make_store PRIVATE kf_store kf_task)
set_target_properties(make_store PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(test_helpers make_store)
add_executable(make_run cli/make_run.c)
target_link_libraries(make_run PRIVATE kf_store kf_task)
set_target_properties(make_run PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(test_helpers make_run)

foreach(name campaign completion dialects docs doctor events export export_learn gpu_faults gpu_silent help readme redteam run scan
        show store store_care task terminal timing_lock trust unseen verdict)
  add_test(NAME cli.${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/${name}.sh ${CMAKE_BINARY_DIR}/bin)
  set_tests_properties(cli.${name} PROPERTIES TIMEOUT 300)
endforeach()
add_test(NAME cli.install COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/install.sh ${CMAKE_BINARY_DIR}/bin basics)
add_test(NAME cli.install_all COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/install.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.install cli.install_all PROPERTIES TIMEOUT 300)
kf_tier(full cli.install_all)
# Programs from elsewhere take most of their time, or they wait.
kf_tier(full cli.campaign cli.readme)
set_tests_properties(cli.campaign PROPERTIES TIMEOUT 900)
kf_tier(plain cli.campaign cli.completion cli.docs cli.gpu_faults cli.gpu_silent cli.install cli.install_all cli.readme cli.redteam)
# Fetches packages from PyPI once. Status 77 means that it could not.
add_test(NAME cli.event_trackers COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/event_trackers.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.event_trackers PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77)
kf_tier(pypi cli.event_trackers)
kf_tier(plain cli.event_trackers)
# Thousands of commands on files of strangers.
foreach(part project tasks stores)
  add_test(NAME cli.foreign.${part} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/foreign.sh ${CMAKE_BINARY_DIR}/bin ${part})
  set_tests_properties(cli.foreign.${part} PROPERTIES TIMEOUT 1800)
  kf_tier(full cli.foreign.${part})
  kf_tier(plain cli.foreign.${part})
endforeach()

# For cli.doctor, cli.gpu_faults and cli.gpu_silent: one library under the three names that driver, NVML and NVRTC have.
foreach(name libcuda.so.1 libnvidia-ml.so.1 libnvrtc.so.13)
  string(MAKE_C_IDENTIFIER fake_${name} target)
  add_library(${target} SHARED cli/fake_driver.c cli/fake_driver_rest.c)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/protocol ${CMAKE_SOURCE_DIR}/evaluator/judge/cuda)
  set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${name} NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/fake_driver)
  add_dependencies(test_helpers ${target})
endforeach()

# Each document of --json against docs/reference/json.md.
# Tables and lines on narrow and wide terminals.
foreach(name json_documents widths)
  add_test(NAME cli.${name}
    COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/${name}.py ${CMAKE_BINARY_DIR}/bin)
  set_tests_properties(cli.${name} PROPERTIES TIMEOUT 300)
  kf_tier(plain cli.${name})
endforeach()

# The pages of runs: over HTTP, and in a browser if there is one (status 77: there is not).
add_test(NAME cli.watch COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/watch.py ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.watch PROPERTIES TIMEOUT 300)
add_test(NAME cli.pages COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/pages.py ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.pages PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77)
kf_tier(full cli.pages)
kf_tier(plain cli.pages)

# The server, with simulated workers.
add_test(NAME cli.serve COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/serve.py ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.serve PROPERTIES TIMEOUT 300)
add_test(NAME stress.serve COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/stress/serve.py 2000)
set_tests_properties(stress.serve PROPERTIES TIMEOUT 600 ENVIRONMENT BIN=${CMAKE_BINARY_DIR}/bin)
kf_tier(full stress.serve)
