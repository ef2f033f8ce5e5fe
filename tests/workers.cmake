# The test double of `kforge worker`: the real protocol with a judge that runs no code.
add_executable(fake_worker cli/fake_worker.c cli/fake_prepare.c)
target_link_libraries(fake_worker PRIVATE kf_worker kf_options)
target_link_options(fake_worker PRIVATE -Wl,--wrap=poll)
set_target_properties(fake_worker PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(test_helpers fake_worker)
kf_test(devices kf_commands)
foreach(name jobs workers workers_faults workers_spool search search_ends search_levers search_resume)
  kf_test(${name} kf_commands)
  target_compile_definitions(test_${name} PRIVATE FAKE_WORKER="$<TARGET_FILE:fake_worker>")
  add_dependencies(test_${name} fake_worker)
endforeach()
set_tests_properties(unit.search_resume PROPERTIES TIMEOUT 900) # some hundred sessions, each with its workers
kf_tier(full unit.search_resume) # unit.search has some of the same searches
kf_tier(plain unit.search_resume)
target_link_options(test_search_resume PRIVATE -Wl,--wrap=kf_store_commit)
target_link_options(test_search_levers PRIVATE
  -Wl,--wrap=kf_workers_capacity,--wrap=kf_workers_devices)
target_link_options(test_search_ends PRIVATE -Wl,--wrap=kf_now)
target_link_options(test_workers PRIVATE -Wl,--wrap=read)
foreach(name eval files optimize strategies worker)
  add_test(NAME cli.${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/${name}.sh ${CMAKE_BINARY_DIR}/bin)
  set_tests_properties(cli.${name} PROPERTIES TIMEOUT 300)
endforeach()
# Agents in their jail: against the fake worker, and measured for real.
add_test(NAME cli.agent_mode COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/agent_mode.sh ${CMAKE_BINARY_DIR}/bin basics)
add_test(NAME cli.agent_mode_all COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/agent_mode.sh ${CMAKE_BINARY_DIR}/bin)
add_test(NAME cli.agent_mode_cpu COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/agent_mode_cpu.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.agent_mode cli.agent_mode_all cli.agent_mode_cpu PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
# It measures time. Other tests at the same time once made its interval [0, 119].
set_tests_properties(cli.agent_mode_cpu PROPERTIES RUN_SERIAL TRUE)
kf_tier(full cli.agent_mode_all cli.agent_mode_cpu)
kf_tier(plain cli.agent_mode cli.agent_mode_all cli.agent_mode_cpu) # the leak sanitizer does not work in the jail
# A real Slurm of two nodes, on loopback.
add_test(NAME cli.slurm
  COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/slurm.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.slurm PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77)
kf_tier(full cli.slurm)
kf_tier(plain cli.slurm)
