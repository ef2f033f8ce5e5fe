kf_test(dtype kf_model)
