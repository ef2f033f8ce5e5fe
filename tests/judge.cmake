kf_test(judge kf_judge)
set_tests_properties(unit.judge PROPERTIES TIMEOUT 300 RUN_SERIAL TRUE)
