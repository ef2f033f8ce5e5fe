# The PyTorch worker: the judge on Python solutions. Skipped without PyTorch. All of it is in the
# second tier.
foreach(name torch torch_runner_pool torch_dry_run torch_extensions torch_timed)
  kf_test(${name} kf_worker)
  set_tests_properties(unit.${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900 ENVIRONMENT "KFORGE_ROOT=${CMAKE_BINARY_DIR}")
  kf_tier(full unit.${name})
endforeach()
set_tests_properties(unit.torch_timed PROPERTIES RUN_SERIAL TRUE)
kf_tier(plain unit.torch unit.torch_timed)
kf_tier(plain unit.torch_dry_run unit.torch_extensions) # they run compilers
# Every file of tests/torch/{bad,honest,hostile} is a test: corpus.torch.FOLDER.NAME.
kf_program(torch_files kf_worker)
# The second tier has corpus.torch_together.FOLDER, which judges the untimed ones with the same runners.
foreach(folder bad honest hostile)
  add_test(NAME corpus.torch_together.${folder} COMMAND test_torch_files ${folder}.* WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(corpus.torch_together.${folder} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800 COST 200
    ENVIRONMENT "KFORGE_ROOT=${CMAKE_BINARY_DIR};KFORGE_TORCH_TOGETHER=1")
  kf_tier(full corpus.torch_together.${folder})
  kf_tier(plain corpus.torch_together.${folder})
endforeach()
file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/torch torch/bad/*.py torch/honest/*.py torch/hostile/*.py)
foreach(file IN LISTS files)
  file(STRINGS torch/${file} heading LIMIT_COUNT 1)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/torch/${file})
  string(REGEX REPLACE "\\.py$" "" name ${file})
  string(REPLACE "/" "." name ${name})
  add_test(NAME corpus.torch.${name} COMMAND test_torch_files ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(corpus.torch.${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300 ENVIRONMENT "KFORGE_ROOT=${CMAKE_BINARY_DIR}")
  if(heading MATCHES "slower: ") # its time is looked at
    set_tests_properties(corpus.torch.${name} PROPERTIES RUN_SERIAL TRUE)
    kf_tier(full corpus.torch.${name})
  else()
    kf_tier(named corpus.torch.${name})
  endif()
  kf_tier(plain corpus.torch.${name})
endforeach()
add_test(NAME cli.torch COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/torch.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.torch PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
# Decisions of the Python worker.
add_test(NAME cli.torch_parts COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/torch_parts.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.torch_parts PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
kf_tier(full cli.torch cli.torch_parts)
kf_tier(plain cli.torch_parts) # only Python
# The allocator of a GPU runner's memory. Needs no GPU and no PyTorch.
kf_test(blocks kf_common)
target_sources(test_blocks PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/runner/blocks.c
  ${CMAKE_SOURCE_DIR}/evaluator/runner/host_blocks.c)
target_include_directories(test_blocks PRIVATE ${CMAKE_SOURCE_DIR}/evaluator/runner)
kf_test(device_pool kf_judge)
add_test(NAME cli.import_definition COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/import_definition.sh ${CMAKE_BINARY_DIR}/bin)
set_tests_properties(cli.import_definition PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
kf_tier(full cli.import_definition)
kf_tier(plain cli.import_definition) # Python and compilers
