kf_test(tuner kf_agent)
kf_test(prompt kf_agent)
