# Counters, roofline, occupancy, sanitizer: what of them needs no GPU.
kf_test(occupancy kf_model)
kf_test(counters kf_model)
kf_test(sanitize kf_model)
