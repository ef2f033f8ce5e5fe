kf_test(expression kf_model)
if(COMMAND kf_fuzz)
  kf_fuzz(expression kf_model)
endif()
