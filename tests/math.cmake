kf_test(dtype kf_model)
kf_test(stats kf_model)
kf_test(verdict kf_model)
# The test makes every allocation of libkforge fail once.
target_link_options(test_verdict PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free)
if(COMMAND kf_fuzz)
  kf_fuzz(verdict kf_model)
endif()
