kf_test(tasks kf_commands)
# Baselines, seeds and mistakes against the oracles, on the CPU device: unit.tasks_run.TASK. The gate
# has these; unit.tasks and cli.task look at all of them without running one.
set(gate attention axpy bias_gelu cg_step conv2d gemm gemv histogram jacobi2d layernorm reduction
    row_softmax spmv_csr transpose)
kf_program(tasks_run kf_task kf_common ${CMAKE_DL_LIBS})
target_compile_definitions(test_tasks_run PRIVATE KFORGE_CPUCC="$<TARGET_FILE:kforge-cpucc>")
add_dependencies(test_tasks_run kforge-cpucc kfcpu-headers)
file(GLOB tasks CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tasks/*/task.json)
foreach(task IN LISTS tasks)
  get_filename_component(folder ${task} DIRECTORY)
  get_filename_component(name ${folder} NAME)
  add_test(NAME unit.tasks_run.${name} COMMAND test_tasks_run ${name})
  set_tests_properties(unit.tasks_run.${name} PROPERTIES TIMEOUT 300)
  kf_tier(plain unit.tasks_run.${name})
  if(NOT name IN_LIST gate)
    kf_tier(full unit.tasks_run.${name})
  endif()
endforeach()
