kf_test(base kf_base)
kf_test(signature kf_base)
