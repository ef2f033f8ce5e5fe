# python/: the client against scripted answers, and each adapter in the real package from PyPI.
add_test(NAME python.client COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/python/client.py)
set_tests_properties(python.client PROPERTIES TIMEOUT 300 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
kf_tier(plain python.client)
# One after the other: they install packages, and import large ones. Status 77 means skipped.
foreach(name trl verl verifiers skyrl openenv nemo_gym harbor)
  add_test(NAME python.adapter_${name}
    COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/python/adapters.sh ${CMAKE_BINARY_DIR}/bin ${name})
  set_tests_properties(python.adapter_${name} PROPERTIES
    TIMEOUT 900 SKIP_RETURN_CODE 77 RESOURCE_LOCK python_adapters)
  kf_tier(pypi python.adapter_${name})
  kf_tier(plain python.adapter_${name})
endforeach()
