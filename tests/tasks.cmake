kf_test(tasks kf_agent)
