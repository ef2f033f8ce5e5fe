kf_test(base kf_base)
