kf_test(tuner kf_agent)
