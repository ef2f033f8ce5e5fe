# Importing problems for PyTorch, and files for KernelBench's evaluator. Each script reports if
# PyTorch is missing.
foreach(name import import_checked import_measured import_judge import_formats export_modelnew)
  add_test(NAME cli.${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/cli/${name}.sh ${CMAKE_BINARY_DIR}/bin)
  set_tests_properties(cli.${name} PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77)
  kf_tier(full cli.${name})
endforeach()
kf_tier(plain cli.import_checked cli.import_measured cli.import_judge cli.import_formats cli.export_modelnew)
