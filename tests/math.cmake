kf_test(dtype kf_model)
kf_test(stats kf_model)
